// First fit in RTL beside the core: the same blocks, and exactly the cycles that the core's receipt says.
#include "answer_not_held.h"
#include "few_nodes.h"
#include "lost_merge.h"
#include "one_cycle.h"
#include "short_split.h"
#include "two_cycles.h"

#include "shared_data.hpp"
#include "tlmalloc/allocators/arena.h"
#include "tlmalloc/config.h"
#include "trace/trace.h"
#include "unit/seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum answer { done, no_block, not_taken, no_node, silent };

struct outcome {
    answer status;
    std::uint64_t offset, cycles;
};

// What a receipt costs the engine by its cost profile, whose clock has a period of 1 ns.
const std::uint64_t cycle_ps = 1000;
tla_cost_profile prices_of(std::uint64_t walk) {
    const char *const profile =
        walk == 1 ? "controller.cost.profile=rtl_list_1c" : "controller.cost.profile=rtl_list_2c";
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, &profile, 1, &config, nullptr, nullptr), TLA_OK);
    return config.controller.cost;
}

// An engine and who gives it commands. With `lazy`, answers are not taken at once.
template <class Engine>
class commander {
  public:
    commander(std::uint64_t capacity, seeded_random *lazy) : lazy_(lazy) {
        engine_.base = 0;
        engine_.capacity = capacity;
        engine_.answer_ready = 1;
        engine_.command_valid = 0;
        engine_.rst = 1;
        tick();
        engine_.rst = 0;
        tick();
    }

    outcome command(bool free, std::uint64_t offset, std::uint64_t size) {
        engine_.command_valid = 1;
        engine_.command_free = free;
        engine_.command_offset = offset;
        engine_.command_size = size;
        engine_.eval();
        while (!engine_.command_ready)
            tick();
        tick();
        engine_.command_valid = 0;
        engine_.answer_ready = lazy_ == nullptr;
        std::uint64_t cycles = 1;
        for (; !engine_.answer_valid; cycles++) {
            if (cycles > 100000) return {silent, 0, cycles};
            tick();
        }
        for (std::uint64_t wait = lazy_ ? lazy_->between(0, 3) : 0; wait > 0; wait--)
            tick();
        if (!engine_.answer_valid) return {silent, 0, cycles};
        const outcome result{static_cast<answer>(engine_.answer_status), engine_.answer_offset, cycles};
        engine_.answer_ready = 1;
        if (lazy_ && lazy_->one_in(2)) tick(); // else it is taken with the next command
        return result;
    }

  private:
    void tick() {
        engine_.clk = 0;
        engine_.eval();
        engine_.clk = 1;
        engine_.eval();
    }
    Engine engine_;
    seeded_random *lazy_;
};

// The engine and the core side by side; what differs first is told in words.
template <class Engine>
class side_by_side {
  public:
    side_by_side(std::uint64_t capacity, std::uint64_t nodes, std::uint64_t walk, seeded_random *lazy = nullptr)
        : engine_(std::make_unique<commander<Engine>>(capacity, lazy)), nodes_(nodes), walk_(walk),
          price_(prices_of(walk)) {
        tla_arena_config config{};
        config.capacity = capacity;
        tla_arena *arena = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        arena_.reset(arena);
    }

    // Whether a block was taken, to *block.
    bool take(std::uint64_t size, tla_block *block) {
        tla_work work{};
        const tla_status status = tla_arena_alloc(arena_.get(), size, block, &work);
        const outcome got = engine_->command(false, 0, size);
        compare(
            "take " + std::to_string(size), got,
            {status ? no_block : done, status ? got.offset : block->offset, tla_cost_price(&price_, &work) / cycle_ps});
        return status == TLA_OK;
    }

    // Whether the range is free now: not without a node for it.
    bool give_back(tla_block block) {
        const std::uint64_t before = tla_arena_get_stats(arena_.get()).free_blocks, passed = free_below(block.offset);
        tla_work work{};
        const tla_status status = tla_arena_free(arena_.get(), block, &work);
        outcome expected{done, block.offset, tla_cost_price(&price_, &work) / cycle_ps};
        if (status) {
            expected = {not_taken, block.offset, 1 + walk_ * (passed + 1)};
        } else if (work.nodes_created > 0 && before == nodes_) {
            BOOST_REQUIRE_EQUAL(tla_arena_reserve(arena_.get(), block, nullptr), TLA_OK);
            expected = {no_node, block.offset, 2 + walk_ * (passed + 1)};
            without_node++;
        }
        refused += status != TLA_OK;
        compare("give back " + std::to_string(block.nbytes) + " at " + std::to_string(block.offset),
                engine_->command(true, block.offset, block.nbytes), expected);
        return expected.status == done;
    }

    std::uint64_t free_blocks() const { return tla_arena_get_stats(arena_.get()).free_blocks; }

    std::string difference;
    std::uint64_t without_node = 0, refused = 0, cycles = 0;

  private:
    std::uint64_t free_below(std::uint64_t offset) const {
        std::vector<tla_block> blocks(tla_arena_get_stats(arena_.get()).free_blocks);
        const std::size_t n = tla_arena_free_blocks(arena_.get(), 0, blocks.data(), blocks.size());
        return static_cast<std::uint64_t>(
            std::count_if(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(n),
                          [offset](const tla_block &block) { return block.offset < offset; }));
    }
    void compare(const std::string &what, const outcome &got, const outcome &expected) {
        cycles += got.cycles;
        if (!difference.empty()) return;
        if (got.status == expected.status && got.offset == expected.offset && got.cycles == expected.cycles) return;
        std::ostringstream text;
        text << what << ": status " << got.status << " at " << got.offset << " in " << got.cycles
             << " cycles, expected " << expected.status << " at " << expected.offset << " in " << expected.cycles;
        difference = text.str();
    }

