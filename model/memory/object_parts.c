/* A memory of an object store in two parts: L1 for objects, L2 for the rest. */
#include "object_block.h"

#include <inttypes.h>

void tla_object_divide(tla_object_store *store, tla_memory_kind kind, const tla_partition *parts) {
    store->divided = kind;
    store->parts = *parts;
}

/* Bytes of the blocks in L2. */
static uint64_t used_in_l2(const tla_object_store *store) {
    return tla_pe_memory_get_stats(store->memory, store->divided).used - store->stats[store->divided].l1_used;
}

uint64_t tla_object_room(const tla_object_store *store, tla_memory_kind kind, bool in_l1) {
    if (kind != store->divided) return UINT64_MAX;
    const uint64_t bytes = in_l1 ? store->parts.l1 : store->parts.l2,
                   used = in_l1 ? store->stats[kind].l1_used : used_in_l2(store);
    return used < bytes ? bytes - used : 0;
}

/* The bytes that a block will have; with a front at least. */
static uint64_t needs(const tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request) {
    const tla_pe_memory_config *config = tla_pe_memory_get_config(store->memory);
    if (tla_stack_front(tla_pe_memory_stack_config(config, kind).policy) != TLA_FRONT_NONE)
        return tla_stack_takes(tla_pe_memory_stack(store->memory, kind), request);
    return request->nbytes ? tla_pe_memory_granted(store->memory, kind, (tla_block){0, request->nbytes}) : 0;
}

/* A block that no part would ever hold is refused by the stack, which has a status of its own for it. */
static bool fits_never(const tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request) {
    tla_error error;
    return tla_stack_explain(tla_pe_memory_stack(store->memory, kind), "", request, &error) == TLA_OUT_OF_RANGE;
}

bool tla_object_exceeds_l1(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request) {
    const bool exceeds =
        kind == store->divided && needs(store, kind, request) > store->parts.l1 && !fits_never(store, kind, request);
    if (exceeds) store->stats[kind].shortages++;
    return exceeds;
}

bool tla_object_lacks(tla_object_store *store, tla_memory_kind kind, bool in_l1, const tla_stack_request *request,
                      size_t n) {
    if (kind != store->divided) return false;
    const uint64_t nbytes = needs(store, kind, request);
    const bool lacks =
        nbytes > 0 && tla_object_room(store, kind, in_l1) / nbytes < n && !fits_never(store, kind, request);
    store->stats[kind].shortages += lacks;
    return lacks;
}

tla_status tla_object_admit(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request, size_t n) {
    return tla_object_lacks(store, kind, false, request, n) ? TLA_EXHAUSTED : TLA_OK;
}

/* L1 of so many permille, as tla_partition_of computes it. */
static uint64_t l1_of(const tla_partition *parts, uint32_t permille) {
    const uint64_t nbytes = parts->l1 + parts->l2;
    return nbytes / 1000 * permille + nbytes % 1000 * permille / 1000;
}

/* The size of a free block in which every policy surely finds so many bytes. */
static uint64_t surely_serves(const tla_object_store *store, tla_memory_kind kind, uint64_t nbytes) {
    const tla_stack_config stack = tla_pe_memory_stack_config(tla_pe_memory_get_config(store->memory), kind);
    return tla_stack_placement(stack.policy) == TLA_TLSF ? nbytes + nbytes / 8 : nbytes; /* it searches a class up */
}

bool tla_object_smaller_l1_serves(const tla_object_store *store, tla_memory_kind kind,
                                  const tla_stack_request *request) {
    if (kind != store->divided) return false;
    const tla_partition *parts = &store->parts;
    const uint64_t nbytes = needs(store, kind, request), room = tla_object_room(store, kind, false),
                   held = store->stats[kind].l1_used, least = held > parts->least ? held : parts->least;
    if (nbytes <= room || nbytes > UINT64_MAX / 2) return false;
    if (tla_pe_memory_get_stats(store->memory, kind).proven_largest < surely_serves(store, kind, nbytes)) return false;
    uint32_t permille = 1;
    while (permille < 1000 && (l1_of(parts, permille) == 0 || l1_of(parts, permille) < least))
        permille++;
    const uint64_t l1 = l1_of(parts, permille), bytes = parts->l1 + parts->l2 - used_in_l2(store);
    return l1 < parts->l1 && bytes >= l1 && bytes - l1 >= nbytes;
}

