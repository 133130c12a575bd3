// Contiguous regions of a key-value cache against a naive model, and the rules by hand.
#include "seeded_random.hpp"
#include "tlmalloc/kv/kv_cache.h"

#include <map>
#include <memory>
#include <vector>

namespace {

struct ends {
    void operator()(tla_kv_reservations *r) const { tla_kv_reservations_destroy(r); }
};
using reservations = std::unique_ptr<tla_kv_reservations, ends>;

reservations make(std::uint64_t tokens, std::uint64_t longest, tla_kv_rule rule, tla_policy policy) {
    tla_kv_reservations *made = nullptr;
    const tla_kv_reservations_config config{tokens, longest, rule, policy};
    BOOST_REQUIRE_EQUAL(tla_kv_reservations_create(&config, &made), TLA_OK);
    return reservations(made);
}

// Buddies as sets of free offsets by size: the lowest of the smallest, joined as far as the roots.
struct naive_buddies {
    std::map<std::uint64_t, std::map<std::uint64_t, bool>> free; // size -> offsets
    explicit naive_buddies(std::uint64_t tokens) {
        std::uint64_t at = 0;
        for (std::uint64_t size = std::uint64_t{1} << 40; size; size >>= 1)
            if (tokens & size) {
                free[size][at] = true;
                at += size;
            }
    }
    bool take(std::uint64_t tokens, std::uint64_t &offset) {
        std::uint64_t size = 1;
        while (size < tokens)
            size *= 2;
        std::uint64_t from = size;
        while (from < (std::uint64_t{1} << 41) && free[from].empty())
            from *= 2;
        if (free[from].empty()) return false;
        offset = free[from].begin()->first;
        free[from].erase(offset);
        for (; from > size; from /= 2)
            free[from / 2][offset + from / 2] = true;
        return true;
    }
    void give(std::uint64_t offset, std::uint64_t tokens) {
        std::uint64_t size = 1;
        while (size < tokens)
            size *= 2;
        while (free[size].count(offset ^ size)) {
            free[size].erase(offset ^ size);
            offset &= ~size;
            size *= 2;
        }
        free[size][offset] = true;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(rules_say_how_long_a_region_is) {
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_MAXIMUM, 100, 5, 2048), 2048u);
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_ORACLE, 100, 5, 2048), 105u);
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_POWER_OF_TWO, 100, 5, 2048), 108u);
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_POWER_OF_TWO, 100, 8, 2048), 108u);
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_POWER_OF_TWO, 1500, 520, 2048), 2048u);
    for (const tla_kv_rule rule : {TLA_KV_MAXIMUM, TLA_KV_POWER_OF_TWO, TLA_KV_ORACLE})
        BOOST_CHECK_EQUAL(tla_kv_rule_tokens(rule, 2000, 49, 2048), 0u);
    BOOST_CHECK_EQUAL(tla_kv_rule_tokens(TLA_KV_POWER_OF_TWO, 1, UINT64_MAX - 1, UINT64_MAX), UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_kv_rule_name(TLA_KV_POWER_OF_TWO), std::string("power_of_two"));
    BOOST_CHECK(!tla_kv_rule_name(TLA_KV_RULE_COUNT));
}

// The binary digits of 15,700 are its roots, the largest first.
BOOST_AUTO_TEST_CASE(buddies_have_the_roots_of_the_memory_and_take_the_lowest) {
    const reservations r = make(15700, 15700, TLA_KV_ORACLE, TLA_BUDDY);
    tla_kv_region region[3];
    tla_work work{};
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 4000, 96, &region[0], &work), TLA_OK);
    BOOST_CHECK_EQUAL(region[0].block.offset, 8192u);
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 4, 1, &region[1], &work), TLA_OK);
    BOOST_CHECK_EQUAL(region[1].block.offset, 15680u); // 8 of the root of 16
    BOOST_CHECK_EQUAL(region[1].block.nbytes, 8u);
    BOOST_CHECK_EQUAL(region[1].tokens, 5u);
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 8192, 1, &region[2], &work), TLA_LIMIT); // no root is larger
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 0, 1, &region[2], &work), TLA_INVALID_ARGUMENT);
    const tla_kv_reservations_stats stats = tla_kv_reservations_get_stats(r.get());
    BOOST_CHECK_EQUAL(stats.reserved, 4096u + 5);
    BOOST_CHECK_EQUAL(stats.granted, 4096u + 8);
    BOOST_CHECK_EQUAL(stats.too_long, 1u);
    BOOST_CHECK_EQUAL(stats.largest_free, 8192u);
}

