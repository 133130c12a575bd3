// Layers of several types: what they need, small pages in large ones, windows, and a naive model.
#include "seeded_random.hpp"
#include "tlmalloc/kv/kv_cache.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace {

struct ends {
    void operator()(tla_kv_layers *l) const { tla_kv_layers_destroy(l); }
};
using layers = std::unique_ptr<tla_kv_layers, ends>;

layers make(const tla_kv_layers_config &config) {
    tla_kv_layers *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_kv_layers_create(&config, &made), TLA_OK);
    return layers(made);
}

// Full layers, layers with a window, and layers for pictures: small pages of 48, 32 and 16 bytes in large ones of 96.
tla_kv_layers_config three_types() {
    tla_kv_layers_config config{};
    config.types[0] = {3, 4, 0, 0};
    config.types[1] = {2, 4, 10, 0};
    config.types[2] = {1, 4, 0, 1};
    config.type_count = 3;
    config.block_tokens = 4;
    config.nbytes = 40 * 96 + 95;
    config.sequences = 6;
    return config;
}

tla_kv_lengths tokens(std::uint64_t text, std::uint64_t pictures = 0) {
    return {{text, pictures, 0, 0}};
}

} // namespace

BOOST_AUTO_TEST_CASE(layers_need_their_own_tokens_in_their_windows) {
    const tla_kv_layers_config config = three_types();
    const tla_kv_lengths lengths = tokens(25, 7);
    BOOST_CHECK_EQUAL(tla_kv_layers_needed(&config, &lengths), 12u * 25 + 8 * 10 + 4 * 7);
    BOOST_CHECK_EQUAL(tla_kv_layers_uniform(&config, &lengths), 24u * 32);
}

BOOST_AUTO_TEST_CASE(a_sequence_keeps_to_its_own_large_pages_and_gives_them_back_whole) {
    const tla_kv_layers_config config = three_types();
    const layers l = make(config);
    BOOST_CHECK_EQUAL(tla_kv_layers_get_stats(l.get()).large_bytes, 96u);
    BOOST_CHECK_EQUAL(tla_kv_layers_get_stats(l.get()).large_pages, 40u);
    tla_work work{};
    std::uint64_t a = 0, b = 0;
    const tla_kv_lengths one = tokens(0, 1), five = tokens(0, 5);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 0, &one, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 1, &one, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 0, &five, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_find(l.get(), 0, 2, 4, &a), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_find(l.get(), 1, 2, 0, &b), TLA_OK);
    BOOST_CHECK_EQUAL(a, 16u); // the second small page of its own large one, though another has room
    BOOST_CHECK_EQUAL(b, 96u);
    BOOST_CHECK_EQUAL(tla_kv_layers_release(l.get(), 0, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_get_stats(l.get()).free_large, 39u);
    BOOST_CHECK_EQUAL(tla_kv_layers_find(l.get(), 0, 2, 0, &a), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(work.splits, 2u);
    BOOST_CHECK_EQUAL(work.merges, 1u);
}

BOOST_AUTO_TEST_CASE(the_peak_stays_when_fewer_large_pages_are_in_use) {
    const layers l = make(three_types());
    tla_work work{};
    const tla_kv_lengths many = tokens(0, 100), few = tokens(0, 1);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 0, &many, &work), TLA_OK);
    const std::uint64_t peak = tla_kv_layers_get_stats(l.get()).peak_large;
    BOOST_CHECK_EQUAL(peak, 5u); // 25 small pages, 6 in each
    BOOST_CHECK_EQUAL(tla_kv_layers_release(l.get(), 0, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 0, &few, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_layers_get_stats(l.get()).peak_large, peak);
}

