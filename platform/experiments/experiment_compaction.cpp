// A recorded program on a memory controller that compacts: refused requests, and the bytes that moves cost.
#include "experiments/experiment_dma.hpp"
#include "replay/compaction_replay.h"

namespace tlmalloc {

namespace {

constexpr std::uint64_t percent_max = 10000;
constexpr double mib = 1 << 20;

// Has no platform, and is finished when it is made.
class compaction_run : public experiment_run {
  public:
    compaction_run(const tla_config &config, const experiment_parameters &p) {
        alloc_trace trace{};
        if (trace_load(p.files.at("trace").c_str(), &trace, &failure_)) return;
        const std::unique_ptr<alloc_trace, void (*)(alloc_trace *)> loaded(&trace, trace_unload);
        compaction_replay_config settings{};
        settings.policy = tla_stack_placement(config.controller.memory.of[TLA_HBM].policy);
        const std::uint64_t peak = compaction_replay_peak(&trace), percent = p.at("capacity");
        settings.capacity = (peak / 100 * percent + peak % 100 * percent / 100) * (p.at("aged") ? 2 : 1);
        settings.aged = p.at("aged");
        settings.compaction = config.controller.compaction;
        settings.budget = p.at("budget");
        compaction_replay_result r{};
        if (compaction_replay(&trace, &settings, &r, &failure_)) return;
        const auto served = static_cast<double>(r.served_bytes), moved = static_cast<double>(r.moved_bytes);
        results_ = {static_cast<double>(r.requests),
                    static_cast<double>(r.fragmented),
                    static_cast<double>(r.exhausted),
                    served / mib,
                    moved / mib,
                    static_cast<double>(r.moved_blocks),
                    moved / served};
        finished_ = true;
    }

    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
        if (tla_stack_front(config.controller.memory.of[TLA_HBM].policy) != TLA_FRONT_NONE)
            return tla_error_set(error, TLA_UNSUPPORTED,
                                 "controller.hbm_policy: found a front, expected a placement: remove the front");
        if (p.at("capacity") == 0 || p.at("capacity") > percent_max)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "capacity: found %llu percent, expected 1 .. %llu",
                                 static_cast<unsigned long long>(p.at("capacity")),
                                 static_cast<unsigned long long>(percent_max));
        return TLA_OK;
    }
};

} // namespace

experiment_workload compactions() {
    return {
        "compaction",
        {{"trace", TLA_VALUE_TEXT, nullptr, true},
         {"aged", TLA_VALUE_BOOLEAN},
         {"capacity", TLA_VALUE_COUNT},
         {"budget", TLA_VALUE_SIZE}},
        {"requests", "fragmented", "exhausted", "served", "moved", "moved_blocks", "moved_per_byte"},
        false,
        [](const char *, const tla_config &config, const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
            return std::make_unique<compaction_run>(config, p);
        },
        compaction_run::check,
        {"requests", "requests", "requests", "MiB", "MiB", "blocks", "a served byte"}};
}

} // namespace tlmalloc