    std::unique_ptr<commander<Engine>> engine_;
    std::unique_ptr<tla_arena, void (*)(tla_arena *)> arena_{nullptr, tla_arena_destroy};
    const std::uint64_t nodes_, walk_;
    const tla_cost_profile price_;
};

// Random sizes and frees, one in 100 of them of what is not taken; sometimes until nothing fits, sometimes until all is
// free.
template <class Engine>
void play_random(side_by_side<Engine> &both, std::uint64_t largest, unsigned operations, std::uint64_t seed) {
    seeded_random random(seed);
    std::vector<tla_block> live;
    unsigned taking = 6; // of ten
    std::uint64_t longest = 0;
    for (unsigned i = 0; i < operations && both.difference.empty(); i++) {
        if (random.one_in(2000)) taking = static_cast<unsigned>(random.between(3, 7));
        tla_block block{};
        if (live.empty() || random.between(1, 10) <= taking) {
            if (both.take(random.between(1, largest), &block)) live.push_back(block);
        } else {
            const std::size_t which = random.between(0, live.size() - 1);
            if (both.give_back(live[which])) {
                block = live[which];
                live[which] = live.back();
                live.pop_back();
                if (random.one_in(100)) both.give_back(block); // is free already
            }
        }
        longest = std::max(longest, both.free_blocks());
    }
    // What is left goes; the one block that there is then serves a request for all of it.
    while (!live.empty() && both.difference.empty()) {
        std::size_t before = live.size();
        for (std::size_t i = live.size(); i-- > 0;)
            if (both.give_back(live[i])) live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        BOOST_REQUIRE_LT(live.size(), before);
    }
    if (both.difference.empty()) BOOST_CHECK_EQUAL(both.free_blocks(), 1u);
    BOOST_TEST_MESSAGE(both.refused << " refused, " << both.without_node << " without a node, the longest list "
                                    << longest << ", " << both.cycles << " cycles");
}

// Recorded allocations, in units of 512 bytes.
template <class Engine>
void play_trace(side_by_side<Engine> &both, const std::string &path) {
    alloc_trace trace{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(trace_load(path.c_str(), &trace, &error) == TLA_OK, error.text);
    std::vector<tla_block> live(trace.allocation_count);
    for (std::size_t i = 0; i < trace.event_count && both.difference.empty(); i++) {
        const trace_event &e = trace.events[i];
        tla_block &block = live[e.allocation];
        if (!e.is_free) {
            if (!both.take((trace.allocations[e.allocation].nbytes + 511) / 512, &block)) block = {};
        } else if (block.nbytes > 0) {
            both.give_back(block);
        }
    }
    trace_unload(&trace);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_operations_1e5_place_as_the_core_in_the_cycles_of_its_receipts) {
    side_by_side<one_cycle> both(std::uint64_t{1} << 20, 1 << 10, 1);
    play_random(both, 3000, 100000, 1);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.refused, 100u);
}

BOOST_AUTO_TEST_CASE(with_two_cycles_a_node_too) {
    side_by_side<two_cycles> both(std::uint64_t{1} << 20, 1 << 10, 2);
    play_random(both, 3000, 100000, 2);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(offsets_of_33_bits_are_placed_as_any) {
    side_by_side<one_cycle> both((std::uint64_t{1} << 33) - 1, 1 << 10, 1);
    play_random(both, std::uint64_t{1} << 27, 20000, 3);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(without_a_node_for_it_a_range_is_refused_and_nothing_has_changed) {
    side_by_side<few_nodes> both(4096, 8, 1);
    play_random(both, 100, 50000, 4);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.without_node, 100u);
}

BOOST_AUTO_TEST_CASE(answers_wait_until_they_are_taken) {
    seeded_random when(5);
    side_by_side<one_cycle> both(std::uint64_t{1} << 20, 1 << 10, 1, &when);
    play_random(both, 3000, 20000, 6);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(recorded_traces_are_placed_as_by_the_core_in_the_cycles_of_its_receipts) {
    std::vector<std::string> paths{TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz"};
    if (std::filesystem::is_directory(shared_data + "traces"))
        for (const char *name : {"traces/resnet_train.csv.gz", "traces/lm_serve.csv.gz"})
            if (std::filesystem::exists(shared_data + name)) paths.push_back(shared_data + name);
    for (const std::string &path : paths)
        BOOST_TEST_CONTEXT(path) {
            side_by_side<one_cycle> one(std::uint64_t{1} << 25, 1 << 10, 1);
            play_trace(one, path);
            BOOST_CHECK_EQUAL(one.difference, "");
            side_by_side<two_cycles> two(std::uint64_t{1} << 25, 1 << 10, 2);
            play_trace(two, path);
            BOOST_CHECK_EQUAL(two.difference, "");
            BOOST_TEST_MESSAGE(path << ": " << one.cycles << " and " << two.cycles << " cycles");
        }
}

BOOST_AUTO_TEST_CASE(a_planted_lost_merge_is_found) {
    side_by_side<lost_merge> both(std::uint64_t{1} << 20, 1 << 10, 1);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_split_that_is_one_short_is_found) {
    side_by_side<short_split> both(std::uint64_t{1} << 20, 1 << 10, 1);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_answer_that_is_not_held_is_found) {
    seeded_random when(5);
    side_by_side<answer_not_held> both(std::uint64_t{1} << 20, 1 << 10, 1, &when);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}
