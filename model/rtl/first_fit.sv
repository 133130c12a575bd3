// First fit over a list of free blocks in offset order, as hardware: what a memory controller decides with. With WORST,
// worst fit with the largest block at hand.
//
// A node of the list is a word of a synchronous single-port SRAM outside: offset, size, and the next node; each field has
// a write enable. Offsets and sizes count units of the controller's alignment. The engine takes one command at a time
// and, from the cycle in which it takes it to the one in which the answer is valid, needs
//
//     take        1 + W nodes_visited + nodes_released
//     give back   2 + W (insert_nodes + 1) + nodes_created + nodes_released
//     refused     2 + W (insert_nodes + 1) for want of a node, one less for a range that is free already in part
//
// cycles of tla_work (work.h), where W is 1, or 2 without PIPELINED. Nodes that were released are kept as a list of their
// own; which node a block has is nobody's business, and costs nothing.
//
// With WORST a take needs 1 + W + nodes_released, for it knows the largest block, the lowest of equals. Whenever the list
// has changed it is walked for the largest one behind the answer: 1 + W free blocks cycles, in which no command is taken.
//
// Placements are those of tla_arena with TLA_FIRST_FIT (KernBench ADR-0048 D1), or TLA_WORST_FIT, that trusts its callers.
module first_fit #(
    parameter WIDTH = 33,    // bits of an offset and of a size
    parameter NODES = 10,    // 2^NODES nodes at most
    parameter PIPELINED = 1, // 1: the next node's address is the word that has just been read; 0: it is registered first
    parameter WORST = 0      // 1: the largest block is taken from, 0: the first that is large enough
) (
    input logic clk,
    input logic rst,                 // synchronous; the range below is one free block afterwards
    input logic [WIDTH-1:0] base,
    input logic [WIDTH-1:0] capacity,
    input logic [NODES:0] nodes,     // that the memory has, 1 .. 2^NODES

    input  logic command_valid,
    output logic command_ready,
    input  logic command_free,       // 0: take command_size units; 1: give back command_size units at command_offset
    input  logic [WIDTH-1:0] command_offset,
    input  logic [WIDTH-1:0] command_size,

    output logic answer_valid,       // until it is taken
    input  logic answer_ready,
    output logic [1:0] answer_status,
    output logic [WIDTH-1:0] answer_offset,

    output logic memory_enable,
    output logic [2:0] memory_write, // offset, size, next
    output logic [NODES-1:0] memory_address,
    output logic [WIDTH-1:0] write_offset,
    output logic [WIDTH-1:0] write_size,
    output logic [NODES:0] write_next,
    input  logic [WIDTH-1:0] read_offset,  // a cycle after memory_enable without memory_write
    input  logic [WIDTH-1:0] read_size,
    input  logic [NODES:0] read_next
);
    localparam DONE = 2'd0, NO_BLOCK = 2'd1, NOT_TAKEN = 2'd2, NO_NODE = 2'd3;  // of answer_status
    localparam BEGIN = 4'd0, IDLE = 4'd1, SEARCH = 4'd2, UNLINK = 4'd3, FIND = 4'd4, JOIN = 4'd5, LINK = 4'd6,
               DROP = 4'd7, AGAIN = 4'd8, COMPARE = 4'd9;
    localparam CHANGED = WORST != 0 ? AGAIN : IDLE;  // what follows when the list has changed
    localparam [NODES:0] NOBODY = {1'b1, {NODES{1'b0}}};  // no node: its top bit
    localparam OFFSET = 3'b100, SIZE = 3'b010, NEXT = 3'b001;

    logic [3:0] state;
    logic waits;                     // without PIPELINED: the word is being registered
    logic [NODES:0] head, spare;     // the first node; the first one that was released
    logic [NODES:0] fresh;           // nodes from here on were never used
    logic [NODES:0] cursor, previous;
    logic [NODES:0] largest, before_largest;  // with WORST
    logic [WIDTH-1:0] largest_size;
    logic [WIDTH-1:0] offset, size;  // of the command
    logic [WIDTH-1:0] previous_end, previous_size;
    logic [NODES:0] behind;          // what follows the cursor's node
    logic [WIDTH-1:0] cursor_size;
    logic joins_previous, joins_cursor;

    // --- the word that is looked at ---
    logic [WIDTH-1:0] kept_offset, kept_size;
    logic [NODES:0] kept_next;
    wire [WIDTH-1:0] node_offset = PIPELINED != 0 ? read_offset : kept_offset;
    wire [WIDTH-1:0] node_size = PIPELINED != 0 ? read_size : kept_size;
    wire [NODES:0] node_next = PIPELINED != 0 ? read_next : kept_next;
    always_ff @(posedge clk) begin
        kept_offset <= read_offset;
        kept_size <= read_size;
        kept_next <= read_next;
    end

    // --- what is true of it ---
    wire fits = !cursor[NODES] && node_size >= size;
    wire exact = node_size == size;
    wire last = node_next[NODES];
    wire search_ends = fits || last || WORST != 0;
    wire [WIDTH:0] range_end = {1'b0, offset} + {1'b0, size};
    wire found = cursor[NODES] || node_offset >= offset;  // the place of a range that is given back
    wire behind_previous = !previous[NODES] && previous_end == offset;
    wire before_cursor = !cursor[NODES] && range_end == {1'b0, node_offset};
    wire overlaps = (!previous[NODES] && previous_end > offset) || (!cursor[NODES] && range_end > {1'b0, node_offset});
    wire takes = state == IDLE && command_valid && command_ready;
    wire [NODES:0] begins = WORST != 0 && !command_free ? largest : head;
    wire no_node = spare[NODES] && fresh == nodes;
    wire [NODES:0] slot = spare[NODES] ? fresh : spare;   // of the next node that comes into being

    assign command_ready = state == IDLE && (!answer_valid || answer_ready);

    // --- the memory's port ---
    always_comb begin
        memory_enable = 1'b0;
        memory_write = 3'b000;
        memory_address = cursor[NODES-1:0];
        write_offset = offset;
        write_size = size;
        write_next = NOBODY;
        case (state)
            BEGIN: begin  // the whole range is node 0
                memory_enable = 1'b1;
                memory_write = OFFSET | SIZE | NEXT;
                memory_address = {NODES{1'b0}};
                write_offset = base;
                write_size = capacity;
            end
            IDLE: begin
                memory_enable = takes && !begins[NODES];
                memory_address = begins[NODES-1:0];
            end
            SEARCH: if (!waits) begin
                memory_enable = fits || !search_ends;
                memory_address = fits ? cursor[NODES-1:0] : node_next[NODES-1:0];
                memory_write = !fits ? 3'b000 : exact ? NEXT : OFFSET | SIZE;
                write_offset = node_offset + size;
                write_size = node_size - size;
                write_next = spare;  // a node that is taken whole is the first spare one
            end
            UNLINK: begin
                memory_enable = !previous[NODES];
                memory_address = previous[NODES-1:0];
                memory_write = NEXT;
                write_next = behind;
            end
            FIND: if (!waits) begin
                memory_enable = found ? !spare[NODES] : !last;
                memory_address = found ? spare[NODES-1:0] : node_next[NODES-1:0];
            end
            JOIN: if (joins_previous) begin
                memory_enable = 1'b1;
                memory_address = previous[NODES-1:0];
                memory_write = joins_cursor ? SIZE | NEXT : SIZE;
                write_size = previous_size + size + (joins_cursor ? cursor_size : {WIDTH{1'b0}});
                write_next = behind;
            end else if (joins_cursor) begin
                memory_enable = 1'b1;
                memory_write = OFFSET | SIZE;
                write_size = size + cursor_size;
            end else begin
                memory_enable = !no_node;
                memory_address = slot[NODES-1:0];
                memory_write = OFFSET | SIZE | NEXT;
                write_next = cursor;
            end
            LINK: begin
                memory_enable = !previous[NODES];
                memory_address = previous[NODES-1:0];
                memory_write = NEXT;
                write_next = behind;
            end
            DROP: begin
                memory_enable = 1'b1;
                memory_write = NEXT;
                write_next = spare;
            end
            AGAIN: begin
                memory_enable = !head[NODES];
                memory_address = head[NODES-1:0];
            end
            COMPARE: if (!waits) begin
                memory_enable = !last;
                memory_address = node_next[NODES-1:0];
            end
            default: ;
        endcase
    end

    // --- what happens ---
    always_ff @(posedge clk) begin
        if (answer_valid && answer_ready) answer_valid <= 1'b0;
        waits <= 1'b0;
        case (state)
            BEGIN: begin
                head <= capacity == {WIDTH{1'b0}} ? NOBODY : {(NODES+1){1'b0}};
                spare <= NOBODY;
                fresh <= {{NODES{1'b0}}, 1'b1};
                state <= CHANGED;
            end
            IDLE: if (takes) begin
                offset <= command_offset;
                size <= command_size;
                cursor <= begins;
                previous <= WORST != 0 && !command_free ? before_largest : NOBODY;
                waits <= PIPELINED == 0;
                if (command_free) begin
                    state <= FIND;
                end else if (begins[NODES] && WORST == 0) begin
                    answer_valid <= 1'b1;
                    answer_status <= NO_BLOCK;
                end else begin
                    state <= SEARCH;
                end
            end
            SEARCH: if (!waits) begin
                waits <= PIPELINED == 0;
                answer_offset <= node_offset;
                behind <= node_next;
                if (fits && exact) begin
                    spare <= cursor;
                    state <= UNLINK;
                end else if (search_ends) begin
                    answer_valid <= 1'b1;
                    answer_status <= fits ? DONE : NO_BLOCK;
                    state <= fits ? CHANGED : IDLE;
                end else begin
                    previous <= cursor;
                    cursor <= node_next;
                end
            end
            UNLINK: begin
                if (previous[NODES]) head <= behind;
                answer_valid <= 1'b1;
                answer_status <= DONE;
                state <= CHANGED;
            end
            FIND: if (!waits) begin
                waits <= PIPELINED == 0 && !found;
                answer_offset <= offset;
                if (!found) begin
                    previous <= cursor;
                    previous_end <= node_offset + node_size;
                    previous_size <= node_size;
                    cursor <= node_next;
                end else if (overlaps) begin
                    answer_valid <= 1'b1;
                    answer_status <= NOT_TAKEN;
                    state <= IDLE;
                end else begin
                    joins_previous <= behind_previous;
                    joins_cursor <= before_cursor;
                    cursor_size <= node_size;
                    behind <= node_next;
                    state <= JOIN;
                end
            end
            JOIN: if (joins_previous && joins_cursor) begin
                state <= DROP;
            end else if (joins_previous || joins_cursor) begin
                answer_valid <= 1'b1;
                answer_status <= DONE;
                state <= CHANGED;
            end else if (no_node) begin
                answer_valid <= 1'b1;
                answer_status <= NO_NODE;
                state <= IDLE;
            end else begin
                if (spare[NODES]) fresh <= fresh + 1'b1;
                else spare <= read_next;
                behind <= slot;
                state <= LINK;
            end
            LINK: begin
                if (previous[NODES]) head <= behind;
                answer_valid <= 1'b1;
                answer_status <= DONE;
                state <= CHANGED;
            end
            DROP: begin
                spare <= cursor;
                answer_valid <= 1'b1;
                answer_status <= DONE;
                state <= CHANGED;
            end
            AGAIN: begin
                waits <= PIPELINED == 0;
                cursor <= head;
                previous <= NOBODY;
                largest <= NOBODY;
                largest_size <= {WIDTH{1'b0}};
                state <= head[NODES] ? IDLE : COMPARE;
            end
            COMPARE: if (!waits) begin
                waits <= PIPELINED == 0;
                if (node_size > largest_size) begin
                    largest <= cursor;
                    before_largest <= previous;
                    largest_size <= node_size;
                end
                previous <= cursor;
                cursor <= node_next;
                if (last) state <= IDLE;
            end
            default: ;
        endcase
        if (rst) begin
            state <= BEGIN;
            answer_valid <= 1'b0;
        end
    end
endmodule
