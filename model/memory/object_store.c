/* Blocks by address, counted from the first call on that counts. */
#include "tlmalloc/memory/object_store.h"

#include "object_block.h"

#include <inttypes.h>
#include <stdlib.h>

tla_object_block *tla_object_find_told(const tla_object_store *store, tla_paddr pa) {
    tla_object_block *block;
    for (size_t slot = 0; store->moving_count > 0 && (block = tla_live_addresses_walk(&store->blocks, &slot)) != NULL;)
        if (block->moving && block->told && pa.value - block->to.pa.value < block->nbytes) return block;
    return NULL;
}

/* The block that begins there, or is about to. */
static tla_object_block *find(const tla_object_store *store, tla_paddr pa) {
    tla_object_block *block = tla_live_addresses_get(&store->blocks, pa.value);
    if (!block) block = tla_object_find_told(store, pa);
    return block && (block->at.pa.value == pa.value || block->to.pa.value == pa.value) ? block : NULL;
}

/* Answers the guard. An uncounted block belongs to its owner. */
static tla_sharing sharing_of(void *context, uint64_t offset, uint64_t who) {
    const tla_object_share *share = context;
    const tla_site at = tla_pe_memory_site_at(tla_pe_memory_get_config(share->store->memory), share->memory, offset);
    const tla_object_block *block = at.memory == share->memory ? find(share->store, at.pa) : NULL;
    if (!block || !block->object) return TLA_NOT_SHARED;
    return block->going || tla_holder_is(block, who) ? TLA_SHARED_WITH : TLA_SHARED_WITHOUT;
}

tla_status tla_object_store_create(tla_pe_memory *memory, tla_victim_rule rule, const tla_object_watcher *watcher,
                                   tla_object_store **out) {
    *out = NULL;
    tla_object_store *store = calloc(1, sizeof *store);
    if (!store) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_pin_monitor_create(UINT64_MAX, &store->monitor);
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && !status; i++)
        status = tla_hot_cache_create(rule, &store->caches[i]);
    if (status) {
        tla_object_store_destroy(store);
        return status;
    }
    store->memory = memory;
    store->divided = TLA_MEMORY_KIND_COUNT;
    if (watcher) store->watcher = *watcher;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        store->shares[i].store = store;
        store->shares[i].memory = (tla_memory_kind)i;
        tla_pe_memory_set_shares(memory, (tla_memory_kind)i, &(tla_guard_shares){sharing_of, &store->shares[i]});
    }
    *out = store;
    return TLA_OK;
}

/* Releases everything that belongs to a block beside its record. */
static void release(tla_object_block *block) {
    tla_mem_object_destroy(block->object, NULL);
    free(block->holders);
    free(block->bindings);
}

static void keep(tla_object_store *store, tla_object_block *spare) {
    spare->next = store->spare;
    store->spare = spare;
    store->spare_count++;
}

void tla_object_forget(tla_object_block *block) {
    tla_live_addresses_remove(&block->store->blocks, block->at.pa.value);
    tla_object_unstage(block);
    release(block);
    keep(block->store, block);
}

void tla_object_store_destroy(tla_object_store *store) {
    if (!store) return;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && store->memory; i++)
        tla_pe_memory_set_shares(store->memory, (tla_memory_kind)i, &(tla_guard_shares){0});
    store->memory = NULL; /* so that nothing is released */
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        tla_hot_cache_destroy(store->caches[i], NULL);
    tla_object_block *block;
    for (size_t at = 0; (block = tla_live_addresses_walk(&store->blocks, &at)) != NULL;) {
        release(block);
        free(block);
    }
    while ((block = store->spare) != NULL) {
        store->spare = block->next;
        free(block);
    }
    tla_live_addresses_clear(&store->blocks);
    tla_pin_monitor_destroy(store->monitor);
    free(store);
}

/* ---- blocks ---- */

tla_status tla_object_prepare(tla_object_store *store, size_t n) {
    store->refused.status = TLA_OK;
    while (store->spare_count < n) {
        tla_object_block *block = calloc(1, sizeof *block);
        if (!block) return TLA_NO_HOST_MEMORY;
        keep(store, block);
    }
    return tla_live_addresses_reserve_more(&store->blocks, n);
}

void tla_object_enter(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who) {
    tla_object_block *block = store->spare;
    store->spare = block->next;
    store->spare_count--;
    *block = (tla_object_block){.store = store, .at = at, .nbytes = nbytes, .allocated_for = tla_holder_context(who)};
    tla_live_addresses_put(&store->blocks, at.pa.value, block);
    store->stats[at.memory].references++;
}

static uint64_t granted(const tla_object_store *store, tla_site at, uint64_t nbytes) {
    if (nbytes == 0 || at.memory == TLA_MEMORY_KIND_COUNT) return 0;
    return tla_pe_memory_granted(store->memory, at.memory, (tla_block){at.offset, nbytes});
}

