/* Prices of receipts. */
#include "tlmalloc/base/work.h"

static const tla_engine_work nothing;

static const tla_engine_work *engine_of(const tla_work *work) {
    return work->engine ? work->engine : &nothing;
}

static uint64_t add(uint64_t sum, uint64_t count, uint64_t unit) {
    uint64_t product;
    if (__builtin_mul_overflow(count, unit, &product) || __builtin_add_overflow(sum, product, &sum)) return UINT64_MAX;
    return sum;
}

uint64_t tla_cost_price(const tla_cost_profile *p, const tla_work *w) {
    const tla_engine_work *e = engine_of(w);
    uint64_t price = e->cycles ? add(0, e->cycles, p->clock_ps) : p->fixed_ps;
    price = add(price, w->nodes_visited - e->nodes, p->node_ps);
    price = add(price, w->insert_nodes, p->insert_node_ps);
    price = add(price, w->probes, p->probe_ps);
    price = add(price, w->bin_searches, p->bin_search_ps);
    price = add(price, w->splits, p->split_ps);
    price = add(price, w->merges, p->merge_ps);
    price = add(price, w->metadata_lines, p->metadata_line_ps);
    price = add(price, w->allocs, p->alloc_ps);
    price = add(price, w->frees, p->free_ps);
    price = add(price, w->nodes_created, p->node_created_ps);
    price = add(price, w->nodes_released, p->node_released_ps);
    price = add(price, e->walks - e->walks_behind, p->walk_ps);
    price = add(price, e->walk_nodes - e->walk_nodes_behind, p->walk_node_ps);
    price = add(price, w->chunks, p->chunk_ps);
    price = add(price, w->pte_writes, p->pte_write_ps);
    price = add(price, w->table_levels, p->table_level_ps);
    price = add(price, w->invalidates, p->invalidate_ps);
    price = add(price, w->class_lookups, p->class_lookup_ps);
    price = add(price, w->list_pops, p->list_pop_ps);
    price = add(price, w->list_pushes, p->list_push_ps);
    price = add(price, w->slots, p->slot_ps);
    return add(price, w->driver_calls, p->driver_call_ps);
}

uint64_t tla_cost_behind(const tla_cost_profile *p, const tla_work *w) {
    const tla_engine_work *e = engine_of(w);
    uint64_t behind = add(0, e->cycles_behind, p->clock_ps);
    behind = add(behind, e->walks_behind, p->walk_ps);
    return add(behind, e->walk_nodes_behind, p->walk_node_ps);
}