// Sequence 0 begins the first large page, leaves it to others by its window, and ends while it is full.
BOOST_AUTO_TEST_CASE(a_large_page_that_a_sequence_of_before_began_is_not_its_successors) {
    tla_kv_layers_config config{};
    config.types[0] = {1, 4, 4, 0}; // two small pages of 16 bytes in a large one
    config.types[1] = {2, 4, 0, 1};
    config.type_count = 2;
    config.block_tokens = 4;
    config.nbytes = 2 * 32;
    config.sequences = 4;
    const layers l = make(config);
    tla_work work{};
    const auto grow = [&](std::uint32_t sequence, std::uint64_t text) {
        const tla_kv_lengths lengths = tokens(text);
        BOOST_REQUIRE_EQUAL(tla_kv_layers_grow(l.get(), sequence, &lengths, &work), TLA_OK);
    };
    const auto where = [&](std::uint32_t sequence, std::uint64_t token) {
        std::uint64_t offset = 99;
        BOOST_CHECK_EQUAL(tla_kv_layers_find(l.get(), sequence, 0, token, &offset), TLA_OK);
        return offset;
    };
    grow(0, 5);
    grow(1, 4);
    grow(0, 8); // its first block has left the window
    grow(2, 4);
    BOOST_CHECK_EQUAL(where(2, 0), 0u);
    grow(0, 9);
    BOOST_CHECK_EQUAL(where(0, 8), 48u); // beside sequence 1
    grow(0, 12);
    grow(3, 4);
    BOOST_CHECK_EQUAL(where(3, 0), 16u);
    for (const std::uint32_t sequence : {0u, 1u, 2u})
        BOOST_CHECK_EQUAL(tla_kv_layers_release(l.get(), sequence, &work), TLA_OK);
    grow(0, 4);
    BOOST_CHECK_EQUAL(where(0, 0), 32u); // in a large page of its own, not beside sequence 3
}

BOOST_AUTO_TEST_CASE(blocks_that_have_left_a_window_are_given_back) {
    const layers l = make(three_types());
    tla_work work{};
    std::uint64_t offset;
    for (std::uint64_t n = 1; n <= 60; n++) {
        const tla_kv_lengths lengths = tokens(n);
        BOOST_REQUIRE_EQUAL(tla_kv_layers_grow(l.get(), 2, &lengths, &work), TLA_OK);
        const std::uint64_t full = (n + 3) / 4, first = n > 10 ? (n - 10) / 4 : 0;
        BOOST_REQUIRE_EQUAL(tla_kv_layers_get_stats(l.get()).small_bytes, 48 * full + 32 * (full - first));
        BOOST_REQUIRE_EQUAL(tla_kv_layers_find(l.get(), 2, 1, n - 1, &offset), TLA_OK);
        if (first) BOOST_REQUIRE_EQUAL(tla_kv_layers_find(l.get(), 2, 1, 4 * first - 1, &offset), TLA_UNMAPPED);
    }
    const tla_kv_lengths fewer = tokens(59);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 2, &fewer, &work), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_layers_grow(l.get(), 6, &fewer, &work), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(configurations_of_layers_outside_their_ranges_are_rejected) {
    const auto refused = [](void (*change)(tla_kv_layers_config &)) {
        tla_kv_layers_config config = three_types();
        change(config);
        tla_kv_layers *made;
        BOOST_CHECK_EQUAL(tla_kv_layers_create(&config, &made), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!made);
    };
    refused([](tla_kv_layers_config &c) { c.type_count = 0; });
    refused([](tla_kv_layers_config &c) { c.type_count = TLA_KV_TYPES_MAX + 1; });
    refused([](tla_kv_layers_config &c) { c.block_tokens = 0; });
    refused([](tla_kv_layers_config &c) { c.sequences = 0; });
    refused([](tla_kv_layers_config &c) { c.types[1].layers = 0; });
    refused([](tla_kv_layers_config &c) { c.types[1].token_bytes = 0; });
    refused([](tla_kv_layers_config &c) { c.types[1].stream = TLA_KV_STREAMS_MAX; });
    refused([](tla_kv_layers_config &c) { c.nbytes = 95; });
    refused([](tla_kv_layers_config &c) { c.types[2].layers = 4093, c.types[1].layers = 4099; });
}

