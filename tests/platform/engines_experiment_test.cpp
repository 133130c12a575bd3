// `tlmalloc reproduce engines`: the page's table, the areas beside their source, a program whose figures are counted by
// hand, laws between engines, and rows that cannot be.
#include "platform/engine_table.hpp"
#include "shared_data.hpp"

#include <sstream>

namespace {

using namespace engine_table;
std::string own_row(const std::string &with, const std::string &set) {
    return "name: e\nunit: u\nworkload: engine\nfigures: all\n"
           "with: {trace: ./t.csv, capacity: 100, units: 0, area: 0}\nrows:\n  - {label: a, with: {" +
           with + "}, set: {controller.cost.profile: rtl_list_1c" + set + "}}\n";
}

// Four blocks of 10 bytes, of which the first and the third go; 20 bytes are free then, in two holes.
const char *const program = "time_ns,op,id,bytes\n1,alloc,0,10\n2,alloc,1,10\n3,alloc,2,10\n4,alloc,3,10\n"
                            "5,free,0,10\n6,free,2,10\n7,alloc,4,20\n8,alloc,5,10\n9,free,1,10\n10,free,4,20\n";

std::map<std::string, double> play(const std::string &with, const std::string &set) {
    scratch_directory scratch;
    scratch.write("t.csv", program);
    return all_figures_of(scratch.write("e.yaml", own_row(with, set))).at("a");
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_every_engine_on_the_program_of_the_repository) {
    const row_figures found = all_figures_of(experiments + "engines.yaml");
    BOOST_CHECK_EQUAL(found.size(), 3 * engines.size());
    check_page(found, "lm_train", "lm_train: ");
    check_laws(found, "lm_train: ");
    BOOST_CHECK_EQUAL(found.at("lm_train: buddies").at("requests"), 3614);
}

BOOST_AUTO_TEST_CASE(the_page_has_every_engine_on_the_programs_beside_the_repository) {
    if (!shared_data_is_here("traces")) return;
    const row_figures found = all_figures_of(experiments + "engines.yaml");
    for (const std::string program_name : {"resnet_train", "lm_serve"}) {
        check_page(found, program_name, program_name + ": ");
        check_laws(found, program_name + ": ");
    }
}

// Areas are published once, and only engines in RTL have one.
BOOST_AUTO_TEST_CASE(areas_of_engines_are_those_of_the_page_about_rtl) {
    const std::string page = read_text(TLMALLOC_SOURCE_DIR "/model/rtl/README.md");
    for (const char *name : {"engines.yaml", "engines_hour.yaml"}) {
        std::istringstream rows(read_text(experiments + name));
        std::size_t checked = 0;
        for (std::string row; std::getline(rows, row);) {
            const std::size_t area = row.find("area: "), label = row.find("label: \"");
            if (label == std::string::npos) continue;
            BOOST_CHECK_MESSAGE((area == std::string::npos) == contains(row, "firmware\""), row);
            if (area == std::string::npos) continue;
            std::string engine = row.substr(label + 8, row.find('"', label + 8) - label - 8);
            if (contains(engine, ": ")) engine.erase(0, engine.find(": ") + 2);
            if (contains(engine, "buddies")) engine = "buddies";
            const std::string in_page = "\n| " + engine + " | 1024 | ";
            const std::size_t at = page.find(in_page);
            BOOST_REQUIRE_MESSAGE(at != std::string::npos, engine);
            const std::size_t lut4 = page.find(" | ", at + in_page.size()) + 3;
            BOOST_CHECK_EQUAL(std::stoul(row.substr(area + 6)), std::stoul(page.substr(lut4)));
            checked++;
        }
        BOOST_CHECK_GE(checked, 7u);
    }
}

// First fit, one cycle a node: an ALLOC takes 1 and the nodes that it visits, and 1 if the last one is taken whole. A
// FREE takes 3, the nodes that it passes, and 1 for a node that comes or goes.
BOOST_AUTO_TEST_CASE(a_program_of_ten_commands_takes_the_cycles_that_are_counted_by_hand) {
    const auto found = play("capacity: 80", ""); // of 50 bytes
    // ALLOCs: 2, 2, 2, 3 (whole); 20 visits both holes in vain: 3; 10 takes the first hole: 3. FREEs: 4, 5; block 1
    // joins the second hole: 3; block 4 has none.
    const std::map<std::string, double> expected{{"alloc_p50", 2}, {"alloc_p99", 3},  {"alloc_max", 3}, {"free_p50", 4},
                                                 {"free_p99", 5},  {"free_max", 5},   {"behind", 0},    {"area", 0},
                                                 {"refused", 1},   {"fragmented", 1}, {"no_node", 0},   {"internal", 0},
                                                 {"requests", 6}};
    for (const auto &[figure, value] : expected)
        BOOST_CHECK_MESSAGE(found.at(figure) == value, figure << " " << found.at(figure));
    BOOST_CHECK_CLOSE(found.at("external"), 100 * 2 * 0.5 / 9, 1e-6); // of nine commands two end with two holes
}

BOOST_AUTO_TEST_CASE(units_of_an_engine_grow_until_it_has_so_many) {
    const auto whole = play("capacity: 160, units: 8", ""); // 80 bytes: units of 16
    BOOST_CHECK_EQUAL(whole.at("refused"), 1);
    BOOST_CHECK_EQUAL(whole.at("fragmented"), 1);
    BOOST_CHECK_GT(whole.at("internal"), 30);
    BOOST_CHECK_EQUAL(play("capacity: 160, units: 40", "").at("internal"), 0);
    BOOST_CHECK_GT(play("capacity: 160, units: 39", "").at("internal"), 0);
}

BOOST_AUTO_TEST_CASE(offset_bins_without_a_node_refuse_and_lists_without_a_node_end_the_run) {
    const auto found =
        play("capacity: 400", ", controller.hbm_policy: offset_bins_rounded, controller.engine_nodes: 3");
    BOOST_CHECK_EQUAL(found.at("no_node"), 4);
    scratch_directory scratch;
    scratch.write("t.csv", program);
    const command_result run =
        run_tlmalloc({"reproduce", scratch.write("e.yaml", own_row("capacity: 200", ", controller.engine_nodes: 1"))});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(
        contains(run.err, "the engine needs more than 1 nodes for a free: raise controller.engine_nodes"), run.err);
}

BOOST_AUTO_TEST_CASE(an_invalid_row_of_engines_is_rejected_with_its_place) {
    const auto refused = [](const std::string &row, const std::string &text) {
        scratch_directory scratch;
        scratch.write("t.csv", program);
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
        BOOST_CHECK_NE(run.status, 0);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    refused(own_row("capacity: 0", ""), "e.yaml:7:5: error: capacity: found 0 percent, expected 1 .. 10000");
    refused(own_row("capacity: 10001", ""), "capacity: found 10001 percent, expected 1 .. 10000");
    refused(own_row("capacity: 100", ", controller.hbm_policy: caching_pool"),
            "controller.hbm_policy: found a front, expected a placement: remove the front");
    refused(own_row("trace: ./e.yaml", ""), "e.yaml:1");
}
