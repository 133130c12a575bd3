// Mooncake's published tables: how many of their rows the model repeats.
#include "cli/message.h"
#include "cli/progress.h"
#include "experiments/experiment_dma.hpp"
#include "experiments/mooncake_rows.hpp"
#include "model/arena/float_bin.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <thread>

namespace tlmalloc {

namespace {

constexpr unsigned threads_max = 4;                       // a row can need half a GiB
constexpr double six_digits = 0.5e-6, whole_number = 0.5; // half of the last printed digit
constexpr std::uint64_t large_block = 7 << 20;            // the least of a million samples varies more

using bounds = std::array<double, benchmark_figure_count>; // 0: the figure is not compared

bool is_uniform(const mooncake_row &row) {
    return row.is_pool && row.pool.size > 0;
}

bool is_rounded(const mooncake_row &row) {
    return row.pool.policy == TLA_OFFSET_BINS_ROUNDED;
}

bool is_bin(std::uint64_t size) {
    return tla_float_bin_size(tla_float_bin_of(size)) == size;
}

bool is_of_segments(const mooncake_row &row) {
    return !row.is_pool && row.segments.bursts == 0;
}

// One segment, or two with a replica in each.
bool has_no_choice(const segments_setup &of) {
    return of.segments == of.replicas && of.segments <= 2;
}

tla_status run_row(const mooncake_row &row, benchmark_figures &figures) {
    return row.is_pool ? run_pool(row.pool, figures) : run_segments(row.segments, figures);
}

tla_status fill_row(const mooncake_row &row, benchmark_figures &figures) {
    return fill_segments(row.segments, figures);
}

bounds all_digits(const mooncake_row &) {
    bounds allowed{};
    std::fill_n(allowed.begin(), figure_avg + 1, six_digits);
    allowed[figure_deviation] = 0.5e-4;
    allowed[figure_evictions] = allowed[figure_served] = whole_number;
    return allowed;
}

// Rows that are compared in one way, and the deviations that are allowed where random numbers decide.
struct kind {
    const char *name;
    bool (*has)(const mooncake_row &);
    tla_status (*run)(const mooncake_row &, benchmark_figures &);
    bounds (*allowed)(const mooncake_row &);
};

const kind kinds[] = {
    {"uniform_rounded", [](const mooncake_row &row) { return is_uniform(row) && is_rounded(row); }, run_row,
     all_digits},
    {"uniform_bins",
     [](const mooncake_row &row) { return is_uniform(row) && !is_rounded(row) && is_bin(row.pool.size); }, run_row,
     all_digits},
    {"uniform", [](const mooncake_row &row) { return is_uniform(row) && !is_rounded(row) && !is_bin(row.pool.size); },
     run_row,
     [](const mooncake_row &row) {
         bounds allowed{};
         allowed[figure_min] = row.pool.size < large_block ? 0.006 : 0.025;
         allowed[figure_avg] = 0.001;
         return allowed;
     }},
    {"random_sizes", [](const mooncake_row &row) { return row.is_pool && row.pool.size == 0; }, run_row,
     [](const mooncake_row &) {
         bounds allowed{};
         allowed[figure_p99] = 0.003;
         allowed[figure_p90] = allowed[figure_p50] = allowed[figure_avg] = 0.001;
         return allowed;
     }},
    {"pairs", [](const mooncake_row &row) { return !row.is_pool && row.segments.bursts > 0; }, run_row,
     [](const mooncake_row &) {
         bounds allowed{};
         allowed[figure_p50] = allowed[figure_avg] = 1e-4;
         return allowed;
     }},
    {"one_choice", [](const mooncake_row &row) { return is_of_segments(row) && has_no_choice(row.segments); }, run_row,
     all_digits},
    {"key_values", [](const mooncake_row &row) { return is_of_segments(row) && !row.segments.paired; }, fill_row,
     [](const mooncake_row &row) {
         bounds allowed = all_digits(row);
         std::fill(allowed.begin() + figure_deviation, allowed.end(), 0.0);
         return allowed;
     }},
    {"paired",
     [](const mooncake_row &row) { return is_of_segments(row) && row.segments.paired && !has_no_choice(row.segments); },
     run_row,
     [](const mooncake_row &) {
         bounds allowed{};
         allowed[figure_min] = 5e-4;
         allowed[figure_p50] = allowed[figure_avg] = 1.5e-4;
         allowed[figure_deviation] = 0.003;
         allowed[figure_evictions] = 2 + whole_number;
         allowed[figure_served] = whole_number;
         return allowed;
     }},
};

const char *kind_name(std::uint64_t value) {
    return value < sizeof kinds / sizeof *kinds ? kinds[value].name : nullptr;
}

tla_status rows_of(const experiment_parameters &p, std::vector<mooncake_row> &rows, tla_error *error) {
    const tla_status status = read_mooncake_rows(p.files.at("table"), rows, error);
    const kind &wanted = kinds[p.at("rows")];
    rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const mooncake_row &row) { return !wanted.has(row); }),
               rows.end());
    return status;
}

