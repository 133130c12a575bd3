/* LMCache's ordered regions as fronts: an arena for each, asked in the order of a policy. */
#include "front.h"

#include "front_ranges.h"
#include "tlmalloc/cache/regions.h"
#include "tlmalloc/cache/segmented_memory.h"

#include <stdlib.h>

typedef struct regions_front {
    tla_regions *regions; /* NULL: the memory has no bytes */
    tla_segmented_config cut;
    tla_arena_set set;
    tla_arena **arenas;     /* in the order of their addresses */
    tla_arena_stats *stats; /* a tree over as many leaves: those of region i at set.count + i, of all at 1 */
} regions_front;

static tla_segmented_config cut_of(const tla_stack_config *c) {
    const uint64_t over = c->sizes.initial % c->alignment,
                   initial = c->sizes.initial + (over ? c->alignment - over : 0);
    return (tla_segmented_config){
        .initial = initial < c->capacity ? initial : c->capacity, .final = c->capacity, .segment = c->sizes.segment};
}

static tla_status make_arenas(regions_front *r, const tla_stack_config *c) {
    tla_status status = TLA_OK;
    for (uint64_t begin = 0; begin < c->capacity && !status; begin += tla_segmented_piece(&r->cut, begin)) {
        const tla_arena_config config = {.base = begin,
                                         .capacity = tla_segmented_piece(&r->cut, begin),
                                         .policy = tla_stack_placement(c->policy),
                                         .alignment = c->alignment};
        status = tla_arena_create(&config, &r->arenas[r->set.count]);
        r->set.count += !status;
    }
    return status;
}

static void join(regions_front *r, uint32_t node) {
    tla_arena_stats both = {0};
    tla_front_add_stats(&both, &r->stats[2 * node]);
    tla_front_add_stats(&both, &r->stats[2 * node + 1]);
    r->stats[node] = both;
}

/* After a change of a region. */
static void refresh(regions_front *r, uint32_t region) {
    uint32_t node = r->set.count + region;
    r->stats[node] = tla_arena_get_stats(r->arenas[region]);
    while ((node /= 2) > 0)
        join(r, node);
}

static tla_status make(tla_stack *stack, tla_region_policy policy) {
    const tla_stack_config *c = &stack->config;
    const uint64_t most = c->capacity / c->sizes.segment + 2; /* both parts may have a rest */
    regions_front *r = calloc(1, sizeof *r);
    if (!r) return TLA_NO_HOST_MEMORY;
    stack->state = r;
    r->cut = cut_of(c);
    r->arenas = r->set.arenas = calloc(most, sizeof *r->arenas);
    r->stats = calloc(2 * most, sizeof *r->stats);
    if (!r->arenas || !r->stats) return TLA_NO_HOST_MEMORY;
    tla_status status = make_arenas(r, c);
    if (!status && r->set.count > 0) status = tla_regions_create(&r->set, policy, &r->regions);
    for (uint32_t i = 0; !status && i < r->set.count; i++)
        refresh(r, i);
    return status;
}

static tla_status make_linear(tla_stack *stack, tla_error *error) {
    (void)error;
    return make(stack, TLA_REGIONS_LINEAR);
}

static tla_status make_interleaving(tla_stack *stack, tla_error *error) {
    (void)error;
    return make(stack, TLA_REGIONS_INTERLEAVING);
}

static void destroy(tla_stack *stack) {
    regions_front *r = stack->state;
    tla_regions_destroy(r->regions);
    for (uint32_t i = 0; i < r->set.count; i++)
        tla_arena_destroy(r->arenas[i]);
    free(r->arenas);
    free(r->stats);
    free(r);
}

static uint32_t pieces(uint64_t nbytes, uint64_t segment) {
    return (uint32_t)(nbytes / segment + (nbytes % segment > 0));
}

/* The region that has this byte; the number of regions: none. */
static uint32_t region_at(const tla_stack *stack, uint64_t offset) {
    const regions_front *r = stack->state;
    const tla_segmented_config *cut = &r->cut;
    if (offset >= cut->final) return r->set.count;
    if (offset < cut->initial) return (uint32_t)(offset / cut->segment);
    return pieces(cut->initial, cut->segment) + (uint32_t)((offset - cut->initial) / cut->segment);
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    regions_front *r = stack->state;
    if (!r->regions) return TLA_EXHAUSTED;
    tla_region_block taken;
    const tla_status status = tla_regions_alloc(r->regions, request->nbytes, 1, &taken, work);
    if (status) return status;
    refresh(r, taken.region);
    *granted = taken.block;
    return TLA_OK;
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    const regions_front *r = stack->state;
    const uint32_t region = region_at(stack, block.offset);
    return region < r->set.count ? tla_arena_granted(r->arenas[region], block.nbytes) : 0;
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    regions_front *r = stack->state;
    const uint32_t region = region_at(stack, block.offset);
    const tla_status status = tla_regions_free(r->regions, (tla_region_block){region, block}, work);
    if (!status) refresh(r, region);
    return status;
}

/* The regions may lack a hole for different reasons; the bytes of all decide. */
static uint64_t takes(const tla_stack *stack, const tla_stack_request *request) {
    (void)stack;
    return request->nbytes;
}

static tla_stack_stats stats(const tla_stack *stack) {
    const regions_front *r = stack->state;
    return tla_front_stats_of_ranges(stack, r->stats[1]);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    const regions_front *r = stack->state;
    return tla_front_explain_ranges(stack, what, request->nbytes, r->set.count, error);
}

#define REGIONS_FRONT(front_name, maker)                                                                               \
    {                                                                                                                  \
        .name = front_name, .over_placement = true, .has_own_ranges = true, .check = tla_front_check_segments,         \
        .make = maker, .destroy = destroy, .alloc = alloc, .granted = granted, .free = give_back, .takes = takes,      \
        .explain = explain, .stats = stats                                                                             \
    }

const tla_front_kind tla_front_linear_regions = REGIONS_FRONT("linear_regions", make_linear);
const tla_front_kind tla_front_interleaving_regions = REGIONS_FRONT("interleaving_regions", make_interleaving);
