// Mooncake's two benchmarks of its allocators (mooncake-store at 3b5a594), without their times.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_MOONCAKE_BENCHMARKS_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_MOONCAKE_BENCHMARKS_HPP

#include "tlmalloc/cache/replicas.h"

#include <array>
#include <cstdint>

namespace tlmalloc {

constexpr std::uint64_t key_value_bytes = 3274752, indexer_bytes = 658432;

// Used parts of a memory in all samples: p99 is the value that 99 % of the samples reach.
enum benchmark_figure {
    figure_min,
    figure_p99,
    figure_p90,
    figure_p50,
    figure_max,
    figure_avg,
    figure_deviation, // between segments, at the end
    figure_evictions,
    figure_served, // objects
    benchmark_figure_count
};
constexpr std::array<const char *, benchmark_figure_count> benchmark_figure_names{
    "min", "p99", "p90", "p50", "max", "avg", "deviation", "evictions", "served"};
using benchmark_figures = std::array<double, benchmark_figure_count>;

// "random" or "free_ratio_first"; null: no policy.
const char *replica_policy_name(std::uint64_t policy);

// Objects with replicas in segments of offset_bins_rounded. A refusal is a sample, and evicts a twentieth of all
// objects at random.
struct segments_setup {
    bool paired; // a burst of 1 to 128 key-values is followed by as many objects of their indexer
    bool skewed; // the segments with even numbers have 1.5 times the bytes, the others half of them
    tla_replica_policy policy;
    std::uint32_t segments, replicas;
    std::uint64_t segment; // bytes
    std::uint64_t bursts;  // that count, after a tenth as many that do not; 0: four times the capacity is asked for,
                           // and the last three count
};

// TLA_NO_HOST_MEMORY; figures without a sample are NaN.
tla_status run_segments(const segments_setup &setup, benchmark_figures &figures);

// The samples of run_segments, without a run: a refusal of key-values means that all segments are full of them.
tla_status fill_segments(const segments_setup &setup, benchmark_figures &figures);

// Blocks in one pool. Each of a million steps allocates one, and after a refusal releases one at random and tries
// again. Each is a sample.
struct pool_setup {
    tla_policy policy;
    std::uint64_t size; // of all blocks; 0: each has 1 KiB to 64 MiB, at random
    std::uint64_t pool; // bytes
};
tla_status run_pool(const pool_setup &setup, benchmark_figures &figures);

} // namespace tlmalloc
#endif
