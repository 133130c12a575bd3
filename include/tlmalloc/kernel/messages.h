/* The calls of a kernel that exchange messages with other programs of its launch.
 *
 * A message is a tile that one program sends to another. The receiver takes messages of a direction in the order in
 * which they were sent. Each direction has messages.slots slots of messages.slot_size bytes. Their memory belongs to
 * the receiver's PE; it is allocated with the first message and released when the receiver's kernel ends. A longer
 * message is split into pieces, which reuse the slots as the receiver empties them. */
#ifndef TLMALLOC_KERNEL_MESSAGES_H
#define TLMALLOC_KERNEL_MESSAGES_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sends a tile, or a view of a tile, to program `peer` (tl_program_id along TL_ALL). The PE's DMA writes it to free
 * slots there. Without a free slot the call waits for a credit (messages.back_pressure). It returns when the last byte
 * of the tile has been read. The tile can then be reused, although the bytes may still be in flight. A sender waits for
 * its receiver only when all slots are occupied. The first message of a direction waits for its slots. At its end, a
 * kernel waits until all its messages have arrived.
 *
 * TLA_INVALID_ARGUMENT for this program itself, a program outside the launch, or an empty tile. TLA_EXHAUSTED,
 * TLA_FRAGMENTED, ...: the allocator has no memory for the slots, and the next tl_send requests it again. A message
 * that a program has not received at its end is an error of the run (TLA_NOT_RECEIVED), and not of the sender. */
static inline tla_status tl_send(tl_context *tl, uint32_t peer, const tl_tile *tile) {
    return tl->calls->send(tl, peer, tile);
}

/* Receives the next message of program `peer` into a tile, or a view of a tile; returns when its bytes are in the tile.
 * The call copies each piece out of its slot when the piece is complete. Its credit then returns without a further
 * call.
 *
 * TLA_INVALID_ARGUMENT as tl_send, and when the message differs from the tile in type or total bytes; it then stays the
 * next message. If no message can arrive any more and no program of the launch can continue, the kernel ends with
 * TLA_DEADLOCK. The run then reports which program waits for which. */
static inline tla_status tl_recv(tl_context *tl, uint32_t peer, const tl_tile *tile) {
    return tl->calls->receive(tl, peer, tile);
}

/* Starts a tl_recv and returns after its dispatch (pe.dispatch); *handle (may be NULL) is for tl_wait (pipeline.h).
 * Messages of a program are received in the order of the calls, including tl_recv. Messages of several programs are
 * received at the same time. A sender receives its credits while the kernel continues.
 *
 * On failure nothing has started and *handle is all zero. TLA_INVALID_ARGUMENT for an invalid peer or an empty tile.
 * TLA_LIMIT when pe.outstanding handles have not been waited for. The wait reports a message of another type or length,
 * which stays the next message. The tile must not be freed before the wait (TLA_BUSY). */
static inline tla_status tl_recv_async(tl_context *tl, uint32_t peer, const tl_tile *tile, tl_handle *handle) {
    return tl->calls->receive_async(tl, peer, tile, handle);
}

/* Returns the program that runs on a PE, given by SIP of the platform, cube of the SIP, PE of the cube. TLA_NOT_FOUND,
 * with a text, where no program of this launch runs; *program is unchanged then. Costs nothing. */
static inline tla_status tl_program_at(tl_context *tl, uint32_t sip, uint32_t cube, uint32_t pe, uint32_t *program) {
    return tl->calls->program_at(tl, sip, cube, pe, program);
}

/* Returns the place of a program of this launch. TLA_INVALID_ARGUMENT, with a text, for a program outside the launch;
 * *place is unchanged then. Costs nothing. */
static inline tla_status tl_place_of(tl_context *tl, uint32_t program, tl_place *place) {
    return tl->calls->place_of(tl, program, place);
}

/* Returns the number of cubes in a row of the SIP's mesh. Cube c is in row c / columns, column c % columns. Costs
 * nothing. */
static inline uint32_t tl_mesh_columns(const tl_context *tl) {
    return tl->calls->mesh_columns(tl);
}

/* North: to the previous row. */
typedef enum tl_side { TL_NORTH, TL_SOUTH, TL_EAST, TL_WEST, TL_SIDE_COUNT } tl_side;

/* Returns the program on the PE of the same number in the next cube on that side, in the same SIP. TLA_NOT_FOUND at the
 * edge of the mesh, and as tl_program_at; TLA_INVALID_ARGUMENT for an unknown side. Costs nothing. */
static inline tla_status tl_neighbour(tl_context *tl, tl_side side, uint32_t *program) {
    const uint32_t columns = tl_mesh_columns(tl), cubes = tl_num_programs(tl, TL_CUBE),
                   cube = tl_program_id(tl, TL_CUBE);
    const uint32_t row = cube / columns, column = cube % columns, rows = cubes / columns;
    static const char *const names[TL_SIDE_COUNT] = {"north", "south", "east", "west"};
    if ((unsigned)side >= TL_SIDE_COUNT)
        return tl_refuse(tl, "tl_neighbour: side %u must be TL_NORTH, TL_SOUTH, TL_EAST or TL_WEST", (unsigned)side);
    if ((side == TL_NORTH && row == 0) || (side == TL_SOUTH && row + 1 == rows) ||
        (side == TL_EAST && column + 1 == columns) || (side == TL_WEST && column == 0)) {
        char text[96];
        snprintf(text, sizeof text, "tl_neighbour: cube %u has no neighbour to the %s", cube, names[side]);
        return tl_fail(tl, TLA_NOT_FOUND, text);
    }
    const uint32_t next = side == TL_NORTH   ? cube - columns
                          : side == TL_SOUTH ? cube + columns
                          : side == TL_EAST  ? cube + 1
                                             : cube - 1;
    return tl_program_at(tl, tl_program_id(tl, TL_SIP), next, tl_program_id(tl, TL_PE), program);
}

#ifdef __cplusplus
}
#endif
#endif
