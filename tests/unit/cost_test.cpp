// Prices of receipts, and the texts of the error taxonomy.
#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <set>
#include <string>

BOOST_AUTO_TEST_CASE(a_price_is_the_fixed_part_and_a_unit_for_each_event) {
    struct {
        uint64_t tla_work::*count;
        uint64_t tla_cost_profile::*unit;
    } const pairs[] = {
        {&tla_work::nodes_visited, &tla_cost_profile::node_ps},
        {&tla_work::insert_nodes, &tla_cost_profile::insert_node_ps},
        {&tla_work::probes, &tla_cost_profile::probe_ps},
        {&tla_work::bin_searches, &tla_cost_profile::bin_search_ps},
        {&tla_work::splits, &tla_cost_profile::split_ps},
        {&tla_work::merges, &tla_cost_profile::merge_ps},
        {&tla_work::metadata_lines, &tla_cost_profile::metadata_line_ps},
        {&tla_work::allocs, &tla_cost_profile::alloc_ps},
        {&tla_work::frees, &tla_cost_profile::free_ps},
        {&tla_work::nodes_created, &tla_cost_profile::node_created_ps},
        {&tla_work::nodes_released, &tla_cost_profile::node_released_ps},
        {&tla_work::chunks, &tla_cost_profile::chunk_ps},
        {&tla_work::pte_writes, &tla_cost_profile::pte_write_ps},
        {&tla_work::table_levels, &tla_cost_profile::table_level_ps},
        {&tla_work::invalidates, &tla_cost_profile::invalidate_ps},
        {&tla_work::class_lookups, &tla_cost_profile::class_lookup_ps},
        {&tla_work::list_pops, &tla_cost_profile::list_pop_ps},
        {&tla_work::list_pushes, &tla_cost_profile::list_push_ps},
        {&tla_work::slots, &tla_cost_profile::slot_ps},
        {&tla_work::driver_calls, &tla_cost_profile::driver_call_ps},
    };
    tla_work all_work{};
    tla_cost_profile all_units{};
    all_units.fixed_ps = 5000;
    uint64_t expected = 5000, step = 1;
    for (auto pair : pairs) {
        tla_work work{};
        tla_cost_profile units{};
        work.*pair.count = 3;
        units.*pair.unit = 1000;
        BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 3000u);
        all_work.*pair.count = step;
        all_units.*pair.unit = 10 * step;
        expected += 10 * step * step;
        step++;
    }
    BOOST_CHECK_EQUAL(tla_cost_price(&all_units, &all_work), expected);
}

BOOST_AUTO_TEST_CASE(the_receipt_reports_the_length_of_the_list_and_the_price_excludes_it) {
    tla_work work{};
    work.list_length = 100;
    tla_cost_profile units{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 1u);
}

BOOST_AUTO_TEST_CASE(prices_saturate) {
    tla_work work{};
    tla_cost_profile units{};
    work.nodes_visited = UINT64_MAX / 2, units.node_ps = 3;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), UINT64_MAX);
    units.node_ps = 2, units.fixed_ps = 100;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), UINT64_MAX);
    work.splits = 1, units.split_ps = 1; // stays there
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(every_status_has_a_name_and_a_text_of_its_own) {
    std::set<std::string> names, texts;
    for (int i = 0; i < TLA_STATUS_COUNT; i++) {
        auto status = static_cast<tla_status>(i);
        BOOST_REQUIRE(tla_status_name(status) && tla_status_text(status));
        std::string name = tla_status_name(status), text = tla_status_text(status);
        BOOST_CHECK_EQUAL(name.rfind("TLA_", 0), 0u);
        BOOST_CHECK(!text.empty() && text.back() != '.');
        names.insert(name);
        texts.insert(text);
    }
    BOOST_CHECK_EQUAL(names.size(), size_t(TLA_STATUS_COUNT));
    BOOST_CHECK_EQUAL(texts.size(), size_t(TLA_STATUS_COUNT));
    BOOST_CHECK_EQUAL(tla_status_name(TLA_EXHAUSTED), "TLA_EXHAUSTED");
    BOOST_CHECK_EQUAL(tla_status_name(TLA_STATUS_COUNT), "TLA_?");
    BOOST_CHECK_EQUAL(tla_status_text(TLA_STATUS_COUNT), "unknown status");
}

BOOST_AUTO_TEST_CASE(an_error_carries_status_and_text_and_clears_the_rest) {
    tla_error error;
    std::memset(&error, 0xEE, sizeof error);
    BOOST_CHECK_EQUAL(tla_error_set(&error, TLA_IO, "cannot open %s: %d", "x.csv", 2), TLA_IO);
    BOOST_CHECK_EQUAL(error.status, TLA_IO);
    BOOST_CHECK_EQUAL(error.text, std::string("cannot open x.csv: 2"));
    BOOST_CHECK_EQUAL(error.requested + error.total_free + error.largest_free, 0u);
    BOOST_CHECK_EQUAL(tla_error_set(nullptr, TLA_LEAK, "%s", "nobody listens"), TLA_LEAK);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_too_long_is_cut) {
    tla_error error;
    tla_error_set(&error, TLA_IO, "%s", std::string(1000, 'x').c_str());
    BOOST_CHECK_EQUAL(std::strlen(error.text), sizeof error.text - 1);
}

BOOST_AUTO_TEST_CASE(the_cycles_of_an_engine_take_the_place_of_what_it_walked_and_of_the_fixed_price) {
    tla_cost_profile units{};
    units.fixed_ps = 1;
    units.node_ps = 10;
    units.class_lookup_ps = 100;
    units.clock_ps = 1000;
    tla_work work{};
    work.nodes_visited = 7;
    work.class_lookups = 1;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 171u);
    tla_engine_work engine{};
    work.engine = &engine;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 171u); // which it did not ask
    engine.cycles = 9;
    engine.nodes = 5; // the other two are a front's
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 9120u);
    engine.cycles = UINT64_MAX / 2;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(the_price_of_an_answer_excludes_work_after_it) {
    tla_cost_profile units{};
    units.walk_ps = 10;
    units.walk_node_ps = 100;
    units.clock_ps = 1000;
    tla_engine_work engine{};
    tla_work work{};
    work.engine = &engine;
    engine.walks = 3;
    engine.walk_nodes = 9;
    engine.walks_behind = 1;
    engine.walk_nodes_behind = 4;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 520u);
    BOOST_CHECK_EQUAL(tla_cost_behind(&units, &work), 410u);
    engine = {};
    engine.cycles = 2;
    engine.cycles_behind = 7;
    BOOST_CHECK_EQUAL(tla_cost_price(&units, &work), 2000u);
    BOOST_CHECK_EQUAL(tla_cost_behind(&units, &work), 7000u);
    engine.cycles_behind = UINT64_MAX / 2;
    BOOST_CHECK_EQUAL(tla_cost_behind(&units, &work), UINT64_MAX);
    work.engine = nullptr;
    BOOST_CHECK_EQUAL(tla_cost_behind(&units, &work), 0u);
}
