// XNNPACK's planner, literal and repaired, against a model that looks at single bytes.
#include "seeded_random.hpp"
#include "tlmalloc/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

using lifetimes = std::vector<tla_lifetime>;
using offsets = std::vector<std::uint64_t>;

const tla_plan_method both[] = {TLA_PLAN_XNNPACK, TLA_PLAN_XNNPACK_REPAIRED};

offsets plan(tla_plan_method method, const lifetimes &tensors) {
    offsets at(tensors.size());
    std::uint64_t height = 0;
    const tla_plan_options options{0, 1, false};
    BOOST_REQUIRE_EQUAL(tla_plan(method, tensors.data(), tensors.size(), &options, at.data(), &height), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_plan_check(tensors.data(), at.data(), tensors.size(), nullptr, nullptr), TLA_OK);
    return at;
}

// The place of a tensor, by a picture of the bytes that others take while it lives: runs of free bytes between two
// taken ones, and below all with the repair.
std::uint64_t place_in(const std::vector<bool> &taken, std::uint64_t nbytes, bool repaired) {
    const std::size_t size = taken.size();
    std::size_t lowest = 0, top = size;
    while (lowest < size && !taken[lowest])
        lowest++;
    if (lowest == size) return 0;
    while (!taken[top - 1])
        top--;
    std::size_t best = top, best_length = SIZE_MAX;
    for (std::size_t at = repaired ? 0 : lowest; at < top; at++) {
        std::size_t length = 0;
        while (at + length < top && !taken[at + length])
            length++;
        if (length >= nbytes && length < best_length) {
            best = at;
            best_length = length;
        }
        at += length;
    }
    return best;
}

offsets naive_plan(const lifetimes &tensors, bool repaired) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tensors[a].nbytes > tensors[b].nbytes; });
    offsets at(tensors.size());
    for (std::size_t i = 0; i < order.size(); i++) {
        const tla_lifetime &t = tensors[order[i]];
        std::vector<bool> taken;
        for (std::size_t k = 0; k < i; k++) {
            const tla_lifetime &other = tensors[order[k]];
            if (other.lower >= t.upper || t.lower >= other.upper) continue;
            taken.resize(std::max<std::size_t>(taken.size(), at[order[k]] + other.nbytes));
            std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(at[order[k]]), other.nbytes, true);
        }
        at[order[i]] = place_in(taken, t.nbytes, repaired);
    }
    return at;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_room_below_the_lowest_block_is_used_with_the_repair_only) { // XNNPACK's issue 10800
    const lifetimes tensors{{0, 2, 100}, {1, 3, 80}, {2, 4, 60}};
    BOOST_CHECK((plan(TLA_PLAN_XNNPACK, tensors) == offsets{0, 100, 180}));
    BOOST_CHECK((plan(TLA_PLAN_XNNPACK_REPAIRED, tensors) == offsets{0, 100, 0}));
}

BOOST_AUTO_TEST_CASE(a_gap_wins_over_the_room_below_only_if_it_is_smaller) {
    const lifetimes tensors{{0, 2, 100}, {1, 5, 95}, {1, 4, 60}, {1, 5, 58}, {4, 6, 50}, {5, 7, 40}};
    BOOST_CHECK((plan(TLA_PLAN_XNNPACK, tensors) == offsets{0, 100, 195, 255, 195, 245}));
    BOOST_CHECK((plan(TLA_PLAN_XNNPACK_REPAIRED, tensors) == offsets{0, 100, 195, 255, 195, 0}));
}

BOOST_AUTO_TEST_CASE(xnnpack_keeps_fixed_tensors_and_alignments) {
    const lifetimes tensors{{0, 2, 10}, {0, 2, 8}, {1, 3, 4}};
    const offsets alignments{1, 16, 8}, fixed{20, TLA_PLAN_ANYWHERE, TLA_PLAN_ANYWHERE};
    const tla_plan_problem problem{tensors.data(), 3, alignments.data(), fixed.data(), nullptr, 0};
    offsets at(3);
    std::uint64_t height = 0;
    BOOST_REQUIRE_EQUAL(tla_plan_place(TLA_PLAN_XNNPACK, &problem, at.data(), &height), TLA_OK);
    BOOST_CHECK((at == offsets{20, 32, 40}));
    BOOST_REQUIRE_EQUAL(tla_plan_place(TLA_PLAN_XNNPACK_REPAIRED, &problem, at.data(), &height), TLA_OK);
    BOOST_CHECK((at == offsets{20, 0, 8}));
}

BOOST_AUTO_TEST_CASE(random_plans_of_xnnpack_are_those_of_a_model_that_looks_at_bytes) {
    seeded_random random(91);
    std::size_t lower = 0, higher = 0;
    for (int i = 0; i < 6000; i++) {
        lifetimes tensors(random.between(0, 30));
        for (tla_lifetime &t : tensors) {
            t.lower = random.between(0, 20);
            t.upper = t.lower + random.between(1, 5);
            t.nbytes = random.between(1, random.one_in(2) ? 6 : 60);
        }
        std::uint64_t heights[2] = {};
        for (const tla_plan_method method : both) {
            const bool repaired = method == TLA_PLAN_XNNPACK_REPAIRED;
            const offsets at = plan(method, tensors);
            BOOST_REQUIRE(at == naive_plan(tensors, repaired));
            for (std::size_t k = 0; k < at.size(); k++)
                heights[repaired] = std::max(heights[repaired], at[k] + tensors[k].nbytes);
        }
        lower += heights[1] < heights[0];
        higher += heights[1] > heights[0];
    }
    BOOST_TEST_MESSAGE("repaired: lower " << lower << ", higher " << higher);
    BOOST_CHECK_GT(lower, 600u); // not always: it is greedy
}
