// Offset bins as hardware: Aaltonen's OffsetAllocator in constant time, and Mooncake's variant of it with ROUNDS.
//
// A region, free or live, is a node: a word of a synchronous single-port SRAM outside, with a write enable for each
// field. `left` and `right` are the neighbours in address order, `up` and `down` those in the stack of free regions of
// one bin. A link to the node itself is none. Two more such SRAMs have the head of the stack of each bin, and the nodes
// that were released. A bit for each bin, here, says whether its stack has a region, so that nothing has to be cleared.
// `up` of a head is not kept: a region is the head if its bin's head says so.
//
// A bin is a small float with 3 bits of mantissa: its group is the position of the size's highest bit, less 2, and its
// place in the group the next three bits. Bins below 8 are sizes. A request searches from the bin above its size.
//
// From the cycle in which a command is taken to the one in which its answer is valid there are
//
//     take        4, and 3 for a rest; 2 without a region that is large enough, 1 without a node
//     give back   5, and 3 for each free neighbour
//
// cycles. A range is given back by the node that the answer of its take named, and which has to be live. The node stays
// that of the joined region. Placements are those of tla_arena with TLA_OFFSET_BINS, or TLA_OFFSET_BINS_ROUNDED.
module offset_bins #(
    parameter WIDTH = 33,  // bits of an offset and of a size, 3 or more
    parameter NODES = 10,  // 2^NODES nodes at most
    parameter ROUNDS = 0   // 1: a request is given the size of its bin, and all nodes are used; 0: one node is never used
) (
    input logic clk,
    input logic rst,                 // synchronous; the range below is one free region afterwards
    input logic [WIDTH-1:0] base,
    input logic [WIDTH-1:0] capacity,  // at most the size of the last bin, 15 * 2^28
    input logic [NODES:0] nodes,     // that the memory has, 2 - ROUNDS .. 2^NODES

    input  logic command_valid,
    output logic command_ready,
    input  logic command_free,       // 0: take command_size units; 1: give back the region of command_node
    input  logic command_exact,      // takes: from the only free region, whatever its bin is, without rounding and even
                                     // without a node. So a range in use is restored, region by region, after a reset
    input  logic [NODES-1:0] command_node,
    input  logic [WIDTH-1:0] command_size,

    output logic answer_valid,       // until it is taken
    input  logic answer_ready,
    output logic [1:0] answer_status,
    output logic [WIDTH-1:0] answer_offset,
    output logic [NODES-1:0] answer_node,

    output logic node_enable,
    output logic [6:0] node_write,   // offset, size, up, down, left, right, used
    output logic [NODES-1:0] node_address,
    output logic [WIDTH-1:0] write_offset, write_size,
    output logic [NODES-1:0] write_up, write_down, write_left, write_right,
    output logic write_used,
    input  logic [WIDTH-1:0] read_offset, read_size,  // a cycle after an enable without a write
    input  logic [NODES-1:0] read_up, read_down, read_left, read_right,
    input  logic read_used,

    output logic head_enable, head_write,
    output logic [7:0] head_address,
    output logic [NODES-1:0] write_head,
    input  logic [NODES-1:0] read_head,

    output logic spare_enable, spare_write,
    output logic [NODES-1:0] spare_address,
    output logic [NODES-1:0] write_spare,
    input  logic [NODES-1:0] read_spare
);
    localparam DONE = 2'd0, NO_BLOCK = 2'd1, NO_NODE = 2'd3;  // of answer_status
    localparam BEGIN = 4'd0, IDLE = 4'd1, LOOK = 4'd2, HEAD = 4'd3, TAKE = 4'd4, CUT = 4'd5, LEFT = 4'd6, RIGHT = 4'd7,
               JOIN = 4'd8, UNLINK = 4'd9, BELOW = 4'd10, LINK = 4'd11;
    localparam OFFSET = 7'b1000000, SIZE = 7'b0100000, UP = 7'b0010000, DOWN = 7'b0001000, TO_LEFT = 7'b0000100,
               TO_RIGHT = 7'b0000010, USED = 7'b0000001;
    localparam GROUPS = WIDTH > 32 ? 30 : WIDTH - 2;

    logic [3:0] state;
    logic [7:0] filled[0:GROUPS-1];  // bins that have a region, of every group
    logic [NODES:0] fresh, spares;   // nodes from `fresh` on were never used; how many were released
    logic [NODES-1:0] node, left, right;         // of the region at hand, and its neighbours
    logic [WIDTH-1:0] offset, size;
    logic [7:0] bin;
    logic [NODES-1:0] gone, gone_up, gone_down;  // the neighbour that is joined, and its links
    logic [NODES-1:0] old_head;
    logic joins_left, joins_right, looks_right;  // looks_right: the right neighbour has just been read
    logic left_joined, gone_was_head, answers, exact;

    // --- the bin below a size, and the one above ---
    logic [WIDTH-1:0] measured;
    logic [7:0] below;
    logic is_bin;
    always_comb begin
        case (state)
            IDLE: measured = command_size;
            RIGHT: measured = read_used ? size : read_size;
            JOIN: measured = read_size;
            default: measured = size;
        endcase
        below = {5'd0, measured[2:0]};
        is_bin = 1'b1;
        for (int i = 3; i < WIDTH; i++)
            if (measured[i]) below = {i[4:0] - 5'd2, measured[i-1-:3]};
        for (int i = 0; i + 4 < WIDTH; i++)
            if (measured[i] && below[7:3] > i[4:0] + 5'd1) is_bin = 1'b0;
    end
    wire [7:0] above = below + {7'd0, !is_bin};

    // --- the lowest bin that has a region, from `bin` on ---
    function automatic [2:0] lowest(input [7:0] bits);
        lowest = 3'd0;
        for (int i = 7; i >= 0; i--)
            if (bits[i]) lowest = i[2:0];
    endfunction
    wire [7:0] own = bin < 8'(8 * GROUPS) ? filled[bin[7:3]] & (8'hff << bin[2:0]) : 8'd0;
    logic [4:0] next_group;
    logic none_above;
    always_comb begin
        next_group = 5'd0;
        none_above = 1'b1;
        for (int i = GROUPS - 1; i >= 0; i--)
            if (filled[i] != 8'd0 && i[4:0] > bin[7:3]) begin
                next_group = i[4:0];
                none_above = 1'b0;
            end
    end
    wire nothing = own == 8'd0 && none_above;
    wire [7:0] found = own != 8'd0 ? {bin[7:3], lowest(own)} : {next_group, lowest(filled[next_group])};
    wire [WIDTH-1:0] rounded = bin[7:3] == 5'd0 ? {{(WIDTH-3){1'b0}}, bin[2:0]}
                                                : WIDTH'({1'b1, bin[2:0]}) << (bin[7:3] - 5'd1);

    // --- what is true ---
    wire takes = state == IDLE && command_valid && command_ready;
    wire no_node = spares == 0 && fresh == nodes - (NODES+1)'(ROUNDS == 0);
    wire has_rest = read_size != size;
    wire [NODES-1:0] last_spare = spares[NODES-1:0] - 1'b1;
    wire [NODES-1:0] slot = spares == 0 ? fresh[NODES-1:0] : read_spare;  // of the next node that comes into being
    wire right_is_free = looks_right ? !read_used : joins_right;
    wire bin_is_filled = filled[bin[7:3]][bin[2:0]];
    wire is_head = read_head == gone;
    wire last = gone_down == gone;               // of its stack
    wire takes_last = read_down == node;

    // The right neighbour was read before the left one left its stack: what that has changed of its links.
    wire left_was_above = left_joined && gone_down == right;
    wire left_was_below = left_joined && !gone_was_head && gone_up == right;

    assign command_ready = state == IDLE && (!answer_valid || answer_ready);

    // --- the memories' ports ---
    always_comb begin
        node_enable = 1'b1;
        node_write = 7'd0;
        node_address = node;
        write_offset = offset;
        write_size = size;
        write_up = gone_up;
        write_down = bin_is_filled ? read_head : node;
        write_left = left;
        write_right = right;
        write_used = 1'b0;
        head_enable = 1'b0;
        head_write = 1'b0;
        head_address = below;
        write_head = node;
        spare_enable = 1'b0;
        spare_write = 1'b0;
        spare_address = last_spare;
        write_spare = gone;
        case (state)
            IDLE: begin
                node_enable = takes && command_free;
                node_address = command_node;
            end
            LOOK: begin
                node_enable = 1'b0;
                head_enable = 1'b1;
                head_address = found;
                spare_enable = 1'b1;
            end
            HEAD: node_address = read_head;
            TAKE: begin
                node_write = has_rest ? SIZE | TO_RIGHT | USED : USED;
                write_right = slot;
                write_used = 1'b1;
                head_enable = !takes_last;
                head_write = 1'b1;
                head_address = bin;
                write_head = read_down;
            end
            CUT: begin
                node_write = TO_LEFT;
                node_address = right;
                write_left = node;
                head_enable = 1'b1;
            end
            LEFT: node_address = read_left;
            RIGHT: begin
                node_address = right;
                head_enable = 1'b1;
            end
            JOIN: if (joins_left) begin
                node_write = TO_RIGHT;
                node_address = left;
                write_right = node;
            end else if (right_is_free) begin
                node_write = TO_LEFT;
                node_address = read_right;
                write_left = node;
                head_enable = 1'b1;
            end else begin
                node_write = OFFSET | SIZE | DOWN | TO_LEFT | TO_RIGHT | USED;
                head_enable = 1'b1;
                head_write = 1'b1;
                head_address = bin;
            end
            UNLINK: begin
                node_enable = !is_head;
                node_write = DOWN;
                node_address = gone_up;
                write_down = last ? gone_up : gone_down;
                head_enable = is_head && !last;
                head_write = 1'b1;
                head_address = bin;
                write_head = gone_down;
                spare_enable = 1'b1;
                spare_write = 1'b1;
                spare_address = spares[NODES-1:0];
            end
            BELOW: begin
                node_write = UP;
                node_address = gone_down;
                head_enable = 1'b1;
            end
            LINK: begin
                node_write = UP;
                node_address = old_head;
                write_up = node;
            end
            default: node_enable = 1'b0;
        endcase
    end

    // --- what happens ---
    always_ff @(posedge clk) begin
        if (answer_valid && answer_ready) answer_valid <= 1'b0;
        if (head_enable && !head_write) bin <= head_address;
        case (state)
            BEGIN: begin  // node 0 is the whole range
                for (int i = 0; i < GROUPS; i++) filled[i] <= 8'd0;
                node <= {NODES{1'b0}};
                left <= {NODES{1'b0}};
                right <= {NODES{1'b0}};
                offset <= base;
                size <= capacity;
                fresh <= {{NODES{1'b0}}, 1'b1};
                spares <= {(NODES+1){1'b0}};
                joins_left <= 1'b0;
                joins_right <= 1'b0;
                looks_right <= 1'b0;
                answers <= 1'b0;
                state <= CUT;
            end
            IDLE: if (takes) begin
                node <= command_node;
                size <= command_size;
                bin <= command_exact ? 8'd0 : above;
                exact <= command_exact;
                answers <= 1'b1;
                left_joined <= 1'b0;
                answer_status <= DONE;
                state <= command_free ? LEFT : LOOK;
                if (no_node && !command_exact && !command_free) begin
                    answer_valid <= 1'b1;
                    answer_status <= NO_NODE;
                    state <= IDLE;
                end
            end
            LOOK: begin
                if (ROUNDS != 0 && !exact) size <= rounded;
                state <= HEAD;
                if (nothing) begin
                    answer_valid <= 1'b1;
                    answer_status <= NO_BLOCK;
                    state <= IDLE;
                end
            end
            HEAD: begin
                node <= read_head;
                state <= TAKE;
            end
            TAKE: begin
                if (takes_last) filled[bin[7:3]][bin[2:0]] <= 1'b0;
                answer_offset <= read_offset;
                answer_node <= node;
                offset <= read_offset + size;
                size <= read_size - size;
                left <= node;
                right <= read_right == node ? slot : read_right;
                node <= slot;
                state <= CUT;
                if (!has_rest) begin
                    answer_valid <= 1'b1;
                    state <= IDLE;
                end else if (spares == 0) begin
                    fresh <= fresh + 1'b1;
                end else begin
                    spares <= spares - 1'b1;
                end
            end
            CUT: state <= JOIN;
            LEFT: begin
                offset <= read_offset;
                size <= read_size;
                left <= read_left;
                right <= read_right;
                state <= RIGHT;
            end
            RIGHT: begin
                joins_left <= !read_used;  // without a neighbour it is the node itself, which is used
                looks_right <= 1'b1;
                if (!read_used) begin
                    offset <= read_offset;
                    size <= size + read_size;
                    left <= read_left == left ? node : read_left;
                    gone <= left;
                    gone_up <= read_up;
                    gone_down <= read_down;
                end
                state <= JOIN;
            end
            JOIN: begin
                looks_right <= 1'b0;
                if (looks_right && right_is_free) size <= size + read_size;
                if (joins_left) begin
                    joins_left <= 1'b0;
                    joins_right <= right_is_free;
                    left_joined <= 1'b1;
                    state <= UNLINK;
                end else if (right_is_free) begin
                    joins_right <= 1'b0;
                    right <= read_right == right ? node : read_right;
                    gone <= right;
                    gone_up <= left_was_above ? gone_up : read_up;
                    gone_down <= !left_was_below ? read_down : last ? right : gone_down;
                    state <= UNLINK;
                end else begin
                    filled[bin[7:3]][bin[2:0]] <= 1'b1;
                    old_head <= write_down;
                    state <= answers ? LINK : IDLE;
                end
            end
            UNLINK: begin
                if (is_head && last) filled[bin[7:3]][bin[2:0]] <= 1'b0;
                gone_was_head <= is_head;
                spares <= spares + 1'b1;
                state <= BELOW;
            end
            BELOW: state <= JOIN;
            LINK: begin
                answer_valid <= 1'b1;
                state <= IDLE;
            end
            default: ;
        endcase
        if (rst) begin
            state <= BEGIN;
            answer_valid <= 1'b0;
        end
    end
endmodule
