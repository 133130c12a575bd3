/* The holders of a block of an object store: an array, for most blocks of one or two. */
#include "object_block.h"

#include <stdlib.h>
#include <string.h>

uint64_t tla_holder_context(uint64_t who) {
    return who == TLA_WHO_UNKNOWN ? who : tla_who_context(who);
}

static tla_holder *find(const tla_object_block *block, uint64_t context) {
    for (size_t i = 0; i < block->holder_count; i++)
        if (block->holders[i].context == context) return &block->holders[i];
    return NULL;
}

tla_status tla_holder_reserve(tla_object_block *block) {
    if (block->holder_count < block->holder_room) return TLA_OK;
    const size_t room = block->holder_room ? 2 * block->holder_room : 2;
    tla_holder *holders = realloc(block->holders, room * sizeof *holders);
    if (!holders) return TLA_NO_HOST_MEMORY;
    block->holders = holders;
    block->holder_room = room;
    return TLA_OK;
}

void tla_holder_add(tla_object_block *block, uint64_t who, int kind) {
    const uint64_t context = tla_holder_context(who);
    tla_holder *holder = find(block, context);
    if (!holder) {
        holder = &block->holders[block->holder_count++];
        *holder = (tla_holder){.context = context};
    }
    holder->held[kind]++;
}

static bool holds(const tla_holder *holder, int kind) {
    return holder && holder->held[kind] > 0;
}

tla_holder *tla_holder_for(tla_object_block *block, uint64_t who, int kind) {
    tla_holder *own = find(block, tla_holder_context(who)), *unknown = find(block, TLA_WHO_UNKNOWN);
    if (holds(own, kind)) return own;
    if (holds(unknown, kind)) return unknown;
    if (who != TLA_WHO_UNKNOWN && !(who & TLA_WHO_TRUSTED)) return NULL;
    for (size_t i = 0; i < block->holder_count; i++)
        if (holds(&block->holders[i], kind)) return &block->holders[i];
    return NULL;
}

bool tla_holder_lets(uint64_t context, uint64_t who) {
    return context == TLA_WHO_UNKNOWN || who == TLA_WHO_UNKNOWN || who & TLA_WHO_TRUSTED ||
           context == tla_who_context(who);
}

static void leave_if_empty(tla_object_block *block, tla_holder *holder) {
    for (int kind = 0; kind < TLA_HOLD_KINDS; kind++)
        if (holder->held[kind] > 0) return;
    const size_t behind = (size_t)(block->holders + block->holder_count - (holder + 1));
    memmove(holder, holder + 1, behind * sizeof *holder);
    block->holder_count--;
}

void tla_holder_drop(tla_object_block *block, tla_holder *holder, int kind) {
    holder->held[kind]--;
    leave_if_empty(block, holder);
}

void tla_holder_drop_pins(tla_object_block *block) {
    for (size_t i = block->holder_count; i-- > 0;) {
        block->holders[i].held[TLA_HOLD_PIN] = 0;
        leave_if_empty(block, &block->holders[i]);
    }
}

bool tla_holder_is(const tla_object_block *block, uint64_t who) {
    return find(block, tla_holder_context(who)) || find(block, TLA_WHO_UNKNOWN);
}
