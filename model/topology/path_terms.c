/* The time of data over a path without other traffic: every flit over every hop, and its terms. */
#include "base/numbers.h"
#include "tlmalloc/topology/topology.h"

#include "base/saturate.h"
#include "tlmalloc/base/timeline.h"

#include <stdlib.h>

/* When each flit has passed a node at which it was there at times[flit]; `collects`: it passes none before all are. */
static void pass_node(const tla_path_hop *hop, bool collects, uint64_t *times, uint64_t count) {
    uint64_t free_ps = collects ? times[count - 1] : times[0];
    free_ps = add_saturated(free_ps, hop->overhead_ps);
    for (uint64_t i = 0; i < count; i++)
        times[i] = later(times[i], free_ps);
}

/* When each flit is at the end of the link. */
static void pass_link(const tla_path_hop *hop, uint64_t *times, uint64_t count, uint64_t flit, uint64_t last) {
    const uint64_t flit_ps = tla_transfer_ps(flit, hop->bandwidth), last_ps = tla_transfer_ps(last, hop->bandwidth);
    uint64_t free_ps = 0;
    for (uint64_t i = 0; i < count; i++) {
        free_ps = add_saturated(later(times[i], free_ps), i + 1 < count ? flit_ps : last_ps);
        times[i] = add_saturated(free_ps, hop->latency_ps);
    }
}

static uint64_t times_saturated(uint64_t count, uint64_t ps) {
    uint64_t product;
    return __builtin_mul_overflow(count, ps, &product) ? UINT64_MAX : product;
}

static tla_path_terms add_terms(const tla_path_hop *hops, size_t count, uint64_t flit, uint64_t flits) {
    tla_path_terms terms = {0};
    const uint64_t others = flits ? flits - 1 : 0;
    uint64_t slowest_ps = 0; /* a flit's time on the slowest link since all of them were in one node */
    for (size_t i = 0; i < count; i++) {
        terms.overhead_ps = add_saturated(terms.overhead_ps, hops[i].overhead_ps);
        if (i + 1 == count) break;
        if (hops[i].store_and_forward) {
            terms.collected_ps = add_saturated(terms.collected_ps, times_saturated(others, slowest_ps));
            slowest_ps = 0;
        }
        const uint64_t flit_ps = flits ? tla_transfer_ps(flit, hops[i].bandwidth) : 0;
        terms.fill_ps = add_saturated(terms.fill_ps, flit_ps);
        terms.wire_ps = add_saturated(terms.wire_ps, hops[i].latency_ps);
        slowest_ps = later(slowest_ps, flit_ps);
    }
    terms.drain_ps = times_saturated(others, slowest_ps);
    return terms;
}

tla_status tla_path_terms_of(const tla_path_hop *hops, size_t count, uint64_t flit, uint64_t nbytes,
                             tla_path_terms *terms) {
    if (count == 0 || flit == 0 || (nbytes > 0 && (nbytes - 1) / flit > UINT32_MAX)) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i + 1 < count; i++)
        if (hops[i].bandwidth == 0) return TLA_INVALID_ARGUMENT;
    const uint64_t flits = nbytes / flit + (nbytes % flit != 0);
    *terms = add_terms(hops, count, flits == 1 ? nbytes : flit, flits);
    const uint64_t sum_ps = add_saturated(add_saturated(add_saturated(terms->fill_ps, terms->overhead_ps),
                                                        add_saturated(terms->wire_ps, terms->drain_ps)),
                                          terms->collected_ps);
    if (flits == 0) {
        terms->end_ps = sum_ps;
        return TLA_OK;
    }
    uint64_t *times = calloc((size_t)flits, sizeof *times);
    if (!times) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const bool is_end = i + 1 == count; /* from where nothing is passed on */
        pass_node(&hops[i], hops[i].store_and_forward && !is_end, times, flits);
        if (!is_end) pass_link(&hops[i], times, flits, flit, nbytes - (flits - 1) * flit);
    }
    terms->end_ps = times[flits - 1];
    terms->hidden_ps = sum_ps - terms->end_ps;
    free(times);
    return TLA_OK;
}

tla_status tla_path_terms_once(const tla_path_hop *hops, size_t count, uint64_t nbytes, tla_path_terms *terms) {
    *terms = (tla_path_terms){0};
    if (count == 0) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; i++) {
        terms->overhead_ps = add_saturated(terms->overhead_ps, hops[i].overhead_ps);
        if (i + 1 == count) break;
        if (hops[i].bandwidth == 0) return TLA_INVALID_ARGUMENT;
        terms->wire_ps = add_saturated(terms->wire_ps, hops[i].latency_ps);
        terms->drain_ps = later(terms->drain_ps, tla_transfer_ps(nbytes, hops[i].bandwidth));
    }
    terms->end_ps = add_saturated(add_saturated(terms->overhead_ps, terms->wire_ps), terms->drain_ps);
    return TLA_OK;
}
