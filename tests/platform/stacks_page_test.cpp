// platform/stacks.md: its tables are what the command prints.
#include "platform/command_line.hpp"
#include "shared_data.hpp"

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

// Whether the page has the table of a trace under the trace's name.
void check(const std::string &trace, const std::string &name) {
    scratch_directory scratch;
    const command_result run = run_tlmalloc({"replay", trace, "--config", source + "configs/npu_small.yaml",
                                             "--compare", "every", "--table", scratch.path("t.md")});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    const std::string page = read_text(source + "platform/stacks.md"), table = read_text(scratch.path("t.md"));
    const std::size_t section = page.find("\n## " + name + "\n"), begin = page.find("\n| stack |", section) + 1;
    BOOST_REQUIRE_NE(section, std::string::npos);
    BOOST_CHECK_EQUAL(page.substr(begin, table.size()), table);
    BOOST_CHECK(begin + table.size() == page.size() || page[begin + table.size()] == '\n'); // and no row more
    // Every front over every placement, but slots, which have none below.
    for (const char *front : {"", "caching_pool/", "segment_cache/", "growing_pool/", "mixed/", "lazy/",
                              "linear_regions/", "interleaving_regions/"})
        for (const char *placement : {"best_fit", "next_fit", "worst_fit", "first_fit_top", "buddy", "tlsf",
                                      "offset_bins", "offset_bins_rounded"})
            BOOST_CHECK_MESSAGE(contains(table, "| `" + std::string(front) + placement + "` |"), front << placement);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_table_of_the_trace_that_comes_with_the_project) {
    check(source + "configs/traces/lm_train.csv.gz", "lm_train");
}

BOOST_AUTO_TEST_CASE(the_page_has_the_tables_of_the_traces_beside_the_project) {
    if (!shared_data_is_here("traces")) return;
    for (const std::string name : {"resnet_train", "lm_serve"})
        check(shared_data + "traces/" + name + ".csv.gz", name);
}

BOOST_AUTO_TEST_CASE(a_table_is_of_a_comparison_and_the_same_every_time) {
    scratch_directory scratch;
    const std::string trace = source + "configs/traces/lm_train.csv.gz";
    const command_result one = run_tlmalloc({"replay", trace, "--capacity", "1 GiB", "--table", scratch.path("t.md")});
    BOOST_CHECK_EQUAL(one.status, 2);
    BOOST_CHECK(contains(one.err, "--table needs --compare"));
    for (const char *name : {"a.md", "b.md"})
        BOOST_CHECK_EQUAL(run_tlmalloc({"replay", trace, "--capacity", "90 MB", "--compare", "first_fit,slot_pool,tlsf",
                                        "--table", scratch.path(name)})
                              .status,
                          0);
    BOOST_CHECK_EQUAL(read_text(scratch.path("a.md")), read_text(scratch.path("b.md")));
    BOOST_CHECK(!contains(read_text(scratch.path("a.md")), "| `first_fit` | 0 |")); // some do not fit
}