BOOST_AUTO_TEST_CASE(first_fit_takes_no_more_than_the_rule_says) {
    const reservations r = make(100, 60, TLA_KV_ORACLE, TLA_FIRST_FIT);
    tla_kv_region a, b, c;
    tla_work work{};
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 20, 17, &a, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 20, 20, &b, &work), TLA_OK);
    BOOST_CHECK_EQUAL(b.block.offset, 37u);
    BOOST_CHECK_EQUAL(tla_kv_release(r.get(), &a, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_release(r.get(), &a, &work), TLA_OK); // it has none any more
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 30, 10, &c, &work), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 50, 10, &c, &work), TLA_FRAGMENTED); // 60 of 60 in two pieces
    BOOST_CHECK_EQUAL(tla_kv_reserve(r.get(), 50, 11, &c, &work), TLA_LIMIT);
    const tla_kv_reservations_stats stats = tla_kv_reservations_get_stats(r.get());
    BOOST_CHECK_EQUAL(stats.fragmented, 2u);
    BOOST_CHECK_EQUAL(stats.regions, 1u);
}

BOOST_AUTO_TEST_CASE(configurations_outside_their_ranges_are_rejected) {
    tla_kv_reservations *made;
    const auto refused = [&](const tla_kv_reservations_config &config) {
        BOOST_CHECK_EQUAL(tla_kv_reservations_create(&config, &made), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!made);
    };
    refused({0, 1, TLA_KV_MAXIMUM, TLA_BUDDY});
    refused({(std::uint64_t{1} << 63) + 1, 1, TLA_KV_MAXIMUM, TLA_BUDDY});
    refused({1, 0, TLA_KV_MAXIMUM, TLA_BUDDY});
    refused({1, 1, TLA_KV_RULE_COUNT, TLA_BUDDY});
    refused({1, 1, TLA_KV_MAXIMUM, TLA_POLICY_COUNT});
}

BOOST_AUTO_TEST_CASE(random_regions_over_buddies_lie_where_a_naive_model_has_them) {
    seeded_random random(16);
    for (const tla_kv_rule rule : {TLA_KV_MAXIMUM, TLA_KV_POWER_OF_TWO, TLA_KV_ORACLE}) {
        const std::uint64_t tokens = random.between(3000, 30000);
        const reservations r = make(tokens, 2048, rule, TLA_BUDDY);
        naive_buddies naive(tokens);
        std::vector<tla_kv_region> live;
        tla_work work{};
        for (int step = 0; step < 20000; step++) {
            if (!live.empty() && random.one_in(2)) {
                const std::size_t i = random.between(0, live.size() - 1);
                naive.give(live[i].block.offset, live[i].block.nbytes);
                BOOST_REQUIRE_EQUAL(tla_kv_release(r.get(), &live[i], &work), TLA_OK);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            tla_kv_region region;
            std::uint64_t offset = 0;
            const std::uint64_t prompt = random.between(1, 1000), output = random.between(1, 1000);
            const tla_status status = tla_kv_reserve(r.get(), prompt, output, &region, &work);
            const bool fits = naive.take(tla_kv_rule_tokens(rule, prompt, output, 2048), offset);
            BOOST_REQUIRE_EQUAL(status == TLA_OK, fits);
            if (!fits) continue;
            BOOST_REQUIRE_EQUAL(region.block.offset, offset);
            live.push_back(region);
        }
    }
}
