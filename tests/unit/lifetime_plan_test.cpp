// The planners against goldens of others and on random problems.
#include "minimalloc_instance.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/plan/plan.h"

#include <algorithm>
#include <map>
#include <vector>

namespace {

using lifetimes = std::vector<tla_lifetime>;
using offsets = std::vector<std::uint64_t>;

struct plan_result {
    offsets at;
    std::uint64_t height = 0;
};

plan_result plan(tla_plan_method method, const lifetimes &tensors, bool stable_sort = true) {
    plan_result result{offsets(tensors.size()), 0};
    tla_plan_options options{0, 1, stable_sort};
    BOOST_REQUIRE_EQUAL(tla_plan(method, tensors.data(), tensors.size(), &options, result.at.data(), &result.height),
                        TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_plan_check(tensors.data(), result.at.data(), tensors.size(), nullptr, nullptr), TLA_OK);
    return result;
}

std::uint64_t peak(const lifetimes &tensors) {
    std::uint64_t nbytes = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_peak(tensors.data(), tensors.size(), 1, &nbytes), TLA_OK);
    return nbytes;
}

// A placement policy as the program runs: at equal times frees go first, then allocations in input order.
std::uint64_t online_height(const lifetimes &tensors, tla_policy policy) {
    tla_arena *arena = nullptr;
    tla_arena_config config{};
    config.capacity = std::uint64_t{1} << 40;
    config.policy = policy;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    std::map<std::uint64_t, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> times; // ends, begins
    for (std::size_t i = 0; i < tensors.size(); i++) {
        times[tensors[i].upper].first.push_back(i);
        times[tensors[i].lower].second.push_back(i);
    }
    std::vector<tla_block> blocks(tensors.size());
    std::uint64_t height = 0;
    for (auto &[time, events] : times) {
        for (std::size_t i : events.first)
            BOOST_REQUIRE_EQUAL(tla_arena_free(arena, blocks[i], nullptr), TLA_OK);
        for (std::size_t i : events.second) {
            BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, tensors[i].nbytes, &blocks[i], nullptr), TLA_OK);
            height = std::max(height, blocks[i].offset + blocks[i].nbytes);
        }
    }
    tla_arena_destroy(arena);
    return height;
}

} // namespace

