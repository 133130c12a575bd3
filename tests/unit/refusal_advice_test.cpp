// A refusal advises a TRIM if and only if the TRIM helps: every refusal of random traffic is followed by one.
#include "model/cache/shortage.h"
#include "seeded_random.hpp"
#include "stacks.hpp"
#include "tlmalloc/cache/driver_pools.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace stacks;

namespace {

const std::string advice = tla_shortage_remedy(TLA_SHORTAGE_FRONT);

bool advises(const std::string &text) {
    return text.find(advice) != std::string::npos;
}

bool is_shortage(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT;
}

// Sizes from bytes to half of the memory; many of them again.
struct sizes {
    seeded_random &random;
    std::uint64_t capacity;
    std::vector<std::uint64_t> known;

    std::uint64_t next() {
        if (!known.empty() && random.between(0, 3) > 0) return known[random.between(0, known.size() - 1)];
        const std::uint64_t most = capacity >> random.between(0, 12), nbytes = random.between(1, most ? most : 1);
        known.push_back(random.between(0, 1) ? nbytes : (nbytes + 255) / 256 * 256);
        if (known.size() > 12) known.erase(known.begin());
        return known.back();
    }
};

struct counts {
    unsigned refused = 0, advised = 0, pinned = 0; // pinned: enough is free, and no TRIM helps
};

// Plays random traffic on one stack; after every refusal a TRIM must help exactly where it was advised.
counts play(const tla_stack_config &config, seeded_random &random, unsigned steps) {
    const stack_pointer owner = make(config);
    tla_stack *const stack = owner.get();
    sizes choose{random, config.capacity, {}};
    std::vector<tla_block> live;
    counts seen;
    for (unsigned step = 0; step < steps; step++) {
        if (!live.empty() && random.between(0, 9) < 4) {
            const std::size_t i = random.between(0, live.size() - 1);
            BOOST_REQUIRE_EQUAL(tla_stack_free(stack, live[i], nullptr), TLA_OK);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        tla_stack_request request{};
        request.nbytes = choose.next();
        request.stream = random.between(0, 1);
        tla_block block{};
        tla_status status = tla_stack_alloc(stack, &request, &block, nullptr);
        if (is_shortage(status)) {
            seen.refused++;
            tla_error error{};
            const std::string name = name_of(config.policy);
            BOOST_REQUIRE_EQUAL(tla_stack_explain(stack, name.c_str(), &request, &error), status);
            const std::uint64_t promised = tla_stack_trim_serves(stack, &request),
                                takes = tla_stack_takes(stack, &request);
            const tla_stack_stats before = tla_stack_get_stats(stack);
            const std::string said =
                tla_shortage_say(status, takes, before.memory.free, before.memory.largest_free, 0, promised).text;
            BOOST_REQUIRE_MESSAGE(advises(error.text) == (promised > 0), error.text);
            BOOST_REQUIRE_MESSAGE(advises(said) == (promised > 0), said);
            if (status == TLA_EXHAUSTED && tla_stack_front(config.policy) != TLA_FRONT_MIXED) // it has two ranges
                BOOST_REQUIRE_MESSAGE(promised || takes > before.memory.free, name << ": " << error.text);
            std::uint64_t given = 0;
            BOOST_REQUIRE_EQUAL(tla_stack_trim(stack, &given, nullptr), TLA_OK);
            if (promised) BOOST_REQUIRE_EQUAL(given, promised);
            const bool helped = tla_stack_alloc(stack, &request, &block, nullptr) == TLA_OK;
            BOOST_REQUIRE_MESSAGE(helped == (promised > 0), name << ": a TRIM of " << given << " bytes "
                                                                 << (helped ? "helped: " : "did not help: ")
                                                                 << error.text);
            seen.advised += promised > 0;
            seen.pinned += !promised && before.held > 0 && takes <= before.memory.free;
            status = helped ? TLA_OK : status;
        } else if (status == TLA_OUT_OF_RANGE) { // it never fits
            BOOST_REQUIRE_EQUAL(tla_stack_front(config.policy), TLA_FRONT_SEGMENTED);
            tla_error error{};
            BOOST_REQUIRE_EQUAL(tla_stack_explain(stack, "", &request, &error), status);
            BOOST_REQUIRE_EQUAL(tla_stack_trim_serves(stack, &request), 0u);
            BOOST_REQUIRE_GT(request.nbytes, config.sizes.segment - config.alignment);
        } else {
            BOOST_REQUIRE_EQUAL(status, TLA_OK);
        }
        if (!status) live.push_back({block.offset, request.nbytes});
    }
    return seen;
}

// A pool over an arena; what a trim of it serves, and its text, against what a trim does.
struct pool_under_test {
    std::function<tla_status(std::uint64_t, std::uint64_t &)> alloc; // the address
    std::function<tla_status(std::uint64_t, std::uint64_t)> free;
    std::function<std::uint64_t(std::uint64_t)> trim_serves;
    std::function<tla_status(std::uint64_t, tla_error &)> explain;
    std::function<tla_status()> trim;
};

unsigned play(const pool_under_test &pool, std::uint64_t capacity, seeded_random &random) {
    sizes choose{random, capacity, {}};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    unsigned advised = 0;
    for (unsigned step = 0; step < 400; step++) {
        if (!live.empty() && random.between(0, 9) < 4) {
            const std::size_t i = random.between(0, live.size() - 1);
            BOOST_REQUIRE_EQUAL(pool.free(live[i].first, live[i].second), TLA_OK);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        const std::uint64_t nbytes = choose.next();
        std::uint64_t address = 0;
        tla_status status = pool.alloc(nbytes, address);
        if (is_shortage(status)) {
            tla_error error{};
            BOOST_REQUIRE_EQUAL(pool.explain(nbytes, error), status);
            const bool promised = pool.trim_serves(nbytes) > 0;
            BOOST_REQUIRE_MESSAGE(advises(error.text) == promised, error.text);
            BOOST_REQUIRE_EQUAL(pool.trim(), TLA_OK);
            status = pool.alloc(nbytes, address);
            BOOST_REQUIRE_MESSAGE((status == TLA_OK) == promised, error.text);
            advised += promised;
        } else {
            BOOST_REQUIRE_EQUAL(status, TLA_OK);
        }
        if (!status) live.push_back({address, nbytes});
    }
    return advised;
}

struct device {
    explicit device(tla_policy policy, std::uint64_t capacity) {
        tla_arena_config config{};
        config.capacity = capacity;
        config.policy = policy;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~device() { tla_arena_destroy(arena); }
    device(const device &) = delete;
    device &operator=(const device &) = delete;

    tla_arena *arena = nullptr;
    tla_arena_set set{&arena, 1};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_failure_advises_a_trim_exactly_if_the_request_succeeds_after_it) {
    seeded_random random(19);
    for (const tla_stack_policy policy : all_policies()) {
        const tla_front front = tla_stack_front(policy);
        counts all;
        for (unsigned run = 0; run < 20; run++) {
            tla_stack_config config = config_of(policy, MiB << random.between(0, 4));
            config.alignment = 1u << (random.between(0, 2) * 4);
            if (front == TLA_FRONT_SEGMENT_CACHE) config.sizes.segment = (10 * KiB) << random.between(0, 6);
            if (front >= TLA_FRONT_SEGMENTED) config.sizes.segment = (16 * KiB) << random.between(0, 6);
            if (front == TLA_FRONT_SLOT_POOL) config.sizes.slot = 4 * KiB << random.between(0, 4);
            if (tla_stack_check_config(&config, nullptr)) continue;
            const counts seen = play(config, random, 400);
            all.refused += seen.refused;
            all.advised += seen.advised;
            all.pinned += seen.pinned;
        }
        BOOST_CHECK_MESSAGE(all.refused > 0, name_of(policy));
        const bool keeps = front == TLA_FRONT_CACHING_POOL || front == TLA_FRONT_GROWING_POOL;
        BOOST_CHECK_MESSAGE((all.advised > 0) == keeps, name_of(policy) << " " << all.advised);
        BOOST_CHECK_MESSAGE(!keeps || all.pinned > 0, name_of(policy));
    }
}

BOOST_AUTO_TEST_CASE(a_segment_cache_with_any_settings_never_fails_a_request_that_a_trim_would_serve) {
    seeded_random random(20);
    for (unsigned run = 0; run < 60; run++) {
        const auto under = static_cast<tla_policy>(random.between(0, TLA_POLICY_COUNT - 1));
        tla_stack_config config =
            config_of(tla_stack_policy_of(TLA_FRONT_SEGMENT_CACHE, under), random.between(8, 200) * MiB);
        config.segments.expandable = random.between(0, 1);
        if (random.between(0, 1)) config.segments.max_split_size = random.between(20, 60) * MiB;
        if (random.between(0, 1)) {
            config.segments.memory_fraction = 0.5 + 0.05 * static_cast<double>(random.between(0, 9));
            config.segments.gc_threshold = 0.1 * static_cast<double>(random.between(0, 9));
        }
        BOOST_CHECK_EQUAL(play(config, random, 300).advised, 0u);
    }
}

BOOST_AUTO_TEST_CASE(an_error_at_a_limit_advises_a_trim_if_the_trim_makes_room) {
    seeded_random random(21);
    unsigned advised[2] = {};
    for (unsigned run = 0; run < 40; run++) {
        const auto policy = static_cast<tla_policy>(random.between(0, TLA_POLICY_COUNT - 1));
        const std::uint64_t capacity = MiB << random.between(0, 3);
        device d(policy, capacity);
        tla_caching_pool_config caching{};
        caching.driver = tla_arena_upstream(&d.set);
        caching.byte_limit = random.between(0, 2) ? random.between(capacity / 4, capacity) : 0;
        caching.flush_on_failure = random.between(0, 5) == 0;
        tla_caching_pool *pool = nullptr;
        BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&caching, &pool), TLA_OK);
        advised[0] += play(
            {[&](std::uint64_t nbytes, std::uint64_t &address) {
                 tla_pool_buffer buffer{};
                 const tla_status status = tla_caching_pool_acquire(pool, 0, nbytes, &buffer, nullptr);
                 address = buffer.address;
                 return status;
             },
             [&](std::uint64_t address, std::uint64_t nbytes) {
                 return tla_caching_pool_release(pool, {address, nbytes, tla_caching_pool_class(nbytes), 0}, nullptr);
             },
             [&](std::uint64_t nbytes) { return tla_caching_pool_trim_serves(pool, 0, nbytes); },
             [&](std::uint64_t nbytes, tla_error &error) {
                 return tla_caching_pool_explain(pool, "pool", 0, nbytes, &error);
             },
             [&] { return tla_caching_pool_trim(pool, 0, 0, nullptr); }},
            capacity, random);
        tla_caching_pool_destroy(pool);

        device e(policy, capacity);
        tla_growing_pool_config growing{};
        growing.driver = tla_arena_upstream(&e.set);
        growing.maximum_size = random.between(0, 2) ? random.between(capacity / 4, capacity) / 256 * 256 : 0;
        tla_growing_pool *grown = nullptr;
        BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&growing, &grown), TLA_OK);
        advised[1] += play({[&](std::uint64_t nbytes, std::uint64_t &address) {
                                tla_block block{};
                                const tla_status status = tla_growing_pool_alloc(grown, nbytes, &block, nullptr);
                                address = block.offset;
                                return status;
                            },
                            [&](std::uint64_t address, std::uint64_t nbytes) {
                                return tla_growing_pool_free(grown, {address, nbytes}, nullptr);
                            },
                            [&](std::uint64_t nbytes) { return tla_growing_pool_trim_serves(grown, nbytes); },
                            [&](std::uint64_t nbytes, tla_error &error) {
                                return tla_growing_pool_explain(grown, "pool", nbytes, &error);
                            },
                            [&] { return tla_growing_pool_trim(grown, nullptr); }},
                           capacity, random);
        tla_growing_pool_destroy(grown);
    }
    BOOST_CHECK_GT(advised[0], 0u);
    BOOST_CHECK_GT(advised[1], 0u);
}
