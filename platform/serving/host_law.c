/* A law of steps with the time of moves to the host's memory and back. */
#include "serving/host_law.h"

#include "model/base/saturate.h"

/* Returns the time of one decision: its blocks follow each other without a gap. */
static uint64_t move_ps(const tla_host_link *link, uint32_t blocks) {
    const double ps = 1e6 * link->latency_us + 1e3 * (double)blocks * (double)link->block_bytes / link->bandwidth_gb_s;
    return ps < 0x1p63 ? (uint64_t)(ps + 0.5) : UINT64_MAX;
}

static void hear(void *context, const tla_block_decision *decision) {
    tla_host_law *law = context;
    if (decision->kind == TLA_BLOCKS_MOVED_OUT || decision->kind == TLA_BLOCKS_MOVED_IN) {
        const uint64_t ps = move_ps(&law->link, decision->count);
        law->moved_ps = add_saturated(law->moved_ps, ps);
        law->all_moved_ps = add_saturated(law->all_moved_ps, ps);
    }
    if (law->inner.blocks) law->inner.blocks(law->inner.context, decision);
}

/* Whole nanoseconds; the rest stays for the next step. */
static tla_status time_of(void *context, const tla_step *step, tla_step_time *time, tla_error *error) {
    tla_host_law *law = context;
    const tla_status status = law->inner.time(law->inner.context, step, time, error);
    if (status) return status;
    time->transfer_ns = add_saturated(time->transfer_ns, law->moved_ps / 1000);
    law->moved_ps %= 1000;
    return TLA_OK;
}

tla_step_law tla_host_law_of(tla_host_law *law) {
    return (tla_step_law){.time = time_of, .blocks = hear, .context = law};
}
