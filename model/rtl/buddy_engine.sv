// The engine with its memories.
module buddy_engine #(
    parameter WIDTH = 33,
    parameter NODES = 10
) (
    input logic clk,
    input logic rst,
    input logic [WIDTH-1:0] base,
    input logic [WIDTH-1:0] capacity,
    input logic command_valid,
    output logic command_ready,
    input logic command_free,
    input logic [WIDTH-1:0] command_offset,
    input logic [WIDTH-1:0] command_size,
    output logic answer_valid,
    input logic answer_ready,
    output logic [1:0] answer_status,
    output logic [WIDTH-1:0] answer_offset
);
    logic pairs_enable, pairs_write, next_enable, next_write, previous_enable, previous_write;
    logic [NODES-1:0] pairs_address, next_address, previous_address, write_previous, read_previous;
    logic [1:0] write_pair, read_pair;
    logic [NODES:0] write_next, read_next;
    buddy #(.WIDTH(WIDTH), .NODES(NODES)) engine (.*);
    buddy_memory #(.NODES(NODES)) memory (.*);
endmodule
