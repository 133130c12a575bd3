// A list with its memory.
module first_fit_engine #(
    parameter WIDTH = 33,
    parameter NODES = 10,
    parameter PIPELINED = 1,
    parameter WORST = 0
) (
    input logic clk,
    input logic rst,
    input logic [WIDTH-1:0] base,
    input logic [WIDTH-1:0] capacity,
    input logic [NODES:0] nodes,
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
    logic memory_enable;
    logic [2:0] memory_write;
    logic [NODES-1:0] memory_address;
    logic [WIDTH-1:0] write_offset, write_size, read_offset, read_size;
    logic [NODES:0] write_next, read_next;
    first_fit #(.WIDTH(WIDTH), .NODES(NODES), .PIPELINED(PIPELINED), .WORST(WORST)) engine (.*);
    node_memory #(.WIDTH(WIDTH), .NODES(NODES)) memory (
        .clk, .enable(memory_enable), .write(memory_write), .address(memory_address), .write_offset, .write_size,
        .write_next, .read_offset, .read_size, .read_next);
endmodule
