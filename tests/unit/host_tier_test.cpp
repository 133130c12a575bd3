// Blocks in the host's memory behind a key-value cache: what is kept, what is given up, who waits, and what moves take.
#include "seeded_random.hpp"
#include "serving/host_law.h"
#include "serving/host_tier.h"
#include "serving/serve.h"

#include <string>
#include <vector>

namespace {

struct tier {
    tier(std::uint32_t blocks, std::uint64_t budget) {
        BOOST_REQUIRE_EQUAL(tla_host_tier_init(&all, blocks, budget), TLA_OK);
    }
    tier(const tier &) = delete;
    ~tier() { tla_host_tier_clear(&all); }

    std::uint32_t put(std::uint64_t hash) {
        std::uint32_t block = 99;
        BOOST_CHECK_EQUAL(tla_host_tier_put(&all, hash, &block, nullptr), TLA_OK);
        return block;
    }
    std::uint32_t find(const std::vector<std::uint64_t> &hashes) {
        found.resize(hashes.size() + 1);
        return tla_host_tier_find(&all, hashes.data(), static_cast<std::uint32_t>(hashes.size()), found.data(),
                                  nullptr);
    }
    tla_status read(const std::vector<std::uint64_t> &hashes, tla_kv_table &table) {
        return tla_host_tier_begin_read(&all, found.data(), find(hashes), &table, nullptr);
    }
    void end(tla_kv_table &table) {
        tla_host_tier_end_read(&all, &table, nullptr);
        tla_kv_table_clear(&table);
    }
    tla_host_tier_stats stats() const { return tla_host_tier_get_stats(&all); }

