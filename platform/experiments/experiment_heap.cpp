// Aged heaps of experiments: the free blocks that a recorded program leaves in a slice.
#include "experiments/experiment_dma.hpp"
#include "replay/aging.h"

#include <cstdlib>

namespace tlmalloc {

tla_status age_slice(const tla_config &config, const std::string &path, std::string &snapshot, tla_error *error) {
    alloc_trace trace{};
    trace_allocator made{};
    replay_result result{};
    char *text = nullptr;
    std::size_t length = 0;
    allocator_config arena{};
    arena.capacity = config.system.hbm_per_cube / config.system.pes_per_cube;
    arena.alignment = config.controller.memory.alignment;
    tla_status status = trace_load(path.c_str(), &trace, error);
    if (!status)
        status = aging_play(&trace, aging_events_to_peak(&trace), TLA_FIRST_FIT, &arena, &made, &result, error);
    if (!status && result.failed)
        status = tla_error_set(error, TLA_EXHAUSTED, "%s does not fit into a slice of %llu bytes", path.c_str(),
                               static_cast<unsigned long long>(arena.capacity));
    if (!status) status = aging_text(&made, &text, &length, error);
    if (!status) snapshot.assign(text, length);
    std::free(text);
    replay_result_clear(&result);
    allocator_destroy(&made);
    trace_unload(&trace);
    return status;
}

} // namespace tlmalloc
