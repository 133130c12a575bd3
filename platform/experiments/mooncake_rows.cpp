// The reader of Mooncake's published tables: comma-separated values under a line of names.
#include "experiments/mooncake_rows.hpp"

#include "cli/read_text.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace tlmalloc {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;
constexpr std::uint64_t segment_bytes = std::uint64_t{1} << 40, segments_max = 1024, pool_min = 1 << 26;
constexpr std::uint64_t bursts_of_pairs = 50000;
const char *const pool_names = "rounded,size,pool,min,p99,p90,p50,max,avg,evictions";
const char *const segments_names = "paired,skewed,policy,segments,replicas,min,p99,p90,p50,max,avg,deviation,evictions,"
                                   "served";

std::vector<std::string> cells_of(const std::string &line) {
    std::vector<std::string> cells{""};
    for (const char c : line)
        if (c == ',')
            cells.emplace_back();
        else
            cells.back() += c;
    return cells;
}

class reader {
  public:
    reader(const std::string &path, tla_error *error) : path_(path), error_(error) {}

    tla_status read(const std::string &text, std::vector<mooncake_row> &rows) {
        std::istringstream lines(text);
        std::string line;
        std::getline(lines, line);
        const bool is_pool = line == pool_names;
        line_ = 1;
        if (!is_pool && line != segments_names)
            find("found \"" + line + "\", expected \"" + pool_names + "\" or \"" + segments_names + "\"");
        names_ = cells_of(line);
        while (!error_->status && std::getline(lines, line)) {
            line_++;
            cells_ = cells_of(line);
            rows.emplace_back();
            rows.back().line = line_;
            rows.back().is_pool = is_pool;
            if (cells_.size() != names_.size())
                find("found " + std::to_string(cells_.size()) + " values, expected " + std::to_string(names_.size()));
            else
                is_pool ? read_pool(rows.back()) : read_segments(rows.back());
        }
        return error_->status;
    }

  private:
    void find(const std::string &what) {
        if (!error_->status) tla_error_set(error_, TLA_SYNTAX, "%s:%zu: %s", path_.c_str(), line_, what.c_str());
    }

    const std::string &cell(const char *name) const {
        return cells_[static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin())];
    }

    void refuse(const char *name, const std::string &expected) {
        find(std::string(name) + ": found \"" + cell(name) + "\", expected " + expected);
    }

    bool boolean(const char *name) {
        if (cell(name) != "true" && cell(name) != "false") refuse(name, "false or true");
        return cell(name) == "true";
    }

    std::uint64_t count(const char *name, std::uint64_t least, std::uint64_t most) {
        char *end = nullptr;
        const std::string &text = cell(name);
        const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
        if (text.empty() || text[0] < '0' || text[0] > '9' || *end || value < least || value > most)
            refuse(name, std::to_string(least) + " .. " + std::to_string(most));
        return value;
    }

    void read_pool(mooncake_row &row) {
        row.pool.policy = boolean("rounded") ? TLA_OFFSET_BINS_ROUNDED : TLA_OFFSET_BINS;
        row.pool.pool = count("pool", pool_min, segment_bytes);
        if (cell("size") == "pairs") {
            row.is_pool = false;
            row.segments = {true, false, TLA_REPLICAS_RANDOM, 1, 1, row.pool.pool, bursts_of_pairs};
        } else if (cell("size") != "random") {
            row.pool.size = count("size", 8, pool_min);
        }
        read_published(row);
    }

    void read_segments(mooncake_row &row) {
        std::uint64_t policy = 0;
        while (replica_policy_name(policy) && cell("policy") != replica_policy_name(policy))
            policy++;
        if (!replica_policy_name(policy)) refuse("policy", "random or free_ratio_first");
        row.segments = {boolean("paired"),
                        boolean("skewed"),
                        static_cast<tla_replica_policy>(policy),
                        static_cast<std::uint32_t>(count("segments", 1, segments_max)),
                        static_cast<std::uint32_t>(count("replicas", 1, segments_max)),
                        segment_bytes,
                        0};
        read_published(row);
    }

    void read_published(mooncake_row &row) {
        for (std::size_t i = 0; i < benchmark_figure_count; i++) {
            const char *const name = benchmark_figure_names[i];
            if (std::find(names_.begin(), names_.end(), name) == names_.end() || cell(name).empty()) continue;
            char *end = nullptr;
            row.published[i] = std::strtod(cell(name).c_str(), &end);
            if (*end || !(*row.published[i] >= 0)) refuse(name, "a number from 0 on");
        }
    }

    const std::string path_;
    tla_error *const error_;
    std::size_t line_ = 0;
    std::vector<std::string> names_, cells_;
};

} // namespace

tla_status read_mooncake_rows(const std::string &path, std::vector<mooncake_row> &rows, tla_error *error) {
    char *text = nullptr;
    std::size_t length = 0;
    *error = tla_error{};
    if (const tla_status status = read_text(path.c_str(), file_bytes_max, &text, &length, error)) return status;
    const std::unique_ptr<char, void (*)(void *)> owned(text, std::free);
    return reader(path, error).read(text, rows);
}

} // namespace tlmalloc