BOOST_AUTO_TEST_CASE(weights_follow_each_other_on_4_kib) { // 1.8
    std::vector<std::uint64_t> nbytes{1, 4096, 4097, 12288}, at(4);
    tla_plan_options options{0x100000000, 4096, false};
    std::uint64_t end = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_weights(nbytes.data(), 4, &options, at.data(), &end), TLA_OK);
    BOOST_CHECK((at == offsets{0x100000000, 0x100001000, 0x100002000, 0x100004000}));
    BOOST_CHECK_EQUAL(end, 0x100007000u);
    nbytes[2] = 0;
    BOOST_CHECK_EQUAL(tla_plan_weights(nbytes.data(), 4, &options, at.data(), &end), TLA_INVALID_ARGUMENT);
    options.base = 100;
    BOOST_CHECK_EQUAL(tla_plan_weights(nbytes.data(), 2, &options, at.data(), &end), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(the_minimalloc_example) { // 1.8: both reach the optimum of 12
    lifetimes tensors{{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}};
    for (bool stable : {true, false})
        BOOST_CHECK((plan(TLA_PLAN_FIT_FIRST, tensors, stable).height == 12));
    BOOST_CHECK((plan(TLA_PLAN_FIT_FIRST, tensors).at == offsets{0, 0, 4, 0, 8}));
    BOOST_CHECK((plan(TLA_PLAN_SIZE_ORDER, tensors).at == offsets{8, 8, 4, 4, 0}));
    BOOST_CHECK_EQUAL(plan(TLA_PLAN_SIZE_ORDER, tensors).height, 12u);
    BOOST_CHECK_EQUAL(peak(tensors), 12u);
}

BOOST_AUTO_TEST_CASE(a_hole_that_is_too_small_grows) { // 1.8 "growth"
    lifetimes tensors{{0, 2, 4096}, {1, 5, 8192}, {2, 6, 12288}, {3, 7, 4096}};
    BOOST_CHECK((plan(TLA_PLAN_FIT_FIRST, tensors).at == offsets{0, 12288, 0, 20480}));
    BOOST_CHECK_EQUAL(plan(TLA_PLAN_FIT_FIRST, tensors).height, 24576u);
}

BOOST_AUTO_TEST_CASE(a_mixed_problem_that_both_solve_at_its_peak) { // 1.8 "mixed"
    lifetimes tensors{{0, 3, 16384}, {0, 2, 4096}, {1, 6, 8192}, {3, 6, 8192}, {3, 5, 4096}, {5, 8, 32768}};
    plan_result fit_first = plan(TLA_PLAN_FIT_FIRST, tensors), size_order = plan(TLA_PLAN_SIZE_ORDER, tensors);
    BOOST_CHECK((fit_first.at == offsets{0, 16384, 40960, 0, 8192, 8192}));
    BOOST_CHECK((size_order.at == offsets{0, 16384, 40960, 32768, 0, 0}));
    BOOST_CHECK_EQUAL(fit_first.height, 49152u);
    BOOST_CHECK_EQUAL(size_order.height, 49152u);
    BOOST_CHECK_EQUAL(peak(tensors), 49152u);
}

BOOST_AUTO_TEST_CASE(tflite_micros_medium_example) {                               // 1.8; 90 is asserted upstream
    lifetimes tensors{{0, 2, 10}, {1, 3, 20}, {2, 4, 30}, {3, 5, 40}, {0, 2, 50}}; // use 0-1, 1-2 ... inclusive
    for (tla_plan_method method : {TLA_PLAN_TFLM_GREEDY, TLA_PLAN_SIZE_ORDER}) {
        BOOST_CHECK((plan(method, tensors).at == offsets{50, 70, 40, 0, 0}));
        BOOST_CHECK_EQUAL(plan(method, tensors).height, 90u);
    }
    BOOST_CHECK((plan(TLA_PLAN_FIT_FIRST, tensors).at == offsets{0, 60, 0, 30, 10}));
    BOOST_CHECK_EQUAL(plan(TLA_PLAN_FIT_FIRST, tensors).height, 80u);
}

BOOST_AUTO_TEST_CASE(the_heights_of_the_minimalloc_instances) { // the table of 1.8
    if (!minimalloc_is_here()) return;
    struct row {
        const char *name;
        std::uint64_t peak, fit_first_stable, fit_first_quick, size_order, tflm, first_fit, best_fit;
    };
    const row table[] = {{"A", 1048576, 1847296, 1893376, 1374208, 1352704, 1608704, 1837056},
                         {"B", 1048576, 1933312, 1945600, 1415168, 1420288, 1775616, 1775616},
                         {"C", 1039360, 2325504, 1861632, 1417216, 1417216, 1769472, 1822720},
                         {"D", 986112, 1374208, 1430528, 1293312, 1292288, 1547264, 1468416},
                         {"E", 1048576, 2398208, 1930240, 1469440, 1435648, 1981440, 1945600},
                         {"F", 1048576, 1828864, 1556480, 1348608, 1433600, 1277952, 1281024},
                         {"G", 1048576, 1512448, 2216960, 1461248, 1421312, 1343488, 1277952},
                         {"H", 1048576, 2477056, 1691648, 1377280, 1355776, 1299456, 1229824},
                         {"I", 1048576, 2657280, 3141632, 1478656, 1478656, 1629184, 1840128},
                         {"J", 989184, 2013184, 1964032, 1349632, 1304576, 1587200, 1617920},
                         {"K", 1048576, 2926592, 4749312, 1389568, 1352704, 2102272, 1892352}};
    for (const row &expected : table) {
        lifetimes tensors = minimalloc_instance(expected.name);
        BOOST_TEST_CONTEXT(expected.name) {
            BOOST_CHECK_EQUAL(peak(tensors), expected.peak);
            BOOST_CHECK_EQUAL(plan(TLA_PLAN_FIT_FIRST, tensors, true).height, expected.fit_first_stable);
            BOOST_CHECK_EQUAL(plan(TLA_PLAN_FIT_FIRST, tensors, false).height, expected.fit_first_quick);
            BOOST_CHECK_EQUAL(plan(TLA_PLAN_SIZE_ORDER, tensors).height, expected.size_order);
            BOOST_CHECK_EQUAL(plan(TLA_PLAN_TFLM_GREEDY, tensors).height, expected.tflm);
            BOOST_CHECK_EQUAL(online_height(tensors, TLA_FIRST_FIT), expected.first_fit);
            BOOST_CHECK_EQUAL(online_height(tensors, TLA_BEST_FIT), expected.best_fit);
            offsets at(tensors.size());
            std::uint64_t height = 0;
            tla_plan_method method = TLA_PLAN_STACK;
            tla_plan_options options{0, 1, false};
            BOOST_REQUIRE_EQUAL(tla_plan_smaller(tensors.data(), tensors.size(), &options, at.data(), &height, &method),
                                TLA_OK);
            BOOST_CHECK_EQUAL(method, TLA_PLAN_SIZE_ORDER); // always, on these
            BOOST_CHECK_EQUAL(height, expected.size_order);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_reuse_everything_is_stacked) {
    lifetimes tensors{{0, 1, 100}, {1, 2, 50}, {2, 3, 70}};
    BOOST_CHECK((plan(TLA_PLAN_STACK, tensors).at == offsets{0, 100, 150}));
    BOOST_CHECK_EQUAL(plan(TLA_PLAN_STACK, tensors).height, 220u);
}

BOOST_AUTO_TEST_CASE(offsets_are_aligned_and_above_the_base) {
    lifetimes tensors{{0, 2, 1}, {1, 3, 4097}, {2, 4, 4096}};
    for (int method = 0; method < TLA_PLAN_METHOD_COUNT; method++) {
        offsets at(3);
        std::uint64_t height = 0;
        tla_plan_options options{0x10000, 4096, false};
        BOOST_REQUIRE_EQUAL(
            tla_plan(static_cast<tla_plan_method>(method), tensors.data(), 3, &options, at.data(), &height), TLA_OK);
        for (std::uint64_t offset : at)
            BOOST_CHECK(offset >= 0x10000 && offset % 4096 == 0);
        BOOST_CHECK_EQUAL(height % 4096, 0u);
        BOOST_CHECK(tla_plan_method_name(static_cast<tla_plan_method>(method)) != nullptr);
    }
    BOOST_CHECK(tla_plan_method_name(TLA_PLAN_METHOD_COUNT) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_checker_names_the_pair_that_overlaps) {
    lifetimes tensors{{0, 2, 10}, {2, 4, 10}, {1, 3, 10}};
    offsets at{0, 0, 9};
    std::size_t first = 9, second = 9;
    BOOST_CHECK_EQUAL(tla_plan_check(tensors.data(), at.data(), 3, &first, &second), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(first, 0u);
    BOOST_CHECK_EQUAL(second, 2u);
    at[2] = 10;
    BOOST_CHECK_EQUAL(tla_plan_check(tensors.data(), at.data(), 3, &first, &second), TLA_OK);
}

BOOST_AUTO_TEST_CASE(the_checker_finds_an_overlap_where_comparing_all_pairs_does) {
    seeded_random random(83);
    std::size_t overlaps = 0;
    for (int i = 0; i < 20000; i++) {
        lifetimes tensors(random.between(0, 12));
        offsets at;
        for (tla_lifetime &t : tensors) {
            t.lower = random.between(0, 20);
            t.upper = random.between(t.lower + 1, 21);
            t.nbytes = random.between(1, 8);
            at.push_back(random.between(0, 100));
        }
        const auto meet = [&](std::size_t a, std::size_t b) {
            return tensors[a].lower < tensors[b].upper && tensors[b].lower < tensors[a].upper &&
                   at[a] < at[b] + tensors[b].nbytes && at[b] < at[a] + tensors[a].nbytes;
        };
        bool expected = false;
        for (std::size_t a = 0; a < tensors.size(); a++)
            for (std::size_t b = 0; b < a; b++)
                expected = expected || meet(a, b);
        std::size_t first = 99, second = 99;
        const tla_status status = tla_plan_check(tensors.data(), at.data(), tensors.size(), &first, &second);
        BOOST_REQUIRE_EQUAL(status, expected ? TLA_OVERLAP : TLA_OK);
        BOOST_REQUIRE(expected ? first < second && meet(first, second) : first == 99 && second == 99);
        overlaps += expected;
    }
    BOOST_CHECK(overlaps > 4000 && overlaps < 16000);
}

BOOST_AUTO_TEST_CASE(the_checker_knows_capacity_alignment_fixed_offsets_and_gaps) {
    const lifetimes tensors{{0, 10, 8}, {3, 5, 8}, {5, 7, 8}};
    const offsets alignments{1, 4, 0}, fixed{0, TLA_PLAN_ANYWHERE, TLA_PLAN_ANYWHERE};
    const tla_plan_gap gap{0, 3, 5};
    const tla_plan_problem problem{tensors.data(), 3, alignments.data(), fixed.data(), &gap, 1};
    const auto check = [&](const offsets &at, std::uint64_t capacity) {
        return tla_plan_check_problem(&problem, at.data(), capacity, nullptr, nullptr);
    };
    BOOST_CHECK_EQUAL(check({0, 4, 8}, 16), TLA_OK);
    BOOST_CHECK_EQUAL(check({0, 4, 8}, 15), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(check({0, 2, 8}, 16), TLA_INVALID_ARGUMENT); // not aligned
    BOOST_CHECK_EQUAL(check({8, 4, 0}, 16), TLA_INVALID_ARGUMENT); // not where it is fixed
    BOOST_CHECK_EQUAL(check({0, 4, 7}, 16), TLA_OVERLAP);          // after the gap
    BOOST_CHECK_EQUAL(check({0, 4, UINT64_MAX}, UINT64_MAX), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(the_tensors_that_make_the_bound_are_named) {
    const lifetimes tensors{{0, 3, 4}, {3, 9, 4}, {0, 9, 5}, {9, 21, 4}, {2, 21, 4}};
    tla_plan_problem problem{tensors.data(), 5, nullptr, nullptr, nullptr, 0};
    std::uint64_t bound = 0;
    std::vector<std::size_t> who(5);
    std::size_t count = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_bound(&problem, &bound, who.data(), &count), TLA_OK);
    who.resize(count);
    BOOST_CHECK_EQUAL(bound, 13u);
    BOOST_CHECK((who == std::vector<std::size_t>{0, 2, 4}));

    // Offsets that are multiples of 16: three tensors take two steps of it and the smallest size on top.
    const offsets aligned{16, 16, 16, 16, 16};
    problem.alignments = aligned.data();
    BOOST_REQUIRE_EQUAL(tla_plan_bound(&problem, &bound, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(bound, 36u);

    const offsets fixed{TLA_PLAN_ANYWHERE, 48, TLA_PLAN_ANYWHERE, TLA_PLAN_ANYWHERE, TLA_PLAN_ANYWHERE};
    problem.fixed = fixed.data();
    who.resize(5);
    BOOST_REQUIRE_EQUAL(tla_plan_bound(&problem, &bound, who.data(), &count), TLA_OK);
    BOOST_CHECK_EQUAL(bound, 52u);
    BOOST_CHECK(count == 1 && who[0] == 1);
}

BOOST_AUTO_TEST_CASE(every_method_plans_what_it_can_and_best_is_the_lowest_of_them) {
    seeded_random random(84);
    for (int i = 0; i < 3000; i++) {
        lifetimes tensors(random.between(1, 30));
        offsets alignments, fixed;
        std::vector<tla_plan_gap> gaps;
        const bool some_fixed = random.one_in(3);
        for (std::size_t k = 0; k < tensors.size(); k++) {
            tla_lifetime &t = tensors[k];
            t.lower = random.between(0, 20);
            t.upper = random.between(t.lower + 1, 24);
            t.nbytes = random.between(1, 30);
            alignments.push_back(random.one_in(2) ? std::uint64_t{1} << random.between(0, 5) : 0);
            fixed.push_back(some_fixed && random.one_in(8) ? 32 * random.between(0, 20) : TLA_PLAN_ANYWHERE);
            if (t.upper - t.lower > 2 && random.one_in(4)) gaps.push_back({k, t.lower + 1, t.upper - 1});
        }
        const tla_plan_problem problem{tensors.data(), tensors.size(), alignments.data(),
                                       fixed.data(),   gaps.data(),    gaps.size()};
        std::uint64_t least = UINT64_MAX, height = 0, heights[TLA_PLAN_METHOD_COUNT];
        offsets at(tensors.size());
        tla_plan_method method = TLA_PLAN_METHOD_COUNT;
        const tla_status status = tla_plan_best(&problem, at.data(), &height, &method, heights);
        if (!status) BOOST_REQUIRE_EQUAL(tla_plan_check_problem(&problem, at.data(), height, nullptr, nullptr), TLA_OK);
        for (int m = 0; m < TLA_PLAN_METHOD_COUNT; m++) {
            std::uint64_t own = UINT64_MAX;
            const tla_status placed = tla_plan_place(static_cast<tla_plan_method>(m), &problem, at.data(), &own);
            if (!placed)
                BOOST_REQUIRE_EQUAL(tla_plan_check_problem(&problem, at.data(), own, nullptr, nullptr), TLA_OK);
            else
                BOOST_REQUIRE(some_fixed && (placed == TLA_UNSUPPORTED || placed == TLA_OVERLAP));
            if (!status) BOOST_REQUIRE_EQUAL(heights[m], own);
            least = std::min(least, own);
        }
        BOOST_REQUIRE_EQUAL(status, least == UINT64_MAX ? TLA_OVERLAP : TLA_OK);
        if (!status) BOOST_REQUIRE(height == least && heights[method] == least);
    }
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_tensors_are_planned_and_checked) {
    seeded_random random(85);
    lifetimes tensors(100000);
    for (tla_lifetime &t : tensors) {
        t.lower = random.between(0, 100000);
        t.upper = t.lower + random.between(1, random.between(1, 4000));
        t.nbytes = 64 * random.between(1, 1024);
    }
    const plan_result made = plan(TLA_PLAN_LOWEST_FIRST, tensors); // checks it
    BOOST_CHECK_LT(made.height, peak(tensors) / 100 * 110);
    const tla_plan_problem problem{tensors.data(), tensors.size(), nullptr, nullptr, nullptr, 0};
    offsets at(tensors.size());
    std::uint64_t height = 0, heights[TLA_PLAN_METHOD_COUNT];
    BOOST_REQUIRE_EQUAL(tla_plan_best(&problem, at.data(), &height, nullptr, heights), TLA_OK);
    BOOST_CHECK_EQUAL(height, made.height);
    BOOST_CHECK_EQUAL(heights[TLA_PLAN_SIZE_ORDER], UINT64_MAX); // n^2: not tried
}

BOOST_AUTO_TEST_CASE(problems_out_of_range_are_rejected_and_nothing_is_written) {
    const lifetimes bad{{3, 3, 10}, {0, 1, 0}, {0, 1, ~std::uint64_t{0}}};
    tla_plan_options options{0, 1, false}, odd{0, 3000, false};
    std::uint64_t at = 7, height = 7;
    for (int method = 0; method <= TLA_PLAN_METHOD_COUNT; method++) {
        auto m = static_cast<tla_plan_method>(method);
        for (const tla_lifetime &tensor : bad)
            BOOST_CHECK_EQUAL(tla_plan(m, &tensor, 1, &options, &at, &height), TLA_INVALID_ARGUMENT);
        tla_lifetime good{0, 1, 10};
        BOOST_CHECK_EQUAL(tla_plan(m, &good, 1, &odd, &at, &height), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_plan(m, &good, 0, &options, &at, &height) == TLA_OK, method < TLA_PLAN_METHOD_COUNT);
        BOOST_CHECK_EQUAL(at, 7u);
        BOOST_CHECK_EQUAL(height, method < TLA_PLAN_METHOD_COUNT ? 0u : 7u);
        height = 7;
    }
}

BOOST_AUTO_TEST_CASE(random_problems_are_planned_without_overlap_between_peak_and_sum) {
    seeded_random random(81);
    for (int i = 0; i < 4000; i++) {
        lifetimes tensors(random.between(1, 40));
        std::uint64_t sum = 0;
        for (tla_lifetime &t : tensors) {
            t.lower = random.between(0, 20);
            t.upper = random.between(t.lower + 1, 21);
            t.nbytes = random.between(1, 8);
            sum += t.nbytes;
        }
        for (int method = 0; method < TLA_PLAN_METHOD_COUNT; method++)
            for (bool stable : {true, false}) { // plan() checks for overlaps
                std::uint64_t height = plan(static_cast<tla_plan_method>(method), tensors, stable).height;
                BOOST_REQUIRE(height >= peak(tensors) && height <= sum);
            }
    }
}