void tla_object_stage(tla_object_block *block) {
    tla_object_store *store = block->store;
    const tla_memory_kind kind = block->at.memory;
    tla_object_stats *stats = &store->stats[kind];
    if (kind != store->divided || block->in_l1 > 0) return;
    block->in_l1 = tla_pe_memory_granted(store->memory, kind, (tla_block){block->at.offset, block->nbytes});
    stats->l1_used += block->in_l1;
    if (stats->l1_used > stats->peak_l1_used) stats->peak_l1_used = stats->l1_used;
}

void tla_object_unstage(tla_object_block *block) {
    if (block->in_l1 == 0) return; /* its memory may have left this controller */
    block->store->stats[block->at.memory].l1_used -= block->in_l1;
    block->in_l1 = 0;
}

tla_status tla_object_check_stage(tla_object_store *store, tla_mem_object *const *objects, size_t n) {
    const tla_memory_kind kind = tla_object_block_of(store, objects[0])->at.memory;
    const uint64_t room = tla_object_room(store, kind, true);
    uint64_t more = 0;
    for (size_t i = 0; i < n; i++) { /* a block may be named twice */
        tla_object_block *block = tla_object_block_of(store, objects[i]);
        if (block->in_l1 > 0 || block->in_batch) continue;
        block->in_batch = true;
        more += tla_pe_memory_granted(store->memory, kind, (tla_block){block->at.offset, block->nbytes});
    }
    for (size_t i = 0; i < n; i++)
        tla_object_block_of(store, objects[i])->in_batch = false;
    if (more <= room) return TLA_OK;
    store->stats[kind].shortages++;
    return tla_error_set(&store->refused, TLA_EXHAUSTED,
                         "PUT of %" PRIu64 " bytes of the %s: L1 has room for %" PRIu64
                         "; allocate the blocks of objects by EVICT, which makes room",
                         more, tla_memory_kind_title(kind), room);
}

tla_status tla_object_move_border(tla_object_store *store, uint64_t l1, tla_error *error) {
    if (store->divided == TLA_MEMORY_KIND_COUNT)
        return tla_error_set(error, TLA_UNSUPPORTED, "no memory is in two parts: set controller.partition");
    tla_partition moved = store->parts;
    const char *const of = tla_memory_kind_title(store->divided);
    const uint64_t nbytes = moved.l1 + moved.l2;
    const tla_status status = tla_partition_move(&moved, l1);
    if (status == TLA_EXHAUSTED)
        return tla_error_set(error, status, "L1 of the %s of %" PRIu64 " bytes: staging needs at least %" PRIu64, of,
                             l1, moved.least);
    if (status)
        return tla_error_set(error, status, "L1 of the %s of %" PRIu64 " bytes: must be 1 .. %" PRIu64, of, l1,
                             nbytes - 1);
    const bool shrinks = moved.l1 < store->parts.l1;
    const uint64_t used = shrinks ? store->stats[store->divided].l1_used : used_in_l2(store);
    if (l1 != store->parts.l1 && used > (shrinks ? moved.l1 : moved.l2))
        return tla_error_set(error, TLA_BUSY,
                             "L1 of the %s of %" PRIu64 " bytes: L%d has blocks of %" PRIu64
                             " bytes, and would have %" PRIu64,
                             of, l1, shrinks ? 1 : 2, used, shrinks ? moved.l1 : moved.l2);
    store->parts = moved;
    return TLA_OK;
}
