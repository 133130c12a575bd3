// A second tier of a cache's blocks in the host's memory of a platform: what moves take, that bytes come back as they
// left, who may write and read what, and random decisions beside a naive model.
#include "serving/command/platform_blocks.hpp"
#include "serving/command/platform_port.hpp"
#include "serving/host_law.h"
#include "tlmalloc/config.h"
#include "unit/seeded_random.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace tlmalloc;

struct reader : sc_core::sc_module {
    explicit reader(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<reader> slices[4], host{"host"};
};

using signature = std::array<std::uint8_t, 24>; // what a block begins with

// Four PEs and a memory of the host.
struct cache {
    cache(std::uint32_t count, std::uint64_t nbytes, std::uint64_t pattern_bytes = platform_blocks::end_bytes) {
        const char *const keys[] = {"host_memory.capacity=256 MiB"};
        tla_config config{};
        BOOST_REQUIRE_EQUAL(
            tla_config_load(TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", keys, 1, &config, nullptr, nullptr), TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{});
        for (std::size_t i = 0; i < 4; i++)
            reads.slices[i].bind(platform->pes()[i]->controller.in);
        reads.host.bind(platform->memory_of_host()->controller.in);
        blocks =
            std::make_unique<platform_blocks>("blocks", *platform, count, nbytes, config.mmu.page_size, pattern_bytes);
        tier = std::make_unique<platform_tier>("tier", *platform, nbytes);
        blocks->set_tier(*tier);
    }
    void decide(tla_block_decision_kind kind, const std::vector<std::uint32_t> &which, std::uint32_t found = 0) {
        tla_block_decision d{};
        d.kind = kind;
        d.blocks = which.data();
        d.count = static_cast<std::uint32_t>(which.size());
        d.found = found;
        blocks->hear(d);
    }
    // About the second tier; `here` may be empty.
    void decide_moves(tla_block_decision_kind kind, const std::vector<std::uint32_t> &here,
                      const std::vector<std::uint32_t> &there) {
        tla_block_decision d{};
        d.kind = kind;
        d.blocks = here.empty() ? nullptr : here.data();
        d.host_blocks = there.data();
        d.count = static_cast<std::uint32_t>(there.size());
        blocks->hear(d);
    }
    // Blocks that only the index has.
    void fill(const std::vector<std::uint32_t> &which) {
        decide(TLA_BLOCKS_ALLOCATED, which);
        decide(TLA_BLOCKS_ENTERED, which);
        decide(TLA_BLOCKS_RELEASED, which);
    }
    tla_status run() { return blocks->run(took, &error); }
    std::uint64_t transfer_ps() { // of what has been decided
        took = {};
        BOOST_REQUIRE_MESSAGE(run() == TLA_OK, error.text);
        return took.transfer_ps;
    }
    signature beginning(std::uint32_t block) {
        signature bytes{};
        BOOST_REQUIRE(debug_access(reads.slices[block % 4], tlm::TLM_READ_COMMAND, blocks->physical_address(block),
                                   bytes.data(), bytes.size()));
        return bytes;
    }
    // Turns a bit of a byte of a block of the tier over.
    void plant(std::uint32_t host_block, std::uint64_t at) {
        std::uint8_t byte = 0;
        const std::uint64_t pa = tier->physical_address(host_block) + at;
        BOOST_REQUIRE(debug_access(reads.host, tlm::TLM_READ_COMMAND, pa, &byte, 1));
        byte ^= 1;
        BOOST_REQUIRE(debug_access(reads.host, tlm::TLM_WRITE_COMMAND, pa, &byte, 1));
    }
    std::uint64_t used(tla_memory_kind memory) const { // by commands, in all memories of the kind
        if (memory == TLA_HOST_MEMORY) return platform->memory_of_host()->controller.get_statistics(memory).arena.used;
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            sum += pe->controller.get_statistics(memory).arena.used;
        return sum;
    }
    void check_end() {
        BOOST_REQUIRE_MESSAGE(blocks->finish(&error) == TLA_OK, error.text);
        BOOST_CHECK_EQUAL(platform->leaks(), 0u);
        const platform_counts c = blocks->counts();
        BOOST_CHECK_EQUAL(c.alloc + c.ref, c.free);
        BOOST_CHECK_EQUAL(c.map, c.alloc);
        BOOST_CHECK_EQUAL(c.unmap, c.alloc);
        BOOST_CHECK_EQUAL(c.host_alloc, c.moved_out);
        BOOST_CHECK_EQUAL(c.host_free, c.moved_out);
        BOOST_CHECK_EQUAL(c.host_pin, c.host_unpin);
    }

    std::unique_ptr<npu> platform;
    reader reads{"reads"};
    std::unique_ptr<platform_tier> tier;
    std::unique_ptr<platform_blocks> blocks;
    platform_blocks::times took;
    tla_error error{};
};

// What the law of host_law.h says of a decision.
std::uint64_t formula_ps(std::uint32_t blocks, std::uint64_t block_bytes) {
    return 900'000 + blocks * block_bytes * 1000 / 64;
}

} // namespace

// On a platform that does nothing else the link is what moves wait for, and the formula's latency what comes besides.
BOOST_AUTO_TEST_CASE(moves_take_the_time_of_the_formula_and_return_the_same_bytes) {
    constexpr std::uint64_t nbytes = 1 << 20;
    cache c(64, nbytes, nbytes);
    c.fill({4, 5, 6, 7, 8, 12, 16});
    BOOST_CHECK_EQUAL(c.transfer_ps(), 0u);
    const signature was = c.beginning(5);
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {4, 5, 6, 7}, {1, 2, 3, 4}); // of four PEs
    const std::uint64_t out_ps = c.transfer_ps();
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {8, 12, 16}, {5, 6, 7}); // of one
    const std::uint64_t of_one_ps = c.transfer_ps();
    BOOST_CHECK_EQUAL(c.used(TLA_HOST_MEMORY), 7 * nbytes);
    c.decide_moves(TLA_BLOCKS_HELD, {}, {1, 2, 3, 4});
    c.decide(TLA_BLOCKS_ALLOCATED, {20, 21, 22, 23});
    c.decide_moves(TLA_BLOCKS_MOVED_IN, {20, 21, 22, 23}, {1, 2, 3, 4});
    const std::uint64_t in_ps = c.transfer_ps();
    c.decide_moves(TLA_BLOCKS_LET_GO, {}, {1, 2, 3, 4});
    BOOST_CHECK_EQUAL(c.transfer_ps(), 0u);
    BOOST_CHECK(c.beginning(21) == was);
    c.decide_moves(TLA_BLOCKS_HELD, {}, {7});
    c.decide(TLA_BLOCKS_ALLOCATED, {24});
    c.decide_moves(TLA_BLOCKS_MOVED_IN, {24}, {7});
    const std::uint64_t single_ps = c.transfer_ps();
    c.decide_moves(TLA_BLOCKS_LET_GO, {}, {7});
    BOOST_TEST_MESSAGE("out " << out_ps << " of " << formula_ps(4, nbytes) << ", of one PE " << of_one_ps << " of "
                              << formula_ps(3, nbytes) << ", in " << in_ps << ", one block in " << single_ps << " of "
                              << formula_ps(1, nbytes));
    BOOST_CHECK_CLOSE(static_cast<double>(out_ps), static_cast<double>(formula_ps(4, nbytes)), 1.0);
    BOOST_CHECK_CLOSE(static_cast<double>(of_one_ps), static_cast<double>(formula_ps(3, nbytes)), 1.0);
    BOOST_CHECK_CLOSE(static_cast<double>(in_ps), static_cast<double>(formula_ps(4, nbytes)), 1.0);
    BOOST_CHECK_CLOSE(static_cast<double>(single_ps), static_cast<double>(formula_ps(1, nbytes)), 3.0);
    const platform_counts counts = c.blocks->counts();
    BOOST_CHECK_EQUAL(counts.moving_ps, out_ps + of_one_ps + in_ps + single_ps);
    BOOST_CHECK_EQUAL(counts.bytes_out, 7 * nbytes);
    BOOST_CHECK_EQUAL(counts.bytes_in, 5 * nbytes);
    c.check_end();
}