    tla_host_tier all{};
    std::vector<std::uint32_t> found;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_least_recently_moved_or_read_goes_first) {
    tier t(3, 0);
    BOOST_CHECK_EQUAL(t.put(10), 1u);
    BOOST_CHECK_EQUAL(t.put(11), 2u);
    BOOST_CHECK_EQUAL(t.put(12), 3u);
    tla_kv_table table{};
    BOOST_CHECK_EQUAL(t.read({10}, table), TLA_OK);
    BOOST_CHECK_EQUAL(table.blocks[0], 1u);
    t.end(table);
    BOOST_CHECK_EQUAL(t.put(13), 2u); // in place of 11
    BOOST_CHECK_EQUAL(t.find({10, 12, 13}), 3u);
    BOOST_CHECK_EQUAL(t.find({11}), 0u);
    BOOST_CHECK_EQUAL(t.stats().evicted, 1u);
    BOOST_CHECK_EQUAL(t.stats().moved_out, 4u);
    BOOST_CHECK_EQUAL(t.stats().moved_in, 1u);
}

BOOST_AUTO_TEST_CASE(blocks_that_are_present_already_are_kept_and_not_moved) {
    tier t(3, 0);
    t.put(10);
    BOOST_CHECK_EQUAL(t.put(10), TLA_KV_PLACEHOLDER);
    BOOST_CHECK_EQUAL(t.stats().kept, 1u);
    BOOST_CHECK_EQUAL(t.stats().moved_out, 1u);
    BOOST_CHECK_EQUAL(t.stats().free, 2u);
}

BOOST_AUTO_TEST_CASE(blocks_being_read_are_skipped_and_content_without_room_is_lost) {
    tier t(2, 0);
    t.put(10);
    t.put(11);
    tla_kv_table first{}, second{};
    BOOST_CHECK_EQUAL(t.read({10}, first), TLA_OK);
    BOOST_CHECK_EQUAL(t.put(12), 2u); // 11 goes, though 10 is as old
    BOOST_CHECK_EQUAL(t.read({12}, second), TLA_OK);
    BOOST_CHECK_EQUAL(t.put(13), TLA_KV_PLACEHOLDER);
    BOOST_CHECK_EQUAL(t.stats().lost, 1u);
    BOOST_CHECK_EQUAL(t.stats().read, 2u);
    BOOST_CHECK_EQUAL(t.find({10}), 1u);
    t.end(first);
    t.end(second);
    BOOST_CHECK_EQUAL(t.put(13), 1u);
    BOOST_CHECK_EQUAL(t.stats().read, 0u);
}

BOOST_AUTO_TEST_CASE(readers_that_wait_for_the_budget_hold_no_block) {
    tier t(8, 3);
    for (std::uint64_t hash = 10; hash < 15; hash++)
        t.put(hash);
    BOOST_CHECK_EQUAL(t.find({10, 11, 12, 13, 14}), 3u); // no more than can ever be read
    tla_kv_table first{}, second{};
    BOOST_CHECK_EQUAL(t.read({10, 11}, first), TLA_OK);
    BOOST_CHECK_EQUAL(t.read({12, 13}, second), TLA_BUSY);
    BOOST_CHECK_EQUAL(second.count, 0u);
    BOOST_CHECK_EQUAL(t.stats().busy, 1u);
    BOOST_CHECK_EQUAL(t.stats().read, 2u);
    t.end(first);
    BOOST_CHECK_EQUAL(t.read({12, 13}, second), TLA_OK);
    t.end(second);
    tla_host_tier none{};
    BOOST_CHECK_EQUAL(tla_host_tier_init(&none, 0, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_host_tier_init(&none, TLA_KV_BLOCKS_MAX, 0), TLA_INVALID_ARGUMENT);
}

// Three blocks of 2 MB at 32 GB/s are 187.5 us, and 2.5 us for a move of them; a receipt without a move takes nothing.
BOOST_AUTO_TEST_CASE(a_step_waits_for_the_blocks_that_are_moved_before_it) {
    tla_host_law law{};
    tla_serving_settings none{};
    BOOST_REQUIRE_EQUAL(tla_step_law_parse("fixed 1 ms", &none, &law.inner, nullptr), TLA_OK);
    law.link = {32, 2.5, 2'000'000};
    const tla_step_law with_moves = tla_host_law_of(&law);
    tla_block_decision decision{};
    decision.count = 3;
    tla_step_time time{};
    const tla_step step{};
    decision.kind = TLA_BLOCKS_MOVED_OUT;
    with_moves.blocks(with_moves.context, &decision);
    decision.kind = TLA_BLOCKS_MOVED_IN;
    with_moves.blocks(with_moves.context, &decision);
    decision.kind = TLA_BLOCKS_ALLOCATED;
    with_moves.blocks(with_moves.context, &decision);
    BOOST_CHECK_EQUAL(with_moves.time(with_moves.context, &step, &time, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(time.transfer_ns, 2 * 190'000u);
    BOOST_CHECK_EQUAL(time.compute_ns, 1'000'000u);
    BOOST_CHECK_EQUAL(with_moves.time(with_moves.context, &step, &time, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(time.transfer_ns, 0u);
    BOOST_CHECK_EQUAL(law.all_moved_ps, 380'000'000u);
    law.link.block_bytes = UINT64_MAX;
    decision.kind = TLA_BLOCKS_MOVED_IN;
    with_moves.blocks(with_moves.context, &decision);
    BOOST_CHECK_EQUAL(law.moved_ps, UINT64_MAX);
    tla_step_law_clear(&law.inner);
}

// A byte at 0.6 GB/s takes 1666.67 ps, a whole number of them; what is left of a nanosecond is waited for later.
BOOST_AUTO_TEST_CASE(no_part_of_a_nanosecond_of_a_move_is_lost) {
    tla_host_law law{};
    tla_serving_settings none{};
    BOOST_REQUIRE_EQUAL(tla_step_law_parse("fixed 1 ms", &none, &law.inner, nullptr), TLA_OK);
    law.link = {0.6, 0, 1};
    const tla_step_law with_moves = tla_host_law_of(&law);
    tla_block_decision decision{};
    decision.count = 1;
    decision.kind = TLA_BLOCKS_MOVED_OUT;
    const tla_step step{};
    for (const std::uint64_t waited_ns : {1u, 2u, 2u}) { // of 1667, 667 + 1667 and 334 + 1667 ps
        tla_step_time time{};
        with_moves.blocks(with_moves.context, &decision);
        BOOST_CHECK_EQUAL(with_moves.time(with_moves.context, &step, &time, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(time.transfer_ns, waited_ns);
    }
    BOOST_CHECK_EQUAL(law.all_moved_ps, 3 * 1667u);
    tla_step_law_clear(&law.inner);
}

BOOST_AUTO_TEST_CASE(a_second_tier_needs_an_index_and_blocks_of_a_known_size) {
    const auto load = [](const std::string &text, tla_serving_settings &settings) {
        std::string found;
        const auto take = [](void *context, const tla_config_finding *finding) {
            *static_cast<std::string *>(context) += finding->text;
        };
        (void)tla_serving_settings_parse(text.data(), text.size(), "s", nullptr, 0, &settings, take, &found);
        return found;
    };
    const std::string model = "gpu_blocks: 20\nlayers: 32\nkv_heads: 8\nhead_dim: 128\nhost_blocks: 50\n";
    tla_serving_settings s{};
    BOOST_CHECK_EQUAL(load(model + "host_chunk_budget: 7\nhost_bandwidth_gb_s: 31.5\n", s), "");
    BOOST_CHECK_EQUAL(s.rules.host_blocks, 50u);
    BOOST_CHECK_EQUAL(s.rules.host_budget, 7u);
    BOOST_CHECK_EQUAL(s.host_link.bandwidth_gb_s, 31.5);
    BOOST_CHECK_EQUAL(s.host_link.latency_us, 0.9);
    BOOST_CHECK_EQUAL(s.host_link.block_bytes, 2u << 20);
    const auto bytes = [&](const std::string &types) {
        BOOST_CHECK_EQUAL(load(model + types, s), "");
        return s.host_link.block_bytes;
    };
    BOOST_CHECK_EQUAL(bytes("kv_dtype: fp8\n"), 1u << 20);
    BOOST_CHECK_EQUAL(bytes("dtype: float32\n"), 4u << 20); // kv_dtype is auto
    BOOST_CHECK_EQUAL(bytes("dtype: float32\nkv_dtype: half\n"), 2u << 20);
    const std::string refused = "host_blocks above 0 needs kv_memory blocks and prefix_caching true";
    BOOST_CHECK_EQUAL(load(model + "prefix_caching: false\n", s), refused);
    BOOST_CHECK_EQUAL(load(model + "kv_memory: paged\n", s), refused);
    BOOST_CHECK_EQUAL(load("gpu_blocks: 20\nhost_blocks: 50\n", s),
                      "host_blocks above 0 needs layers, kv_heads and head_dim");
    BOOST_CHECK_EQUAL(load(model + "host_bandwidth_gb_s: 0\n", s),
                      "host_bandwidth_gb_s: found \"0\", expected a number above 0");
}
