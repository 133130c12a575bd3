// `tlmalloc reproduce compaction`: the tables of the page, laws between their rows, a program whose figures are counted
// by hand, and rows that cannot be.
#include "platform/experiment_figures.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>
#include <vector>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";
const std::vector<std::string> placements{"first_fit",     "best_fit", "next_fit", "worst_fit",
                                          "first_fit_top", "buddy",    "tlsf"};

std::string fixed(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

void check_sums(const row_figures &found, double requests) {
    for (const auto &[label, of] : found) {
        BOOST_CHECK_EQUAL(of.at("requests"), requests);
        BOOST_CHECK_LE(of.at("fragmented") + of.at("exhausted"), requests);
        BOOST_CHECK_CLOSE(of.at("moved_per_byte") * of.at("served"), of.at("moved"), 1e-6);
        BOOST_CHECK_MESSAGE((of.at("moved") > 0) == (of.at("moved_blocks") > 0), label);
    }
}

void check_page(const std::string &line) {
    BOOST_CHECK_MESSAGE(contains(read_text(configs + "experiments/README.md"), "\n" + line + "\n"),
                        "not in the page: " << line);
}

// A program on first fit, with compaction of this mode and this budget.
std::string own_row(const std::string &mode, const std::string &with = "budget: 1 MiB",
                    const std::string &set = "controller.hbm_policy: first_fit") {
    return "name: e\nunit: u\nworkload: compaction\nfigures: all\n"
           "set: {controller.move: stop, controller.compaction_threshold: 0}\n"
           "with: {trace: ./t.csv, capacity: 100, budget: 1 B, aged: false}\nrows:\n  - {label: a, with: {" +
           with + "}, set: {controller.compaction: " + mode + ", " + set + "}}\n";
}

// Eight blocks of 40 bytes of which the even ones go, and then one of 160.
const char *const program = "time_ns,op,id,bytes\n1,alloc,0,40\n2,alloc,1,40\n3,alloc,2,40\n4,alloc,3,40\n"
                            "5,alloc,4,40\n6,alloc,5,40\n7,alloc,6,40\n8,alloc,7,40\n9,free,6,40\n10,free,4,40\n"
                            "11,free,2,40\n12,free,0,40\n13,alloc,8,160\n14,free,8,160\n";

std::map<std::string, double> play(const std::string &mode, const std::string &with) {
    scratch_directory scratch;
    scratch.write("t.csv", program);
    return all_figures_of(scratch.write("e.yaml", own_row(mode, with))).at("a");
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_every_placement_with_and_without_compaction) {
    const row_figures found = all_figures_of(configs + "experiments/compaction.yaml");
    check_sums(found, 3614);
    BOOST_CHECK_EQUAL(found.size(), 4 * placements.size() * 3);
    const std::vector<std::string> modes{"off", "on_demand", "background"};
    for (const char *capacity : {"100 %", "101 %", "105 %", "110 %"})
        for (const std::string &placement : placements) {
            const std::string row = placement + ", " + capacity;
            const auto of = [&](const std::string &mode, const char *figure) {
                return found.at(row + ", " + mode).at(figure);
            };
            std::string line = "| " + row + " |";
            for (const char *figure : {"fragmented", "exhausted"})
                for (const std::string &mode : modes)
                    line += " " + fixed(of(mode, figure), 0) + " |";
            for (const char *mode : {"on_demand", "background"})
                line += " " + fixed(of(mode, "moved_per_byte"), 3) + " |";
            check_page(line);
            BOOST_CHECK_EQUAL(of("off", "moved"), 0);
            BOOST_CHECK_GT(of("background", "moved"), 0);
            BOOST_CHECK_LE(of("on_demand", "fragmented"), of("off", "fragmented"));
            BOOST_CHECK_GE(of("on_demand", "served"), of("off", "served"));
            for (const std::string &mode : modes) // only buddies round sizes up
                BOOST_CHECK(placement == "buddy" || of(mode, "exhausted") == 0);
            // What the text says.
            const bool splits_large_blocks = placement == "next_fit" || placement == "worst_fit";
            if (splits_large_blocks) BOOST_CHECK(of("off", "fragmented") >= 16 && of("off", "fragmented") <= 26);
            if (capacity == std::string("100 %"))
                BOOST_CHECK_EQUAL(of("on_demand", "fragmented"), placement == "buddy" ? 0 : 2);
            BOOST_CHECK_LT(of("background", "moved_per_byte"), splits_large_blocks ? 0.65 : 0.25);
        }
}

BOOST_AUTO_TEST_CASE(the_page_has_the_sweep_of_threshold_and_budget) {
    const row_figures found = all_figures_of(configs + "experiments/compaction_sweep.yaml");
    check_sums(found, 3614);
    BOOST_CHECK_EQUAL(found.size(), 25u);
    for (const std::string budget : {"16 KiB", "64 KiB", "256 KiB", "1 MiB", "16 MiB"}) {
        std::string line = "| " + budget + " |";
        for (const char *threshold : {"0", "100", "250", "500", "750"}) {
            const auto &of = found.at(budget + ", " + threshold + " permille");
            line += " " + fixed(of.at("fragmented"), 0) + ", " + fixed(of.at("moved_per_byte"), 3) + " |";
            if (budget == "16 KiB" || budget == "64 KiB")
                BOOST_CHECK_GT(of.at("fragmented"), 0);
            else if (threshold == std::string("0"))
                BOOST_CHECK(of.at("fragmented") == 0 && of.at("moved_per_byte") > 1);
        }
        check_page(line);
    }
}

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_an_aged_heap) {
    const row_figures found = all_figures_of(configs + "experiments/compaction_aged.yaml");
    check_sums(found, 3614);
    BOOST_CHECK_EQUAL(found.size(), placements.size() * 3);
    const std::string page = read_text(configs + "experiments/README.md");
    const std::map<std::string, int> refused{{"next_fit", 34}, {"worst_fit", 73}, {"buddy", 2}};
    for (const std::string &placement : placements) {
        const auto known = refused.find(placement);
        BOOST_CHECK_EQUAL(found.at(placement + ", off").at("fragmented"), known == refused.end() ? 0 : known->second);
        for (const char *mode : {", on_demand", ", background"})
            BOOST_CHECK_EQUAL(found.at(placement + mode).at("fragmented"), 0);
    }
    for (const char *mode : {", on_demand", ", background"})
        BOOST_CHECK(contains(page, fixed(found.at(std::string("next_fit") + mode).at("moved_per_byte"), 2) + " and " +
                                       fixed(found.at(std::string("worst_fit") + mode).at("moved_per_byte"), 2)));
}

