// Rules of DDR, LPDDR and stacked parts: one bus for all commands, commands of several cycles, an ACT of two commands,
// and spacings that JESD235 does not have.
#include "tests/unit/dram_fixtures.hpp"

#include <functional>

using namespace dram;

namespace {

struct spaced {
    tla_hbm_command what;
    uint64_t cycle;
    uint32_t bank;
};

// Random bursts to few rows, so that every pair of commands occurs.
std::vector<spaced> commands_of(const tla_hbm_config &config) {
    std::mt19937_64 random(17);
    std::vector<offered> trace;
    for (int i = 0; i < 20000; i++)
        trace.push_back({random() % 3 == 0 ? TLA_HBM_WRITE : TLA_HBM_READ, random() % 2048, 0});
    const auto result = play(config, trace);
    check_commands(config, result->seen);
    std::vector<spaced> all;
    for (const auto &k : result->seen.commands[0])
        all.push_back({k.what, k.cycle, k.bank});
    return all;
}

// The least distance of two commands, the later among the 40 that follow, for which `applies` holds.
uint64_t least(const std::vector<spaced> &all, tla_hbm_command first, tla_hbm_command second,
               const std::function<bool(uint32_t, uint32_t)> &applies) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < all.size(); i++)
        for (size_t k = i + 1; all[i].what == first && k < all.size() && k < i + 40; k++)
            if (all[k].what == second && applies(all[i].bank, all[k].bank))
                least = std::min(least, all[k].cycle - all[i].cycle);
    return least;
}

bool any(uint32_t, uint32_t) {
    return true;
}
bool same_group(uint32_t a, uint32_t b) {
    return a / 4 == b / 4;
}
bool other_group(uint32_t a, uint32_t b) {
    return a / 4 != b / 4;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_spacing_of_its_own_holds_exactly_where_it_applies) {
    tla_hbm_config config = profile("hbm2");
    config.rtw_l = config.rtw + 6;
    config.ccd_l_wr = config.ccd_l + 4;
    config.ppd = 3;
    const auto all = commands_of(config);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_RD, TLA_HBM_WR, other_group), config.rtw);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_RD, TLA_HBM_WR, same_group), config.rtw_l);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_RD, TLA_HBM_RD, same_group), config.ccd_l);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_WR, TLA_HBM_WR, same_group), config.ccd_l_wr);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_PRE, TLA_HBM_PRE, any), config.ppd);
}

BOOST_AUTO_TEST_CASE(stack_ids_divide_the_bank_groups) {
    tla_hbm_config config = profile("hbm2");
    config.stack_ids = 2; // groups 0 and 1, 2 and 3
    config.ccd_r = config.ccd_s + 3;
    config.ccd_l = config.ccd_s + 5;
    const auto all = commands_of(config);
    const auto stack = [](uint32_t bank) { return bank / 8; };
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_RD, TLA_HBM_RD,
                            [&](uint32_t a, uint32_t b) { return stack(a) == stack(b) && other_group(a, b); }),
                      config.ccd_s);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_RD, TLA_HBM_RD, [&](uint32_t a, uint32_t b) { return stack(a) != stack(b); }),
                      config.ccd_r);
}

BOOST_AUTO_TEST_CASE(an_act_follows_a_precharge_of_all_banks_later_than_one_of_a_bank) {
    // a refresh closes a row of each of 16 banks; per bank it closes one
    tla_hbm_config config = profile("lpddr6");
    config.rfc = config.pre_cycles; // the refresh itself takes no time
    config.refi = 4000;
    const auto all = commands_of(config);
    uint64_t closed = 0, gap = UINT64_MAX;
    for (const auto &k : all) {
        if (k.what == TLA_HBM_PRE_ALL) closed = k.cycle;
        if (k.what == TLA_HBM_ACT && closed != 0) gap = std::min(gap, k.cycle - closed), closed = 0;
    }
    BOOST_CHECK_GE(gap, config.rp_ab);
    BOOST_CHECK_EQUAL(least(all, TLA_HBM_PRE, TLA_HBM_ACT, [](uint32_t a, uint32_t b) { return a == b; }), config.rp);
}

BOOST_AUTO_TEST_CASE(one_bus_carries_one_command_at_a_time) {
    // check_commands compares the cycles of all commands; here random reads, most of which open a row, need the bus
    tla_hbm_config config = profile("lpddr5");
    std::mt19937_64 random(3);
    std::vector<offered> trace;
    for (int i = 0; i < 20000; i++)
        trace.push_back({TLA_HBM_READ, random() % (1u << 23), 0});
    const auto end_ps = [&](const tla_hbm_config &c) { return play(c, trace)->stats.last_end_ps; };
    tla_hbm_config two = config;
    two.command_buses = 2;
    two.aad = 0;
    BOOST_CHECK_GT(end_ps(config), end_ps(two));
    tla_hbm_config slow = config; // each command longer by a cycle, and so are its effects
    slow.act_cycles = slow.pre_cycles = slow.column_cycles = 2;
    BOOST_CHECK_GT(end_ps(slow), end_ps(config));
    for (const auto &c : {config, two, slow})
        check_commands(c, play(c, trace)->seen);
}

