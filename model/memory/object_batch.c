/* Batches of blocks of an object store: looked at as a whole, then done. */
#include "object_block.h"

#include <inttypes.h>
#include <stdlib.h>

tla_status tla_object_alloc_batch(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request,
                                  size_t n, tla_batch batch, uint64_t who, tla_placed_block *blocks, tla_work *work) {
    store->refused.status = TLA_OK;
    if (n == 0) return TLA_OK;
    tla_block *taken = calloc(n, sizeof *taken);
    tla_status status = taken ? tla_object_prepare(store, n) : TLA_NO_HOST_MEMORY;
    if (!status) status = tla_object_admit(store, kind, request, n);
    if (!status) status = tla_pe_memory_request_batch(store->memory, kind, request, n, batch, taken, work);
    for (size_t i = 0; i < n && !status; i++) {
        const tla_site at = tla_pe_memory_site_at(tla_pe_memory_get_config(store->memory), kind, taken[i].offset);
        blocks[i] = (tla_placed_block){at.pa, request->nbytes};
        tla_object_enter(store, at, request->nbytes, who);
    }
    free(taken);
    return status;
}

/* ---- frees ---- */

/* Whether the last reference goes with this one, and no pin stays. */
static bool goes(const tla_object_block *block) {
    return !block->object ||
           (tla_mem_object_ref_count(block->object) == 1 && tla_mem_object_pin_count(block->object) == 0);
}

/* Looks at one block of a batch, in the memory of `memory`, if that is one. */
static tla_status look(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who, tla_memory_kind kind,
                       tla_object_block **block, tla_work *work) {
    static const char *const what = "FREE_BATCH";
    tla_status status = tla_object_begin(store, what, at, block, work);
    if (status) return status;
    const uint64_t pa = at.pa.value;
    if ((*block)->in_batch)
        return tla_error_set(&store->refused, TLA_NOT_ALLOCATED, "%s of 0x%" PRIx64 ": the block is in the batch twice",
                             what, pa);
    if (kind != TLA_MEMORY_KIND_COUNT && (*block)->at.memory != kind)
        return tla_error_set(&store->refused, TLA_INVALID_ARGUMENT,
                             "%s of 0x%" PRIx64 ": the block is in the %s, but the others are in the %s", what, pa,
                             tla_memory_kind_title((*block)->at.memory), tla_memory_kind_title(kind));
    if (!tla_object_is_size(*block, nbytes))
        return tla_error_set(&store->refused, TLA_SIZE_MISMATCH,
                             "%s of %" PRIu64 " bytes at 0x%" PRIx64 ": the block has %" PRIu64, what, nbytes, pa,
                             (*block)->nbytes);
    tla_holder *holder;
    if ((*block)->object) return tla_object_find_holder(*block, what, who, TLA_HOLD_REFERENCE, &holder);
    if (tla_holder_lets((*block)->allocated_for, who)) return TLA_OK;
    return tla_error_set(&store->refused, TLA_NOT_OWNER,
                         "%s of 0x%" PRIx64 " by asid %" PRIu64 ": the address space holds no reference", what, pa,
                         tla_who_context(who));
}

/* The last references are given up, and those blocks are free already. */
static void let_go(tla_object_store *store, tla_object_block *block, uint64_t who) {
    if (block->object) {
        tla_object_drop_reference(block, "FREE_BATCH", who, NULL, NULL); /* cannot fail: the memory is not asked */
        return;
    }
    store->stats[block->at.memory].references--;
    tla_object_forget(block);
}

/* A block to release, and its granted range. */
typedef struct going_block {
    tla_object_block *block;
    uint64_t granted;
} going_block;

static int by_address(const void *a, const void *b) {
    const going_block *x = a, *y = b;
    return (x->block->at.pa.value > y->block->at.pa.value) - (x->block->at.pa.value < y->block->at.pa.value);
}

static tla_status give_back(tla_object_store *store, const going_block *going, tla_block *ranges, size_t count,
                            size_t *freed, tla_work *work) {
    for (size_t i = 0; i < count; i++)
        going[i].block->going = true;
    const tla_status status =
        count > 0 ? tla_pe_memory_free_batch(store->memory, going[0].block->at.memory, ranges, count, freed, work)
                  : TLA_OK;
    for (size_t i = 0; i < count; i++)
        going[i].block->going = false;
    return status;
}

/* The blocks of a batch have been looked at: those that go, then the others. */
static tla_status give_up(tla_object_store *store, tla_object_block **named, size_t n, uint64_t who, size_t *freed,
                          tla_work *work) {
    going_block *going = calloc(n, sizeof *going);
    tla_block *ranges = calloc(n, sizeof *ranges);
    tla_status status = going && ranges ? TLA_OK : TLA_NO_HOST_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < n && !status; i++)
        if (goes(named[i])) going[count++].block = named[i];
    if (count > 0) qsort(going, count, sizeof *going, by_address);
    for (size_t i = 0; i < count; i++) {
        const tla_object_block *block = going[i].block;
        ranges[i] = (tla_block){block->at.offset, block->nbytes};
        going[i].granted = tla_pe_memory_granted(store->memory, block->at.memory, ranges[i]);
    }
    if (!status) status = give_back(store, going, ranges, count, freed, work);
    for (size_t i = 0; i < n; i++)
        named[i]->in_batch = false;
    for (size_t i = 0; i < n && !status; i++)
        if (!goes(named[i])) tla_object_drop_reference(named[i], "FREE_BATCH", who, NULL, NULL);
    for (size_t i = 0; i < *freed; i++) {
        const tla_site at = going[i].block->at;
        going[i].block->in_batch = true; /* its memory has it already */
        let_go(store, going[i].block, who);
        tla_object_tell(store, at, going[i].granted);
    }
    free(ranges);
    free(going);
    return status;
}

tla_status tla_object_free_batch(tla_object_store *store, const tla_site *sites, const tla_placed_block *blocks,
                                 size_t n, uint64_t who, size_t *freed, size_t *failed, tla_work *work) {
    store->refused.status = TLA_OK;
    *freed = *failed = 0;
    if (n == 0) return TLA_OK;
    tla_object_block **named = calloc(n, sizeof(tla_object_block *));
    if (!named) return TLA_NO_HOST_MEMORY;
    tla_status status = TLA_OK;
    tla_memory_kind kind = TLA_MEMORY_KIND_COUNT;
    size_t looked = 0;
    for (; looked < n && !status; looked++) {
        status = look(store, sites[looked], blocks[looked].nbytes, who, kind, &named[looked], work);
        if (status) break;
        kind = named[looked]->at.memory;
        named[looked]->in_batch = true;
    }
    *failed = status ? looked : 0;
    if (!status) {
        status = give_up(store, named, n, who, freed, work);
    } else {
        for (size_t i = 0; i < looked; i++)
            named[i]->in_batch = false;
    }
    free(named);
    return status;
}
