// Pseudo-channels with banks, interleaved by burst, beside each of them alone with the bursts that are its own.
#include "tlmalloc/config.h"
#include "tlmalloc/dram/channels.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace {

using channels_pointer = std::unique_ptr<tla_banked_channels, void (*)(tla_banked_channels *)>;

struct memory_access {
    tla_hbm_op op;
    uint64_t offset, nbytes, arrival_ps;
};

std::vector<memory_access> random_accesses(std::mt19937_64 &random, uint64_t capacity, unsigned count) {
    std::vector<memory_access> accesses;
    const uint64_t apart = uint64_t{1} << random() % 18, spread = uint64_t{1} << (14 + random() % 6);
    for (uint64_t i = 0, at = 0; i < count; i++, at += random() % 8 ? random() % apart : 0) {
        memory_access a{random() % 3 ? TLA_HBM_READ : TLA_HBM_WRITE, random() % std::min(spread, capacity),
                        1 + random() % (random() % 4 ? 256 : 4096), at};
        a.nbytes = std::min(a.nbytes, capacity - a.offset);
        accesses.push_back(a);
    }
    return accesses;
}

// Every pseudo-channel takes its bursts one after the other: a read ends with its last data, a write when its last
// burst is accepted.
std::vector<uint64_t> expected_ends(const tla_banked_channels_config &config,
                                    const std::vector<memory_access> &accesses) {
    std::vector<uint64_t> ends(accesses.size());
    for (uint32_t number = 0; number < config.count; number++) {
        const tla_hbm_listener listener = {&ends, [](void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps) {
                                               uint64_t &end = (*static_cast<std::vector<uint64_t> *>(context))[tag];
                                               if (op == TLA_HBM_READ) end = std::max(end, end_ps);
                                           }};
        tla_hbm *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_hbm_create(&config.timing, &listener, &made, nullptr), TLA_OK);
        const std::unique_ptr<tla_hbm, void (*)(tla_hbm *)> alone(made, tla_hbm_destroy);
        const uint64_t bytes = config.timing.burst_bytes;
        uint64_t free_ps = 0;
        for (size_t i = 0; i < accesses.size(); i++) {
            const memory_access &a = accesses[i];
            for (uint64_t burst = a.offset / bytes; burst <= (a.offset + a.nbytes - 1) / bytes; burst++) {
                if (burst % config.count != number) continue;
                const tla_hbm_request request = {std::max(free_ps, a.arrival_ps), burst / config.count * bytes, i,
                                                 a.op};
                uint64_t accepted_ps = 0;
                BOOST_REQUIRE_EQUAL(tla_hbm_submit(made, &request, &accepted_ps), TLA_OK);
                free_ps = accepted_ps + config.timing.tck_ps;
                if (a.op == TLA_HBM_WRITE) ends[i] = std::max(ends[i], accepted_ps);
            }
        }
        tla_hbm_drain(made);
    }
    return ends;
}

struct told {
    std::vector<uint64_t> ends;
    size_t count = 0;

    static void done(void *self, void *tag, uint64_t end_ps) {
        told &t = *static_cast<told *>(self);
        uint64_t &end = *static_cast<uint64_t *>(tag);
        BOOST_REQUIRE_EQUAL(end, 0u); // once
        end = end_ps;
        t.count++;
    }
};

// Lets time come up to to_ps, in steps of what has something to do.
void run(tla_banked_channels *channels, uint64_t to_ps, told &t) {
    for (uint32_t group = 0; group < tla_banked_channels_groups(channels); group++)
        for (uint64_t next; (next = tla_banked_channels_next_ps(channels, group)) <= to_ps && next != UINT64_MAX;)
            tla_banked_channels_run(channels, group, next, told::done, &t);
}

} // namespace

BOOST_AUTO_TEST_CASE(accesses_end_when_their_bursts_on_pseudo_channels_alone_do) {
    uint64_t waited = 0;
    for (unsigned seed = 0; seed < 60; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            tla_banked_channels_config config{};
            BOOST_REQUIRE_EQUAL(tla_timing_named(seed % 2 ? "hbm3" : "hbm2", &config.timing), TLA_OK);
            config.count = 1u << random() % 4;
            config.capacity = 1 << 20;
            tla_banked_channels *made = nullptr;
            BOOST_REQUIRE_EQUAL(tla_banked_channels_create(&config, &made, nullptr), TLA_OK);
            const channels_pointer channels(made, tla_banked_channels_destroy);
            const std::vector<memory_access> accesses = random_accesses(random, config.capacity, 400);
            told t;
            t.ends.assign(accesses.size(), 0);
            for (size_t i = 0; i < accesses.size(); i++) {
                const memory_access &a = accesses[i];
                if (i > 0 && a.arrival_ps > accesses[i - 1].arrival_ps) run(made, a.arrival_ps - 1, t);
                BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, a.op, TLA_PURPOSE_KERNEL, a.offset, a.nbytes,
                                                               a.arrival_ps, &t.ends[i]),
                                    TLA_OK);
            }
            run(made, UINT64_MAX, t);
            BOOST_REQUIRE_EQUAL(t.count, accesses.size());
            const std::vector<uint64_t> expected = expected_ends(config, accesses);
            for (size_t i = 0; i < accesses.size(); i++) {
                BOOST_REQUIRE_MESSAGE(t.ends[i] == expected[i],
                                      "access " << i << " ends at " << t.ends[i] << ", expected " << expected[i]);
                waited += t.ends[i] > accesses[i].arrival_ps + 2 * tla_banked_channels_latency_ps(made, TLA_HBM_READ);
            }
        }
    }
    BOOST_CHECK_GT(waited, 1000u);
}

