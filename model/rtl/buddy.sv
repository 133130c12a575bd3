// Binary buddies as hardware: a stack of free blocks for every order, and a bitmap that says whose buddy is free.
//
// A block of order k is 2^k units at a multiple of 2^k; units are 0 .. 2^NODES - 1. Three synchronous single-port SRAMs
// outside have 2^NODES words each:
//
//     pairs           which of two buddies is free, a bit for each (never both), at the address at which the two meet
//     next, previous  links of the free block that begins at the address, within the stack of its order
//
// A pair is written when its two come into being, so that nothing has to be cleared first. Heads of the stacks are
// registers. Orders are searched one a cycle, a buddy takes a cycle to look at and one to unlink. From the cycle in which
// a command is taken to the one in which its answer is valid there are
//
//     2 + probes + splits + merges
//
// cycles of tla_work (work.h), refused or not. Placements are those of tla_arena with TLA_BUDDY, that trusts its callers:
// only a range that is no block is refused.
module buddy #(
    parameter WIDTH = 33,  // bits of an offset and of a size, more than NODES
    parameter NODES = 10   // 2^NODES units
) (
    input logic clk,
    input logic rst,                 // synchronous; the range below, inside of the units, is free afterwards, cut into
    input logic [WIDTH-1:0] base,    // as few blocks as possible; no command is taken until it is
    input logic [WIDTH-1:0] capacity,

    input  logic command_valid,
    output logic command_ready,
    input  logic command_free,       // 0: take command_size units; 1: give back command_size units at command_offset
    input  logic [WIDTH-1:0] command_offset,
    input  logic [WIDTH-1:0] command_size,

    output logic answer_valid,       // until it is taken
    input  logic answer_ready,
    output logic [1:0] answer_status,
    output logic [WIDTH-1:0] answer_offset,

    output logic pairs_enable, pairs_write, next_enable, next_write, previous_enable, previous_write,
    output logic [NODES-1:0] pairs_address, next_address, previous_address,
    output logic [1:0] write_pair,               // upper, lower
    output logic [NODES:0] write_next,           // its top bit: there is none
    output logic [NODES-1:0] write_previous,
    input  logic [1:0] read_pair,                // a cycle after an enable without a write
    input  logic [NODES:0] read_next,
    input  logic [NODES-1:0] read_previous
);
    localparam DONE = 2'd0, NO_BLOCK = 2'd1, NOT_TAKEN = 2'd2;  // of answer_status
    localparam BEGIN = 3'd0, CUT = 3'd1, IDLE = 3'd2, SEARCH = 3'd3, POP = 3'd4, SPLIT = 3'd5, LOOK = 3'd6, JOIN = 3'd7;
    localparam ORDER = $clog2(NODES + 2);      // bits of an order
    localparam [NODES:0] NOBODY = {1'b1, {NODES{1'b0}}};

    logic [2:0] state;
    logic [NODES:0] heads[0:NODES];  // of the stack of every order; NOBODY when it is empty
    logic [ORDER-1:0] highest;       // of a block that the range can hold
    logic [NODES:0] offset;          // of the block that is looked at, its order, and the order that is wanted
    logic [ORDER-1:0] order, wanted;
    logic [NODES:0] left;            // of the range that is still to be cut

    // --- the smallest order that holds what is asked for; NODES + 1 when none does ---
    wire [WIDTH-1:0] last_unit = command_size - 1'b1;
    logic [ORDER-1:0] command_order;
    always_comb begin
        command_order = {ORDER{1'b0}};
        for (int i = 0; i < WIDTH; i++)
            if (last_unit[i]) command_order = i < NODES ? i[ORDER-1:0] + 1'b1 : NODES[ORDER-1:0] + 1'b1;
    end

    wire beyond = command_offset[WIDTH-1:NODES] != {(WIDTH-NODES){1'b0}};
    wire unused = &{1'b0, base, capacity};  // their bits above those of units

    // --- what is true of the block ---
    wire [NODES:0] unit = {{NODES{1'b0}}, 1'b1} << order;
    wire [NODES-1:0] buddy_offset = offset[NODES-1:0] ^ unit[NODES-1:0];
    wire [NODES-1:0] meets = offset[NODES-1:0] | unit[NODES-1:0];  // where it meets its buddy: the upper one's offset
    wire is_upper = (offset & unit) != {(NODES+1){1'b0}};
    wire is_block = order <= highest && (offset & (unit - 1'b1)) == {(NODES+1){1'b0}};
    wire [NODES:0] head = heads[order];
    wire buddy_is_free = is_upper ? read_pair[0] : read_pair[1];
    wire buddy_is_head = head == {1'b0, buddy_offset};
    wire last = order == wanted;

    wire [NODES:0] twice = unit << 1;      // 0 for all the units there are
    wire grows = twice != {(NODES+1){1'b0}} && left >= twice && (offset & unit) == {(NODES+1){1'b0}};
    wire unlinks = state == JOIN && buddy_is_free;
    wire pushes = (state == CUT && !grows) || (state == LOOK && is_block && order == highest) ||
                  (state == JOIN && !buddy_is_free);

    assign command_ready = state == IDLE && (!answer_valid || answer_ready);

    // --- the memories' ports ---
    always_comb begin
        pairs_enable = (state == LOOK || pushes || state == POP || state == SPLIT);
        pairs_write = pushes || state == POP || state == SPLIT;
        pairs_address = meets;
        write_pair = state == SPLIT ? 2'b10 : state == POP ? 2'b00 : {is_upper, !is_upper};

        next_enable = 1'b1;
        next_write = 1'b0;
        next_address = offset[NODES-1:0];
        write_next = head;
        previous_enable = 1'b1;
        previous_write = 1'b0;
        previous_address = head[NODES-1:0];
        write_previous = offset[NODES-1:0];
        if (pushes) begin
            next_write = 1'b1;
            previous_enable = !head[NODES];
            previous_write = 1'b1;
        end else if (unlinks) begin
            next_enable = !buddy_is_head;
            next_write = 1'b1;
            next_address = read_previous;
            write_next = read_next;
            previous_enable = !read_next[NODES];
            previous_write = 1'b1;
            previous_address = read_next[NODES-1:0];
            write_previous = read_previous;
        end else if (state == LOOK) begin
            next_address = buddy_offset;
            previous_address = buddy_offset;
        end else if (state == SPLIT) begin
            next_write = 1'b1;
            next_address = meets;
            write_next = NOBODY;
            previous_enable = 1'b0;
        end else begin
            next_enable = state == SEARCH;
            next_address = head[NODES-1:0];
            previous_enable = 1'b0;
        end
    end

    // --- what happens ---
    always_ff @(posedge clk) begin
        if (answer_valid && answer_ready) answer_valid <= 1'b0;
        if (pushes) heads[order] <= {1'b0, offset[NODES-1:0]};
        if (unlinks && buddy_is_head) heads[order] <= read_next;
        case (state)
            BEGIN: begin
                for (int i = 0; i <= NODES; i++) heads[i] <= NOBODY;
                highest <= {ORDER{1'b0}};
                offset <= base[NODES:0];
                left <= capacity[NODES:0];
                order <= {ORDER{1'b0}};
                state <= capacity == {WIDTH{1'b0}} ? IDLE : CUT;
            end
            CUT: if (grows) begin
                order <= order + 1'b1;
            end else begin
                if (order > highest) highest <= order;
                offset <= offset + unit;
                left <= left - unit;
                order <= {ORDER{1'b0}};
                if (left == unit) state <= IDLE;
            end
            IDLE: if (command_valid && command_ready) begin
                offset <= {1'b0, command_offset[NODES-1:0]};
                answer_offset <= command_offset;
                order <= command_free && beyond ? NODES[ORDER-1:0] + 1'b1 : command_order;
                wanted <= command_order;
                state <= command_free ? LOOK : SEARCH;
            end
            SEARCH: begin
                offset <= head;
                if (order > highest) begin
                    answer_valid <= 1'b1;
                    answer_status <= NO_BLOCK;
                    state <= IDLE;
                end else if (head[NODES]) begin
                    order <= order + 1'b1;
                end else begin
                    state <= POP;
                end
            end
            POP: begin
                answer_offset <= {{(WIDTH-NODES){1'b0}}, offset[NODES-1:0]};
                heads[order] <= read_next;
                order <= order - 1'b1;
                state <= SPLIT;
                if (last) begin
                    answer_valid <= 1'b1;
                    answer_status <= DONE;
                    state <= IDLE;
                end
            end
            SPLIT: begin
                heads[order] <= {1'b0, meets};
                order <= order - 1'b1;
                if (last) begin
                    answer_valid <= 1'b1;
                    answer_status <= DONE;
                    state <= IDLE;
                end
            end
            LOOK: begin
                state <= JOIN;
                if (!is_block || order == highest) begin
                    answer_valid <= 1'b1;
                    answer_status <= is_block ? DONE : NOT_TAKEN;
                    state <= IDLE;
                end
            end
            JOIN: if (buddy_is_free) begin
                offset <= offset & ~unit;
                order <= order + 1'b1;
                state <= LOOK;
            end else begin
                answer_valid <= 1'b1;
                answer_status <= DONE;
                state <= IDLE;
            end
        endcase
        if (rst) begin
            state <= BEGIN;
            answer_valid <= 1'b0;
        end
    end
endmodule
