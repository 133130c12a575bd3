// The nodes of regions, the heads of the bins' stacks, and the released nodes: three synchronous single-port SRAMs, nodes
// with a write enable for each field. What is read is there a cycle later.
module offset_bins_memory #(
    parameter WIDTH = 33,
    parameter NODES = 10
) (
    input logic clk,
    input logic node_enable,
    input logic [6:0] node_write,  // offset, size, up, down, left, right, used
    input logic [NODES-1:0] node_address,
    input logic [WIDTH-1:0] write_offset, write_size,
    input logic [NODES-1:0] write_up, write_down, write_left, write_right,
    input logic write_used,
    output logic [WIDTH-1:0] read_offset, read_size,
    output logic [NODES-1:0] read_up, read_down, read_left, read_right,
    output logic read_used,
    input logic head_enable, head_write,
    input logic [7:0] head_address,
    input logic [NODES-1:0] write_head,
    output logic [NODES-1:0] read_head,
    input logic spare_enable, spare_write,
    input logic [NODES-1:0] spare_address,
    input logic [NODES-1:0] write_spare,
    output logic [NODES-1:0] read_spare
);
    localparam BINS = WIDTH > 32 ? 240 : 8 * (WIDTH - 2);
    logic [WIDTH-1:0] offsets[0:(1 << NODES) - 1], sizes[0:(1 << NODES) - 1];
    logic [NODES-1:0] ups[0:(1 << NODES) - 1], downs[0:(1 << NODES) - 1];
    logic [NODES-1:0] lefts[0:(1 << NODES) - 1], rights[0:(1 << NODES) - 1];
    logic useds[0:(1 << NODES) - 1];
    logic [NODES-1:0] heads[0:BINS - 1], spares[0:(1 << NODES) - 1];
    always_ff @(posedge clk) begin
        if (node_enable) begin
            if (node_write[6]) offsets[node_address] <= write_offset;
            if (node_write[5]) sizes[node_address] <= write_size;
            if (node_write[4]) ups[node_address] <= write_up;
            if (node_write[3]) downs[node_address] <= write_down;
            if (node_write[2]) lefts[node_address] <= write_left;
            if (node_write[1]) rights[node_address] <= write_right;
            if (node_write[0]) useds[node_address] <= write_used;
            if (node_write == 7'd0) begin
                read_offset <= offsets[node_address];
                read_size <= sizes[node_address];
                read_up <= ups[node_address];
                read_down <= downs[node_address];
                read_left <= lefts[node_address];
                read_right <= rights[node_address];
                read_used <= useds[node_address];
            end
        end
        if (head_enable && head_write) heads[head_address] <= write_head;
        if (head_enable && !head_write) read_head <= heads[head_address];
        if (spare_enable && spare_write) spares[spare_address] <= write_spare;
        if (spare_enable && !spare_write) read_spare <= spares[spare_address];
    end
endmodule
