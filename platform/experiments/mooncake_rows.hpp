// The rows of Mooncake's published tables, as configs/experiments/mooncake has them.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_MOONCAKE_ROWS_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_MOONCAKE_ROWS_HPP

#include "experiments/mooncake_benchmarks.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tlmalloc {

// One row: its run, and the published figures.
struct mooncake_row {
    std::size_t line = 0;
    bool is_pool = false; // else of segments
    pool_setup pool{};
    segments_setup segments{};
    std::array<std::optional<double>, benchmark_figure_count> published{};
};

// Reads a file; its first line decides whether it is of pools or of segments. TLA_SYNTAX with a text "file:line: ...",
// or an error of reading.
tla_status read_mooncake_rows(const std::string &path, std::vector<mooncake_row> &rows, tla_error *error);

} // namespace tlmalloc
#endif