BOOST_AUTO_TEST_CASE(a_wrong_byte_in_the_hosts_memory_is_found_when_the_block_is_back) {
    cache c(16, 100'000, 100'000); // the pattern is in all of it
    c.fill({5});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {5}, {3});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    c.plant(3, 77'777);
    c.decide_moves(TLA_BLOCKS_HELD, {}, {3});
    c.decide(TLA_BLOCKS_ALLOCATED, {6});
    c.decide_moves(TLA_BLOCKS_MOVED_IN, {6}, {3});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(std::string(c.error.text).rfind("block 6, byte 77777, in PE 2's slice: found 0x", 0), 0u);
}

BOOST_AUTO_TEST_CASE(a_block_cannot_be_written_while_it_is_read) {
    cache c(16, 10'000);
    c.fill({1, 2});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1}, {9});
    c.decide_moves(TLA_BLOCKS_HELD, {}, {9});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {2}, {9});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(c.error.text, "block 9 in the host's memory is freed during a read");
}

BOOST_AUTO_TEST_CASE(a_block_is_read_by_those_who_hold_it) {
    cache c(16, 10'000);
    c.fill({1});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1}, {9});
    c.decide(TLA_BLOCKS_ALLOCATED, {2});
    c.decide_moves(TLA_BLOCKS_MOVED_IN, {2}, {9});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(c.error.text, "block 9 in the host's memory is read but not held");
}