void tla_object_tell(tla_object_store *store, tla_site at, uint64_t bytes) {
    if (store->watcher.given_back) store->watcher.given_back(store->watcher.context, at, bytes);
}

static tla_status give_back(tla_object_store *store, tla_site at, uint64_t nbytes, tla_work *work) {
    const uint64_t bytes = granted(store, at, nbytes);
    const tla_status status = tla_pe_memory_give_back(store->memory, at, nbytes, work);
    if (!status) tla_object_tell(store, at, bytes);
    return status;
}

/* The parent of all objects. */
static tla_status give_object_back(void *context, uint64_t address, uint64_t nbytes, tla_work *work) {
    tla_object_block *block = context;
    tla_object_store *store = block->store;
    (void)address, (void)nbytes;
    if (!store->memory) return TLA_OK;
    block->going = true;
    const tla_status status = block->in_batch ? TLA_OK : give_back(store, block->at, block->nbytes, work);
    block->going = false;
    tla_object_block **list = !status ? &store->gone : store->cache_gives_up ? &store->stayed : NULL;
    if (list) {
        block->next = *list;
        *list = block;
    }
    return status;
}

void tla_object_sweep(tla_object_store *store) {
    for (tla_object_block *block; (block = store->gone) != NULL;) {
        store->gone = block->next;
        tla_object_forget(block);
    }
    for (tla_object_block *block; (block = store->stayed) != NULL; store->stayed = block->next) {
        tla_holder_add(block, TLA_WHO_UNKNOWN,
                       TLA_HOLD_REFERENCE); /* no other requester holds it: the array has room */
        store->stats[block->at.memory].references++;
    }
}

/* ---- counts ---- */

tla_status tla_object_count(tla_object_block *block) {
    if (block->object) return TLA_OK;
    if (tla_holder_reserve(block)) return TLA_NO_HOST_MEMORY;
    const tla_mem_object_config config = {.address = block->at.pa.value,
                                          .nbytes = block->nbytes,
                                          .used = block->nbytes,
                                          .parent = {give_object_back, block},
                                          .monitor = block->store->monitor};
    const tla_status status = tla_mem_object_create(&config, &block->object);
    if (status) return status;
    block->holders[block->holder_count++] = (tla_holder){block->allocated_for, {[TLA_HOLD_REFERENCE] = 1}};
    return TLA_OK;
}

static uint64_t held(const tla_object_block *block, int kind) {
    if (!block->object) return kind == TLA_HOLD_REFERENCE;
    return kind == TLA_HOLD_REFERENCE ? tla_mem_object_ref_count(block->object)
                                      : tla_mem_object_pin_count(block->object);
}

/* Returns the holds without those of the cache. */
static uint64_t held_by_contexts(const tla_object_block *block, int kind) {
    uint64_t sum = block->object ? 0 : held(block, kind);
    for (size_t i = 0; i < block->holder_count; i++)
        sum += block->holders[i].held[kind];
    return sum;
}

static tla_object_counts counts_of(const tla_object_block *block) {
    return (tla_object_counts){block->at, block->nbytes, held(block, TLA_HOLD_REFERENCE), held(block, TLA_HOLD_PIN)};
}

/* The counts have changed. A block that nothing holds any more is none. */
static void settled(tla_object_block *block, tla_object_counts *counts) {
    if (counts) *counts = counts_of(block);
    tla_object_sweep(block->store);
}

static const char *const kinds[TLA_HOLD_KINDS] = {"reference", "pin"};

tla_status tla_object_refuse_moving(tla_object_block *block, const char *what) {
    return tla_error_set(&block->store->refused, TLA_BUSY,
                         "%s of 0x%" PRIx64 ": the block is moving; send the command again when the MOVE is done", what,
                         block->at.pa.value);
}

tla_status tla_object_begin(tla_object_store *store, const char *what, tla_site at, tla_object_block **block,
                            tla_work *work) {
    store->refused.status = TLA_OK;
    if (work) work->metadata_lines++;
    if (at.memory == TLA_MEMORY_KIND_COUNT)
        return tla_error_set(&store->refused, TLA_OUT_OF_RANGE,
                             "%s of 0x%" PRIx64 ": the address is outside the controller's memories", what,
                             at.pa.value);
    *block = find(store, at.pa);
    if (!*block)
        return tla_error_set(&store->refused, TLA_NOT_ALLOCATED, "%s of 0x%" PRIx64 ": no block begins at this address",
                             what, at.pa.value);
    if (!(*block)->moving) return TLA_OK;
    tla_object_refuse_moving(*block, what);
    return TLA_BUSY;
}

