// For a bounded model check: an ENGINE with any legal commands, and what must always hold of its answers. At most three
// blocks are live, and so at most four are free. CAPACITY is a whole block of every policy. With FULL, three thirds of it
// are taken first; then commands come right after each other, and sizes are thirds or all.
module engine_check #(
    parameter WIDTH = 3,
    parameter NODES = 2,
    parameter [WIDTH-1:0] CAPACITY = {WIDTH{1'b1}}
) (
    input logic clk,
    input logic any_asks,           // any of these, in every cycle
    input logic any_frees,
    input logic [1:0] any_which,
    input logic [WIDTH-1:0] any_wanted
);
    logic begun = 1'b0;
    logic [2:0] live = 3'b000;
    logic [WIDTH-1:0] offsets[0:2], sizes[0:2];
`ifdef NAMES
    logic [NODES-1:0] names[0:2], answer_node;
`endif
`ifdef FULL
    logic [1:0] taken = 2'd0;
    wire full = taken == 2'd3, asks = 1'b1;
    wire [1:0] which = full ? any_which & {2{any_which != 2'd3}} : taken;
    wire frees = full && live[which];
    wire [WIDTH-1:0] wanted = full && any_wanted[0] ? CAPACITY : CAPACITY / 3;
`else
    wire asks = any_asks, frees = any_frees;
    wire [1:0] which = any_which;
    wire [WIDTH-1:0] wanted = any_wanted;
`endif

    // One command is under way, or none.
    logic busy = 1'b0, freeing = 1'b0;
    logic [1:0] slot = 2'b00;
    logic [WIDTH-1:0] size = 0;
    wire legal = which != 2'd3 && live[which] == frees && wanted != 0 && wanted <= CAPACITY;
    logic command_ready, answer_valid;
    logic [1:0] answer_status;
    logic [WIDTH-1:0] answer_offset;
    wire command_valid = begun && asks && legal && !busy;

`ifdef WORST
    `ENGINE #(.WIDTH(WIDTH), .NODES(NODES), .WORST(1)) engine (
`elsif ROUNDS
    `ENGINE #(.WIDTH(WIDTH), .NODES(NODES), .ROUNDS(1)) engine (
`else
    `ENGINE #(.WIDTH(WIDTH), .NODES(NODES)) engine (
`endif
`ifdef LIST
        .nodes({1'b1, {NODES{1'b0}}}),
`endif
`ifdef NAMES
        .command_node(names[which]), .command_exact(1'b0),
`else
        .command_offset(offsets[which]),
`endif
        .rst(!begun), .base({WIDTH{1'b0}}), .capacity(CAPACITY), .command_free(frees), .command_size(frees ? sizes[which] : wanted), .answer_ready(1'b1), .*);
    logic overlaps;
    always_comb begin
        overlaps = 1'b0;
        for (int i = 0; i < 3; i++)
            if (live[i] && answer_offset < offsets[i] + sizes[i] && offsets[i] < answer_offset + size) overlaps = 1'b1;
    end

    always_ff @(posedge clk) begin
        begun <= 1'b1;
        if (command_valid && command_ready) begin
            busy <= 1'b1;
            freeing <= frees;
            slot <= which;
            size <= wanted;
`ifdef FULL
            if (!full) taken <= taken + 1'b1;
`endif
        end
        if (begun && answer_valid && busy) begin
            busy <= 1'b0;
            if (freeing) begin
                assert (answer_status == 2'd0);       // what is live can be given back
                live[slot] <= 1'b0;
            end else if (answer_status == 2'd0) begin
                assert (!overlaps);                   // no two live blocks share a unit
                assert (answer_offset <= CAPACITY - size);
                live[slot] <= 1'b1;
                offsets[slot] <= answer_offset;
                sizes[slot] <= size;
`ifdef NAMES
                names[slot] <= answer_node;
`endif
            end else begin
                assert (live != 3'b000);             // nothing is lost: free, all of it is one block
            end
        end
    end
endmodule
