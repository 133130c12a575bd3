// Memories that are committed in the background of time (front `lazy`): a process lets them grow when nobody sends a
// command, and every command that arrives later than a commit finds it done.
#include "tlmalloc/modules/memory_controller.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

// The next commit of a channel is decided, and takes its turn at the engine.
tla_status memory_controller::commit(tla_channel channel, std::uint64_t when_ps) {
    tla_work work{};
    const tla_status status =
        tla_stack_advance(tla_pe_memory_stack(memory_.get(), channel), when_ps - origin_ps_, &work);
    if (status) return status;
    wait_for_list(channel, work);
    const tla_service service = control.occupy(when_ps, tla_cost_price(&config_.cost, &work));
    go_on_behind(channel, work, service.done_ps);
    const tla_arena_stats arena = tla_pe_memory_get_stats(memory_.get(), channel);
    statistics_[channel].commits++;
    statistics_[channel].busy_ps += service.done_ps - service.start_ps;
    statistics_[channel].nodes_visited += work.nodes_visited;
    show_begin(service);
    show_end(channel, service, arena, work.nodes_visited);
    if (grown) grown(channel, arena, service.done_ps);
    return TLA_OK;
}

// All commits that are due by until_ps, in the order of their times. TLA_NO_HOST_MEMORY: those before it are done, and
// the rest comes with the next call.
tla_status memory_controller::grow(std::uint64_t until_ps) {
    for (;;) {
        std::uint64_t first_ps = UINT64_MAX;
        tla_channel first = TLA_CHANNEL_COUNT;
        for (const tla_channel channel : channels()) {
            std::uint64_t when_ps = 0;
            if (!grows(channel) || !tla_stack_next_growth(tla_pe_memory_stack(memory_.get(), channel), &when_ps))
                continue;
            when_ps = saturated(when_ps);
            if (when_ps > until_ps || when_ps >= first_ps) continue;
            first_ps = when_ps;
            first = channel;
        }
        if (first == TLA_CHANNEL_COUNT) return TLA_OK;
        if (const tla_status status = commit(first, first_ps)) return status;
    }
}

// A method: comes back when the next commit is due. Without host memory it gives up, and commands let memory in.
void memory_controller::grow_by_itself() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    if (in_reset() || ensure_allocators() || grow(now_ps)) {
        next_trigger(grows_anew_); // comes when the reset is over
        return;
    }
    std::uint64_t next_ps = UINT64_MAX;
    for (const tla_channel channel : channels()) {
        std::uint64_t when_ps = 0;
        if (grows(channel) && tla_stack_next_growth(tla_pe_memory_stack(memory_.get(), channel), &when_ps))
            next_ps = std::min(next_ps, saturated(when_ps));
    }
    if (next_ps < UINT64_MAX)
        next_trigger(from_ps(next_ps - now_ps), grows_anew_);
    else
        next_trigger(grows_anew_);
}

} // namespace tlmalloc