// The first run has most at its eighth event, 320 bytes, which stay.
BOOST_AUTO_TEST_CASE(blocks_of_an_aged_heap_stay_and_are_not_counted) {
    const auto tight = play("on_demand", "aged: true, capacity: 75"); // 480 bytes: four blocks of the second run
    BOOST_CHECK_EQUAL(tight.at("requests"), 9);
    BOOST_CHECK_EQUAL(tight.at("exhausted"), 5);
    BOOST_CHECK_CLOSE(tight.at("served") * (1 << 20), 160., 1e-6);
    const auto roomy = play("on_demand", "aged: true, capacity: 110"); // 704 bytes: the hole needs blocks 5 and 7
    BOOST_CHECK_EQUAL(roomy.at("exhausted") + roomy.at("fragmented"), 0);
    BOOST_CHECK_EQUAL(roomy.at("moved_blocks"), 2);
}

BOOST_AUTO_TEST_CASE(on_demand_no_request_is_refused_as_fragmented_with_five_percent_more_than_the_peak) {
    for (const auto &row : all_figures_of(configs + "experiments/compaction_laws.yaml"))
        for (const auto &figure : row.second)
            BOOST_CHECK_MESSAGE(figure.second == 0, row.first);
}

BOOST_AUTO_TEST_CASE(a_program_of_nine_requests_moves_the_blocks_that_are_counted_by_hand) {
    const auto check = [](const char *mode, const char *with, double fragmented, double moved_blocks) {
        const auto found = play(mode, with);
        const double mib = 1 << 20;
        BOOST_CHECK_EQUAL(found.at("requests"), 9);
        BOOST_CHECK_EQUAL(found.at("fragmented"), fragmented);
        BOOST_CHECK_EQUAL(found.at("exhausted"), 0);
        BOOST_CHECK_CLOSE(found.at("served") * mib, 8 * 40 + (fragmented > 0 ? 0 : 160), 1e-6);
        BOOST_CHECK_EQUAL(found.at("moved_blocks"), moved_blocks);
        BOOST_CHECK_CLOSE(found.at("moved") * mib + 1, 40 * moved_blocks + 1, 1e-6);
    };
    check("off", "budget: 1 MiB", 1, 0);
    check("on_demand", "budget: 1 B", 0, 2); // the budget is of the background alone
    // After the second FREE block 3 moves from 120 to 240, so that the third FREE joins its hole, and after the fourth
    // block 1 moves.
    check("background", "budget: 1 MiB", 0, 2);
    check("background", "budget: 14 B", 0, 2);
    check("background", "budget: 13 B", 1, 2); // the second move begins after the last request
    check("background", "budget: 1 B", 1, 1);
}

BOOST_AUTO_TEST_CASE(an_invalid_row_of_compaction_is_rejected_with_its_place) {
    const auto refused = [](const std::string &row, const std::string &text) {
        scratch_directory scratch;
        scratch.write("t.csv", program);
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
        BOOST_CHECK_NE(run.status, 0);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    refused(own_row("off", "capacity: 0"), "e.yaml:8:5: error: capacity: found 0 percent, expected 1 .. 10000");
    refused(own_row("off", "capacity: 10001"), "capacity: found 10001 percent, expected 1 .. 10000");
    refused(own_row("off", "budget: 1 B", "controller.hbm_policy: caching_pool"),
            "controller.hbm_policy: found a front, expected a placement: remove the front");
    refused(own_row("off", "trace: ./e.yaml"), "e.yaml:1");
    refused(own_row("on_demand", "budget: 1 B", "controller.move: off"), "controller.compaction on_demand");
}
