// `tlmalloc reproduce faults`: the page's table, and rows that cannot be.
#include "platform/experiment_figures.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_time_of_first_touches_and_the_host_serves_them_one_by_one) {
    const row_figures found = all_figures_of(configs + "experiments/faults.yaml");
    const std::string page = read_text(configs + "experiments/README.md");
    for (const auto &[label, of] : found) {
        const std::string line =
            "\n| " + label + " | " + four_digits(of.at("mean")) + " | " + four_digits(of.at("longest")) + " |";
        BOOST_CHECK_MESSAGE(contains(page, line), "not in the page: " << line);
    }
    const auto &alone = found.at("host, 1 PE");
    BOOST_CHECK_EQUAL(alone.at("mean"), alone.at("longest"));
    for (const char *pes : {"1 PE", "8 PEs", "64 PEs"}) {
        const auto &host = found.at(std::string("host, ") + pes),
                   &controller = found.at(std::string("controller, ") + pes);
        for (const char *figure : {"mean", "longest"})
            BOOST_CHECK_GT(host.at(figure), 70 * controller.at(figure));
    }
    char readme[80];
    const int microseconds = static_cast<int>(found.at("host, 64 PEs").at("longest") + 0.5);
    std::snprintf(readme, sizeof readme, "wait %d,%03d us for the host, or %.1f us for", microseconds / 1000,
                  microseconds % 1000, found.at("controller, 64 PEs").at("longest"));
    BOOST_CHECK(contains(read_text(configs + "../README.md"), readme));
    for (const double pes : {8.0, 64.0}) {
        const auto &together = found.at("host, " + std::to_string(static_cast<int>(pes)) + " PEs");
        BOOST_CHECK_CLOSE(together.at("longest"), pes * alone.at("longest"), 1);
        BOOST_CHECK_CLOSE(together.at("mean"), (pes + 1) / 2 * alone.at("mean"), 1);
    }
}

BOOST_AUTO_TEST_CASE(a_run_reports_pages_that_controllers_give_and_no_word_of_them_otherwise) {
    for (const std::string handler : {"host", "controller"}) {
        scratch_directory scratch;
        const command_result ran = run_tlmalloc({"run", configs + "npu_small.yaml", "--kernel", "vector_add", "--set",
                                                 "mmu.unmapped=demand", "--set", "mmu.fault_handler=" + handler,
                                                 "--vcd", scratch.path("w.vcd"), "--json", scratch.path("r.json")});
        BOOST_REQUIRE_MESSAGE(ran.status == 0 && ran.err.empty(), ran.err);
        const std::string wave = read_text(scratch.path("w.vcd")), report = read_text(scratch.path("r.json"));
        for (const char *signal : {" faults_in_service ", " fault_pool_bytes "})
            BOOST_CHECK_EQUAL(contains(wave, signal), handler == "controller");
        BOOST_CHECK_EQUAL(contains(report, "\"given_pages\": "), handler == "controller");
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_row_of_first_touches_is_rejected_with_its_place) {
    const auto refused = [](const std::string &pes, const std::string &unmapped, const std::string &text) {
        scratch_directory scratch;
        const std::string row = "name: e\nunit: us\nworkload: first_touch\nplatform: " + configs +
                                "npu_small.yaml\nset: {mmu.unmapped: " + unmapped +
                                "}\nrows:\n  - {label: a, with: {pes: " + pes + "}}\n";
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
        BOOST_CHECK_NE(run.status, 0);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    refused("0", "demand", "e.yaml:7:5: error: pes: found 0, expected 1 .. 4, the number of PEs");
    refused("5", "demand", "pes: found 5, expected 1 .. 4, the number of PEs");
    refused("1", "error", "mmu.unmapped: found error, expected demand");
}
