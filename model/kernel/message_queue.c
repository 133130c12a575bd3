/* The two ends of a direction of messages: credits, and slots in order. */
#include "tlmalloc/kernel/message_queue.h"

#include <inttypes.h>

static bool is_queue(uint32_t slots, uint64_t slot_size) {
    return slots >= 1 && slots <= TLA_MESSAGE_SLOTS_MAX && slot_size > 0;
}

/* ---- the sender's end ---- */

tla_status tla_message_sender_init(tla_message_sender *sender, uint32_t slots, uint64_t slot_size) {
    if (!is_queue(slots, slot_size)) return TLA_INVALID_ARGUMENT;
    *sender = (tla_message_sender){.slots = slots, .slot_size = slot_size};
    return TLA_OK;
}

bool tla_message_is_under_way(const tla_message_sender *sender) {
    return sender->offset < sender->total;
}

tla_status tla_message_begin(tla_message_sender *sender, uint64_t nbytes) {
    if (tla_message_is_under_way(sender)) return TLA_BUSY;
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    sender->messages++;
    sender->total = nbytes;
    sender->offset = 0;
    return TLA_OK;
}

tla_status tla_message_next(tla_message_sender *sender, tla_message_piece *piece) {
    if (!tla_message_is_under_way(sender)) return TLA_NOT_FOUND;
    if (sender->credits == 0) return TLA_LIMIT;
    const uint64_t left = sender->total - sender->offset;
    *piece = (tla_message_piece){.message = sender->messages - 1,
                                 .total = sender->total,
                                 .offset = sender->offset,
                                 .nbytes = left < sender->slot_size ? left : sender->slot_size,
                                 .slot = sender->next_slot};
    sender->credits--;
    sender->offset += piece->nbytes;
    sender->next_slot = (sender->next_slot + 1) % sender->slots;
    return TLA_OK;
}

void tla_message_drop(tla_message_sender *sender) {
    sender->offset = sender->total;
}

tla_status tla_message_credit(tla_message_sender *sender, uint32_t count) {
    if (count > sender->slots - sender->credits) return TLA_OUT_OF_RANGE;
    sender->credits += count;
    return TLA_OK;
}

/* ---- the receiver's end ---- */

tla_status tla_message_receiver_init(tla_message_receiver *receiver, uint32_t slots, uint64_t slot_size) {
    if (!is_queue(slots, slot_size)) return TLA_INVALID_ARGUMENT;
    *receiver = (tla_message_receiver){.slots = slots, .slot_size = slot_size};
    return TLA_OK;
}

static bool is_piece(const tla_message_receiver *receiver, const tla_message_piece *piece) {
    return piece->slot < receiver->slots && piece->nbytes > 0 && piece->nbytes <= receiver->slot_size &&
           piece->offset < piece->total && piece->nbytes <= piece->total - piece->offset;
}

static bool is_same(const tla_message_piece *a, const tla_message_piece *b) {
    return a->message == b->message && a->total == b->total && a->offset == b->offset && a->nbytes == b->nbytes &&
           a->slot == b->slot;
}

tla_status tla_message_arrived(tla_message_receiver *receiver, const tla_message_piece *piece, uint64_t nbytes,
                               tla_error *error) {
    if (!is_piece(receiver, piece))
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "a piece of %" PRIu64 " bytes at %" PRIu64 " of a message of %" PRIu64 ", for slot %" PRIu32
            ": must be inside the message and one of %" PRIu32 " slots of %" PRIu64 " bytes",
            piece->nbytes, piece->offset, piece->total, piece->slot, receiver->slots, receiver->slot_size);
    const bool is_free = receiver->at[piece->slot].piece.nbytes == 0;
    if (!is_free && !is_same(&receiver->at[piece->slot].piece, piece))
        return tla_error_set(error, TLA_OVERLAP,
                             "a piece of message %" PRIu64 " for slot %" PRIu32
                             ": the slot still holds a piece of message %" PRIu64,
                             piece->message, piece->slot, receiver->at[piece->slot].piece.message);
    const uint64_t before = is_free ? 0 : receiver->at[piece->slot].arrived;
    if (nbytes > piece->nbytes - before)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "%" PRIu64 " more bytes of a piece of %" PRIu64 " bytes, but %" PRIu64
                             " have already arrived",
                             nbytes, piece->nbytes, before);
    receiver->at[piece->slot].piece = *piece;
    receiver->at[piece->slot].arrived = before + nbytes;
    return TLA_OK;
}

tla_status tla_message_front(const tla_message_receiver *receiver, tla_message_piece *piece) {
    const tla_message_piece *first = &receiver->at[receiver->first].piece;
    if (first->nbytes == 0 || receiver->at[receiver->first].arrived < first->nbytes) return TLA_NOT_FOUND;
    *piece = *first;
    return TLA_OK;
}

tla_status tla_message_release(tla_message_receiver *receiver) {
    tla_message_piece piece;
    const tla_status status = tla_message_front(receiver, &piece);
    if (status != TLA_OK) return status;
    if (piece.message != receiver->message || piece.offset != receiver->offset ||
        (receiver->total != 0 && piece.total != receiver->total))
        return TLA_OUT_OF_RANGE;
    receiver->at[receiver->first].piece = (tla_message_piece){0};
    receiver->at[receiver->first].arrived = 0;
    receiver->first = (receiver->first + 1) % receiver->slots;
    const bool last = tla_message_piece_is_last(&piece);
    receiver->message += last;
    receiver->offset = last ? 0 : piece.offset + piece.nbytes;
    receiver->total = last ? 0 : piece.total;
    return TLA_OK;
}

uint32_t tla_message_taken(const tla_message_receiver *receiver) {
    uint32_t taken = 0;
    for (uint32_t slot = 0; slot < receiver->slots; slot++)
        taken += receiver->at[slot].piece.nbytes > 0;
    return taken;
}
