// The workload `segments` of `tlmalloc reproduce`: a closed form, and parameters that cannot be.
#include "platform/experiment_figures.hpp"

namespace {

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

BOOST_AUTO_TEST_CASE(key_values_fill_segments_up_to_their_bin) {
    const double nbytes = 1 << 30, full = (1 << 30) / 3407872, used = full * 3274752 / nbytes;
    for (const char *policy : {"random", "free_ratio_first"})
        for (const char *replicas : {"1", "3"}) {
            const auto figures = play(std::string("policy: ") + policy + ", replicas: " + replicas);
            for (const char *figure : {"min", "p99", "p90", "p50", "max", "avg"})
                BOOST_CHECK_CLOSE(figures.at(figure), used, 1e-6); // reports have nine digits
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