// After every call: no byte has two owners, every block that is needed is there and no other, a refusal is one that the
// free pages explain.
BOOST_AUTO_TEST_CASE(random_sequences_over_layers_share_no_byte_and_fail_only_for_lack_of_pages) {
    seeded_random random(5);
    const tla_kv_layers_config config = three_types();
    const std::uint64_t small[] = {48, 32, 16};
    const layers l = make(config);
    std::vector<tla_kv_lengths> lengths(6);
    tla_work work{};
    std::size_t refused = 0;
    const auto look = [&](std::map<std::uint64_t, std::uint32_t> &pages) { // offset -> type
        std::uint64_t bytes = 0;
        for (std::uint32_t s = 0; s < 6; s++)
            for (std::uint32_t type = 0; type < 3; type++) {
                const std::uint64_t n = lengths[s].tokens[config.types[type].stream],
                                    window = config.types[type].window;
                const std::uint64_t first = window && n > window ? (n - window) / 4 : 0;
                for (std::uint64_t block = first; block < (n + 3) / 4; block++) {
                    std::uint64_t offset = 0;
                    BOOST_REQUIRE_EQUAL(tla_kv_layers_find(l.get(), s, type, 4 * block, &offset), TLA_OK);
                    BOOST_REQUIRE(pages.emplace(offset, type).second);
                    bytes += small[type];
                }
            }
        std::uint64_t end = 0;
        for (const auto &[offset, type] : pages) {
            BOOST_REQUIRE_GE(offset, end);
            end = offset + small[type];
            BOOST_REQUIRE_EQUAL(offset / 96, (end - 1) / 96);
        }
        BOOST_REQUIRE_LE(end, 40u * 96);
        BOOST_REQUIRE_EQUAL(tla_kv_layers_get_stats(l.get()).small_bytes, bytes);
    };
    const auto could = [&](std::map<std::uint64_t, std::uint32_t> pages, std::uint32_t s, const tla_kv_lengths &to) {
        std::map<std::uint64_t, std::pair<std::uint32_t, std::uint64_t>> large; // type, free small pages
        std::uint64_t wanted[3];
        for (std::uint32_t type = 0; type < 3; type++) { // what leaves a window is gone before
            const std::uint64_t n = to.tokens[config.types[type].stream],
                                had = lengths[s].tokens[config.types[type].stream], window = config.types[type].window;
            const std::uint64_t first = window && n > window ? (n - window) / 4 : 0,
                                old = window && had > window ? (had - window) / 4 : 0, held = (had + 3) / 4;
            for (std::uint64_t block = old; block < std::min(first, held); block++) {
                std::uint64_t offset = 0;
                if (tla_kv_layers_find(l.get(), s, type, 4 * block, &offset) == TLA_OK) pages.erase(offset);
            }
            wanted[type] = (n + 3) / 4 - std::max(first, held);
        }
        for (const auto &[offset, type] : pages) {
            const auto at = large.emplace(offset / 96, std::make_pair(type, 96 / small[type])).first;
            BOOST_REQUIRE_EQUAL(at->second.first, type);
            at->second.second--;
        }
        std::uint64_t needed = large.size();
        for (std::uint32_t type = 0; type < 3; type++) {
            std::uint64_t free = 0;
            for (const auto &each : large)
                if (each.second.first == type) free += each.second.second;
            const std::uint64_t per = 96 / small[type];
            if (wanted[type] > free) needed += (wanted[type] - free + per - 1) / per;
        }
        return needed <= 40;
    };
    for (int step = 0; step < 6000; step++) {
        std::map<std::uint64_t, std::uint32_t> pages;
        look(pages);
        const auto s = static_cast<std::uint32_t>(random.between(0, 5));
        if (random.one_in(8)) {
            BOOST_REQUIRE_EQUAL(tla_kv_layers_release(l.get(), s, &work), TLA_OK);
            lengths[s] = {};
            continue;
        }
        tla_kv_lengths to = lengths[s];
        to.tokens[0] += random.between(0, 20);
        to.tokens[1] += random.one_in(3) ? random.between(0, 20) : 0;
        const bool expected = could(pages, s, to);
        const tla_status status = tla_kv_layers_grow(l.get(), s, &to, &work);
        BOOST_REQUIRE_EQUAL(tla_status_name(status), tla_status_name(expected ? TLA_OK : TLA_EXHAUSTED));
        refused += !expected;
        if (expected) {
            lengths[s] = to;
        } else { // what had left the windows may be gone: the sequence ends
            BOOST_REQUIRE_EQUAL(tla_kv_layers_release(l.get(), s, &work), TLA_OK);
            lengths[s] = {};
        }
    }
    BOOST_CHECK_GT(refused, 10u);
    for (std::uint32_t s = 0; s < 6; s++)
        BOOST_CHECK_EQUAL(tla_kv_layers_release(l.get(), s, &work), TLA_OK);
    const tla_kv_layers_stats stats = tla_kv_layers_get_stats(l.get());
    BOOST_CHECK_EQUAL(stats.free_large, stats.large_pages);
    BOOST_CHECK_EQUAL(stats.small_pages, 0u);
}
