/* One direction of messages between two PEs: slots in the receiver's memory, credits at the sender (KernBench's IPCQ,
 * ADR-0023).
 *
 * The receiver owns a ring of slots, the sender a credit for each that is free. A message goes in pieces of at most a
 * slot each, in the order of the ring: a piece takes a credit, and a slot that the receiver has read gives it back. So
 * credits at the sender, pieces on their way, slots that are taken and credits on their way are as many as there are
 * slots, always. The two ends know of each other only what travels: pieces one way, credits the other; this is the
 * state of each end and what it decides, without a clock and without the bytes. Nothing is allocated on the host. */
#ifndef TLMALLOC_KERNEL_MESSAGE_QUEUE_H
#define TLMALLOC_KERNEL_MESSAGE_QUEUE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_MESSAGE_SLOTS_MAX = 64 };

/* A part of a message that goes through one slot. */
typedef struct tla_message_piece {
    uint64_t message; /* which of this direction, from 0 */
    uint64_t total;   /* bytes of the message, > 0 */
    uint64_t offset;  /* of the piece in its message */
    uint64_t nbytes;  /* of the piece, > 0; a slot or, of the last one, less */
    uint32_t slot;    /* 0 .. slots - 1 */
} tla_message_piece;

static inline bool tla_message_piece_is_last(const tla_message_piece *piece) {
    return piece->offset + piece->nbytes == piece->total;
}

/* --- the sender's end --- */

typedef struct tla_message_sender {
    uint32_t slots, credits, next_slot;
    uint64_t slot_size;
    uint64_t messages;      /* begun */
    uint64_t total, offset; /* of the one that is being sent; offset == total: none */
} tla_message_sender;

/* A sender that has no credit yet. TLA_INVALID_ARGUMENT unless 1 <= slots <= TLA_MESSAGE_SLOTS_MAX and slot_size > 0.
 */
tla_status tla_message_sender_init(tla_message_sender *sender, uint32_t slots, uint64_t slot_size);

/* Begins a message of `nbytes`. TLA_BUSY while pieces of the one before are left, TLA_INVALID_ARGUMENT for 0 bytes. */
tla_status tla_message_begin(tla_message_sender *sender, uint64_t nbytes);

/* What may go now: takes a credit and says which piece goes to which slot. TLA_LIMIT when there is no credit,
 * TLA_NOT_FOUND when nothing is left of the message. */
tla_status tla_message_next(tla_message_sender *sender, tla_message_piece *piece);

/* Whether pieces of the message that was begun are left. */
bool tla_message_is_under_way(const tla_message_sender *sender);

/* What is left of the message is not sent. */
void tla_message_drop(tla_message_sender *sender);

/* `count` credits have come. TLA_OUT_OF_RANGE, and none is taken, when there would be more than slots. */
tla_status tla_message_credit(tla_message_sender *sender, uint32_t count);

/* --- the receiver's end --- */

typedef struct tla_message_receiver {
    uint32_t slots, first; /* the slot that is read next */
    uint64_t slot_size;
    uint64_t message, offset; /* of the piece that is read next */
    uint64_t total;           /* of its message; 0: not known before its first piece */
    struct {
        tla_message_piece piece; /* nbytes 0: the slot is free */
        uint64_t arrived;        /* bytes of it */
    } at[TLA_MESSAGE_SLOTS_MAX];
} tla_message_receiver;

/* A receiver whose slots are free. Errors as tla_message_sender_init. */
tla_status tla_message_receiver_init(tla_message_receiver *receiver, uint32_t slots, uint64_t slot_size);

/* `nbytes` more of a piece have arrived, in any order. TLA_INVALID_ARGUMENT for what is no piece of such a queue,
 * TLA_OVERLAP for a slot that has another piece, TLA_OUT_OF_RANGE for more bytes than the piece has; nothing has
 * arrived then, and *error (may be NULL) says what was found and expected. */
tla_status tla_message_arrived(tla_message_receiver *receiver, const tla_message_piece *piece, uint64_t nbytes,
                               tla_error *error);

/* The piece that is read next, once all of it is there: pieces are read in the order in which they were sent, whatever
 * has arrived earlier. TLA_NOT_FOUND when it is not there. */
tla_status tla_message_front(const tla_message_receiver *receiver, tla_message_piece *piece);

/* That piece has been read: its slot is free, and a credit is owed to the sender. TLA_NOT_FOUND as above;
 * TLA_OUT_OF_RANGE, and nothing has changed, when it does not follow what was read before. */
tla_status tla_message_release(tla_message_receiver *receiver);

/* Slots that something has arrived in. */
uint32_t tla_message_taken(const tla_message_receiver *receiver);

/* --- Slots ---
 *
 * Where the slots of messages lie, and what they cost by KernBench's tables. */

/* In which memory of the receiver the slots lie: its TCM, its HBM slice, the SRAM of its cube. */
typedef enum tla_slot_memory { TLA_SLOTS_TCM, TLA_SLOTS_HBM, TLA_SLOTS_SRAM, TLA_SLOT_MEMORY_COUNT } tla_slot_memory;

/* "tcm", "hbm", "sram"; NULL for a value that is none. */
const char *tla_slot_memory_name(tla_slot_memory memory);

/* What an access to a slot costs: what the memory, and the way to it, take; or a set-up time and bytes by a bandwidth
 * from KernBench's tables, after all of the piece is there, and receivers wait for their credits: with slots as large
 * as the messages this is KernBench's model (CSV A; CSV B with the hop from the PE to its bank). */
typedef enum tla_slot_costs {
    TLA_SLOT_COSTS_MEMORY,
    TLA_SLOT_COSTS_KERNBENCH,
    TLA_SLOT_COSTS_KERNBENCH_HOP,
    TLA_SLOT_COSTS_COUNT
} tla_slot_costs;

/* "memory", "kernbench", "kernbench_hop"; NULL for a value that is none. */
const char *tla_slot_costs_name(tla_slot_costs costs);

/* What such an access takes by a table, in ps; 0 with TLA_SLOT_COSTS_MEMORY. */
uint64_t tla_slot_cost_ps(tla_slot_costs costs, tla_slot_memory memory, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