class rows_run : public experiment_run {
  public:
    explicit rows_run(const experiment_parameters &p) : kind_(kinds[p.at("rows")]), file_(p.files.at("table")) {
        rows_of(p, rows_, &failure_);
    }

    void drive() override {
        std::vector<benchmark_figures> found(rows_.size());
        std::atomic<std::size_t> next{0};
        std::atomic<int> failed{TLA_OK};
        const auto work = [&](progress_line *progress) {
            for (std::size_t i = next++; i < rows_.size(); i = next++) {
                if (progress) progress_update(progress, i, rows_.size());
                if (const tla_status status = kind_.run(rows_[i], found[i])) failed = status;
            }
        };
        std::vector<std::future<void>> others;
        for (unsigned i = 1; i < std::min(threads_max, std::thread::hardware_concurrency()); i++)
            others.push_back(std::async(std::launch::async, work, nullptr));
        progress_line progress = progress_begin("reproduce", "rows");
        work(&progress);
        for (std::future<void> &other : others)
            other.get();
        progress_end(&progress);
        if (failed) {
            const auto status = static_cast<tla_status>(failed.load());
            tla_error_set(&failure_, status, "%s", tla_status_text(status));
            return;
        }
        std::size_t agreeing = 0;
        double worst = 0;
        for (std::size_t i = 0; i < rows_.size(); i++) {
            const double deviation = compare(rows_[i], found[i]);
            agreeing += deviation <= 1;
            worst = std::max(worst, deviation);
        }
        results_ = {static_cast<double>(agreeing), worst};
        finished_ = true;
    }

  private:
    // The largest deviation, as a part of the allowed one; a line for each that is larger.
    double compare(const mooncake_row &row, const benchmark_figures &found) const {
        const bounds allowed = kind_.allowed(row);
        double worst = 0;
        for (std::size_t i = 0; i < benchmark_figure_count; i++) {
            if (allowed[i] == 0 || !row.published[i]) continue;
            const double deviation = std::abs(found[i] - *row.published[i]) / allowed[i];
            worst = std::max(worst, std::isnan(deviation) ? HUGE_VAL : deviation);
            if (deviation <= 1) continue;
            print_message("tlmalloc reproduce: %s:%zu: %s: the model has %.9g, published is %.9g, and %.3g more or "
                          "less are allowed",
                          file_.c_str(), row.line, benchmark_figure_names[i], found[i], *row.published[i], allowed[i]);
        }
        return worst;
    }

    const kind &kind_;
    const std::string file_;
    std::vector<mooncake_row> rows_;
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    std::vector<mooncake_row> rows;
    if (const tla_status status = rows_of(p, rows, error)) return status;
    if (!rows.empty()) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found no row of %s, expected one at least",
                         p.files.at("table").c_str(), kind_name(p.at("rows")));
}

} // namespace

experiment_workload mooncake_tables() {
    return {"mooncake_rows",
            {{"table", TLA_VALUE_TEXT}, {"rows", TLA_VALUE_NAMED, kind_name}},
            {"agreeing", "worst"},
            false,
            [](const char *, const tla_config &, const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
                return std::make_unique<rows_run>(p);
            },
            check,
            {"rows", "of what is allowed"}};
}

} // namespace tlmalloc
