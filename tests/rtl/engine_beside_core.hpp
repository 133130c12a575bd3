// An engine in RTL beside the core: the same blocks and statuses, and exactly the cycles that the core's receipt says.
#ifndef TLMALLOC_TESTS_ENGINE_BESIDE_CORE_HPP
#define TLMALLOC_TESTS_ENGINE_BESIDE_CORE_HPP

#include "engine_plays.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/config.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

enum engine_status { done, no_block, not_taken, no_node, silent };

struct outcome {
    engine_status status;
    std::uint64_t offset, cycles;
    std::uint64_t waited = 0; // until it was taken
};

// What a receipt costs the engine by its cost profile, whose clock has a period of 1 ns.
const std::uint64_t cycle_ps = 1000;
inline tla_cost_profile prices_of(const std::string &profile) {
    const std::string text = "controller.cost.profile=" + profile;
    const char *const set = text.c_str();
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, &set, 1, &config, nullptr, nullptr), TLA_OK);
    return config.controller.cost;
}

// How many nodes the memory of a list has; buddies have none.
template <class Engine>
auto limit(Engine &engine, std::uint64_t nodes, int) -> decltype(engine.nodes, void()) {
    engine.nodes = static_cast<std::remove_reference_t<decltype(engine.nodes)>>(nodes);
}
template <class Engine>
void limit(Engine &, std::uint64_t, long) {}

// What is given back: an offset, or the node that the answer of its take named.
template <class Engine, class = void>
constexpr bool frees_by_node = false;
template <class Engine>
constexpr bool frees_by_node<Engine, std::void_t<decltype(Engine::command_node)>> = true;

// An engine and who gives it commands. With `lazy`, answers are not taken at once.
template <class Engine>
class commander {
  public:
    commander(std::uint64_t base, std::uint64_t capacity, std::uint64_t nodes, seeded_random *lazy) : lazy_(lazy) {
        limit(engine_, nodes, 0);
        engine_.base = base;
        engine_.capacity = capacity;
        engine_.answer_ready = 1;
        engine_.command_valid = 0;
        engine_.rst = 1;
        tick();
        engine_.rst = 0;
        for (std::uint64_t cycles = 0; !engine_.command_ready && cycles < too_long; cycles++)
            tick();
    }

    outcome command(bool free, std::uint64_t offset, std::uint64_t size) {
        engine_.command_valid = 1;
        engine_.command_free = free;
        if constexpr (frees_by_node<Engine>)
            engine_.command_node = static_cast<std::uint16_t>(nodes_[offset]);
        else
            engine_.command_offset = offset;
        engine_.command_size = size;
        engine_.eval();
        std::uint64_t waited = 0;
        for (; !engine_.command_ready; waited++, waited_++) {
            if (waited > too_long) return {silent, 0, waited};
            tick();
        }
        tick();
        engine_.command_valid = 0;
        engine_.answer_ready = lazy_ == nullptr;
        std::uint64_t cycles = 1;
        for (; !engine_.answer_valid; cycles++) {
            if (cycles > too_long) return {silent, 0, cycles};
            tick();
        }
        for (std::uint64_t wait = lazy_ ? lazy_->between(0, 3) : 0; wait > 0; wait--)
            tick();
        if (!engine_.answer_valid) return {silent, 0, cycles};
        if constexpr (frees_by_node<Engine>) {
            if (!free && engine_.answer_status == done) nodes_[engine_.answer_offset] = engine_.answer_node;
            if (free) engine_.answer_offset = offset; // it names none
        }
        const outcome result{static_cast<engine_status>(engine_.answer_status), engine_.answer_offset, cycles, waited};
        engine_.answer_ready = 1;
        if (lazy_ && lazy_->one_in(2)) tick(); // else it is taken with the next command
        for (std::uint64_t pause = lazy_ && lazy_->one_in(4) ? lazy_->between(1, 200) : 0; pause > 0; pause--)
            tick();
        return result;
    }

    std::uint64_t now() const { return now_; } // in cycles

    // Cycles in which a command came too early: commands come one right after the other.
    std::uint64_t waited() const { return waited_; }

  private:
    static const std::uint64_t too_long = 100000;
    void tick() {
        now_++;
        engine_.clk = 0;
        engine_.eval();
        engine_.clk = 1;
        engine_.eval();
    }
    Engine engine_;
    std::map<std::uint64_t, std::uint64_t> nodes_; // of live blocks, by offset
    seeded_random *lazy_;
    std::uint64_t waited_ = 0, now_ = 0;
};

// What an engine does: the core's policy of the same blocks, what its receipts cost, and how many free blocks it can
// keep apart (offset bins: free and live ones).
struct engine_facts {
    tla_policy policy;
    const char *profile;
    std::uint64_t nodes;
};

// The engine and the core side by side; what differs first is told in words. Of the core's receipts the command engine
// (control_port.h) says when a command is taken and answered.
template <class Engine>
class side_by_side {
  public:
    side_by_side(std::uint64_t capacity, engine_facts facts, seeded_random *lazy = nullptr, std::uint64_t base = 0)
        : facts_(facts), price_(prices_of(facts.profile)),
          engine_(std::make_unique<commander<Engine>>(base, capacity, facts.nodes, lazy)) {
        tla_arena_config config{};
        config.base = base;
        config.capacity = capacity;
        config.policy = facts.policy;
        tla_arena *arena = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        arena_.reset(arena);
        if (has_regions()) BOOST_REQUIRE_EQUAL(tla_arena_drive(arena, nullptr, facts.nodes, nullptr), TLA_OK);
    }

