// `tlmalloc reproduce engines` with requests: regions that stay until they are evicted, on every engine.
#include "platform/engine_table.hpp"
#include "shared_data.hpp"

namespace {

using namespace engine_table;

std::string own_row(const std::string &with, const std::string &set) {
    return "name: e\nunit: u\nworkload: engine_requests\nfigures: all\n"
           "with: {requests: ./r.csv, capacity: 100, units: 0, area: 0}\nrows:\n  - {label: a, with: {" +
           with + "}, set: {controller.cost.profile: rtl_list_1c" + set + "}}\n";
}

// Regions of 40, 30, 30, 50 and 25 tokens.
const char *const requests = "input,output\n30,10\n20,10\n20,10\n40,10\n20,5\n";

std::map<std::string, double> serve(const std::string &with, const std::string &set = "") {
    scratch_directory scratch;
    scratch.write("r.csv", requests);
    return all_figures_of(scratch.write("e.yaml", own_row(with, set))).at("a");
}

} // namespace

// 50 tokens do not fit beside 40, 30 and 30; without the 40 they do not either, and without the first 30 they do. Of
// the 70 tokens then 20 are left, which are too few for the 25; the second 30 goes.
BOOST_AUTO_TEST_CASE(requests_evict_the_oldest_regions_that_are_counted_by_hand) {
    const auto found = serve("capacity: 100");
    BOOST_CHECK_EQUAL(found.at("requests"), 5);
    BOOST_CHECK_EQUAL(found.at("refused"), 3);
    BOOST_CHECK_EQUAL(found.at("fragmented"), 0);
    BOOST_CHECK_EQUAL(serve("capacity: 1000").at("refused"), 0);
}

BOOST_AUTO_TEST_CASE(a_request_above_the_memory_evicts_everything_and_is_refused) {
    const auto found = serve("capacity: 45"); // 40; 30 for it; 30 for it; 50: refused, then alone; 25
    BOOST_CHECK_EQUAL(found.at("refused"), 1 + 1 + 2);
}

BOOST_AUTO_TEST_CASE(an_invalid_row_of_requests_on_engines_is_rejected_with_its_place) {
    scratch_directory scratch;
    scratch.write("r.csv", requests);
    const command_result none = run_tlmalloc({"reproduce", scratch.write("e.yaml", own_row("capacity: 0", ""))});
    BOOST_CHECK_EQUAL(none.status, 2);
    BOOST_CHECK_MESSAGE(contains(none.err, "e.yaml:7:5: error: capacity: found 0 tokens, expected at least 1"),
                        none.err);
    const command_result front = run_tlmalloc(
        {"reproduce", scratch.write("e.yaml", own_row("capacity: 9", ", controller.hbm_policy: caching_pool"))});
    BOOST_CHECK_MESSAGE(contains(front.err, "expected a placement: remove the front"), front.err);
}

BOOST_AUTO_TEST_CASE(the_page_has_every_engine_on_an_hour_of_conversations) {
    if (!shared_data_is_here("data/serving")) return;
    const row_figures found = all_figures_of(experiments + "engines_hour.yaml");
    check_page(found, "conversations", "");
    check_laws(found, "");
    for (const auto &row : found)
        BOOST_CHECK_EQUAL(row.second.at("requests"), 12031);
}
