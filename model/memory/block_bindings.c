/* Mappings of blocks, and blocks that change their place with them. */
#include "block_bindings.h"

#include "base/grow.h"

#include <inttypes.h>
#include <string.h>

/* ---- mappings ---- */

static bool same_scope(const tla_scope *a, const tla_scope *b) {
    return a->sip_mask == b->sip_mask && a->die_mask == b->die_mask && a->pe_mask == b->pe_mask;
}

static size_t find(const tla_object_block *block, const tla_scope *scope, const tla_map_entry *e) {
    size_t i = 0;
    for (; i < block->binding_count; i++) {
        const tla_binding *b = &block->bindings[i];
        if (b->entry.va.value == e->va.value && b->entry.nbytes == e->nbytes && b->entry.asid == e->asid &&
            same_scope(&b->scope, scope))
            break;
    }
    return i;
}

/* The block that an entry leads to. */
static tla_status find_block(tla_object_store *store, const char *what, tla_site at, uint64_t nbytes,
                             tla_object_block **block, tla_work *work) {
    tla_error *error = &store->refused;
    if (work) work->metadata_lines++;
    if (nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s of 0x%" PRIx64 ": 0 bytes", what, at.pa.value);
    if (at.memory == TLA_MEMORY_KIND_COUNT || nbytes > UINT64_MAX - at.pa.value)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "%s of 0x%" PRIx64 ": the address is outside the controller's memories", what,
                             at.pa.value);
    *block = tla_live_addresses_get(&store->blocks, at.pa.value);
    if (!*block) *block = tla_object_find_overlapped(store, at, 1, false);
    if (!*block && (*block = tla_object_find_told(store, at.pa))) return tla_object_refuse_moving(*block, what);
    if (!*block || nbytes > (*block)->nbytes - (at.pa.value - (*block)->at.pa.value))
        return tla_error_set(error, TLA_NOT_ALLOCATED,
                             "%s of %" PRIu64 " bytes at 0x%" PRIx64 ": they are not in one block", what, nbytes,
                             at.pa.value);
    return (*block)->moving ? tla_object_refuse_moving(*block, what) : TLA_OK;
}

static void forget(tla_object_block *block, size_t i) {
    block->binding_count--;
    memmove(block->bindings + i, block->bindings + i + 1, (block->binding_count - i) * sizeof *block->bindings);
}

static tla_status bind_one(tla_object_store *store, const tla_scope *scope, const tla_map_entry *e, tla_site at,
                           tla_work *work) {
    tla_object_block *block = NULL;
    const tla_status status = find_block(store, "BIND", at, e->nbytes, &block, work);
    if (status) return status;
    if (find(block, scope, e) < block->binding_count)
        return tla_error_set(&store->refused, TLA_OVERLAP, "BIND of VA 0x%" PRIx64 ": the mapping is recorded already",
                             e->va.value);
    if (!tla_grow(&block->bindings, &block->binding_room, block->binding_count + 1, sizeof *block->bindings))
        return TLA_NO_HOST_MEMORY;
    block->bindings[block->binding_count++] = (tla_binding){.scope = *scope, .entry = *e};
    return TLA_OK;
}

/* The inverse of bind_one. */
static tla_status forget_one(tla_object_store *store, const tla_scope *scope, const tla_map_entry *e, tla_site at,
                             tla_work *work) {
    tla_object_block *block = NULL;
    const tla_status status = find_block(store, "UNBIND", at, e->nbytes, &block, work);
    if (!status) forget(block, find(block, scope, e));
    return status;
}

/* Marks a mapping that is to be forgotten: it stays as it is until all have been found. */
static tla_status mark_one(tla_object_store *store, const tla_scope *scope, const tla_map_entry *e, tla_site at,
                           tla_work *work) {
    tla_object_block *block = NULL;
    const tla_status status = find_block(store, "UNBIND", at, e->nbytes, &block, work);
    if (status) return status;
    const size_t i = find(block, scope, e);
    if (i == block->binding_count || block->bindings[i].going)
        return tla_error_set(&store->refused, TLA_NOT_FOUND, "UNBIND of VA 0x%" PRIx64 ": the mapping is not recorded",
                             e->va.value);
    block->bindings[i].going = true;
    return TLA_OK;
}

