// Rules for rows: which bursts an open row serves before it is closed.
#include "tests/unit/dram_fixtures.hpp"

using namespace dram;

namespace {

// Rows that were closed before a column command used them.
uint64_t rows_opened_in_vain(const recorder &seen) {
    std::map<uint32_t, bool> unused; // of the open banks
    uint64_t count = 0;
    for (const auto &k : seen.commands[0]) {
        if (k.what == TLA_HBM_PRE) count += unused[k.bank];
        if (k.what == TLA_HBM_PRE_ALL)
            for (const auto &bank : unused)
                count += bank.second;
        if (k.what == TLA_HBM_PRE_ALL) unused.clear();
        unused[k.bank] = k.what == TLA_HBM_ACT;
    }
    return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(only_a_refresh_that_closes_rows_at_once_closes_a_row_opened_in_vain) {
    for (const char *name : {"hbm2", "hbm3"}) {
        tla_hbm_config config = profile(name);
        std::mt19937_64 random(9);
        std::vector<offered> trace;
        for (int i = 0; i < 20000; i++)
            trace.push_back({random() % 3 == 0 ? TLA_HBM_WRITE : TLA_HBM_READ, random() % (1u << 23), 0});
        for (uint32_t row_hits : {TLA_HBM_ROW_HITS_ALL, 1u, 4u}) {
            config.row_hits = row_hits;
            config.before_refresh = TLA_HBM_BEFORE_REFRESH_CLOSE;
            const auto closed = play(config, trace);
            BOOST_CHECK_GT(rows_opened_in_vain(closed->seen), 0u);
            BOOST_CHECK_LE(rows_opened_in_vain(closed->seen),
                           closed->stats.refreshes * config.bank_groups * config.banks_per_group);
            config.before_refresh = TLA_HBM_BEFORE_REFRESH_USE;
            const auto used = play(config, trace);
            check_commands(config, used->seen);
            BOOST_CHECK_EQUAL(rows_opened_in_vain(used->seen), 0u);
            config.refresh = TLA_HBM_REFRESH_NONE;
            BOOST_CHECK_EQUAL(rows_opened_in_vain(play(config, trace)->seen), 0u);
            config.refresh = TLA_HBM_REFRESH_ALL_BANK;
        }
    }
}

BOOST_AUTO_TEST_CASE(fewer_hits_hold_a_row_against_an_older_burst_when_fewer_are_allowed) {
    // four streams of reads in the same banks, at other places of rows of their own
    tla_hbm_config config = profile("hbm2");
    config.refresh = TLA_HBM_REFRESH_NONE;
    std::mt19937_64 random(3);
    std::vector<offered> trace;
    uint64_t at[4] = {0, 5 << 20, 2 << 20 | 40, 3 << 20 | 300};
    for (int i = 0; i < 8192; i++)
        trace.push_back({TLA_HBM_READ, at[random() % 4]++, 0});
    std::vector<uint64_t> activates;
    for (uint32_t row_hits : {1u, 2u, 4u, 8u, TLA_HBM_ROW_HITS_ALL}) {
        config.row_hits = row_hits;
        const auto result = play(config, trace);
        const auto &commands = result->seen.commands[0];
        activates.push_back((uint64_t)std::count_if(commands.begin(), commands.end(),
                                                    [](const auto &k) { return k.what == TLA_HBM_ACT; }));
    }
    BOOST_CHECK_MESSAGE(std::is_sorted(activates.rbegin(), activates.rend()), "more hits, more ACTs");
    BOOST_CHECK_GT(activates.front(), activates.back());
}
