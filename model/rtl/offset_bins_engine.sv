// The engine with its memories.
module offset_bins_engine #(
    parameter WIDTH = 33,
    parameter NODES = 10,
    parameter ROUNDS = 0
) (
    input logic clk,
    input logic rst,
    input logic [WIDTH-1:0] base,
    input logic [WIDTH-1:0] capacity,
    input logic [NODES:0] nodes,
    input logic command_valid,
    output logic command_ready,
    input logic command_free,
    input logic command_exact,
    input logic [NODES-1:0] command_node,
    input logic [WIDTH-1:0] command_size,
    output logic answer_valid,
    input logic answer_ready,
    output logic [1:0] answer_status,
    output logic [WIDTH-1:0] answer_offset,
    output logic [NODES-1:0] answer_node
);
    logic node_enable, write_used, read_used, head_enable, head_write, spare_enable, spare_write;
    logic [6:0] node_write;
    logic [7:0] head_address;
    logic [NODES-1:0] node_address, write_up, write_down, write_left, write_right, read_up, read_down, read_left, read_right;
    logic [WIDTH-1:0] write_offset, write_size, read_offset, read_size;
    logic [NODES-1:0] write_head, read_head, spare_address, write_spare, read_spare;
    offset_bins #(.WIDTH(WIDTH), .NODES(NODES), .ROUNDS(ROUNDS)) engine (.*);
    offset_bins_memory #(.WIDTH(WIDTH), .NODES(NODES)) memory (.*);
endmodule
