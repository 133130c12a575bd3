/* Passes of a memory controller over objects under keys: they evict ahead of need, in memories that have reached the
 * watermark. */
#include "controller_state.h"

#include <inttypes.h>

enum { PERMILLE = 1000 };

static const uint64_t interval_max_ps = UINT64_C(1000000000000000); /* 1000 s */

tla_status tla_controller_check_watermark(const tla_controller_config *c, tla_error *error) {
    const tla_watermark_config *w = &c->watermark;
    if (w->permille == 0) return TLA_OK;
    if (w->permille > PERMILLE)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "watermark.permille: %" PRIu32 " permille: must be at most 1000", w->permille);
    if (w->share == 0 || w->share > PERMILLE)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "watermark.share: %" PRIu32 " permille: must be 1 .. 1000",
                             w->share);
    if (w->interval_ps == 0 || w->interval_ps > interval_max_ps)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "watermark.interval_ps: %" PRIu64 " ps: must be 1 .. %" PRIu64, w->interval_ps,
                             interval_max_ps);
    if (c->object_eviction == TLA_VICTIM_TENANT_LRU)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "watermark: object_eviction must be lru or arc, because tenants' quotas are the host's");
    return TLA_OK;
}

void tla_controller_compare(tla_controller *c, tla_memory_kind memory, uint64_t after_ps) {
    const uint32_t permille = c->config.watermark.permille;
    if (permille == 0) return;
    const tla_object_stats objects = tla_object_store_get_stats(c->objects, memory);
    const bool divided = objects.l1 > 0; /* then L2 has no objects */
    const uint64_t total = divided ? objects.l1 : tla_pe_memory_stack_config(&c->config.memory, memory).capacity,
                   used = divided ? objects.l1_used : tla_pe_memory_get_stats(c->memory, memory).used;
    c->passes[memory] =
        (tla_pass_state){objects.cache.entries > 0 && tla_watermark_is_reached(used, total, permille), after_ps};
}

/* Finds the memory whose pass comes next; among several at one time, the first. */
static bool find_pass(const tla_controller *c, tla_memory_kind *memory, uint64_t *at_ps) {
    const uint64_t interval = c->config.watermark.interval_ps;
    *at_ps = UINT64_MAX;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        if (!c->passes[i].is_due) continue;
        const uint64_t when_ps = c->origin_ps + ((c->passes[i].after_ps - c->origin_ps) / interval + 1) * interval;
        if (when_ps >= *at_ps) continue;
        *at_ps = when_ps;
        *memory = (tla_memory_kind)i;
    }
    return *at_ps < UINT64_MAX;
}

bool tla_controller_next_pass(const tla_controller *c, uint64_t *at_ps) {
    tla_memory_kind memory;
    return find_pass(c, &memory, at_ps);
}

tla_status tla_controller_evict_ahead(tla_controller *c, uint64_t until_ps, uint64_t *at_ps,
                                      tla_controller_outcome *outcome) {
    uint64_t evicted;
    *outcome = (tla_controller_outcome){.memory = c->first, .work.engine = &outcome->engine};
    if (!find_pass(c, &outcome->memory, at_ps) || *at_ps > until_ps) return TLA_NOT_FOUND;
    const tla_memory_kind memory = outcome->memory;
    tla_pe_memory_set_owner(c->memory, (tla_owner){0, TLA_WHO_UNKNOWN, *at_ps});
    const tla_status status =
        tla_object_evict_share(c->objects, memory, c->config.watermark.share, &evicted, &outcome->work);
    if (status == TLA_NO_HOST_MEMORY && evicted == 0) return status;
    c->changes++;
    tla_controller_compare(c, memory, *at_ps);
    c->passes[memory].is_due = c->passes[memory].is_due && evicted > 0;
    c->counts[memory].passes++;
    c->counts[memory].nodes_visited += outcome->work.nodes_visited;
    c->counts[memory].instructions += outcome->engine.instructions;
    c->counts[memory].driver_calls += outcome->work.driver_calls;
    outcome->arena = tla_pe_memory_get_stats(c->memory, memory);
    return TLA_OK;
}
