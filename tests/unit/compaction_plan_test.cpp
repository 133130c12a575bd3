// Planners of compaction: the exact one against brute force, the heuristics against the rules of moves and against it.
#include "compaction_heaps.hpp"
#include "sanitized.hpp"

using namespace compaction;

namespace {

const int part = is_sanitized() ? 10 : 1;

heap small_heap(seeded_random &random) {
    const std::uint64_t kind = random.between(0, 3);
    heap made = kind == 0   ? random_buddies(random, 4, random.between(0, 1) * 4)
                : kind == 1 ? random_heap(random, random.between(1, 5), 4, 3, 0)
                            : random_heap(random, random.between(2, 5), 4, 2, 4, random.between(1, 3) == 1 ? 4 : 1);
    const std::uint64_t units = std::max<std::uint64_t>(made.free_bytes() / made.alignment, 1);
    made.hole = made.alignment * random.between(1, units + 1);
    if (kind == 0) made.hole = std::uint64_t{1} << random.between(0, 3);
    if (kind == 3 && random.one_in(2)) made.hole_alignment = made.alignment << random.between(0, 2);
    return made;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_exact_plan_copies_the_fewest_bytes_of_all_sequences_of_moves) {
    seeded_random random(20261);
    std::size_t served = 0, none = 0, twice = 0;
    for (int i = 0; i < 1000 / part; i++) {
        const heap problem = small_heap(random);
        plan_of plan;
        const tla_status status = plan.find(problem);
        const std::optional<std::uint64_t> best = brute_force(problem);
        BOOST_TEST_CONTEXT(problem.text()) {
            if (best) {
                BOOST_REQUIRE_EQUAL(status, TLA_OK);
                require_valid(problem, plan);
                BOOST_REQUIRE_EQUAL(plan.nbytes, *best);
                BOOST_REQUIRE(plan.optimal);
                std::vector<std::size_t> moved;
                for (std::size_t m = 0; m < plan.count; m++)
                    moved.push_back(plan.moves[m].block);
                std::sort(moved.begin(), moved.end());
                twice += std::adjacent_find(moved.begin(), moved.end()) != moved.end();
                served += plan.count > 0;
            } else {
                BOOST_REQUIRE_EQUAL(status, problem.free_bytes() < problem.hole ? TLA_EXHAUSTED : TLA_FRAGMENTED);
                BOOST_REQUIRE_EQUAL(plan.count, 0u);
                none += status == TLA_FRAGMENTED;
            }
        }
    }
    BOOST_TEST_MESSAGE(served << " served, " << none << " without a plan, " << twice << " with a block moved twice");
    BOOST_CHECK_GT(served, 200u / part);
    BOOST_CHECK_GT(none, 50u / part);
    BOOST_CHECK_GT(twice, 0u);
}
