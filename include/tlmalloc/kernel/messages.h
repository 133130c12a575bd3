/* The calls of a kernel that talk to other programs of its launch.
 *
 * A message is a tile; it goes from one program to another and is taken there in the order in which messages of that
 * direction were sent. Each direction has messages.slots slots of messages.slot_size bytes, in memory of the receiver's
 * PE that is allocated with the first message and freed when the receiver's kernel ends. A longer message goes in
 * pieces, and its slots are used again as the receiver takes them. */
#ifndef TLMALLOC_KERNEL_MESSAGES_H
#define TLMALLOC_KERNEL_MESSAGES_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sends a tile, or a view of one, to program `peer` (tl_program_id along TL_ALL). The PE's DMA writes it to free slots
 * there; where none is free, the call waits for a credit (messages.back_pressure). It returns when the last byte of the
 * tile has been read, so that the tile may be used again, and not when the bytes are there: nobody waits for the
 * receiver unless all slots are taken. The first message of a direction waits for its slots. A kernel's end waits until
 * all that it has sent is there.
 *
 * TLA_INVALID_ARGUMENT for a program that is none of the launch or this one, and for an empty tile; TLA_EXHAUSTED,
 * TLA_FRAGMENTED, ...: the allocator has no memory for the slots, and the next tl_send asks again. What a program never
 * takes that ends, or has ended, is an error of the run (TLA_NOT_RECEIVED), and not of the sender. */
static inline tla_status tl_send(tl_context *tl, uint32_t peer, const tl_tile *tile) {
    return tl->calls->send(tl, peer, tile);
}

/* Takes the next message of program `peer` into a tile, or a view of one; returns when its bytes are in the tile. Each
 * piece is copied out of its slot when all of it is there, and then its credit goes back by itself.
 *
 * TLA_INVALID_ARGUMENT as tl_send, and when the message has another type or other bytes in all than the tile; it stays
 * the next one then. Where nothing comes any more, and nobody of the launch can go on, the kernel is ended with
 * TLA_DEADLOCK, and the run says who waits for whom. */
static inline tla_status tl_recv(tl_context *tl, uint32_t peer, const tl_tile *tile) {
    return tl->calls->receive(tl, peer, tile);
}

/* Begins what tl_recv does and returns after its dispatch (pe.dispatch); *handle (may be NULL) is what tl_wait
 * (pipeline.h) waits for. Messages of a program are taken in the order of the calls, those of tl_recv among them; those
 * of several programs at the same time. A sender gets its credits while the kernel does something else.
 *
 * On failure nothing has begun and *handle is all zero: TLA_INVALID_ARGUMENT for what is no peer or an empty tile,
 * TLA_LIMIT when pe.outstanding handles have not been waited for. A message of another type or length is told by the
 * wait, and stays the next one. The tile must not be freed before (TLA_BUSY). */
static inline tla_status tl_recv_async(tl_context *tl, uint32_t peer, const tl_tile *tile, tl_handle *handle) {
    return tl->calls->receive_async(tl, peer, tile, handle);
}

/* The program that runs on a PE: by SIP of the platform, cube of the SIP, PE of the cube. TLA_NOT_FOUND where none of
 * this launch does, and said so; *program stays as it was then. Costs nothing. */
static inline tla_status tl_program_at(tl_context *tl, uint32_t sip, uint32_t cube, uint32_t pe, uint32_t *program) {
    return tl->calls->program_at(tl, sip, cube, pe, program);
}

/* The other way round: where a program of this launch runs. TLA_INVALID_ARGUMENT for one that is none, and said so;
 * *place stays as it was then. Costs nothing. */
static inline tla_status tl_place_of(tl_context *tl, uint32_t program, tl_place *place) {
    return tl->calls->place_of(tl, program, place);
}

/* How many cubes stand in a row of the SIP's mesh; cube c is in row c / columns, column c % columns. Costs nothing. */
static inline uint32_t tl_mesh_columns(const tl_context *tl) {
    return tl->calls->mesh_columns(tl);
}

/* North: to the row before. */
typedef enum tl_side { TL_NORTH, TL_SOUTH, TL_EAST, TL_WEST, TL_SIDE_COUNT } tl_side;

/* The program on the PE of the same number in the next cube on that side, of the same SIP. TLA_NOT_FOUND at the edge of
 * the mesh, and as tl_program_at; TLA_INVALID_ARGUMENT for a side that is none. Costs nothing. */
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
