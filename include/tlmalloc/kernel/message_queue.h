/* One direction of messages between two PEs: slots in the receiver's memory, credits at the sender (KernBench's IPCQ,
 * ADR-0023).
 *
 * The receiver owns a ring of slots, and the sender owns a credit for each free slot. A message consists of pieces of
 * at most one slot each, in the order of the ring. A piece consumes a credit; after the receiver has read the slot, the
 * credit returns. Credits at the sender, pieces in flight, occupied slots and credits in flight always add up to the
 * number of slots. Each end knows of the other end only through pieces in one direction and credits in the other. This
 * module has the state and the decisions of each end, without a clock and without the bytes. It allocates nothing on
 * the host. */
#ifndef TLMALLOC_KERNEL_MESSAGE_QUEUE_H
#define TLMALLOC_KERNEL_MESSAGE_QUEUE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_MESSAGE_SLOTS_MAX = 64 };

/* A part of a message that uses one slot. */
typedef struct tla_message_piece {
    uint64_t message; /* number of the message in this direction, from 0 */
    uint64_t total;   /* bytes of the message, > 0 */
    uint64_t offset;  /* offset of the piece in its message */
    uint64_t nbytes;  /* bytes of the piece, > 0: a slot, or less for the last piece */
    uint32_t slot;    /* 0 .. slots - 1 */
} tla_message_piece;

static inline bool tla_message_piece_is_last(const tla_message_piece *piece) {
    return piece->offset + piece->nbytes == piece->total;
}

/* --- the sender's end --- */

typedef struct tla_message_sender {
    uint32_t slots, credits, next_slot;
    uint64_t slot_size;
    uint64_t messages;      /* messages begun */
    uint64_t total, offset; /* the current message; offset == total: no message */
} tla_message_sender;

/* Initializes a sender without credits. TLA_INVALID_ARGUMENT unless 1 <= slots <= TLA_MESSAGE_SLOTS_MAX and slot_size >
 * 0. */
tla_status tla_message_sender_init(tla_message_sender *sender, uint32_t slots, uint64_t slot_size);

/* Begins a message of `nbytes`. TLA_BUSY while the previous message has unsent pieces, TLA_INVALID_ARGUMENT for 0
 * bytes. */
tla_status tla_message_begin(tla_message_sender *sender, uint64_t nbytes);

/* Takes a credit for the next piece, and returns the piece and its slot. TLA_LIMIT without a credit, TLA_NOT_FOUND when
 * the message has no piece left. */
tla_status tla_message_next(tla_message_sender *sender, tla_message_piece *piece);

/* Returns whether the begun message has unsent pieces. */
bool tla_message_is_under_way(const tla_message_sender *sender);

/* Drops the unsent pieces of the message. */
void tla_message_drop(tla_message_sender *sender);

/* Adds `count` received credits. TLA_OUT_OF_RANGE, without adding any, if the credits would exceed the slots. */
tla_status tla_message_credit(tla_message_sender *sender, uint32_t count);

/* --- the receiver's end --- */

typedef struct tla_message_receiver {
    uint32_t slots, first; /* first: the slot that is read next */
    uint64_t slot_size;
    uint64_t message, offset; /* position of the piece that is read next */
    uint64_t total;           /* bytes of its message; 0: unknown before its first piece */
    struct {
        tla_message_piece piece; /* nbytes 0: the slot is free */
        uint64_t arrived;        /* bytes that have arrived */
    } at[TLA_MESSAGE_SLOTS_MAX];
} tla_message_receiver;

/* Initializes a receiver with free slots. Errors as tla_message_sender_init. */
tla_status tla_message_receiver_init(tla_message_receiver *receiver, uint32_t slots, uint64_t slot_size);

/* Adds `nbytes` more arrived bytes of a piece, in any order. TLA_INVALID_ARGUMENT for a piece that such a queue cannot
 * have. TLA_OVERLAP for a slot that has another piece, TLA_OUT_OF_RANGE for more bytes than the piece has. After an
 * error nothing has changed, and *error (may be NULL) has the found and the expected value. */
tla_status tla_message_arrived(tla_message_receiver *receiver, const tla_message_piece *piece, uint64_t nbytes,
                               tla_error *error);

/* Returns the piece that is read next, once it is complete. Pieces are read in the order in which they were sent, not
 * in that of their arrival. TLA_NOT_FOUND when it is not complete. */
tla_status tla_message_front(const tla_message_receiver *receiver, tla_message_piece *piece);

/* Releases that piece after reading: its slot is free, and the receiver owes the sender a credit. TLA_NOT_FOUND as
 * above. TLA_OUT_OF_RANGE, without any change, when the piece does not follow the last read piece. */
tla_status tla_message_release(tla_message_receiver *receiver);

/* Returns the number of slots with arrived bytes. */
uint32_t tla_message_taken(const tla_message_receiver *receiver);

/* --- Slots ---
 *
 * The memory of the slots of messages, and their costs by KernBench's tables. */

/* The memory of the receiver that has the slots: its TCM, its HBM slice, the SRAM of its cube. */
typedef enum tla_slot_memory { TLA_SLOTS_TCM, TLA_SLOTS_HBM, TLA_SLOTS_SRAM, TLA_SLOT_MEMORY_COUNT } tla_slot_memory;

/* "tcm", "hbm", "sram"; NULL for an unknown value. */
const char *tla_slot_memory_name(tla_slot_memory memory);

/* The cost of an access to a slot. Memory: the time of the memory and the route to it. KernBench: a set-up time and
 * bytes by a bandwidth from KernBench's tables, after the whole piece has arrived, and receivers wait for their
 * credits. With slots as large as the messages this is KernBench's model (CSV A; CSV B with the hop from the PE to its
 * bank; free, with slots that take no time, before commit 84a1325). */
typedef enum tla_slot_costs {
    TLA_SLOT_COSTS_MEMORY,
    TLA_SLOT_COSTS_KERNBENCH,
    TLA_SLOT_COSTS_KERNBENCH_HOP,
    TLA_SLOT_COSTS_KERNBENCH_FREE,
    TLA_SLOT_COSTS_COUNT
} tla_slot_costs;

/* "memory", "kernbench", "kernbench_hop", "kernbench_free"; NULL for an unknown value. */
const char *tla_slot_costs_name(tla_slot_costs costs);

/* Returns the time of such an access by a table, in ps; 0 with TLA_SLOT_COSTS_MEMORY and
 * TLA_SLOT_COSTS_KERNBENCH_FREE, which have none. */
uint64_t tla_slot_cost_ps(tla_slot_costs costs, tla_slot_memory memory, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
