// Counts of DRAM commands, and the time of open rows, against the commands that a listener has heard.
#include "tests/unit/dram_fixtures.hpp"

#include <cstring>

using namespace dram;

namespace {

struct heard {
    uint32_t pseudo_channel;
    tla_hbm_command what;
    uint64_t cycle;
    uint32_t bank;
};

void hear(void *list, uint32_t pseudo_channel, tla_hbm_command what, uint64_t cycle, uint32_t bank, uint32_t) {
    static_cast<std::vector<heard> *>(list)->push_back({pseudo_channel, what, cycle, bank});
}

// A purpose for each bank, so that the command shows for which purpose it is.
tla_purpose purpose_of(uint32_t bank) {
    return static_cast<tla_purpose>(bank % TLA_PURPOSE_COUNT);
}

// Reads and writes with some locality and pauses, in which refreshes come.
void drive(tla_hbm *hbm, uint64_t seed) {
    std::mt19937_64 random(seed);
    const uint64_t capacity = tla_hbm_capacity(hbm);
    uint64_t address = 0, at_ps = 0, accepted_ps = 0;
    for (int i = 0; i < 4000; i++) {
        address = random() % 3 == 0 ? random() % capacity : (address + random() % 128) % capacity;
        if (random() % 16 == 0) at_ps += random() % 400000;
        const tla_hbm_request request{at_ps, address, 0, random() % 3 == 0 ? TLA_HBM_WRITE : TLA_HBM_READ,
                                      purpose_of(tla_hbm_bank_of(hbm, address))};
        BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm, &request, &accepted_ps), TLA_OK);
    }
    tla_hbm_drain(hbm);
}

// Intervals of open rows of one pseudo-channel, in cycles. A bank that precharges by itself does so when the spacings
// after its commands allow it.
struct rows {
    std::map<uint32_t, uint64_t> open; // bank: cycle of its ACT
    std::map<uint32_t, uint64_t> may_close;
    std::vector<std::pair<uint64_t, uint64_t>> intervals;

    void close(uint32_t bank, uint64_t at) {
        intervals.emplace_back(open.at(bank), at);
        open.erase(bank);
    }
};

void follow(rows &r, const tla_hbm_config &c, const heard &k) {
    const auto wait = [&](uint64_t until) { r.may_close[k.bank] = std::max(r.may_close[k.bank], until); };
    switch (k.what) {
    case TLA_HBM_ACT:
        r.open[k.bank] = k.cycle;
        wait(k.cycle + c.act_cycles - 1 + c.ras);
        break;
    case TLA_HBM_PRE:
        r.close(k.bank, k.cycle);
        break;
    case TLA_HBM_PRE_ALL:
        while (!r.open.empty())
            r.close(r.open.begin()->first, k.cycle);
        break;
    case TLA_HBM_RD:
    case TLA_HBM_RDA:
        wait(k.cycle + c.rtp);
        if (k.what == TLA_HBM_RDA) r.close(k.bank, r.may_close[k.bank]);
        break;
    case TLA_HBM_WR:
    case TLA_HBM_WRA:
        wait(k.cycle + c.cwl + c.burst_cycles + c.wr);
        if (k.what == TLA_HBM_WRA) r.close(k.bank, r.may_close[k.bank]);
        break;
    default:
        break;
    }
}

tla_hbm_open_time add_up(rows &r, uint64_t tck_ps, uint64_t until_ps) {
    tla_hbm_open_time sum{};
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const auto &[from, to] : r.intervals)
        all.emplace_back(from * tck_ps, to * tck_ps);
    for (const auto &[bank, from] : r.open)
        all.emplace_back(from * tck_ps, std::max(until_ps, from * tck_ps));
    std::sort(all.begin(), all.end());
    uint64_t end = 0;
    for (const auto &[from, to] : all) {
        sum.open_bank_ps += to - from;
        if (from > end) sum.all_closed_ps += from - end;
        end = std::max(end, to);
    }
    if (until_ps > end) sum.all_closed_ps += until_ps - end;
    return sum;
}

