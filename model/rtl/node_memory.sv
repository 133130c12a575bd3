// The list's nodes: a synchronous single-port SRAM with a write enable for each field. What is read is there a cycle later.
module node_memory #(
    parameter WIDTH = 33,
    parameter NODES = 10
) (
    input logic clk,
    input logic enable,
    input logic [2:0] write,  // offset, size, next
    input logic [NODES-1:0] address,
    input logic [WIDTH-1:0] write_offset,
    input logic [WIDTH-1:0] write_size,
    input logic [NODES:0] write_next,
    output logic [WIDTH-1:0] read_offset,
    output logic [WIDTH-1:0] read_size,
    output logic [NODES:0] read_next
);
    logic [WIDTH-1:0] offsets[0:(1 << NODES) - 1];
    logic [WIDTH-1:0] sizes[0:(1 << NODES) - 1];
    logic [NODES:0] nexts[0:(1 << NODES) - 1];
    always_ff @(posedge clk) begin
        if (enable) begin
            if (write[2]) offsets[address] <= write_offset;
            if (write[1]) sizes[address] <= write_size;
            if (write[0]) nexts[address] <= write_next;
            if (write == 3'b000) begin
                read_offset <= offsets[address];
                read_size <= sizes[address];
                read_next <= nexts[address];
            end
        end
    end
endmodule
