// A recorded program on one engine of a placement: cycles of its commands, refused requests, fragmentation.
#include "experiments/experiment_engine.hpp"

#include "replay/compaction_replay.h"

#include <limits>

namespace tlmalloc {

namespace {

constexpr std::uint64_t percent_max = 10000, capacity_max = std::uint64_t{1} << 62;

// A trace, read once for all rows.
struct owned_trace : alloc_trace {
    owned_trace() : alloc_trace{} {}
    owned_trace(const owned_trace &) = delete;
    owned_trace &operator=(const owned_trace &) = delete;
    ~owned_trace() { trace_unload(this); }
};

const alloc_trace *trace_of(const std::string &path, tla_error &error) {
    static std::map<std::string, owned_trace> read;
    const auto found = read.find(path);
    if (found != read.end()) return &found->second;
    owned_trace &made = read[path];
    if (!trace_load(path.c_str(), &made, &error)) return &made;
    read.erase(path);
    return nullptr;
}

std::unique_ptr<experiment_run> make(const char *, const tla_config &config, const experiment_parameters &p) {
    tla_error error{};
    const alloc_trace *trace = trace_of(p.files.at("trace"), error);
    const std::uint64_t peak = trace ? compaction_replay_peak(trace) : 0, percent = p.at("capacity");
    return std::make_unique<engine_run>(config, p, trace, peak / 100 * percent + peak % 100 * percent / 100, false,
                                        error);
}

tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
    if (const tla_status status = engine_run::check(config, error)) return status;
    if (p.at("capacity") >= 1 && p.at("capacity") <= percent_max) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "capacity: found %llu percent, expected 1 .. %llu",
                         static_cast<unsigned long long>(p.at("capacity")),
                         static_cast<unsigned long long>(percent_max));
}

} // namespace

engine_run::engine_run(const tla_config &config, const experiment_parameters &p, const alloc_trace *trace,
                       std::uint64_t capacity, bool evicts, const tla_error &error) {
    failure_ = error;
    if (!trace) return;
    engine_replay_config engine{};
    engine.policy = tla_stack_placement(config.controller.memory.of[TLA_HBM].policy);
    engine.capacity = std::min(std::max<std::uint64_t>(capacity, 1), capacity_max);
    engine.unit = config.controller.memory.alignment;
    engine.units = p.at("units");
    engine.nodes = config.controller.engine_nodes;
    engine.cost = config.controller.cost;
    engine.evicts = evicts;
    engine_replay_result r{};
    if (engine_replay(trace, &engine, &r, &failure_)) return;
    const double clock_ps = static_cast<double>(engine.cost.clock_ps);
    for (const replay_latency &latency : {r.allocs, r.frees})
        for (const std::uint64_t ps : {latency.p50_ps, latency.p99_ps, latency.max_ps})
            results_.push_back(static_cast<double>(ps) / clock_ps);
    results_.insert(results_.end(),
                    {r.behind_ps / clock_ps, p.at("area") ? static_cast<double>(p.at("area")) : std::nan(""),
                     static_cast<double>(r.refused), static_cast<double>(r.fragmented), static_cast<double>(r.no_node),
                     100 * r.external, 100 * r.internal, static_cast<double>(r.requests)});
    finished_ = true;
}

tla_status engine_run::check(const tla_config &config, tla_error *error) {
    if (tla_stack_front(config.controller.memory.of[TLA_HBM].policy) != TLA_FRONT_NONE)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "controller.hbm_policy: found a front, expected a placement: remove the front");
    return TLA_OK;
}

experiment_workload engine_workload(const char *name, const char *program,
                                    std::unique_ptr<experiment_run> (*make)(const char *, const tla_config &,
                                                                            const experiment_parameters &),
                                    tla_status (*check)(const tla_config &, const experiment_parameters &,
                                                        tla_error *)) {
    return {name,
            {{program, TLA_VALUE_TEXT, nullptr, true},
             {"capacity", TLA_VALUE_COUNT},
             {"units", TLA_VALUE_COUNT},
             {"area", TLA_VALUE_COUNT}},
            {"alloc_p50", "alloc_p99", "alloc_max", "free_p50", "free_p99", "free_max", "behind", "area", "refused",
             "fragmented", "no_node", "external", "internal", "requests"},
            false,
            make,
            check,
            {"cycles", "cycles", "cycles", "cycles", "cycles", "cycles", "cycles", "LUT4", "ALLOCs", "ALLOCs", "ALLOCs",
             "% of free bytes", "% of used bytes", "requests"}};
}

experiment_workload engines() {
    return engine_workload("engine", "trace", make, check);
}

} // namespace tlmalloc
