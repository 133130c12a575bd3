// Channels without banks: KernBench's timeline of bursts, by its bandwidth and by a timing profile.
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/config.h"
#include "tlmalloc/dram/channels.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace {

using channels_pointer = std::unique_ptr<tla_flat_channels, void (*)(tla_flat_channels *)>;

channels_pointer make(const tla_flat_channels_config &config) {
    tla_flat_channels *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_flat_channels_create(&config, &made), TLA_OK);
    return {made, tla_flat_channels_destroy};
}

tla_hbm_config kernbench() {
    tla_hbm_config profile{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("kernbench", &profile), TLA_OK);
    return profile;
}

} // namespace

BOOST_AUTO_TEST_CASE(kernbench_bursts_follow_each_other_on_a_timeline) {
    // ADR-0033: start = max(now, available), 256 B at 32 GB/s = 8 ns
    BOOST_CHECK_EQUAL(tla_transfer_ps(256, 32'000'000'000), 8000u);
    const tla_hbm_config profile = kernbench();
    const auto one = make(tla_flat_channels_of(&profile, 1));
    BOOST_CHECK_EQUAL(tla_flat_channels_access(one.get(), false, 0x1000, 256, 500), 8500u);
    BOOST_CHECK_EQUAL(tla_flat_channels_access(one.get(), false, 0x1100, 4096, 500), 500 + 17 * 8000u);
    BOOST_CHECK_EQUAL(tla_flat_channels_busy_ps(one.get()), 17 * 8000u);
}

BOOST_AUTO_TEST_CASE(a_profile_gives_the_times_of_its_bandwidth_and_burst) {
    const tla_hbm_config profile = kernbench();
    const tla_flat_channels_config config = tla_flat_channels_of(&profile, 8);
    BOOST_CHECK_EQUAL(config.count, 8u);
    BOOST_CHECK_EQUAL(config.burst_bytes, 256u);
    BOOST_CHECK_EQUAL(config.burst_ps, tla_transfer_ps(256, 32'000'000'000));
    BOOST_CHECK_EQUAL(config.direction_switch_ps, 0u);
}

// Each channel on its own: the clock edge after the arrival or the end of the burst before, the turn, the burst.
BOOST_AUTO_TEST_CASE(accesses_in_order_of_arrival_end_when_a_plain_model_says) {
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
        BOOST_TEST_MESSAGE("seed " << seed);
        std::mt19937_64 random(seed);
        tla_hbm_config profile{};
        profile.model = TLA_HBM_CHANNEL;
        profile.tck_ps = 1 + static_cast<std::uint32_t>(random() % 1000);
        profile.burst_bytes = 64;
        profile.burst_cycles = static_cast<std::uint32_t>(random() % 9);
        profile.rtw = static_cast<std::uint32_t>(random() % 5);
        const std::uint32_t count = 1u << random() % 4;
        const auto channels = make(tla_flat_channels_of(&profile, count));
        std::vector<std::uint64_t> free_ps(count);
        std::vector<bool> wrote(count);
        const std::uint64_t tck = profile.tck_ps;
        for (std::uint64_t i = 0, arrival = 0; i < 5000; i++, arrival += random() % (6 * tck)) {
            const bool write = random() % 3 == 0;
            const std::uint64_t offset = random() % 10'000, nbytes = 1 + random() % 500;
            std::uint64_t done = 0;
            for (std::uint64_t burst = offset / 64; burst <= (offset + nbytes - 1) / 64; burst++) {
                const std::uint64_t c = burst % count, turn = wrote[c] != write ? profile.rtw * tck : 0;
                const std::uint64_t edge = (arrival + tck - 1) / tck * tck;
                free_ps[c] = std::max(edge, free_ps[c]) + turn + profile.burst_cycles * tck;
                wrote[c] = write;
                done = std::max(done, free_ps[c]);
            }
            BOOST_REQUIRE_EQUAL(tla_flat_channels_access(channels.get(), write, offset, nbytes, arrival), done);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_channel_is_rejected) {
    const tla_flat_channels_config good{8, 256, 8000, 0, 0};
    for (auto member : {&tla_flat_channels_config::count, &tla_flat_channels_config::burst_bytes})
        for (const std::uint32_t value : {0u, 3u}) {
            tla_flat_channels_config bad = good;
            bad.*member = value;
            tla_flat_channels *made = reinterpret_cast<tla_flat_channels *>(1);
            BOOST_CHECK_EQUAL(tla_flat_channels_create(&bad, &made), TLA_INVALID_ARGUMENT);
            BOOST_CHECK(made == nullptr);
        }
}

BOOST_AUTO_TEST_CASE(bursts_of_the_flat_profile_take_no_time) {
    tla_hbm_config profile{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("flat", &profile), TLA_OK);
    BOOST_CHECK(profile.model == TLA_HBM_CHANNEL && profile.burst_cycles == 0);
    const auto channels = make(tla_flat_channels_of(&profile, 2));
    for (const bool write : {false, true, false})
        BOOST_CHECK_EQUAL(tla_flat_channels_access(channels.get(), write, 0x1080, 4096, 500), 500u);
    BOOST_CHECK_EQUAL(tla_flat_channels_busy_ps(channels.get()), 0u);
}

BOOST_AUTO_TEST_CASE(banked_channels_reject_a_profile_without_banks) {
    const tla_hbm_config profile = kernbench();
    BOOST_CHECK_EQUAL(tla_hbm_check(&profile, nullptr), TLA_OK);
    tla_error error{};
    tla_hbm *hbm = nullptr;
    BOOST_CHECK_EQUAL(tla_hbm_create(&profile, nullptr, &hbm, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "the profile has no banks: use flat channels");
    tla_banked_channels *banked = nullptr;
    const tla_banked_channels_config config{profile, 8, 1 << 20};
    BOOST_CHECK_EQUAL(tla_banked_channels_create(&config, &banked, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(hbm == nullptr && banked == nullptr);
}
