// One decision for all banks.
#include "seeded_random.hpp"
#include "tlmalloc/stack/lockstep.h"

#include <vector>

namespace {

constexpr std::uint64_t KiB = 1024;

struct lockstep {
    explicit lockstep(const tla_lockstep_config &config) {
        BOOST_REQUIRE_EQUAL(tla_lockstep_create(&config, &l), TLA_OK);
    }
    lockstep(const lockstep &) = delete;
    ~lockstep() { tla_lockstep_destroy(l); }
    tla_lockstep_buffer alloc(std::uint64_t nbytes, std::uint64_t page) {
        tla_lockstep_buffer buffer{};
        BOOST_REQUIRE_EQUAL(tla_lockstep_alloc(l, nbytes, page, &buffer, nullptr), TLA_OK);
        return buffer;
    }
    tla_bank_stats stats(std::uint32_t bank) {
        tla_bank_stats stats{};
        BOOST_REQUIRE_EQUAL(tla_lockstep_get_stats(l, bank, &stats), TLA_OK);
        return stats;
    }
    tla_lockstep *l = nullptr;
};

tla_lockstep_config wormhole(tla_fill fill) {
    return {12, 0, 1 << 20, 32, fill};
} // 12 DRAM banks, smaller ones

} // namespace

BOOST_AUTO_TEST_CASE(a_buffer_takes_the_same_range_in_every_bank_even_if_it_uses_one) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    tla_lockstep_buffer one = l.alloc(2 * KiB, 2 * KiB);
    BOOST_CHECK_EQUAL(one.bank_bytes, 2 * KiB);
    for (std::uint32_t bank = 0; bank < 12; bank++) {
        tla_bank_stats stats = l.stats(bank);
        BOOST_CHECK_EQUAL(stats.allocatable, 1u << 20);
        BOOST_CHECK_EQUAL(stats.allocated, 2 * KiB);
        BOOST_CHECK_EQUAL(stats.free, (1u << 20) - 2 * KiB);
        BOOST_CHECK_EQUAL(stats.largest_free, (1u << 20) - 2 * KiB);
        BOOST_CHECK_EQUAL(stats.occupied, bank == 0 ? 2 * KiB : 0u);
    }
}

BOOST_AUTO_TEST_CASE(pages_go_round_the_banks) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    l.alloc(1, 64);
    tla_lockstep_buffer buffer = l.alloc(30 * 2 * KiB, 2 * KiB); // 30 pages on 12 banks: 3 a bank
    BOOST_CHECK_EQUAL(buffer.bank_bytes, 6 * KiB);
    BOOST_CHECK_EQUAL(buffer.offset, 64u);
    std::uint32_t bank = 0;
    std::uint64_t offset = 0;
    BOOST_REQUIRE_EQUAL(tla_lockstep_page(l.l, &buffer, 26, &bank, &offset), TLA_OK);
    BOOST_CHECK_EQUAL(bank, 2u);
    BOOST_CHECK_EQUAL(offset, 64 + 4 * KiB);
    BOOST_CHECK_EQUAL(tla_lockstep_page(l.l, &buffer, 30, &bank, &offset), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(l.stats(5).occupied, 6 * KiB);
    BOOST_CHECK_EQUAL(l.stats(6).occupied, 4 * KiB);
}

BOOST_AUTO_TEST_CASE(pages_are_padded_to_the_alignment) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    tla_lockstep_buffer buffer = l.alloc(100, 33);
    BOOST_CHECK_EQUAL(buffer.page_bytes, 64u);
    BOOST_CHECK_EQUAL(buffer.pages, 4u);
    BOOST_CHECK_EQUAL(buffer.bank_bytes, 64u);
}

BOOST_AUTO_TEST_CASE(dram_fills_from_below) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    BOOST_CHECK_EQUAL(l.alloc(KiB, KiB).offset, 0u);
    BOOST_CHECK_EQUAL(l.alloc(KiB, KiB).offset, KiB);
}

