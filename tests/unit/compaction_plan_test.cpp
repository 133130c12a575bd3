// Planners of compaction: the exact one against brute force, the heuristics against the rules of moves and against it.
#include "compaction_heaps.hpp"
#include "sanitized.hpp"

using namespace compaction;

namespace {

const int part = is_sanitized() ? 10 : 1;

// Small enough for the brute force.
heap small_heap(seeded_random &random) {
    for (;;) {
        const std::uint64_t kind = random.between(0, 3);
        heap made = kind == 0   ? random_buddies(random, 4, random.between(0, 1) * 4)
                    : kind == 1 ? random_heap(random, random.between(1, 4), 4, 3, random.between(0, 1) * 3)
                                : random_heap(random, random.between(2, 5), 4, 2, 4, random.one_in(3) ? 4 : 1);
        if (kind > 0 && made.range().nbytes > 18 * made.alignment) continue;
        made.hole = made.alignment * random.between(1, made.free_bytes() / made.alignment + 1);
        if (kind == 0) made.hole = std::uint64_t{1} << random.between(0, 3);
        if (kind == 3 && random.one_in(2)) made.hole_alignment = made.alignment << random.between(0, 2);
        return made;
    }
}

bool moves_a_block_twice(const tla_compaction_plan &plan) {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < plan.count; i++)
        moved.push_back(plan.moves[i].block);
    std::sort(moved.begin(), moved.end());
    return std::adjacent_find(moved.begin(), moved.end()) != moved.end();
}

// Blocks up to 1000 units, and gaps of a third.
heap large_heap(seeded_random &random, std::size_t blocks) {
    heap made = random.one_in(3)
                    ? random_buddies(random, 9, 16, blocks)
                    : random_heap(random, blocks, 1000, random.between(100, 1000), random.between(0, 1) * 8);
    made.hole = std::max<std::uint64_t>(1, made.free_bytes() / random.between(2, 8));
    while (made.buddies && made.hole & (made.hole - 1))
        made.hole &= made.hole - 1;
    made.nodes = 5000;
    return made;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_exact_plan_copies_the_fewest_bytes_of_all_sequences_of_moves) {
    seeded_random random(20265);
    std::size_t served = 0, none = 0, twice = 0;
    for (int i = 0; i < 2000 / part; i++) {
        const heap problem = small_heap(random);
        const std::optional<std::uint64_t> best = brute_force(problem);
        plan_of plan;
        const tla_status status = plan.find(problem);
        BOOST_TEST_CONTEXT(problem.text()) {
            if (best) {
                BOOST_REQUIRE_EQUAL(status, TLA_OK);
                require_valid(problem, plan);
                BOOST_REQUIRE_EQUAL(plan.nbytes, *best);
                BOOST_REQUIRE(plan.optimal);
                twice += moves_a_block_twice(plan);
                served += plan.count > 0;
            } else {
                BOOST_REQUIRE_EQUAL(status, problem.free_bytes() < problem.hole ? TLA_EXHAUSTED : TLA_FRAGMENTED);
                BOOST_REQUIRE_EQUAL(plan.count, 0u);
                none += status == TLA_FRAGMENTED;
            }
        }
    }
    BOOST_TEST_MESSAGE(served << " served, " << none << " without a plan, " << twice << " with a block moved twice");
    BOOST_CHECK_GT(served, 200 / part);
    BOOST_CHECK_GT(none, 50 / part);
    BOOST_CHECK(twice > 0 || part > 1);
}