tla_status tla_object_find_holder(tla_object_block *block, const char *what, uint64_t who, int kind,
                                  tla_holder **holder) {
    tla_error *error = &block->store->refused;
    if (held_by_contexts(block, kind) == 0)
        return tla_error_set(error, TLA_NOT_ALLOCATED, "%s of 0x%" PRIx64 ": the block has no %s", what,
                             block->at.pa.value, kinds[kind]);
    if (!block->object && tla_holder_lets(block->allocated_for, who)) {
        const tla_status status = tla_object_count(block);
        if (status) return status;
    }
    *holder = block->object ? tla_holder_for(block, who, kind) : NULL;
    if (*holder) return TLA_OK;
    return tla_error_set(error, TLA_NOT_OWNER, "%s of 0x%" PRIx64 " by asid %" PRIu64 ": the address space holds no %s",
                         what, block->at.pa.value, tla_who_context(who), kinds[kind]);
}

tla_status tla_object_ref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                          tla_work *work) {
    tla_object_block *block;
    tla_status status = tla_object_begin(store, "REF", at, &block, work);
    if (!status) status = tla_object_count(block);
    if (!status) status = tla_holder_reserve(block);
    if (!status) status = tla_mem_object_ref_up(block->object);
    if (status) return status;
    tla_holder_add(block, who, TLA_HOLD_REFERENCE);
    store->stats[block->at.memory].references++;
    settled(block, counts);
    return TLA_OK;
}

tla_status tla_object_drop_reference(tla_object_block *block, const char *what, uint64_t who, tla_object_counts *counts,
                                     tla_work *work) {
    tla_holder *holder;
    tla_status status = tla_object_find_holder(block, what, who, TLA_HOLD_REFERENCE, &holder);
    if (!status) status = tla_mem_object_ref_down(block->object, work);
    if (status) return status;
    tla_holder_drop(block, holder, TLA_HOLD_REFERENCE);
    block->store->stats[block->at.memory].references--;
    settled(block, counts);
    return TLA_OK;
}

tla_status tla_object_unref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work) {
    tla_object_block *block;
    tla_status status = tla_object_begin(store, "UNREF", at, &block, work);
    return status ? status : tla_object_drop_reference(block, "UNREF", who, counts, work);
}

tla_status tla_object_pin(tla_object_store *store, tla_site at, uint64_t who, uint64_t now_ps, uint64_t timeout_ps,
                          tla_object_counts *counts, tla_work *work) {
    tla_object_block *block;
    tla_status status = tla_object_begin(store, "PIN", at, &block, work);
    if (!status) status = tla_object_count(block);
    if (!status) status = tla_holder_reserve(block);
    if (!status) status = tla_mem_object_pin_for(block->object, now_ps, timeout_ps);
    if (status) return status;
    tla_holder_add(block, who, TLA_HOLD_PIN);
    store->stats[block->at.memory].pins++;
    settled(block, counts);
    return TLA_OK;
}

tla_status tla_object_unpin(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work) {
    tla_object_block *block;
    tla_holder *holder;
    tla_status status = tla_object_begin(store, "UNPIN", at, &block, work);
    if (!status) status = tla_object_find_holder(block, "UNPIN", who, TLA_HOLD_PIN, &holder);
    if (!status) status = tla_mem_object_unpin(block->object, work);
    if (status) return status;
    tla_holder_drop(block, holder, TLA_HOLD_PIN);
    store->stats[block->at.memory].pins--;
    settled(block, counts);
    return TLA_OK;
}

/* ---- frees ---- */

static bool overlaps(const tla_object_block *block, tla_site at, uint64_t nbytes) {
    return block->at.pa.value < at.pa.value + nbytes && at.pa.value < block->at.pa.value + block->nbytes;
}

tla_object_block *tla_object_find_overlapped(const tla_object_store *store, tla_site at, uint64_t nbytes,
                                             bool counted) {
    tla_object_block *block;
    for (size_t slot = 0; (block = tla_live_addresses_walk(&store->blocks, &slot)) != NULL;)
        if (overlaps(block, at, nbytes) && (block->object || block->moving || !counted)) return block;
    return NULL;
}

/* Whether a block moves to a place in that range. */
static bool is_destination(const tla_object_store *store, tla_site at, uint64_t nbytes) {
    const tla_object_block *block;
    for (size_t slot = 0; store->moving_count > 0 && (block = tla_live_addresses_walk(&store->blocks, &slot)) != NULL;)
        if (block->moving && block->to.pa.value < at.pa.value + nbytes &&
            at.pa.value < block->to.pa.value + block->nbytes)
            return true;
    return false;
}

/* Returns whether a free there may name any range (ADR-0048 D2). */
static bool is_trusting(const tla_object_store *store, tla_site at) {
    if (at.memory == TLA_MEMORY_KIND_COUNT) return false;
    const tla_stack_config stack = tla_pe_memory_stack_config(tla_pe_memory_get_config(store->memory), at.memory);
    return !stack.validate && tla_stack_front(stack.policy) == TLA_FRONT_NONE;
}

