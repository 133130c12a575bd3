// The event-driven pseudo-channel against a naive one: every command, every acceptance, every end of data.
#include "tests/unit/dram_fixtures.hpp"

using namespace dram;

BOOST_AUTO_TEST_CASE(issues_the_commands_of_a_controller_that_looks_at_every_cycle) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            const tla_hbm_config config = random_config(random);
            const auto trace = random_trace(random, config, 400);
            std::vector<naive::request> requests;
            for (const auto &o : trace)
                requests.push_back({o.op, bank_of(config, o.line), fields_of(config, o.line)[TLA_HBM_FIELD_ROW], o.line,
                                    (o.at_ps + config.tck_ps - 1) / config.tck_ps});
            naive::controller reference(config, requests);
            reference.run();
            const auto result = play(config, trace);
            for (size_t i = 0; i < trace.size(); i++) {
                BOOST_REQUIRE_EQUAL(result->accepted_ps[i], reference.accepted[i] * config.tck_ps);
                BOOST_REQUIRE_EQUAL(result->seen.end_ps[i], reference.end[i] * config.tck_ps);
            }
            // the naive one stops with its last command, the other does nothing after it either
            const auto &commands = result->seen.commands[0];
            BOOST_REQUIRE_EQUAL(commands.size(), reference.issued.size());
            for (size_t i = 0; i < commands.size(); i++)
                BOOST_REQUIRE(commands[i] == reference.issued[i]);
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_every_spacing_with_per_bank_refresh_and_a_shared_row_bus) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            tla_hbm_config config = random_config(random);
            if (random() % 2) config.refresh = TLA_HBM_REFRESH_PER_BANK;
            config.rrefd = std::max(config.rrefd, config.act_cycles);
            config.refi =
                std::max({config.refi, 16 * (config.rrefd + config.rc + config.rrd_l + config.cwl + config.wr + 4),
                          config.rfc_pb + config.rc + 1});
            config.row_bus_sharers = config.command_buses == 1 ? 1 : 1 + (uint32_t)(random() % 2);
            if (config.row_bus_sharers == 2) set_map(config, random() % 2 ? "pc1,bg2,co5,ba2,ro14" : "m2");
            const auto trace = random_trace(random, config, 4000);
            const auto result = play(config, trace);
            check_commands(config, result->seen);
            uint64_t reads = 0;
            for (size_t i = 0; i < trace.size(); i++) {
                BOOST_REQUIRE_EQUAL(result->seen.answers[i], 1u);
                BOOST_REQUIRE_GT(result->seen.end_ps[i], result->accepted_ps[i]);
                BOOST_REQUIRE_GE(result->accepted_ps[i], trace[i].at_ps);
                reads += trace[i].op == TLA_HBM_READ;
            }
            BOOST_CHECK_EQUAL(result->stats.reads, reads);
            BOOST_CHECK_EQUAL(result->stats.row_hits + result->stats.row_misses + result->stats.row_conflicts +
                                  result->stats.forwarded,
                              trace.size());
            if (config.page_policy == TLA_HBM_PAGE_CLOSED && config.refresh == TLA_HBM_REFRESH_NONE)
                BOOST_CHECK_GT(result->stats.row_misses, 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(per_bank_refresh_is_not_pushed_away_by_random_traffic) {
    tla_hbm_config config = profile("hbm3");
    config.refresh = TLA_HBM_REFRESH_PER_BANK;
    std::mt19937_64 random(7);
    std::vector<offered> trace;
    for (int i = 0; i < 20000; i++)
        trace.push_back({TLA_HBM_READ, random() % (1u << 23), 0});
    const auto result = play(config, trace);
    check_commands(config, result->seen);
    const uint64_t cycles = result->stats.last_end_ps / config.tck_ps;
    BOOST_CHECK_GE(result->stats.refreshes + 1, cycles * 16 / config.refi);
}

BOOST_AUTO_TEST_CASE(a_lone_read_takes_the_time_of_its_commands) {
    // hbm3: closed row (31 + 20 + 2) * 0.625 = 33.1 ns, and a cycle for the second half of the ACT;
    // conflict 26 cycles more, of which the ACT's first cycle overlaps one: 49.4 ns
    tla_hbm_config config = profile("hbm3");
    auto hbm = make(config);
    tla_hbm_transfer t{};
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps, (31 + 1 + 20 + 2) * 625u);
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 100000, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 128, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps - 100000, (20 + 2) * 625u);
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 200000, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 16384, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps - 200000, (26 + 31 + 20 + 2) * 625u);
    const tla_hbm_stats stats = tla_hbm_get_stats(hbm.get());
    BOOST_CHECK_EQUAL(stats.row_misses, 1u);
    BOOST_CHECK_EQUAL(stats.row_hits, 1u);
    BOOST_CHECK_EQUAL(stats.row_conflicts, 1u);
}

BOOST_AUTO_TEST_CASE(a_read_of_a_line_that_waits_to_be_written_is_answered_at_once) {
    tla_hbm_config config = profile("hbm2");
    recorder seen;
    seen.end_ps.resize(2);
    seen.answers.resize(2);
    auto hbm = make(config, &seen.listener);
    uint64_t accepted = 0;
    const tla_hbm_request write{0, 64, 0, TLA_HBM_WRITE}, read{0, 64, 1, TLA_HBM_READ};
    BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm.get(), &write, &accepted), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm.get(), &read, &accepted), TLA_OK);
    BOOST_CHECK_EQUAL(accepted, 1000u);
    BOOST_CHECK_EQUAL(seen.end_ps[1], 2000u);
    BOOST_CHECK_EQUAL(tla_hbm_get_stats(hbm.get()).forwarded, 1u);
    BOOST_CHECK_EQUAL(tla_hbm_drain(hbm.get()), (6 + 1 + 7 + 2) * 1000u);
}