    // Whether a block was taken, to *block.
    bool take(std::uint64_t size, tla_block *block) {
        tla_engine_work beside{};
        tla_work work{};
        work.engine = &beside;
        const tla_status status = tla_arena_alloc(arena_.get(), size, block, &work);
        arrival_ = engine_->now();
        const outcome got = engine_->command(false, 0, size);
        compare("take " + std::to_string(size), got,
                {status == TLA_LIMIT ? no_node
                 : status            ? no_block
                                     : done,
                 status ? got.offset : block->offset, cycles_of(work)},
                behind(work));
        take_cycles.push_back(got.cycles);
        failed += status != TLA_OK;
        without_node += status == TLA_LIMIT;
        return status == TLA_OK;
    }

    // Whether the range is free now: not without a node for it.
    bool give_back(tla_block block) {
        const std::uint64_t before = free_blocks();
        tla_engine_work beside{};
        tla_work work{}, walk{}; // the walk to the place alone
        work.engine = &beside;
        if (keeps_a_list()) {
            walk.insert_nodes = free_below(block.offset);
            walk.frees = 1;
        }
        const tla_status status = tla_arena_free(arena_.get(), block, &work);
        if (status && has_regions()) { // it has no node, and the engine is not asked
            refused++;
            return false;
        }
        outcome expected{done, block.offset, cycles_of(work)};
        if (status) {
            expected = {not_taken, block.offset, cycles_of(walk) - (keeps_a_list() ? 1 : 0)};
        } else if (work.nodes_created > 0 && before == facts_.nodes && !has_regions()) {
            BOOST_REQUIRE_EQUAL(tla_arena_reserve(arena_.get(), block, nullptr), TLA_OK);
            expected = {no_node, block.offset, cycles_of(walk)};
            without_node++;
            work = {};
        }
        refused += status != TLA_OK;
        arrival_ = engine_->now();
        const outcome got = engine_->command(true, block.offset, block.nbytes);
        compare("give back " + std::to_string(block.nbytes) + " at " + std::to_string(block.offset), got, expected,
                behind(work));
        free_cycles.push_back(got.cycles);
        return expected.status == done;
    }

    bool has_regions() const { return !tla_policy_takes_ranges(facts_.policy); }
    bool keeps_a_list() const { return facts_.policy != TLA_BUDDY; }
    std::uint64_t free_blocks() const { return tla_arena_get_stats(arena_.get()).free_blocks; }

    std::string difference;
    std::uint64_t without_node = 0, refused = 0, failed = 0; // failed: takes
    std::vector<std::uint64_t> take_cycles, free_cycles;

    std::uint64_t cycles() const {
        return std::accumulate(take_cycles.begin(), take_cycles.end(), std::uint64_t{0}) +
               std::accumulate(free_cycles.begin(), free_cycles.end(), std::uint64_t{0});
    }
    std::uint64_t waited() const { return engine_->waited(); }

  private:
    std::uint64_t cycles_of(const tla_work &work) const { return tla_cost_price(&price_, &work) / cycle_ps; }
    std::uint64_t free_below(std::uint64_t offset) const {
        std::vector<tla_block> blocks(tla_arena_get_stats(arena_.get()).free_blocks);
        const std::size_t n = tla_arena_free_blocks(arena_.get(), 0, blocks.data(), blocks.size());
        return static_cast<std::uint64_t>(
            std::count_if(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(n),
                          [offset](const tla_block &block) { return block.offset < offset; }));
    }
    std::uint64_t behind(const tla_work &work) const { return tla_cost_behind(&price_, &work); }
    void compare(const std::string &what, const outcome &got, const outcome &expected, std::uint64_t behind_ps) {
        if (!difference.empty()) return;
        const tla_service service = tla_command_queue_serve(&timing_, arrival_ * cycle_ps, expected.cycles * cycle_ps);
        const std::uint64_t waits = service.start_ps / cycle_ps - arrival_;
        tla_command_queue_wait(&timing_, service.done_ps + behind_ps);
        if (got.status == expected.status && got.offset == expected.offset && got.cycles == expected.cycles &&
            got.waited == waits)
            return;
        std::ostringstream text;
        text << what << ": status " << got.status << " at " << got.offset << " in " << got.cycles << " cycles after "
             << got.waited << ", expected " << expected.status << " at " << expected.offset << " in " << expected.cycles
             << " after " << waits;
        difference = text.str();
    }

    const engine_facts facts_;
    const tla_cost_profile price_;
    std::unique_ptr<commander<Engine>> engine_;
    tla_command_queue timing_ = [] {
        tla_command_queue engine{};
        engine.depth = 1;
        engine.clock_ps = cycle_ps;
        return engine;
    }();
    std::uint64_t arrival_ = 0; // of the command that is asked, in cycles
    std::unique_ptr<tla_arena, void (*)(tla_arena *)> arena_{nullptr, tla_arena_destroy};
};

#endif