BOOST_AUTO_TEST_CASE(blocks_of_requests_are_not_moved_out) {
    cache c(16, 10'000);
    c.decide(TLA_BLOCKS_ALLOCATED, {1});
    c.decide(TLA_BLOCKS_ENTERED, {1});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1}, {9});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(c.error.text, "block 1 is moved to the host's memory but is not the index's alone");
}

BOOST_AUTO_TEST_CASE(blocks_outside_the_index_are_not_moved_out) {
    cache c(16, 10'000);
    c.decide(TLA_BLOCKS_ALLOCATED, {1});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1}, {9});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(c.error.text, "block 1 is moved to the host's memory but is not the index's alone");
}

BOOST_AUTO_TEST_CASE(only_a_held_block_can_be_released) {
    cache c(16, 10'000);
    c.fill({1});
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1}, {9});
    c.decide_moves(TLA_BLOCKS_LET_GO, {}, {9});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(c.error.text, "block 9 in the host's memory is released but not held");
}

// Room for one block, to which a decision moves two, one after the other.
BOOST_AUTO_TEST_CASE(the_second_of_two_moves_to_one_place_stays) {
    cache c(16, 50'000);
    c.fill({1, 2});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    const signature second = c.beginning(2);
    c.decide_moves(TLA_BLOCKS_MOVED_OUT, {1, 2}, {9, 9});
    c.decide_moves(TLA_BLOCKS_HELD, {}, {9});
    c.decide(TLA_BLOCKS_ALLOCATED, {3});
    c.decide_moves(TLA_BLOCKS_MOVED_IN, {3}, {9});
    c.decide_moves(TLA_BLOCKS_LET_GO, {}, {9});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_CHECK(c.beginning(3) == second);
    c.check_end();
}

namespace {

// Who has what, by the decisions alone, and what stands where, by the bytes that blocks begin with.
struct naive {
    struct block {
        std::uint32_t requests = 0;
        bool indexed = false;
        signature bytes{};
        bool lives() const { return requests > 0 || indexed; }
    };
    struct stored {
        bool full = false;
        std::uint32_t readers = 0;
        signature bytes{};
    };

    std::vector<block> here;
    std::vector<stored> there;
    platform_counts counts{};

    std::uint64_t living() const {
        return static_cast<std::uint64_t>(
            std::count_if(here.begin(), here.end(), [](const block &b) { return b.lives(); }));
    }
    std::uint64_t full() const {
        return static_cast<std::uint64_t>(
            std::count_if(there.begin(), there.end(), [](const stored &s) { return s.full; }));
    }
};

// Of all numbers below `count` those that a test holds for, one; count where there is none.
template <typename Test>
std::uint32_t any(seeded_random &random, std::uint32_t count, const Test &test) {
    const auto first = static_cast<std::uint32_t>(random.between(0, count - 1));
    for (std::uint32_t i = 0; i < count; i++)
        if (test((first + i) % count)) return (first + i) % count;
    return count;
}

struct player {
    static constexpr std::uint32_t blocks = 24, host_blocks = 12;
    static constexpr std::uint64_t nbytes = 12'288, granted = nbytes;

    explicit player(std::uint64_t seed) : random(seed), c(blocks, nbytes) {
        model.here.resize(blocks);
        model.there.resize(host_blocks);
    }

    void run() {
        if (c.run() != TLA_OK) BOOST_FAIL(c.error.text);
    }

    // A block that nobody refers to, after its content has been moved out if that is wished.
    std::uint32_t take(bool moves) {
        const std::uint32_t b = any(random, blocks, [&](std::uint32_t i) { return model.here[i].requests == 0; });
        if (b == blocks) return b;
        naive::block &block = model.here[b];
        const std::uint32_t h = any(random, host_blocks, [&](std::uint32_t i) { return !model.there[i].readers; });
        if (block.indexed && moves && h < host_blocks) {
            c.decide_moves(TLA_BLOCKS_MOVED_OUT, {b}, {h});
            model.there[h] = {true, 0, block.bytes};
            model.counts.moved_out++;
        }
        c.decide(TLA_BLOCKS_ALLOCATED, {b});
        model.counts.alloc++;
        block = {1, false, {}};
        run();
        block.bytes = c.beginning(b);
        return b;
    }

    void bring_back() {
        const std::uint32_t h = any(random, host_blocks, [&](std::uint32_t i) { return model.there[i].full; });
        if (h == host_blocks) return;
        c.decide_moves(TLA_BLOCKS_HELD, {}, {h});
        model.there[h].readers++;
        model.counts.host_pin++;
        held.push_back(h);
        const std::uint32_t b = take(true);
        if (b == blocks) return;
        c.decide_moves(TLA_BLOCKS_MOVED_IN, {b}, {h});
        model.counts.moved_in++;
        run();
        BOOST_REQUIRE(c.beginning(b) == model.there[h].bytes);
        model.here[b].bytes = model.there[h].bytes;
    }

    void let_go() {
        if (held.empty()) return;
        const std::size_t i = random.between(0, held.size() - 1);
        c.decide_moves(TLA_BLOCKS_LET_GO, {}, {held[i]});
        model.there[held[i]].readers--;
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }

    void step() {
        const std::uint64_t what = random.between(0, 6);
        const auto wished = [&](std::uint32_t i) {
            const naive::block &b = model.here[i];
            return what == 1 ? b.lives() : what == 2 ? b.requests > 0 && !b.indexed : b.requests > 0;
        };
        const std::uint32_t b = any(random, blocks, wished);
        if (what == 0) take(random.one_in(2));
        if (what == 1 && b < blocks) {
            c.decide(TLA_BLOCKS_ALLOCATED, {b}, 1);
            model.here[b].requests++;
        }
        if (what == 2 && b < blocks) {
            c.decide(TLA_BLOCKS_ENTERED, {b});
            model.here[b].indexed = true;
        }
        if ((what == 3 || what == 4) && b < blocks) {
            c.decide(TLA_BLOCKS_RELEASED, {b});
            model.here[b].requests--;
        }
        if (what == 5) bring_back();
        if (what == 6) let_go();
        run();
    }

    void check() {
        BOOST_REQUIRE_EQUAL(c.used(TLA_HBM), model.living() * granted);
        BOOST_REQUIRE_EQUAL(c.used(TLA_HOST_MEMORY), model.full() * granted);
        for (std::uint32_t b = 0; b < blocks; b++)
            if (model.here[b].lives()) BOOST_REQUIRE(c.beginning(b) == model.here[b].bytes);
        const platform_counts counts = c.blocks->counts();
        BOOST_REQUIRE_EQUAL(counts.alloc, model.counts.alloc);
        BOOST_REQUIRE_EQUAL(counts.moved_out, model.counts.moved_out);
        BOOST_REQUIRE_EQUAL(counts.moved_in, model.counts.moved_in);
        BOOST_REQUIRE_EQUAL(counts.host_pin, model.counts.host_pin);
        BOOST_REQUIRE_EQUAL(counts.host_unpin + held.size(), model.counts.host_pin);
        const auto host = c.platform->memory_of_host()->controller.get_statistics(TLA_HOST_MEMORY);
        BOOST_REQUIRE_EQUAL(host.allocs, counts.host_alloc);
        BOOST_REQUIRE_EQUAL(host.frees, counts.host_free);
        BOOST_REQUIRE_EQUAL(host.pins, counts.host_pin);
        BOOST_REQUIRE_EQUAL(host.unpins, counts.host_unpin);
    }

    seeded_random random;
    cache c;
    naive model;
    std::vector<std::uint32_t> held; // as often as by readers
};

} // namespace

BOOST_AUTO_TEST_CASE(random_decisions_leave_what_a_naive_model_says) {
    player p(1);
    for (int i = 0; i < 20000; i++) {
        p.step();
        p.check();
    }
    const platform_counts counts = p.c.blocks->counts();
    BOOST_CHECK_GT(counts.moved_out, 50u);
    BOOST_CHECK_GT(counts.moved_in, 50u);
    BOOST_TEST_MESSAGE(counts.moved_out << " blocks out, " << counts.moved_in << " in");
    while (!p.held.empty())
        p.let_go();
    for (std::uint32_t b = 0; b < player::blocks; b++)
        for (; p.model.here[b].requests > 0; p.model.here[b].requests--)
            p.c.decide(TLA_BLOCKS_RELEASED, {b});
    p.run();
    p.check();
    p.c.check_end();
}