void check_counts(const tla_hbm_config &config, uint64_t seed) {
    std::vector<heard> list;
    const tla_hbm_listener listener{&list, nullptr, hear};
    const hbm_pointer listened = make(config, &listener), alone = make(config);
    drive(listened.get(), seed);
    drive(alone.get(), seed);
    const uint64_t until_ps = tla_hbm_get_stats(alone.get()).last_end_ps + 50 * uint64_t{config.refi} * config.tck_ps;
    tla_hbm_open_time ahead_time{};
    const tla_hbm_stats ahead = tla_hbm_stats_at(alone.get(), until_ps, &ahead_time);
    for (tla_hbm *hbm : {listened.get(), alone.get()})
        tla_hbm_advance(hbm, until_ps);
    const tla_hbm_stats then = tla_hbm_get_stats(alone.get());
    BOOST_CHECK_EQUAL(std::memcmp(&ahead, &then, sizeof then), 0);
    BOOST_CHECK_EQUAL(ahead_time.all_closed_ps, tla_hbm_get_open_time(alone.get(), until_ps).all_closed_ps);
    BOOST_CHECK_EQUAL(ahead_time.open_bank_ps, tla_hbm_get_open_time(alone.get(), until_ps).open_bank_ps);

    std::map<tla_hbm_command, uint64_t> counts;
    std::map<std::pair<tla_hbm_command, tla_purpose>, uint64_t> counts_for;
    rows channels[2];
    for (const heard &k : list) {
        counts[k.what]++;
        counts_for[{k.what, purpose_of(k.bank)}]++;
        follow(channels[k.pseudo_channel], config, k);
    }
    tla_hbm_open_time expected{};
    for (uint32_t i = 0; i < config.row_bus_sharers; i++) {
        const tla_hbm_open_time time = add_up(channels[i], config.tck_ps, until_ps);
        expected.all_closed_ps += time.all_closed_ps;
        expected.open_bank_ps += time.open_bank_ps;
    }
    for (const tla_hbm *hbm : {listened.get(), alone.get()}) {
        const tla_hbm_stats stats = tla_hbm_get_stats(hbm);
        BOOST_CHECK_EQUAL(stats.activates, counts[TLA_HBM_ACT]);
        BOOST_CHECK_EQUAL(stats.precharges, counts[TLA_HBM_PRE]);
        BOOST_CHECK_EQUAL(stats.precharges_all, counts[TLA_HBM_PRE_ALL]);
        BOOST_CHECK_EQUAL(stats.read_commands, counts[TLA_HBM_RD] + counts[TLA_HBM_RDA]);
        BOOST_CHECK_EQUAL(stats.write_commands, counts[TLA_HBM_WR] + counts[TLA_HBM_WRA]);
        BOOST_CHECK_EQUAL(stats.refreshes, counts[TLA_HBM_REF_ALL] + counts[TLA_HBM_REF_BANK]);
        BOOST_CHECK_EQUAL(stats.read_commands + stats.forwarded, stats.reads);
        BOOST_CHECK_EQUAL(stats.write_commands, stats.writes);
        for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
            const auto heard_of = [&](tla_hbm_command what) { return counts_for[{what, static_cast<tla_purpose>(i)}]; };
            BOOST_CHECK_EQUAL(stats.activates_for[TLA_HBM_READ][i] + stats.activates_for[TLA_HBM_WRITE][i],
                              heard_of(TLA_HBM_ACT));
            BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_READ][i], heard_of(TLA_HBM_RD) + heard_of(TLA_HBM_RDA));
            BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_WRITE][i], heard_of(TLA_HBM_WR) + heard_of(TLA_HBM_WRA));
        }
        const tla_hbm_open_time time = tla_hbm_get_open_time(hbm, until_ps);
        BOOST_CHECK_EQUAL(time.all_closed_ps, expected.all_closed_ps);
        BOOST_CHECK_EQUAL(time.open_bank_ps, expected.open_bank_ps);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(counts_and_open_times_are_those_of_the_commands) {
    for (const char *name : {"hbm2", "hbm3", "hbm4", "lpddr6", "lpddr5"})
        for (const tla_hbm_page_policy page : {TLA_HBM_PAGE_OPEN, TLA_HBM_PAGE_CLOSED})
            for (const tla_hbm_refresh refresh :
                 {TLA_HBM_REFRESH_NONE, TLA_HBM_REFRESH_ALL_BANK, TLA_HBM_REFRESH_PER_BANK}) {
                tla_hbm_config config = profile(name);
                if (refresh == TLA_HBM_REFRESH_PER_BANK && config.rfc_pb == 0) continue;
                config.page_policy = page;
                config.refresh = refresh;
                tla_error error{};
                if (tla_hbm_check(&config, &error)) continue; // no spacings for this refresh
                BOOST_TEST_CONTEXT(name << ", page policy " << page << ", refresh " << refresh)
                check_counts(config, 1 + static_cast<unsigned>(refresh));
            }
}

BOOST_AUTO_TEST_CASE(pseudo_channels_that_share_a_row_bus_count_together) {
    tla_hbm_config config = profile("hbm2");
    config.row_bus_sharers = 2;
    set_map(config, "pc1,bg2,co5,ba2,ro14");
    check_counts(config, 9);
}