BOOST_AUTO_TEST_CASE(a_full_queue_returns_the_time_of_the_next_free_place) {
    tla_hbm_config config = profile("hbm2");
    config.window = 4;
    auto hbm = make(config);
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < 4; i++) {
        const tla_hbm_request r{0, i * 32, i, TLA_HBM_READ};
        BOOST_REQUIRE_EQUAL(tla_hbm_offer(hbm.get(), &r, &accepted), TLA_OK);
        BOOST_CHECK_EQUAL(accepted, i * 1000);
    }
    tla_hbm_request fifth{0, 128, 4, TLA_HBM_READ};
    unsigned refusals = 0;
    while (tla_hbm_offer(hbm.get(), &fifth, &accepted) == TLA_BUSY) {
        BOOST_REQUIRE_GT(accepted, fifth.at_ps);
        BOOST_REQUIRE_EQUAL(tla_hbm_get_stats(hbm.get()).reads, 4u); // nothing was taken
        fifth.at_ps = accepted;
        BOOST_REQUIRE_LT(++refusals, 20u);
    }
    BOOST_CHECK_GT(refusals, 0u);
    BOOST_CHECK_EQUAL(accepted, (12 + 1 + 18 + 2 + 1) * 1000u); // the cycle after the first read's data
}

BOOST_AUTO_TEST_CASE(advancing_by_the_next_end_misses_no_completion) {
    std::mt19937_64 random(11);
    tla_hbm_config config = profile("hbm3");
    config.window = 0;
    recorder seen;
    const size_t count = 2000;
    seen.end_ps.resize(count);
    seen.answers.resize(count);
    auto hbm = make(config, &seen.listener);
    uint64_t now = 0, accepted = 0;
    for (size_t i = 0; i < count; i++) {
        now += random() % 30000;
        // wake up as often as next_end asks: what ends must have been told before its end has passed
        for (uint64_t wake; (wake = tla_hbm_next_end(hbm.get())) <= now;) {
            const std::vector<uint32_t> before = seen.answers;
            tla_hbm_advance(hbm.get(), wake);
            for (size_t k = 0; k < i; k++)
                if (seen.answers[k] != before[k]) BOOST_REQUIRE_GE(seen.end_ps[k], wake);
        }
        const tla_hbm_request r{now, random() % (1u << 23) * 32, i, random() % 4 ? TLA_HBM_READ : TLA_HBM_WRITE};
        BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm.get(), &r, &accepted), TLA_OK);
        now = std::max(now, accepted);
    }
    tla_hbm_drain(hbm.get());
    BOOST_CHECK_EQUAL(tla_hbm_next_end(hbm.get()), UINT64_MAX);
    for (size_t k = 0; k < count; k++)
        BOOST_REQUIRE_EQUAL(seen.answers[k], 1u);
}

BOOST_AUTO_TEST_CASE(an_idle_channel_counts_its_refreshes_without_visiting_them) {
    for (const tla_hbm_refresh refresh : {TLA_HBM_REFRESH_ALL_BANK, TLA_HBM_REFRESH_PER_BANK}) {
        tla_hbm_config config = profile("hbm2");
        config.refresh = refresh;
        auto once = make(config), often = make(config);
        tla_hbm_transfer a{}, b{};
        for (auto *hbm : {once.get(), often.get()})
            tla_hbm_access(hbm, 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, 16384, &a);
        const uint64_t later = 40000000000; // 40 ms
        tla_hbm_advance(once.get(), later);
        for (uint64_t at = 0; at <= later; at += 10000000)
            tla_hbm_advance(often.get(), at);
        const uint64_t expected = later / 3900000 * (refresh == TLA_HBM_REFRESH_PER_BANK ? 16 : 1);
        BOOST_CHECK_LE(tla_hbm_get_stats(once.get()).refreshes, expected + 16);
        BOOST_CHECK_GE(tla_hbm_get_stats(once.get()).refreshes + 2, expected);
        BOOST_CHECK_EQUAL(tla_hbm_get_stats(once.get()).refreshes, tla_hbm_get_stats(often.get()).refreshes);
        BOOST_REQUIRE_EQUAL(tla_hbm_access(once.get(), later, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 4096, 4096, &a),
                            TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_hbm_access(often.get(), later, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 4096, 4096, &b),
                            TLA_OK);
        BOOST_CHECK_EQUAL(a.last_end_ps, b.last_end_ps);
    }
}

BOOST_AUTO_TEST_CASE(impossible_accesses_are_rejected) {
    auto hbm = make(profile("hbm2"));
    BOOST_CHECK_EQUAL(tla_hbm_capacity(hbm.get()), uint64_t{1} << 28);
    tla_hbm_transfer t{};
    uint64_t accepted = 0;
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, 0, &t), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, (1u << 28) - 16, 32, &t),
                      TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 32, UINT64_MAX, &t),
                      TLA_OUT_OF_RANGE);
    const tla_hbm_request past{0, 1u << 28, 0, TLA_HBM_READ};
    BOOST_CHECK_EQUAL(tla_hbm_submit(hbm.get(), &past, &accepted), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, (1u << 28) - 32, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(tla_hbm_get_stats(hbm.get()).reads, 1u);
}
