// Mooncake's benchmark of its allocation strategies, with parameters of one's own.
#include "experiments/experiment_dma.hpp"
#include "experiments/mooncake_benchmarks.hpp"

namespace tlmalloc {

namespace {

constexpr std::uint64_t segments_max = 1024;

segments_setup setup_of(const experiment_parameters &p) {
    return {p.at("paired") != 0,
            p.at("skewed") != 0,
            static_cast<tla_replica_policy>(p.at("policy")),
            static_cast<std::uint32_t>(p.at("segments")),
            static_cast<std::uint32_t>(p.at("replicas")),
            p.at("segment"),
            0};
}

// Has no platform, and is finished when it is made.
class segments_run : public experiment_run {
  public:
    explicit segments_run(const experiment_parameters &p) {
        benchmark_figures figures{};
        if (const tla_status status = run_segments(setup_of(p), figures)) {
            tla_error_set(&failure_, status, "segments: %s", tla_status_text(status));
            return;
        }
        results_.assign(figures.begin(), figures.end());
        finished_ = true;
    }
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    const auto refuse = [&](const char *name, std::uint64_t least, std::uint64_t most) {
        if (p.at(name) >= least && p.at(name) <= most) return false;
        tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found %llu, expected %llu .. %llu", name,
                      static_cast<unsigned long long>(p.at(name)), static_cast<unsigned long long>(least),
                      static_cast<unsigned long long>(most));
        return true;
    };
    return refuse("segments", 1, segments_max) || refuse("replicas", 1, segments_max) ||
                   refuse("segment", 8 * key_value_bytes, std::uint64_t{1} << 48)
               ? TLA_INVALID_ARGUMENT
               : TLA_OK;
}

} // namespace

experiment_workload segments_with_replicas() {
    return {
        "segments",
        {{"paired", TLA_VALUE_BOOLEAN},
         {"skewed", TLA_VALUE_BOOLEAN},
         {"policy", TLA_VALUE_NAMED, replica_policy_name},
         {"segments", TLA_VALUE_COUNT},
         {"replicas", TLA_VALUE_COUNT},
         {"segment", TLA_VALUE_SIZE}},
        {benchmark_figure_names.begin(), benchmark_figure_names.end()},
        false,
        [](const char *, const tla_config &, const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
            return std::make_unique<segments_run>(p);
        },
        check,
        {"of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "evictions", "objects"}};
}

} // namespace tlmalloc