BOOST_AUTO_TEST_CASE(every_planner_makes_valid_moves_in_large_heaps_and_exact_the_fewest_bytes) {
    seeded_random random(20262);
    const tla_compaction_planner *const others[] = {&tla_compaction_window, &tla_compaction_slide};
    std::uint64_t served[2] = {}, nbytes[2] = {}, exact[2] = {}, optimal = 0, all = 0;
    for (int i = 0; i < 1000 / part; i++) {
        const heap problem = large_heap(random, random.between(20, 200));
        plan_of best;
        const tla_status status = best.find(problem);
        if (!status) require_valid(problem, best);
        all += !status;
        optimal += !status && best.optimal;
        for (int k = 0; k < 2; k++) {
            plan_of plan;
            const tla_status found = plan.find(problem, *others[k]);
            BOOST_REQUIRE(found == TLA_OK || found == TLA_LIMIT);
            if (found) BOOST_REQUIRE_EQUAL(plan.count, 0u);
            if (found) continue;
            require_valid(problem, plan);
            BOOST_REQUIRE_EQUAL(status, TLA_OK);
            served[k]++;
            if (!best.optimal) continue;
            BOOST_REQUIRE_LE(best.nbytes, plan.nbytes);
            exact[k] += best.nbytes;
            nbytes[k] += plan.nbytes;
        }
    }
    for (int k = 0; k < 2; k++)
        BOOST_TEST_MESSAGE(others[k]->name << " serves " << served[k] << ", and moves " << nbytes[k] << " bytes where "
                                           << exact[k] << " are the fewest");
    BOOST_TEST_MESSAGE("exact serves " << all << ", and " << optimal << " of its plans are the best");
    BOOST_CHECK_GT(optimal, 200 / part);
    BOOST_CHECK_LT(nbytes[0], exact[0] + exact[0] / 4);
}

BOOST_AUTO_TEST_CASE(a_block_moves_aside_so_that_another_has_room) {
    heap problem;
    problem.range() = {0, 12};
    problem.hole = 6;
    problem.add(2, 1);        // 0 .. 5 has four bytes in a row when it is at 0
    problem.add(5, 1, false); // stays
    problem.add(6, 4);
    plan_of plan;
    BOOST_REQUIRE_EQUAL(plan.find(problem), TLA_OK);
    require_valid(problem, plan);
    BOOST_CHECK_EQUAL(plan.nbytes, 5u);
    BOOST_CHECK_EQUAL(plan.count, 2u);
    BOOST_CHECK_EQUAL(plan.hole.offset, 6u);
    BOOST_CHECK_EQUAL(plan.find(problem, tla_compaction_window), TLA_LIMIT);
}

// Four bytes at 4 need the second block out of the way, and its place at 4 needs it elsewhere first.
BOOST_AUTO_TEST_CASE(a_block_moves_twice_where_that_copies_the_fewest_bytes) {
    heap problem;
    problem.range() = {1, 12};
    problem.hole = 5;
    problem.add(1, 3);
    problem.add(5, 2);
    problem.add(10, 2);
    plan_of plan;
    BOOST_REQUIRE_EQUAL(plan.find(problem), TLA_OK);
    require_valid(problem, plan);
    BOOST_CHECK_EQUAL(plan.nbytes, 6u);
    BOOST_CHECK(moves_a_block_twice(plan));
    BOOST_CHECK(plan.optimal);
}

BOOST_AUTO_TEST_CASE(a_block_never_moves_onto_its_own_bytes) {
    heap problem;
    problem.range() = {0, 8};
    problem.hole = 4;
    problem.add(2, 4); // two bytes in front of it, two behind it
    plan_of plan;
    for (const char *name : {"exact", "window", "slide"}) {
        const tla_compaction_planner *planner = tla_compaction_planner_named(name);
        BOOST_REQUIRE(planner);
        BOOST_CHECK_EQUAL(plan.find(problem, *planner), planner == &tla_compaction_exact ? TLA_FRAGMENTED : TLA_LIMIT);
        BOOST_CHECK_EQUAL(plan.count, 0u);
    }
    BOOST_CHECK(!tla_compaction_planner_named("best"));
}

