// The exact planner against brute force, against the checker, and on the instances of the MiniMalloc benchmark.
#include "tlmalloc/plan/plan.h"

#include "minimalloc_instance.hpp"
#include "naive_plan.hpp"
#include "sanitized.hpp"
#include "seeded_random.hpp"

#include <algorithm>
#include <vector>

namespace {

using offsets = std::vector<std::uint64_t>;

// Under a sanitizer everything takes some thirty times as long: a part of it is looked at.
using names = std::vector<const char *>;
const int part = is_sanitized() ? 10 : 1;
const names solved =
    is_sanitized() ? names{"C", "G", "H", "J", "K"} : names{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"};
const names minimized =
    is_sanitized() ? names{"C", "G", "H", "I", "K"} : names{"A", "B", "C", "E", "F", "G", "H", "I", "K"};

// Small problems that are full at every time as a rule, with alignments, fixed offsets and gaps.
plan_problem random_problem(seeded_random &random) {
    plan_problem made;
    const std::size_t n = random.between(2, 8);
    const std::uint64_t times = random.between(2, 7), kind = random.between(0, 3);
    for (std::size_t i = 0; i < n; i++) {
        const std::uint64_t lower = random.between(0, times - 1), upper = random.between(lower + 1, times);
        made.tensors.push_back({lower, upper, random.between(1, 5)});
        made.alignments.push_back(kind & 1 && random.one_in(2) ? std::uint64_t{1} << random.between(0, 3) : 1);
        made.fixed.push_back(TLA_PLAN_ANYWHERE);
        if (kind & 2 && random.one_in(4)) made.fixed.back() = made.alignments.back() * random.between(0, 4);
        std::vector<tla_plan_gap> before = made.gaps;
        for (std::uint64_t at = lower; kind & 2 && at < upper && random.one_in(3);) {
            const std::uint64_t from = random.between(at, upper - 1), to = random.between(from + 1, upper);
            made.gaps.push_back({i, from, to});
            at = to;
        }
        bool lives = false;
        for (std::uint64_t time = lower; time < upper; time++)
            lives = lives || made.is_live(i, time);
        if (!lives) made.gaps = before;
    }
    return made;
}

std::uint64_t bound_of(const tla_plan_problem &problem) {
    std::uint64_t bound = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_bound(&problem, &bound, nullptr, nullptr), TLA_OK);
    return bound;
}

void require_plan(const tla_plan_problem &problem, const offsets &at, std::uint64_t capacity) {
    BOOST_REQUIRE_EQUAL(tla_plan_check_problem(&problem, at.data(), capacity, nullptr, nullptr), TLA_OK);
}

bool never(void *) {
    return false;
}

// Counts down to the answer "stop".
bool after_a_few(void *context) {
    return --*static_cast<int *>(context) < 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(small_problems_are_decided_as_by_brute_force) {
    seeded_random random(1701);
    std::size_t possible = 0, impossible_above_bound = 0, below_bound = 0;
    for (int i = 0; i < 100000 / part; i++) {
        const plan_problem made = random_problem(random);
        const tla_plan_problem problem = made.view();
        const std::uint64_t bound = bound_of(problem);
        const std::uint64_t capacity = std::max<std::uint64_t>(bound + random.between(0, 3), 1) - random.one_in(20);
        const bool expected = naive_plan_exists(made, capacity);
        offsets at(problem.n, 77);
        const tla_status status = tla_plan_exact(&problem, capacity, nullptr, at.data(), nullptr);
        BOOST_TEST_CONTEXT("problem " << i << ", capacity " << capacity << ": " << made.text()) {
            BOOST_REQUIRE_EQUAL(tla_status_name(status), expected ? "TLA_OK" : "TLA_EXHAUSTED");
            BOOST_REQUIRE(!expected || capacity >= bound);
            if (expected) require_plan(problem, at, capacity);
            if (!expected) BOOST_REQUIRE(at == offsets(problem.n, 77));
        }
        possible += expected;
        (capacity < bound ? below_bound : impossible_above_bound) += !expected;
    }
    BOOST_TEST_MESSAGE(possible << " possible, " << impossible_above_bound << " impossible though above the bound, "
                                << below_bound << " below it");
    BOOST_CHECK_GT(possible, 20000u / static_cast<unsigned>(part));
    BOOST_CHECK_GT(impossible_above_bound, 10000u / static_cast<unsigned>(part));
}

BOOST_AUTO_TEST_CASE(the_least_height_is_that_of_brute_force) {
    seeded_random random(1702);
    for (int i = 0; i < 5000 / part; i++) {
        const plan_problem made = random_problem(random);
        const tla_plan_problem problem = made.view();
        offsets at(problem.n);
        std::uint64_t height = 0;
        const tla_status best = tla_plan_best(&problem, at.data(), &height, nullptr, nullptr);
        BOOST_TEST_CONTEXT("problem " << i << ": " << made.text()) {
            if (best) { // only because fixed tensors overlap
                BOOST_REQUIRE_EQUAL(best, TLA_OVERLAP);
                BOOST_REQUIRE(!naive_plan_exists(made, 60));
                continue;
            }
            require_plan(problem, at, height);
            tla_plan_range range{};
            BOOST_REQUIRE_EQUAL(tla_plan_minimize(&problem, nullptr, at.data(), &range), TLA_OK);
            BOOST_REQUIRE_EQUAL(range.bound, range.height);
            require_plan(problem, at, range.height);
            BOOST_REQUIRE(naive_plan_exists(made, range.height));
            BOOST_REQUIRE(range.height == 0 || !naive_plan_exists(made, range.height - 1));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_minimalloc_instances_are_solved_at_their_capacity) {
    if (!minimalloc_is_here()) return;
    for (const char *name : solved) {
        const std::vector<tla_lifetime> tensors = minimalloc_instance(name);
        const tla_plan_problem problem{tensors.data(), tensors.size(), nullptr, nullptr, nullptr, 0};
        offsets at(problem.n), again(problem.n);
        std::uint64_t nodes = 0;
        BOOST_TEST_CONTEXT(name) {
            BOOST_REQUIRE_EQUAL(tla_plan_exact(&problem, 1048576, nullptr, at.data(), &nodes), TLA_OK);
            require_plan(problem, at, 1048576);
            BOOST_CHECK_LT(nodes, 300000u); // a few tenths of a second, counted without a clock
            const tla_plan_limits limits{nodes, never, nullptr};
            BOOST_REQUIRE_EQUAL(tla_plan_exact(&problem, 1048576, &limits, again.data(), nullptr), TLA_OK);
            BOOST_CHECK(again == at); // limits do not change the answer
            const tla_plan_limits tighter{nodes - 1, nullptr, nullptr};
            BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 1048576, &tighter, again.data(), nullptr), TLA_LIMIT);
            BOOST_CHECK_EQUAL(tla_plan_exact(&problem, bound_of(problem) - 1, nullptr, again.data(), nullptr),
                              TLA_EXHAUSTED);
            BOOST_CHECK(again == at); // nothing was written
        }
    }
}

BOOST_AUTO_TEST_CASE(nine_instances_reach_their_lower_bound) {
    if (!minimalloc_is_here()) return;
    for (const char *name : minimized) {
        const std::vector<tla_lifetime> tensors = minimalloc_instance(name);
        const tla_plan_problem problem{tensors.data(), tensors.size(), nullptr, nullptr, nullptr, 0};
        offsets at(problem.n);
        std::uint64_t height = 0;
        BOOST_TEST_CONTEXT(name) {
            BOOST_REQUIRE_EQUAL(tla_plan_best(&problem, at.data(), &height, nullptr, nullptr), TLA_OK);
            tla_plan_range range{};
            BOOST_REQUIRE_EQUAL(tla_plan_minimize(&problem, nullptr, at.data(), &range), TLA_OK);
            BOOST_CHECK_EQUAL(range.height, bound_of(problem));
            require_plan(problem, at, range.height);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_search_that_is_stopped_says_neither) {
    if (!minimalloc_is_here()) return;
    const std::vector<tla_lifetime> tensors = minimalloc_instance("D"); // open at its bound
    const tla_plan_problem problem{tensors.data(), tensors.size(), nullptr, nullptr, nullptr, 0};
    offsets at(problem.n, 5);
    int questions = 20;
    const tla_plan_limits limits{0, after_a_few, &questions};
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 986112, &limits, at.data(), nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(questions, -1); // and it has not asked again
    BOOST_CHECK(at == offsets(problem.n, 5));

    std::uint64_t height = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_best(&problem, at.data(), &height, nullptr, nullptr), TLA_OK);
    questions = 2000 / part;
    tla_plan_range range{};
    BOOST_CHECK_EQUAL(tla_plan_minimize(&problem, &limits, at.data(), &range), TLA_LIMIT);
    BOOST_CHECK_LT(range.height, height); // some ten thousand nodes lower it
    BOOST_CHECK_LT(range.bound, range.height);
    require_plan(problem, at, range.height);
}

BOOST_AUTO_TEST_CASE(heights_between_two_multiples_of_the_unit_are_one_problem) {
    // All sizes are multiples of 1000: three that meet in pairs and not at once need 2000, and a proof at 1999.
    const plan_problem made{{{0, 2, 1000}, {1, 3, 1000}, {2, 4, 1000}}, {1, 1, 1}, offsets(3, TLA_PLAN_ANYWHERE), {}};
    const tla_plan_problem problem = made.view();
    offsets at(3);
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 1999, nullptr, at.data(), nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 2000, nullptr, at.data(), nullptr), TLA_OK);
    BOOST_CHECK((at == offsets{0, 1000, 0}));
}

BOOST_AUTO_TEST_CASE(sizes_of_half_the_address_space_are_planned) {
    const std::uint64_t half = TLA_PLAN_HEIGHT_MAX / 2;
    const plan_problem made{
        {{0, 2, half}, {1, 3, half}, {3, 4, 2 * half}}, {1, 4096, 1}, offsets(3, TLA_PLAN_ANYWHERE), {}};
    const tla_plan_problem problem = made.view();
    offsets at(3);
    BOOST_REQUIRE_EQUAL(tla_plan_exact(&problem, 2 * half, nullptr, at.data(), nullptr), TLA_OK);
    require_plan(problem, at, 2 * half);
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, UINT64_MAX, nullptr, at.data(), nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 2 * half - 1, nullptr, at.data(), nullptr), TLA_EXHAUSTED);

    const plan_problem more{{{0, 2, 2 * half}, {1, 3, 1}}, {1, 1}, offsets(2, TLA_PLAN_ANYWHERE), {}};
    const tla_plan_problem none = more.view();
    BOOST_CHECK_EQUAL(tla_plan_exact(&none, UINT64_MAX, nullptr, at.data(), nullptr), TLA_EXHAUSTED);
    std::uint64_t height = 7;
    for (int method = 0; method < TLA_PLAN_METHOD_COUNT; method++)
        BOOST_CHECK_EQUAL(tla_plan_place(static_cast<tla_plan_method>(method), &none, at.data(), &height),
                          TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(height, 7u);
}

