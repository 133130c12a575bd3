/* The driver that takes its memory from arenas. */
#include "tlmalloc/cache/upstream.h"

#include <inttypes.h>
#include <stdio.h>

static tla_status arena_alloc(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work) {
    tla_arena_set *set = context;
    if (device >= set->count) return TLA_OUT_OF_RANGE;
    tla_block block;
    tla_status status = tla_arena_alloc(set->arenas[device], nbytes, &block, work);
    if (!status) *address = block.offset;
    return status;
}

static tla_status arena_free(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    tla_arena_set *set = context;
    if (device >= set->count) return TLA_OUT_OF_RANGE;
    return tla_arena_free(set->arenas[device], (tla_block){address, nbytes}, work);
}

static tla_status arena_explain(void *context, uint32_t device, uint64_t nbytes, tla_error *error) {
    const tla_arena_set *set = context;
    if (device >= set->count)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "device %" PRIu32 " does not exist: there are %" PRIu32 " devices", device, set->count);
    char what[32];
    snprintf(what, sizeof what, "device %" PRIu32, device);
    return tla_arena_explain(set->arenas[device], what, nbytes, error);
}

static uint64_t arena_serves_after(void *context, uint32_t device, const tla_block *returned, size_t count,
                                   uint64_t nbytes) {
    const tla_arena_set *set = context;
    return device < set->count ? tla_arena_serves_after(set->arenas[device], returned, count, nbytes) : 0;
}

tla_upstream tla_arena_upstream(tla_arena_set *set) {
    return (tla_upstream){.alloc = arena_alloc,
                          .free = arena_free,
                          .context = set,
                          .explain = arena_explain,
                          .serves_after = arena_serves_after};
}