BOOST_AUTO_TEST_CASE(bursts_of_open_rows_in_closed_form_are_counted) {
    const tla_hbm_config config = profile("hbm3");
    const hbm_pointer hbm = make(config);
    tla_hbm_transfer transfer{};
    uint64_t accesses[TLA_PURPOSE_COUNT] = {};
    for (uint64_t i = 0; i < 14; i++) {
        const auto purpose = static_cast<tla_purpose>(i % TLA_PURPOSE_COUNT);
        const uint64_t at_ps = i * 500000;
        BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), at_ps, TLA_HBM_READ, purpose, 0, 512, &transfer), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), at_ps + 200000, TLA_HBM_WRITE, purpose, 0, 512, &transfer),
                            TLA_OK);
        accesses[purpose]++;
    }
    const tla_hbm_stats stats = tla_hbm_get_stats(hbm.get());
    BOOST_CHECK_GT(stats.closed_form, 0u);
    BOOST_CHECK_EQUAL(stats.read_commands, stats.reads);
    BOOST_CHECK_EQUAL(stats.write_commands, stats.writes);
    BOOST_CHECK_LT(stats.activates, 64u);
    for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
        BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_READ][i], accesses[i] * 512 / config.burst_bytes);
        BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_WRITE][i], accesses[i] * 512 / config.burst_bytes);
    }
}

// The row is opened for the first burst; the second, of another purpose, finds it open.
BOOST_AUTO_TEST_CASE(a_row_counts_for_the_burst_that_opens_it) {
    const hbm_pointer hbm = make(profile("hbm2"));
    tla_hbm_transfer transfer{};
    const uint64_t nbytes = profile("hbm2").burst_bytes;
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, TLA_PURPOSE_WALK, 0, nbytes, &transfer), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 100000, TLA_HBM_WRITE, TLA_PURPOSE_MOVE, 0, nbytes, &transfer),
                        TLA_OK);
    const tla_hbm_stats stats = tla_hbm_get_stats(hbm.get());
    BOOST_CHECK_EQUAL(stats.activates_for[TLA_HBM_READ][TLA_PURPOSE_WALK], 1u);
    BOOST_CHECK_EQUAL(stats.activates_for[TLA_HBM_WRITE][TLA_PURPOSE_MOVE], 0u);
    BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_READ][TLA_PURPOSE_WALK], 1u);
    BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_WRITE][TLA_PURPOSE_MOVE], 1u);
}

// Random purposes without regard to banks: rows are shared, reads are answered from the write buffer.
BOOST_AUTO_TEST_CASE(counts_by_purpose_add_up_to_all_commands) {
    for (const char *name : {"hbm2", "hbm3", "hbm4", "lpddr6"})
        for (uint64_t seed = 1; seed < 4; seed++) {
            const hbm_pointer hbm = make(profile(name));
            std::mt19937_64 random(seed);
            uint64_t at_ps = 0, accepted_ps = 0, writes[TLA_PURPOSE_COUNT] = {}, reads[TLA_PURPOSE_COUNT] = {};
            for (int i = 0; i < 3000; i++) {
                const auto purpose = static_cast<tla_purpose>(random() % TLA_PURPOSE_COUNT);
                const tla_hbm_op op = random() % 2 ? TLA_HBM_WRITE : TLA_HBM_READ;
                const uint64_t address = random() % (UINT64_C(1) << (random() % 2 ? 12 : 22));
                if (random() % 16 == 0) at_ps += random() % 400000;
                const tla_hbm_request request{at_ps, address, 0, op, purpose};
                BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm.get(), &request, &accepted_ps), TLA_OK);
                (op == TLA_HBM_WRITE ? writes : reads)[purpose]++;
            }
            tla_hbm_drain(hbm.get());
            const tla_hbm_stats stats = tla_hbm_get_stats(hbm.get());
            uint64_t activates = 0, read_commands = 0;
            for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
                activates += stats.activates_for[TLA_HBM_READ][i] + stats.activates_for[TLA_HBM_WRITE][i];
                read_commands += stats.commands_for[TLA_HBM_READ][i];
                BOOST_CHECK_LE(stats.commands_for[TLA_HBM_READ][i], reads[i]);
                BOOST_CHECK_EQUAL(stats.commands_for[TLA_HBM_WRITE][i], writes[i]);
            }
            BOOST_CHECK_GT(stats.forwarded, 0u);
            BOOST_CHECK_EQUAL(activates, stats.activates);
            BOOST_CHECK_EQUAL(read_commands, stats.read_commands);
        }
}
