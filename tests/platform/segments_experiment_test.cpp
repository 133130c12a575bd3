// `tlmalloc reproduce mooncake_allocator`: published digits, a closed form, and rows that cannot be.
#include "platform/experiment_figures.hpp"
#include "today.hpp"

#include <vector>

namespace {

const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments/";

std::string own_row(const std::string &with) {
    return "name: e\nunit: u\nworkload: segments\nfigures: all\nwith: {paired: false, skewed: false, policy: random, "
           "segments: 3, replicas: 1, segment: 1 GiB}\nrows:\n  - {label: a, with: {" +
           with + "}}\n";
}

std::map<std::string, double> play(const std::string &with) {
    scratch_directory scratch;
    return all_figures_of(scratch.write("e.yaml", own_row(with))).at("a");
}

} // namespace

// All figures of one of the sixteen runs.
BOOST_AUTO_TEST_CASE(a_run_of_mooncakes_benchmark_has_its_published_digits_every_day) {
    const std::string text = read_text(experiments + "mooncake_allocator_segments.yaml"), begin = "\n  - {label: \"";
    const std::size_t first = text.find(begin);
    std::map<std::string, std::string> runs;
    for (std::size_t at = first; at != std::string::npos;) {
        const std::size_t next = text.find(begin, at + 1);
        const std::string row = text.substr(at, next - at);
        runs[row.substr(0, row.find(':', begin.size()))] += row;
        at = next;
    }
    BOOST_CHECK_EQUAL(runs.size(), 16u);
    std::vector<std::string> all;
    for (const auto &[label, rows] : runs)
        all.push_back(rows);
    scratch_directory scratch;
    for (const std::string &rows : some_of_today(all, 16)) {
        const command_result run =
            run_tlmalloc({"reproduce", scratch.write("e.yaml", text.substr(0, first) + rows + "\n")});
        BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
    }
}

BOOST_AUTO_TEST_CASE(key_values_fill_segments_up_to_their_bin) {
    const double nbytes = 1 << 30, full = (1 << 30) / 3407872, used = full * 3274752 / nbytes;
    for (const char *policy : {"random", "free_ratio_first"})
        for (const char *replicas : {"1", "3"}) {
            const auto figures = play(std::string("policy: ") + policy + ", replicas: " + replicas);
            for (const char *figure : {"min", "p99", "p90", "p50", "max", "avg"})
                BOOST_CHECK_CLOSE(figures.at(figure), used, 1e-9);
            BOOST_CHECK_GT(figures.at("evictions"), 10);
        }
}

BOOST_AUTO_TEST_CASE(segments_that_cannot_be_are_refused) {
    const auto check = [](const std::string &with, const std::string &finding) {
        scratch_directory scratch;
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", own_row(with))});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, finding), run.err);
    };
    check("segments: 0", "segments: found 0, expected 1 .. 1024");
    check("replicas: 0", "replicas: found 0, expected 1 .. 1024");
    check("segment: 1 KiB", "segment: found 1024, expected 26198016 .. 281474976710656");
    check("policy: first", "random");
}
