/* A law of steps with the prices of decisions about memory. */
#include "serving/priced_law.h"

#include "model/base/saturate.h"

static bool maps(const tla_work *work) {
    return work->chunks || work->pte_writes || work->table_levels || work->invalidates;
}

/* Splits a receipt: the work of the allocator, and that of mappings. */
static tla_work mapping_of(const tla_work *work) {
    return (tla_work){.chunks = work->chunks,
                      .pte_writes = work->pte_writes,
                      .table_levels = work->table_levels,
                      .invalidates = work->invalidates};
}

static void price(tla_priced_law *p, const tla_block_decision *decision) {
    const tla_work mapping = mapping_of(&decision->work);
    tla_work command = decision->work;
    command.chunks = command.pte_writes = command.table_levels = command.invalidates = 0;
    const bool takes = decision->kind == TLA_BLOCKS_ALLOCATED || decision->kind == TLA_BLOCKS_REFUSED;
    const uint64_t driver_ps = takes                                   ? p->prices.driver_alloc_ps
                               : decision->kind == TLA_BLOCKS_RELEASED ? p->prices.driver_free_ps
                                                                       : 0;
    const uint64_t allocation_ps = add_saturated(tla_cost_price(&p->prices.command, &command), driver_ps);
    const uint64_t mapping_ps = maps(&mapping) ? tla_cost_price(&p->prices.mapping, &mapping) : 0;
    p->allocation_ps = add_saturated(p->allocation_ps, allocation_ps);
    p->mapping_ps = add_saturated(p->mapping_ps, mapping_ps);
    p->all_allocation_ps = add_saturated(p->all_allocation_ps, allocation_ps);
    p->all_mapping_ps = add_saturated(p->all_mapping_ps, mapping_ps);
    p->commands++;
}

/* Blocks of the second tier are decided about when they are held; no step waits for their release. */
static void hear(void *context, const tla_block_decision *decision) {
    tla_priced_law *p = context;
    if (decision->kind != TLA_BLOCKS_MOVED_IN && decision->kind != TLA_BLOCKS_LET_GO) price(p, decision);
    if (p->inner.blocks) p->inner.blocks(p->inner.context, decision);
}

/* Takes the whole nanoseconds of the decisions; the rest stays for the next step. */
static uint64_t take_ns(uint64_t *ps) {
    const uint64_t ns = *ps / 1000;
    *ps %= 1000;
    return ns;
}

static tla_status time_of(void *context, const tla_step *step, tla_step_time *time, tla_error *error) {
    tla_priced_law *p = context;
    const tla_status status = p->inner.time(p->inner.context, step, time, error);
    if (status) return status;
    time->allocation_ns = add_saturated(time->allocation_ns, take_ns(&p->allocation_ps));
    time->mapping_ns = add_saturated(time->mapping_ns, take_ns(&p->mapping_ps));
    return TLA_OK;
}

tla_step_law tla_priced_law_of(tla_priced_law *priced) {
    return (tla_step_law){.time = time_of, .blocks = hear, .context = priced};
}