BOOST_AUTO_TEST_CASE(a_read_that_a_buffered_write_answers_does_not_occupy_the_bus) {
    tla_banked_channels_config config{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &config.timing), TLA_OK);
    config.count = 1;
    config.capacity = 1 << 20;
    tla_banked_channels *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_banked_channels_create(&config, &made, nullptr), TLA_OK);
    const channels_pointer channels(made, tla_banked_channels_destroy);
    told t;
    uint64_t ends[3] = {0, 0, 0};
    const uint64_t bytes = config.timing.burst_bytes;
    BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, TLA_HBM_WRITE, TLA_PURPOSE_KERNEL, 0, bytes, 0, &ends[0]),
                        TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, bytes, 0, &ends[1]),
                        TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, TLA_HBM_READ, TLA_PURPOSE_KERNEL, bytes, bytes, 0, &ends[2]),
                        TLA_OK);
    run(made, UINT64_MAX, t);
    const tla_hbm_stats stats = tla_banked_channels_get_stats(made);
    BOOST_CHECK_EQUAL(stats.forwarded, 1u);
    BOOST_CHECK_EQUAL(stats.reads + stats.writes, 3u);
    BOOST_CHECK_EQUAL(tla_banked_channels_busy_ps(made),
                      uint64_t{2} * config.timing.burst_cycles * config.timing.tck_ps);
}

BOOST_AUTO_TEST_CASE(commands_count_for_the_purposes_of_their_accesses) {
    std::mt19937_64 random(4);
    tla_banked_channels_config config{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm4", &config.timing), TLA_OK);
    config.count = 8;
    config.capacity = 1 << 20;
    tla_banked_channels *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_banked_channels_create(&config, &made, nullptr), TLA_OK);
    const channels_pointer channels(made, tla_banked_channels_destroy);
    told t;
    uint64_t ends[TLA_PURPOSE_COUNT * 2] = {}, at_ps = 0;
    for (uint64_t i = 0; i < std::size(ends); i++, at_ps += 1000000) { // apart: a write has left its buffer
        const uint64_t bursts = 1 + random() % 40;
        const auto purpose = static_cast<tla_purpose>(i / 2);
        run(made, at_ps, t);
        const tla_hbm_stats before = tla_banked_channels_get_stats(made);
        BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, i % 2 ? TLA_HBM_WRITE : TLA_HBM_READ, purpose,
                                                       random() % 1024 * config.timing.burst_bytes,
                                                       bursts * config.timing.burst_bytes, at_ps, &ends[i]),
                            TLA_OK);
        run(made, at_ps + 900000, t);
        for (uint32_t group = 0; group < tla_banked_channels_groups(made); group++)
            tla_banked_channels_run(made, group, at_ps + 900000, told::done, &t);
        const tla_hbm_stats after = tla_banked_channels_get_stats(made);
        for (int k = 0; k < TLA_PURPOSE_COUNT; k++)
            BOOST_CHECK_EQUAL(after.commands_for[i % 2][k] - before.commands_for[i % 2][k], k == purpose ? bursts : 0);
        BOOST_CHECK_EQUAL(after.activates - before.activates,
                          after.activates_for[i % 2][purpose] - before.activates_for[i % 2][purpose]);
    }
}

BOOST_AUTO_TEST_CASE(an_access_alone_takes_the_latency_of_a_closed_bank) {
    tla_banked_channels_config config{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &config.timing), TLA_OK);
    config.count = 4;
    config.capacity = 1 << 20;
    for (const tla_hbm_op op : {TLA_HBM_READ, TLA_HBM_WRITE}) {
        tla_banked_channels *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_banked_channels_create(&config, &made, nullptr), TLA_OK);
        const channels_pointer channels(made, tla_banked_channels_destroy);
        told t;
        uint64_t end = 0;
        BOOST_REQUIRE_EQUAL(tla_banked_channels_arrive(made, op, TLA_PURPOSE_KERNEL, 0, 1, 0, &end), TLA_OK);
        run(made, UINT64_MAX, t);
        BOOST_CHECK_EQUAL(end, tla_banked_channels_latency_ps(made, op));
    }
}