static tla_status unmark_one(tla_object_store *store, const tla_scope *scope, const tla_map_entry *e, tla_site at,
                             tla_work *work) {
    tla_object_block *block = NULL;
    const tla_status status = find_block(store, "UNBIND", at, e->nbytes, &block, work);
    if (!status) block->bindings[find(block, scope, e)].going = false;
    return status;
}

typedef tla_status (*step)(tla_object_store *store, const tla_scope *scope, const tla_map_entry *e, tla_site at,
                           tla_work *work);

/* All or none: what was done before a failure is undone. */
static tla_status for_all(tla_object_store *store, const tla_command *command, const tla_site *sites, step todo,
                          step undo, tla_work *work) {
    tla_status status = TLA_OK;
    uint32_t done = 0;
    store->refused.status = TLA_OK;
    for (; done < command->count && !status; done++)
        status = todo(store, &command->scope, &command->entries[done], sites[done], work);
    if (!status) return TLA_OK;
    const tla_error why = store->refused;
    for (done--; done-- > 0;)
        undo(store, &command->scope, &command->entries[done], sites[done], NULL); /* cannot fail */
    store->refused = why;
    return status;
}

tla_status tla_object_bind(tla_object_store *store, const tla_command *command, const tla_site *sites, tla_work *work) {
    return for_all(store, command, sites, bind_one, forget_one, work);
}

tla_status tla_object_unbind(tla_object_store *store, const tla_command *command, const tla_site *sites,
                             tla_work *work) {
    const tla_status status = for_all(store, command, sites, mark_one, unmark_one, work);
    for (uint32_t i = 0; i < command->count && !status; i++)
        forget_one(store, &command->scope, &command->entries[i], sites[i], NULL);
    return status;
}

bool tla_object_mappings(const tla_object_block *block, tla_opcode opcode, tla_paddr pa, size_t *first,
                         tla_command *command) {
    if (*first == block->binding_count) return false;
    command->opcode = opcode;
    command->scope = block->bindings[*first].scope;
    command->count = 0;
    for (; *first < block->binding_count && command->count < TLA_COMMAND_MAX_ENTRIES; ++*first) {
        const tla_binding *b = &block->bindings[*first];
        if (!same_scope(&b->scope, &command->scope)) break;
        tla_map_entry *e = &command->entries[command->count++];
        *e = b->entry;
        e->pa.value = pa.value + (b->entry.pa.value - block->at.pa.value);
    }
    return true;
}

/* ---- moves ---- */

/* Whether nobody else holds it, but the cache. */
static bool is_held_by(const tla_object_block *block, uint64_t who) {
    if (!block->object) return tla_holder_lets(block->allocated_for, who);
    for (size_t i = 0; i < block->holder_count; i++)
        if (!tla_holder_lets(block->holders[i].context, who)) return false;
    return true;
}

static uint64_t references_of_contexts(const tla_object_block *block) {
    uint64_t sum = block->object ? 0 : 1;
    for (size_t i = 0; i < block->holder_count; i++)
        sum += block->holders[i].held[TLA_HOLD_REFERENCE];
    return sum;
}

static bool is_cached(const tla_object_block *block) {
    return block->object && tla_mem_object_ref_count(block->object) > references_of_contexts(block);
}