BOOST_AUTO_TEST_CASE(l1_fills_from_above) {
    lockstep l(wormhole(TLA_TOP_DOWN));
    BOOST_CHECK_EQUAL(l.alloc(KiB, KiB).offset, (1u << 20) - KiB);
    BOOST_CHECK_EQUAL(l.alloc(KiB, KiB).offset, (1u << 20) - 2 * KiB);
}

BOOST_AUTO_TEST_CASE(a_decision_for_twelve_banks_costs_that_of_one) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    tla_work work{};
    tla_lockstep_buffer buffer{};
    BOOST_REQUIRE_EQUAL(tla_lockstep_alloc(l.l, 100 * KiB, KiB, &buffer, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(work.splits, 1u);
}

BOOST_AUTO_TEST_CASE(bad_requests_have_their_own_status_and_change_nothing) {
    lockstep l(wormhole(TLA_BOTTOM_UP));
    tla_lockstep_buffer buffer = l.alloc(KiB, KiB), other{};
    BOOST_CHECK_EQUAL(tla_lockstep_alloc(l.l, 0, KiB, &other, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_lockstep_alloc(l.l, KiB, 0, &other, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_lockstep_alloc(l.l, ~std::uint64_t{0}, 1, &other, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_lockstep_alloc(l.l, 12 << 20, KiB, &other, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(l.stats(0).allocated, KiB);
    tla_lockstep_buffer wrong = buffer;
    wrong.pages = 100;
    BOOST_CHECK_EQUAL(tla_lockstep_free(l.l, wrong, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_lockstep_free(l.l, {}, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_lockstep_free(l.l, buffer, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_lockstep_free(l.l, buffer, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(l.stats(0).occupied, 0u);
    tla_bank_stats stats{};
    BOOST_CHECK_EQUAL(tla_lockstep_get_stats(l.l, 12, &stats), TLA_OUT_OF_RANGE);
    for (const tla_lockstep_config &config :
         {tla_lockstep_config{0, 0, KiB, 32, TLA_BOTTOM_UP}, tla_lockstep_config{1, 0, KiB, 33, TLA_BOTTOM_UP}}) {
        tla_lockstep *none = nullptr;
        BOOST_CHECK_EQUAL(tla_lockstep_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(random_buffers_agree_with_a_count_page_by_page) {
    seeded_random random(71);
    lockstep l({7, 4096, 1 << 20, 64, TLA_BOTTOM_UP});
    std::vector<tla_lockstep_buffer> live;
    std::vector<std::uint64_t> occupied(7);
    auto count = [&](const tla_lockstep_buffer &buffer, bool taken) {
        for (std::uint64_t page = 0; page < buffer.pages; page++) {
            std::uint32_t bank = 0;
            std::uint64_t offset = 0;
            BOOST_REQUIRE_EQUAL(tla_lockstep_page(l.l, &buffer, page, &bank, &offset), TLA_OK);
            BOOST_REQUIRE(offset >= buffer.offset && offset + buffer.page_bytes <= buffer.offset + buffer.bank_bytes);
            occupied[bank] += taken ? buffer.page_bytes : 0 - buffer.page_bytes;
        }
    };
    for (int i = 0; i < 5000; i++) {
        if (live.empty() || random.one_in(2)) {
            tla_lockstep_buffer buffer{};
            if (tla_lockstep_alloc(l.l, random.between(1, 300000), random.between(1, 5000), &buffer, nullptr)) continue;
            count(buffer, true);
            live.push_back(buffer);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            count(live.back(), false);
            BOOST_REQUIRE_EQUAL(tla_lockstep_free(l.l, live.back(), nullptr), TLA_OK);
            live.pop_back();
        }
        for (std::uint32_t bank = 0; bank < 7; bank++)
            BOOST_REQUIRE_EQUAL(l.stats(bank).occupied, occupied[bank]);
    }
}
