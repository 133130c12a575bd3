// Heaps for the tests of compaction: random problems, the check of a plan by its moves, and the best plan by brute
// force.
#ifndef TLMALLOC_TESTS_UNIT_COMPACTION_HEAPS_HPP
#define TLMALLOC_TESTS_UNIT_COMPACTION_HEAPS_HPP

#include "model/memory/compaction_plan.h"
#include "seeded_random.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

namespace compaction {

using offsets = std::vector<std::uint64_t>;

struct heap : tla_compaction_problem {
    heap() : tla_compaction_problem{} { alignment = 1; }
    heap(const heap &other) : tla_compaction_problem(other), list(other.list) { blocks = list.data(); }
    heap &operator=(const heap &) = delete;
    std::vector<tla_compaction_block> list;

    tla_block &range() { return tla_compaction_problem::heap; }
    const tla_block &range() const { return tla_compaction_problem::heap; }
    void add(std::uint64_t offset, std::uint64_t nbytes, bool movable = true) {
        list.push_back({{offset, nbytes}, movable});
        blocks = list.data();
        count = list.size();
    }
    std::uint64_t free_bytes() const {
        std::uint64_t nbytes = range().nbytes;
        for (const tla_compaction_block &block : list)
            nbytes -= block.at.nbytes;
        return nbytes;
    }
    offsets places() const {
        offsets at;
        for (const tla_compaction_block &block : list)
            at.push_back(block.at.offset);
        return at;
    }
    bool is_free(const offsets &at, std::uint64_t from, std::uint64_t nbytes) const {
        bool is = from >= range().offset && from + nbytes <= range().offset + range().nbytes;
        for (std::size_t i = 0; i < list.size(); i++)
            is = is && (from + nbytes <= at[i] || at[i] + list[i].at.nbytes <= from);
        return is;
    }
    std::uint64_t hole_step() const { return std::max({alignment, hole_alignment, buddies ? hole : 1}); }
    bool has_hole(const offsets &at) const {
        for (std::uint64_t from = 0; from + hole <= range().offset + range().nbytes; from += hole_step())
            if (is_free(at, from, hole)) return true;
        return false;
    }
    std::string text() const {
        std::string text = "heap " + std::to_string(range().offset) + "+" + std::to_string(range().nbytes) + " hole " +
                           std::to_string(hole) + "/" + std::to_string(hole_step()) + (buddies ? " buddies:" : ":");
        for (const tla_compaction_block &block : list)
            text += " " + std::to_string(block.at.offset) + "+" + std::to_string(block.at.nbytes) +
                    (block.movable ? "" : "!");
        return text;
    }
};

// Makes the moves of a plan one after the other, and checks each.
inline void require_valid(const heap &problem, const tla_compaction_plan &plan) {
    offsets at = problem.places();
    std::uint64_t nbytes = 0;
    for (std::size_t i = 0; i < plan.count; i++) {
        const tla_compaction_move &move = plan.moves[i];
        BOOST_REQUIRE_LT(move.block, problem.count);
        const tla_compaction_block &block = problem.list[move.block];
        const std::uint64_t step = problem.buddies ? block.at.nbytes : problem.alignment;
        BOOST_REQUIRE(block.movable);
        BOOST_REQUIRE_EQUAL(move.to % step, 0u);
        BOOST_REQUIRE_MESSAGE(problem.is_free(at, move.to, block.at.nbytes), "move " << i << " of " << problem.text());
        at[move.block] = move.to;
        nbytes += block.at.nbytes;
    }
    BOOST_REQUIRE_EQUAL(plan.nbytes, nbytes);
    BOOST_REQUIRE_EQUAL(plan.hole.nbytes, problem.hole);
    BOOST_REQUIRE_EQUAL(plan.hole.offset % problem.hole_step(), 0u);
    BOOST_REQUIRE_MESSAGE(problem.is_free(at, plan.hole.offset, plan.hole.nbytes), "hole of " << problem.text());
}

// The fewest bytes of all sequences of moves, to every place: Dijkstra over the places of all blocks. At most 8 blocks
// in 256 units.
inline std::optional<std::uint64_t> brute_force(const heap &problem) {
    const tla_block range = problem.range();
    const auto pack = [&](const offsets &at) {
        std::uint64_t key = 0;
        for (const std::uint64_t offset : at)
            key = key << 8 | offset / problem.alignment;
        return key;
    };
    using entry = std::pair<std::uint64_t, offsets>;
    std::priority_queue<entry, std::vector<entry>, std::greater<entry>> open;
    std::unordered_map<std::uint64_t, std::uint64_t> best{{pack(problem.places()), 0}};
    open.push({0, problem.places()});
    while (!open.empty()) {
        auto [nbytes, at] = open.top();
        open.pop();
        if (best.at(pack(at)) < nbytes) continue;
        if (problem.has_hole(at)) return nbytes;
        for (std::size_t i = 0; i < at.size(); i++) {
            if (!problem.list[i].movable) continue;
            const std::uint64_t size = problem.list[i].at.nbytes, from = at[i];
            const std::uint64_t step = problem.buddies ? size : problem.alignment, cost = nbytes + size;
            for (std::uint64_t to = 0; to < range.offset + range.nbytes; to += step) {
                if (!problem.is_free(at, to, size)) continue;
                at[i] = to;
                const auto [known, is_new] = best.try_emplace(pack(at), cost);
                if (is_new || known->second > cost) {
                    known->second = cost;
                    open.push({cost, at});
                }
                at[i] = from;
            }
        }
    }
    return std::nullopt;
}

// Blocks and gaps of random sizes, in units. One block in `pinned` cannot move (0: all can).
inline heap random_heap(seeded_random &random, std::size_t blocks, std::uint64_t block_max, std::uint64_t gap_max,
                        std::uint64_t pinned, std::uint64_t unit = 1) {
    heap made;
    made.alignment = unit;
    tla_block &range = made.range();
    range.offset = unit * random.between(0, 3);
    std::uint64_t end = range.offset;
    for (std::size_t i = 0; i < blocks; i++) {
        end += unit * random.between(0, gap_max);
        const std::uint64_t nbytes = unit * random.between(1, block_max);
        made.add(end, nbytes, pinned == 0 || !random.one_in(pinned));
        end += nbytes;
    }
    range.nbytes = end + unit * random.between(0, gap_max) - range.offset;
    return made;
}

inline heap random_buddies(seeded_random &random, unsigned order, std::uint64_t pinned, std::size_t most = 6) {
    heap made;
    made.buddies = true;
    made.range() = {0, std::uint64_t{1} << order};
    for (std::uint64_t at = 0; at < std::uint64_t{1} << order && made.count < most;) {
        const std::uint64_t nbytes = std::uint64_t{1} << random.between(0, 2);
        if (at % nbytes == 0 && random.one_in(2)) made.add(at, nbytes, pinned == 0 || !random.one_in(pinned));
        at = at % nbytes == 0 ? at + nbytes : at + 1;
    }
    return made;
}

// A plan that ends with its owner.
struct plan_of : tla_compaction_plan {
    plan_of() : tla_compaction_plan{} {}
    plan_of(const plan_of &) = delete;
    ~plan_of() { tla_compaction_clear(this); }
    tla_status find(const heap &problem, const tla_compaction_planner &planner = tla_compaction_exact) {
        return tla_compaction_find(&planner, &problem, this);
    }
};

} // namespace compaction
#endif
