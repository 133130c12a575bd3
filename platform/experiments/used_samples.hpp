// Used parts of a memory, sampled in a benchmark.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_USED_SAMPLES_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_USED_SAMPLES_HPP

#include "experiments/mooncake_benchmarks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tlmalloc {

// Fills the figures from min to avg, and reorders the samples. All are NaN without a sample.
inline void summarise(std::vector<double> &samples, benchmark_figures &figures) {
    const auto count = static_cast<double>(samples.size());
    double sum = 0;
    for (const double sample : samples)
        sum += sample;
    figures[figure_avg] = sum / count;
    const auto at = [&](double part) {
        if (samples.empty()) return std::nan("");
        const std::size_t place = std::min(samples.size() - 1, static_cast<std::size_t>(part * count));
        const auto found = samples.begin() + static_cast<std::ptrdiff_t>(place);
        std::nth_element(samples.begin(), found, samples.end());
        return *found;
    };
    figures[figure_min] = at(0);
    figures[figure_p99] = at(0.01);
    figures[figure_p90] = at(0.1);
    figures[figure_p50] = at(0.5);
    figures[figure_max] = at(1);
}

} // namespace tlmalloc
#endif