BOOST_AUTO_TEST_CASE(an_empty_problem_has_an_empty_plan) {
    const tla_plan_problem problem{nullptr, 0, nullptr, nullptr, nullptr, 0};
    std::uint64_t nothing = 0, height = 7;
    BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 0, nullptr, &nothing, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_plan_best(&problem, &nothing, &height, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(height, 0u);
    tla_plan_range range{};
    BOOST_CHECK_EQUAL(tla_plan_minimize(&problem, nullptr, &nothing, &range), TLA_OK);
    BOOST_CHECK_EQUAL(range.height, 0u);
}

BOOST_AUTO_TEST_CASE(invalid_problems_and_plans_are_rejected) {
    const plan_problem bad[] = {
        {{{3, 3, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {}},
        {{{0, 1, 0}}, {1}, {TLA_PLAN_ANYWHERE}, {}},
        {{{0, 1, TLA_PLAN_HEIGHT_MAX + 1}}, {1}, {TLA_PLAN_ANYWHERE}, {}},
        {{{0, 1, 1}}, {3}, {TLA_PLAN_ANYWHERE}, {}},
        {{{0, 1, 1}}, {4}, {6}, {}},
        {{{0, 1, 1}}, {1}, {TLA_PLAN_HEIGHT_MAX}, {}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{0, 0, 4}}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{0, 0, 2}, {0, 2, 4}}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{0, 2, 2}}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{0, 3, 5}}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{0, 2, 3}, {0, 1, 2}}},
        {{{0, 4, 1}}, {1}, {TLA_PLAN_ANYWHERE}, {{1, 2, 3}}},
    };
    for (const plan_problem &made : bad) {
        const tla_plan_problem problem = made.view();
        std::uint64_t at = 7, height = 7;
        tla_plan_range range{};
        BOOST_CHECK_EQUAL(tla_plan_exact(&problem, 100, nullptr, &at, nullptr), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_plan_minimize(&problem, nullptr, &at, &range), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_plan_bound(&problem, &height, nullptr, nullptr), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_plan_best(&problem, &at, &height, nullptr, nullptr), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_plan_place(TLA_PLAN_STACK, &problem, &at, &height), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(at == 7 && height == 7);
    }
    const plan_problem good{{{0, 2, 4}, {1, 3, 4}}, {1, 1}, offsets(2, TLA_PLAN_ANYWHERE), {}};
    const tla_plan_problem problem = good.view();
    offsets overlapping{0, 2};
    tla_plan_range range{};
    BOOST_CHECK_EQUAL(tla_plan_minimize(&problem, nullptr, overlapping.data(), &range), TLA_INVALID_ARGUMENT);
}
