// Key-value cache mapped on demand: pages for what is needed, all or none, and back in order.
#include "seeded_random.hpp"
#include "tlmalloc/kv/kv_cache.h"

#include <deque>
#include <memory>
#include <vector>

namespace {

struct ends {
    void operator()(tla_kv_mapped *m) const { tla_kv_mapped_destroy(m); }
};
using mapped = std::unique_ptr<tla_kv_mapped, ends>;

const tla_kv_mapped_config small{10, 64, 16, 2, 3, 200};

mapped make(const tla_kv_mapped_config &config) {
    tla_kv_mapped *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_kv_mapped_create(&config, &made), TLA_OK);
    return mapped(made);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_page_in_every_tensor_is_mapped_when_the_first_of_its_tokens_comes) {
    const mapped m = make(small);
    tla_work work{};
    std::uint64_t group, at;
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 0, 17, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.chunks, 128u);
    BOOST_CHECK_EQUAL(work.pte_writes, 256u);
    BOOST_CHECK_EQUAL(work.nodes_visited, 128u);
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 0, 32, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.chunks, 128u);
    BOOST_CHECK_EQUAL(tla_kv_mapped_find(m.get(), 0, 31, &group, &at), TLA_OK);
    BOOST_CHECK_EQUAL(group, 1u);
    BOOST_CHECK_EQUAL(at, 15u);
    BOOST_CHECK_EQUAL(tla_kv_mapped_find(m.get(), 0, 32, &group, &at), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(tla_kv_mapped_find(m.get(), 3, 0, &group, &at), TLA_OUT_OF_RANGE);
    work = {};
    BOOST_CHECK_EQUAL(tla_kv_mapped_release(m.get(), 0, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.chunks, 128u);
    BOOST_CHECK_EQUAL(work.invalidates, 1u);
    BOOST_CHECK_EQUAL(tla_kv_mapped_get_stats(m.get()).free_groups, 10u);
}

BOOST_AUTO_TEST_CASE(a_growth_that_does_not_fit_changes_nothing) {
    const mapped m = make(small);
    tla_work work{};
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 0, 100, &work), TLA_OK);
    BOOST_CHECK(!tla_kv_mapped_fits(m.get(), 1, 49));
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 1, 49, &work), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 1, 48, &work), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 1, 161, &work), TLA_LIMIT); // of 160 in all
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 1, 201, &work), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_kv_mapped_grow(m.get(), 3, 1, &work), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_kv_mapped_release(m.get(), 3, &work), TLA_OUT_OF_RANGE);
    const tla_kv_mapped_stats stats = tla_kv_mapped_get_stats(m.get());
    BOOST_CHECK_EQUAL(stats.free_groups, 0u);
    BOOST_CHECK_EQUAL(stats.mapped_tokens, 160u);
    BOOST_CHECK_EQUAL(stats.refused, 1u);
}

BOOST_AUTO_TEST_CASE(configurations_of_mapped_cache_outside_their_ranges_are_rejected) {
    for (int member = 0; member < 6; member++) {
        std::uint64_t values[] = {10, 64, 16, 2, 3, 200};
        values[member] = 0;
        const tla_kv_mapped_config config{values[0], values[1], values[2], values[3], values[4], values[5]};
        tla_kv_mapped *made;
        BOOST_CHECK_EQUAL(tla_kv_mapped_create(&config, &made), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!made);
    }
}

BOOST_AUTO_TEST_CASE(random_sequences_have_the_pages_that_a_naive_model_gives_them) {
    seeded_random random(3);
    const tla_kv_mapped_config config{50, 3, 7, 1, 20, 300};
    const mapped m = make(config);
    std::deque<std::uint64_t> free;
    std::vector<std::vector<std::uint64_t>> has(20);
    for (std::uint64_t i = 0; i < 50; i++)
        free.push_back(i);
    tla_work work{};
    for (int step = 0; step < 20000; step++) {
        const std::uint64_t s = random.between(0, 19), tokens = random.between(1, 300), wanted = (tokens + 6) / 7;
        if (random.one_in(3)) {
            BOOST_REQUIRE_EQUAL(tla_kv_mapped_release(m.get(), s, &work), TLA_OK);
            free.insert(free.end(), has[s].rbegin(), has[s].rend());
            has[s].clear();
        } else {
            const bool fits = wanted <= has[s].size() || wanted - has[s].size() <= free.size();
            BOOST_REQUIRE_EQUAL(tla_kv_mapped_fits(m.get(), s, tokens), fits);
            BOOST_REQUIRE_EQUAL(tla_kv_mapped_grow(m.get(), s, tokens, &work) == TLA_OK, fits);
            for (; fits && has[s].size() < wanted; free.pop_front())
                has[s].push_back(free.front());
        }
        BOOST_REQUIRE_EQUAL(tla_kv_mapped_get_stats(m.get()).free_groups, free.size());
        for (std::uint64_t i = 0; i < has[s].size(); i++) {
            std::uint64_t group = 0, at = 0;
            BOOST_REQUIRE_EQUAL(tla_kv_mapped_find(m.get(), s, 7 * i + 3, &group, &at), TLA_OK);
            BOOST_REQUIRE_EQUAL(group, has[s][i]);
            BOOST_REQUIRE_EQUAL(at, 3u);
        }
    }
}