tla_status tla_object_begin_move(tla_object_store *store, tla_site at, tla_memory_kind to, uint64_t who,
                                 tla_object_block **block, tla_work *work) {
    tla_status status = tla_object_begin(store, "MOVE", at, block, work);
    if (status) return status;
    tla_error *error = &store->refused;
    const uint64_t pa = at.pa.value;
    tla_mem_object *const object = (*block)->object;
    if (object && tla_mem_object_pin_count(object) > 0)
        return tla_error_set(error, TLA_BUSY, "MOVE of 0x%" PRIx64 ": the block has %" PRIu64 " pins", pa,
                             tla_mem_object_pin_count(object));
    if (!is_held_by(*block, who))
        return tla_error_set(error, TLA_NOT_OWNER, "MOVE of 0x%" PRIx64 ": another address space holds the block", pa);
    if ((*block)->binding_count == 0)
        return tla_error_set(error, TLA_UNMAPPED,
                             "MOVE of 0x%" PRIx64
                             ": no mapping of the block is recorded (BIND), so that it may be used "
                             "by this address",
                             pa);
    if (to != at.memory && is_cached(*block))
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "MOVE of 0x%" PRIx64 " to the %s: a block under a key stays in its memory", pa,
                             tla_memory_kind_title(to));
    if ((status = tla_live_addresses_reserve(&store->blocks)) != TLA_OK) return status;
    if (object) status = tla_mem_object_pin_for(object, 0, UINT64_MAX); /* no eviction */
    (*block)->moving = !status;
    (*block)->told = false;
    store->moving_count += !status;
    return status;
}

tla_status tla_object_begin_exchange(tla_object_store *store, const tla_object_block *block, tla_site to,
                                     tla_object_block **other) {
    tla_error *error = &store->refused;
    const uint64_t pa = block->at.pa.value;
    tla_object_block *const there = tla_live_addresses_get(&store->blocks, to.pa.value);
    if (!there)
        return tla_error_set(error, TLA_NOT_ALLOCATED,
                             "MOVE of 0x%" PRIx64 " to 0x%" PRIx64
                             ": the owner of the memory has placed no block there",
                             pa, to.pa.value);
    if (there->moving) return tla_object_refuse_moving(there, "MOVE");
    if (there->nbytes != block->nbytes)
        return tla_error_set(error, TLA_SIZE_MISMATCH,
                             "MOVE of 0x%" PRIx64 " to 0x%" PRIx64 ": %" PRIu64 " bytes to a place of %" PRIu64, pa,
                             to.pa.value, block->nbytes, there->nbytes);
    if (there->binding_count > 0)
        return tla_error_set(error, TLA_OVERLAP,
                             "MOVE of 0x%" PRIx64 " to 0x%" PRIx64 ": mappings lead to the block there", pa,
                             to.pa.value);
    there->to = block->at;
    there->moving = true;
    there->told = false;
    store->moving_count++;
    *other = there;
    return TLA_OK;
}

bool tla_object_may_move(const tla_object_block *block) {
    return !block->moving && block->binding_count > 0 && block->holder_count <= 1 &&
           (!block->object || tla_mem_object_pin_count(block->object) == 0);
}

void tla_object_change_place(tla_object_block *block, tla_site to) {
    tla_object_store *store = block->store;
    const uint64_t references = references_of_contexts(block);
    store->stats[block->at.memory].references -= references;
    if (to.memory != TLA_MEMORY_KIND_COUNT) store->stats[to.memory].references += references;
    for (size_t i = 0; i < block->binding_count; i++) {
        tla_paddr *pa = &block->bindings[i].entry.pa;
        pa->value = to.pa.value + (pa->value - block->at.pa.value);
    }
    tla_live_addresses_remove(&store->blocks, block->at.pa.value);
    if (to.memory != TLA_MEMORY_KIND_COUNT) tla_live_addresses_put(&store->blocks, to.pa.value, block);
    block->at = to;
    if (block->object) tla_mem_object_move(block->object, to.pa.value);
}

void tla_object_exchange_places(tla_object_block *block, tla_object_block *other) {
    const tla_site from = block->at, to = other->at;
    tla_live_addresses_remove(&block->store->blocks, to.pa.value);
    tla_object_change_place(block, to);
    other->at = from;
    tla_live_addresses_put(&block->store->blocks, from.pa.value, other);
}

void tla_object_end_move(tla_object_block *block) {
    block->moving = false;
    block->store->moving_count--;
    if (block->object) tla_mem_object_unpin(block->object, NULL); /* it has a reference: it stays */
}