BOOST_AUTO_TEST_CASE(a_heap_that_has_the_hole_needs_no_moves) {
    heap problem;
    problem.range() = {16, 64};
    problem.hole = 16;
    problem.hole_alignment = 32;
    problem.add(16, 8);
    problem.add(40, 8); // 24 .. 40 is large enough, but not aligned
    plan_of plan;
    BOOST_REQUIRE_EQUAL(plan.find(problem), TLA_OK);
    BOOST_CHECK_EQUAL(plan.count, 0u);
    BOOST_CHECK(plan.optimal);
    BOOST_CHECK_EQUAL(plan.hole.offset, 64u);
    BOOST_CHECK_EQUAL(plan.tried, 0u);
}

// The receipt: it is the same whenever the problem is, and bounded by the limit, with which heuristics serve.
BOOST_AUTO_TEST_CASE(a_search_counts_its_tries_and_ends_at_its_limit) {
    seeded_random random(20263);
    heap problem = random_heap(random, 48, 16, 8, 0);
    problem.hole = problem.free_bytes() / 2;
    plan_of plan, again;
    BOOST_REQUIRE_EQUAL(plan.find(problem), TLA_OK);
    BOOST_REQUIRE_EQUAL(again.find(problem), TLA_OK);
    BOOST_CHECK(plan.optimal);
    BOOST_CHECK_GT(plan.tried, 64u);
    BOOST_CHECK_EQUAL(plan.tried, again.tried);
    BOOST_REQUIRE_EQUAL(plan.count, again.count);
    for (std::size_t i = 0; i < plan.count; i++)
        BOOST_CHECK(plan.moves[i].block == again.moves[i].block && plan.moves[i].to == again.moves[i].to);
    problem.nodes = 10;
    plan_of limited;
    BOOST_REQUIRE_EQUAL(limited.find(problem), TLA_OK);
    require_valid(problem, limited);
    BOOST_CHECK(!limited.optimal);
    BOOST_CHECK_GE(limited.nbytes, plan.nbytes);
    BOOST_CHECK_EQUAL(limited.find(problem, tla_compaction_slide), TLA_LIMIT);
    BOOST_CHECK_LE(limited.tried, 10u);
    BOOST_CHECK_EQUAL(limited.count, 0u);
}

BOOST_AUTO_TEST_CASE(problems_out_of_range_are_rejected) {
    plan_of plan;
    const auto good = [] {
        heap problem;
        problem.range() = {0, 64};
        problem.alignment = 4;
        problem.hole = 32;
        problem.add(16, 8);
        problem.add(40, 8);
        return problem;
    };
    const auto reject = [&](auto spoil) {
        heap problem = good();
        spoil(problem);
        BOOST_CHECK_EQUAL(plan.find(problem), TLA_INVALID_ARGUMENT);
    };
    BOOST_CHECK_EQUAL(plan.find(good()), TLA_OK);
    reject([](heap &p) { p.range().nbytes = 44; });
    reject([](heap &p) { p.range().offset = 20; });
    reject([](heap &p) { p.range() = {0, UINT64_MAX}; });
    reject([](heap &p) { p.range() = {UINT64_MAX, 1}; });
    reject([](heap &p) { p.alignment = 0; });
    reject([](heap &p) { p.alignment = 3; });
    reject([](heap &p) { p.hole_alignment = 3; });
    reject([](heap &p) { p.hole = 0; });
    reject([](heap &p) { p.hole = 30; });
    reject([](heap &p) { p.list[0].at.nbytes = 0; });
    reject([](heap &p) { p.list[0].at.nbytes = 28; });
    reject([](heap &p) { p.list[1].at.offset = 16; });
    reject([](heap &p) { p.list[0].at.offset = 18; });
    reject([](heap &p) { p.list[0].at.nbytes = 6; });
    reject([](heap &p) { p.list[1].at.nbytes = UINT64_MAX; });
    reject([](heap &p) {
        p.buddies = true;
        p.list[0].at.offset = 20;
    });
    heap large = good();
    large.hole = 52;
    BOOST_CHECK_EQUAL(plan.find(large), TLA_EXHAUSTED);
}