bool tla_object_is_size(const tla_object_block *block, uint64_t nbytes) {
    const tla_pe_memory_config *config = tla_pe_memory_get_config(block->store->memory);
    if (nbytes == block->nbytes) return true;
    return tla_stack_front(tla_pe_memory_stack_config(config, block->at.memory).policy) == TLA_FRONT_NONE &&
           granted(block->store, block->at, nbytes) == granted(block->store, block->at, block->nbytes);
}

/* A free of a block that is counted gives up a reference. */
static tla_status free_counted(tla_object_block *block, uint64_t nbytes, uint64_t who, uint64_t *references,
                               tla_work *work) {
    if (work) work->metadata_lines++;
    if (!tla_object_is_size(block, nbytes))
        return tla_error_set(&block->store->refused, TLA_SIZE_MISMATCH,
                             "FREE of %" PRIu64 " bytes at 0x%" PRIx64 ": the block has %" PRIu64, nbytes,
                             block->at.pa.value, block->nbytes);
    tla_object_counts counts;
    tla_status status = tla_object_drop_reference(block, "FREE", who, &counts, work);
    if (!status) *references = counts.references;
    return status;
}

tla_status tla_object_free(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who, uint64_t *references,
                           tla_work *work) {
    store->refused.status = TLA_OK;
    *references = 0;
    tla_object_block *block = find(store, at.pa);
    if (block && block->moving) return tla_object_refuse_moving(block, "FREE");
    if (block && block->object) return free_counted(block, nbytes, who, references, work);
    /* Only a trusted free whose range differs from the block's can release other blocks too. */
    const bool takes_others = (!block || block->nbytes != nbytes) && is_trusting(store, at);
    const uint64_t bytes = granted(store, at, nbytes);
    if (takes_others && bytes <= UINT64_MAX - at.pa.value && tla_object_find_overlapped(store, at, bytes, true))
        return tla_error_set(&store->refused, TLA_OVERLAP,
                             "FREE of %" PRIu64 " bytes at 0x%" PRIx64
                             ": another block in this range has references, or moves now",
                             nbytes, at.pa.value);
    if ((!block || takes_others) && is_destination(store, at, nbytes))
        return tla_error_set(&store->refused, TLA_NOT_ALLOCATED,
                             "FREE of %" PRIu64 " bytes at 0x%" PRIx64 ": a block moves to a place in this range",
                             nbytes, at.pa.value);
    tla_status status = tla_pe_memory_give_back(store->memory, at, nbytes, work);
    if (status) return status;
    tla_object_tell(store, at, bytes);
    while (block || (takes_others && (block = tla_object_find_overlapped(store, at, bytes, false)) != NULL)) {
        store->stats[block->at.memory].references--;
        tla_object_forget(block);
        block = NULL;
    }
    return TLA_OK;
}

/* ---- pins that time out ---- */

bool tla_object_store_next_timeout(const tla_object_store *store, uint64_t *until_ps) {
    return tla_pin_monitor_next(store->monitor, until_ps) != NULL;
}

tla_status tla_object_store_end_pins(tla_object_store *store, uint64_t now_ps, tla_object_counts *counts,
                                     tla_work *work) {
    uint64_t until_ps;
    tla_mem_object *object = tla_pin_monitor_next(store->monitor, &until_ps);
    if (!object || now_ps <= until_ps) return TLA_NOT_FOUND;
    tla_object_block *block = find(store, (tla_paddr){tla_mem_object_address(object)});
    const uint64_t pins = tla_mem_object_pin_count(object);
    if (work) work->metadata_lines++;
    tla_status status = tla_pin_monitor_end(store->monitor, object, work);
    if (status) return status;
    tla_holder_drop_pins(block);
    store->stats[block->at.memory].pins -= pins;
    store->stats[block->at.memory].timeouts++;
    settled(block, counts);
    return TLA_OK;
}

/* ---- queries ---- */

tla_status tla_object_look(const tla_object_store *store, tla_site at, tla_object_counts *counts) {
    if (at.memory == TLA_MEMORY_KIND_COUNT) return TLA_OUT_OF_RANGE;
    const tla_object_block *block = find(store, at.pa);
    if (!block) return TLA_NOT_ALLOCATED;
    *counts = counts_of(block);
    return TLA_OK;
}

tla_object_stats tla_object_store_get_stats(const tla_object_store *store, tla_memory_kind kind) {
    tla_object_stats stats = store->stats[kind];
    stats.cache = tla_hot_cache_get_stats(store->caches[kind]);
    if (kind == store->divided) stats.l1 = store->parts.l1;
    return stats;
}

const tla_error *tla_object_store_last_error(const tla_object_store *store) {
    return &store->refused;
}
