// Used heaps of experiments: the free blocks that a recorded program leaves in a slice.
#include "experiments/experiment_dma.hpp"
#include "replay/aging.h"
#include "replay/compaction_replay.h"

#include <cstdlib>

namespace tlmalloc {

static std::uint64_t slice_bytes(const tla_config &config) {
    return config.system.hbm_per_cube / config.system.pes_per_cube;
}

static tla_status age(const tla_config &config, const std::string &path, const alloc_trace &trace, char **text,
                      std::size_t *length, tla_error *error) {
    trace_allocator made{};
    replay_result result{};
    allocator_config arena{};
    arena.capacity = slice_bytes(config);
    arena.alignment = config.controller.memory.alignment;
    tla_status status = aging_play(&trace, aging_events_to_peak(&trace), TLA_FIRST_FIT, &arena, &made, &result, error);
    if (!status && result.failed)
        status = tla_error_set(error, TLA_EXHAUSTED, "%s does not fit into a slice of %llu bytes", path.c_str(),
                               static_cast<unsigned long long>(arena.capacity));
    if (!status) status = aging_text(tla_stack_arena(made.stack), text, length, error);
    replay_result_clear(&result);
    allocator_destroy(&made);
    return status;
}

static tla_status compact(const tla_config &config, const alloc_trace &trace, char **text, std::size_t *length,
                          tla_error *error) {
    compaction_replay_config settings{};
    settings.policy = TLA_FIRST_FIT;
    settings.capacity = slice_bytes(config);
    settings.alignment = config.controller.memory.alignment;
    settings.compaction.mode = TLA_COMPACTION_ON_DEMAND;
    return compaction_replay_heap(&trace, &settings, text, length, error);
}

tla_status use_slice(const tla_config &config, const std::string &path, bool compacted, std::string &snapshot,
                     tla_error *error) {
    alloc_trace trace{};
    char *text = nullptr;
    std::size_t length = 0;
    tla_status status = trace_load(path.c_str(), &trace, error);
    if (!status)
        status =
            compacted ? compact(config, trace, &text, &length, error) : age(config, path, trace, &text, &length, error);
    if (!status) snapshot.assign(text, length);
    std::free(text);
    trace_unload(&trace);
    return status;
}

} // namespace tlmalloc