BOOST_AUTO_TEST_CASE(the_second_command_of_an_act_uses_a_free_cycle_or_the_last_one) {
    tla_hbm_config config = profile("lpddr5");
    const auto all = commands_of(config);
    uint64_t first = 0, acts = 0, seconds = 0, waited = 0;
    for (const auto &k : all) {
        if (k.what == TLA_HBM_ACT) first = k.cycle, acts++;
        if (k.what == TLA_HBM_ACT_2) seconds++, waited += k.cycle > first + config.act_cycles;
    }
    BOOST_CHECK_GT(acts, 1000u);
    BOOST_CHECK_EQUAL(acts, seconds);
    BOOST_CHECK_GT(waited, 0u);
    BOOST_CHECK_LT(waited, acts);
}

BOOST_AUTO_TEST_CASE(contradicting_rules_of_command_buses_are_named) {
    struct {
        const char *names;
        std::function<void(tla_hbm_config &)> spoil;
    } const cases[] = {
        {"command_buses is 3: must be 1 .. 2", [](tla_hbm_config &c) { c.command_buses = 3; }},
        {"command_buses is 1, and row_bus_sharers 2",
         [](tla_hbm_config &c) {
             c.row_bus_sharers = 2;
             set_map(c, "m1");
         }},
        {"pre_cycles is 2: must be 1 .. act_cycles 1", [](tla_hbm_config &c) { c.pre_cycles = 2; }},
        {"column_cycles is 3: must be 1 .. ccd_s 2", [](tla_hbm_config &c) { c.column_cycles = 3; }},
        {"aad is 8: an ACT of two commands needs command_buses 1", [](tla_hbm_config &c) { c.command_buses = 2; }},
        {"aad is 15: must be at least act_cycles 1, and with them at most rcd_rd 15",
         [](tla_hbm_config &c) { c.aad = 15; }},
        {"rp_ab 14 is less than rp 15: leave it 0", [](tla_hbm_config &c) { c.rp_ab = 14; }},
        {"rtw_l 11 is less than rtw 12", [](tla_hbm_config &c) { c.rtw_l = 11; }},
        {"ccd_r 1 is less than ccd_s 2", [](tla_hbm_config &c) { c.ccd_r = 1; }},
        {"ccd_l_wr 3 is less than ccd_l 4", [](tla_hbm_config &c) { c.ccd_l_wr = 3; }},
        {"stack_ids is 8: must be a power of two up to bank_groups 4", [](tla_hbm_config &c) { c.stack_ids = 8; }},
        {"burst_on_bus is 31: must be 0, or burst 32 .. 1 MiB", [](tla_hbm_config &c) { c.bus_bytes = 31; }},
    };
    for (const auto &k : cases) {
        tla_hbm_config config = profile("lpddr5");
        k.spoil(config);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_hbm_check(&config, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(k.names) != std::string::npos, k.names << ": " << error.text);
    }
}

BOOST_AUTO_TEST_CASE(a_bad_value_of_a_rule_of_lpddr_is_reported_with_its_place) {
    const std::string good = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/lpddr6.yaml");
    const auto findings = [&](const std::string &from, const std::string &to) {
        std::string text = good, found;
        BOOST_REQUIRE(text.find(from) != std::string::npos);
        text.replace(text.find(from), from.size(), to);
        tla_hbm_config config{};
        tla_timing_parse(text.data(), text.size(), "t.yaml", nullptr, 0, &config, report_finding, &found);
        return found;
    };
    const auto place_of = [&](const std::string &line) {
        const size_t at = good.find("\n" + line) + 1;
        return std::to_string(1 + std::count(good.begin(), good.begin() + (std::ptrdiff_t)at, '\n')) + ":" +
               std::to_string(line.find(' ') + 2) + ": ";
    };
    BOOST_CHECK_EQUAL(findings("aad: 8 tCK", "aad: 8 tCK"), "");
    const auto begins = [&](const std::string &from, const std::string &to, const std::string &text) {
        const std::string found = findings(from, to), expected = place_of(from) + text;
        BOOST_CHECK_MESSAGE(found.find(expected) == 0, expected << " for " << found);
    };
    begins("aad: 8 tCK", "aad: 30 tCK", "aad is 30: must be at least act_cycles 2");
    begins("rp_ab: 115 tCK", "rp_ab: 100 tCK", "rp_ab 100 is less than rp 107");
    begins("rtw_l: 47 tCK", "rtw_l: 40 tCK", "rtw_l 40 is less than rtw 41");
    begins("burst_on_bus: 36 B", "burst_on_bus: 16 B", "burst_on_bus is 16: must be 0, or burst 32");
    begins("command_buses: 1", "command_buses: 3", "command_buses: found \"3\"");
    begins("column_cycles: 2 tCK", "column_cycles: 2", "column_cycles: found \"2\", which has no unit");
}
