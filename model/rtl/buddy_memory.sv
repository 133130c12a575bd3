// The bitmap and the links of buddies: three synchronous single-port SRAMs. What is read is there a cycle later.
module buddy_memory #(
    parameter NODES = 10
) (
    input logic clk,
    input logic pairs_enable, pairs_write, next_enable, next_write, previous_enable, previous_write,
    input logic [NODES-1:0] pairs_address, next_address, previous_address,
    input logic [1:0] write_pair,
    input logic [NODES:0] write_next,
    input logic [NODES-1:0] write_previous,
    output logic [1:0] read_pair,
    output logic [NODES:0] read_next,
    output logic [NODES-1:0] read_previous
);
    logic [1:0] pairs[0:(1 << NODES) - 1];
    logic [NODES:0] nexts[0:(1 << NODES) - 1];
    logic [NODES-1:0] previouses[0:(1 << NODES) - 1];
    always_ff @(posedge clk) begin
        if (pairs_enable && pairs_write) pairs[pairs_address] <= write_pair;
        if (pairs_enable && !pairs_write) read_pair <= pairs[pairs_address];
        if (next_enable && next_write) nexts[next_address] <= write_next;
        if (next_enable && !next_write) read_next <= nexts[next_address];
        if (previous_enable && previous_write) previouses[previous_address] <= write_previous;
        if (previous_enable && !previous_write) read_previous <= previouses[previous_address];
    end
endmodule
