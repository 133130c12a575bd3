// The event-driven pseudo-channel against a naive one: every command, every acceptance, every end of data.
#include "tlmalloc/config.h"
#include "tlmalloc/dram/channels.h"
#include "traffic/traffic.h"

#include "tests/data/hbm_references.h"
#include "tests/unit/naive_dram.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>

namespace {

struct hbm_deleter {
    void operator()(tla_hbm *hbm) const { tla_hbm_destroy(hbm); }
};
using hbm_pointer = std::unique_ptr<tla_hbm, hbm_deleter>;

hbm_pointer make(const tla_hbm_config &config, const tla_hbm_listener *listener = nullptr) {
    tla_hbm *hbm = nullptr;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_hbm_create(&config, listener, &hbm, &error) == TLA_OK, error.text);
    return hbm_pointer(hbm);
}

tla_hbm_config profile(const std::string &name) {
    tla_hbm_config config{};
    const std::string path = std::string(TLMALLOC_SOURCE_DIR "/configs/timing/") + name + ".yaml";
    const auto report = [](void *, const tla_config_finding *f) { BOOST_ERROR(f->text); };
    BOOST_REQUIRE_EQUAL(tla_timing_load(path.c_str(), nullptr, 0, &config, report, nullptr), TLA_OK);
    return config;
}

void set_map(tla_hbm_config &config, const char *map) {
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_hbm_map_parse(map, &config, &error) == TLA_OK, error.text);
}

// What an address selects, bit by bit.
std::map<tla_hbm_field, uint32_t> fields_of(const tla_hbm_config &config, uint64_t line) {
    std::map<tla_hbm_field, uint32_t> value, bits;
    for (uint32_t i = 0; i < config.map.count; i++)
        for (uint32_t b = 0; b < config.map.pieces[i].bits; b++, line >>= 1)
            value[config.map.pieces[i].field] |= (uint32_t)(line & 1) << bits[config.map.pieces[i].field]++;
    return value;
}

uint32_t bank_of(const tla_hbm_config &config, uint64_t line) {
    auto f = fields_of(config, line);
    return f[TLA_HBM_FIELD_BANK_GROUP] * config.banks_per_group + f[TLA_HBM_FIELD_BANK];
}

struct recorder {
    std::vector<naive::command> commands[2];
    std::vector<uint64_t> end_ps;
    std::vector<uint32_t> answers;
    tla_hbm_listener listener{this, done, command};

    static void done(void *self, uint64_t tag, tla_hbm_op, uint64_t end_ps) {
        auto *r = static_cast<recorder *>(self);
        r->end_ps.at(tag) = end_ps;
        r->answers.at(tag)++;
    }
    static void command(void *self, uint32_t pc, tla_hbm_command what, uint64_t cycle, uint32_t bank, uint32_t row) {
        static_cast<recorder *>(self)->commands[pc].push_back({what, cycle, bank, row});
    }
};

struct offered {
    tla_hbm_op op;
    uint64_t line, at_ps;
};

// Requests with some locality: runs, row neighbours, jumps; a share of writes; bursts of arrivals and pauses.
std::vector<offered> random_trace(std::mt19937_64 &random, const tla_hbm_config &config, size_t count) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < config.map.count; i++)
        bits += config.map.pieces[i].bits;
    const uint64_t lines = uint64_t{1} << bits;
    const unsigned write_percent = (unsigned)(random() % 4) * 33, jump_percent = (unsigned)(random() % 101);
    const bool timed = random() % 2;
    uint64_t line = random() % lines, at_ps = 0;
    std::vector<offered> trace;
    for (size_t i = 0; i < count; i++) {
        if (random() % 100 < jump_percent)
            line = random() % (random() % 2 ? lines : 4096);
        else
            line = (line + random() % 3) % lines;
        if (timed && random() % 4 == 0) at_ps += random() % (random() % 50 == 0 ? 12000000 : 40000);
        trace.push_back({random() % 100 < write_percent ? TLA_HBM_WRITE : TLA_HBM_READ, line, at_ps});
    }
    return trace;
}

// A part like no other: spacings around those of hbm2 or hbm3 that do not contradict.
tla_hbm_config random_config(std::mt19937_64 &random) {
    static const char *const maps[] = {"m1", "m2", "m3", "co2,bg1,co3,ba1,bg1,ro14,ba1", "ba2,co5,bg2,ro14"};
    tla_hbm_config c = profile(random() % 2 ? "hbm2" : "hbm3");
    const auto vary = [&](uint32_t &value) {
        value = std::max<uint32_t>(2, (uint32_t)(value * (50 + random() % 101) / 100));
    };
    for (uint32_t *value : {&c.cl, &c.cwl, &c.rcd_rd, &c.rcd_wr, &c.rp, &c.ras, &c.rrd_s, &c.faw, &c.wtr_s, &c.rtp,
                            &c.wr, &c.rfc, &c.rfc_pb, &c.refi})
        vary(*value);
    c.ras = std::max({c.ras, c.rcd_rd, c.rcd_wr});
    c.rc = c.ras + c.rp + (uint32_t)(random() % 4);
    c.rrd_l = c.rrd_s + (uint32_t)(random() % 3);
    c.faw = std::max(c.faw, c.rrd_s);
    c.ccd_l = c.ccd_s + (uint32_t)(random() % 4);
    c.wtr_l = c.wtr_s + (uint32_t)(random() % 6);
    c.rtw = c.cl + c.burst_cycles + (uint32_t)(random() % 6) - std::min(c.cwl, c.cl);
    c.rtw = std::max(c.rtw, 1u);
    c.act_cycles = 1 + (uint32_t)(random() % 2);
    c.refi = std::max(c.refi, c.rfc + c.rc + 500);
    c.read_queue = 1 + (uint32_t)(random() % 64);
    c.write_queue = 1 + (uint32_t)(random() % 64);
    c.window = random() % 3 == 0 ? 0 : 1 + (uint32_t)(random() % 80);
    c.page_policy = random() % 3 == 0 ? TLA_HBM_PAGE_CLOSED : TLA_HBM_PAGE_OPEN;
    static const uint32_t row_hits[] = {TLA_HBM_ROW_HITS_ALL, 1, 2, 4};
    c.row_hits = row_hits[random() % 4];
    c.before_refresh = random() % 2 ? TLA_HBM_BEFORE_REFRESH_USE : TLA_HBM_BEFORE_REFRESH_CLOSE;
    c.refresh = random() % 3 == 0 ? TLA_HBM_REFRESH_NONE : TLA_HBM_REFRESH_ALL_BANK;
    set_map(c, maps[random() % (sizeof maps / sizeof maps[0])]);
    return c;
}

struct outcome {
    recorder seen;
    std::vector<uint64_t> accepted_ps;
    tla_hbm_stats stats{};
};

std::unique_ptr<outcome> play(const tla_hbm_config &config, const std::vector<offered> &trace) {
    auto result = std::make_unique<outcome>();
    result->seen.end_ps.resize(trace.size());
    result->seen.answers.resize(trace.size());
    result->accepted_ps.resize(trace.size());
    auto hbm = make(config, &result->seen.listener);
    for (size_t i = 0; i < trace.size(); i++) {
        const tla_hbm_request r{trace[i].at_ps, trace[i].line * config.burst_bytes, i, trace[i].op};
        BOOST_REQUIRE_EQUAL(tla_hbm_submit(hbm.get(), &r, &result->accepted_ps[i]), TLA_OK);
    }
    tla_hbm_drain(hbm.get());
    result->stats = tla_hbm_get_stats(hbm.get());
    return result;
}

const char *name_of(tla_hbm_command what) {
    static const char *const names[] = {"ACT", "PRE", "PREA", "RD", "RDA", "WR", "WRA", "REFab", "REFpb"};
    return names[what];
}

// Every command against every earlier one, both data-bus and command-bus occupancy, and the refresh rate.
void check_commands(const tla_hbm_config &config, const recorder &seen) {
    std::vector<std::pair<uint64_t, uint64_t>> row_bus;
    for (uint32_t pc = 0; pc < config.row_bus_sharers; pc++) {
        naive::device device(config);
        uint64_t data_free = 0, column_free = 0, refreshes = 0;
        for (const auto &k : seen.commands[pc]) {
            const std::string wrong = device.wrong(k);
            BOOST_REQUIRE_MESSAGE(wrong.empty(), name_of(k.what) << " of bank " << k.bank << ": " << wrong);
            device.issue(k);
            const bool read = k.what == TLA_HBM_RD || k.what == TLA_HBM_RDA;
            if (read || k.what == TLA_HBM_WR || k.what == TLA_HBM_WRA) {
                const uint64_t data = k.cycle + (read ? config.cl : config.cwl);
                BOOST_REQUIRE_GE(data, data_free);
                BOOST_REQUIRE_GE(k.cycle, column_free);
                data_free = data + config.burst_cycles;
                column_free = k.cycle + 1;
            } else {
                row_bus.push_back({k.cycle, k.cycle + (k.what == TLA_HBM_ACT ? config.act_cycles : 1)});
            }
            if (k.what == TLA_HBM_REF_ALL || k.what == TLA_HBM_REF_BANK) {
                refreshes++;
                const uint64_t share =
                    config.refresh == TLA_HBM_REFRESH_PER_BANK ? config.bank_groups * config.banks_per_group : 1;
                const uint64_t due = refreshes * config.refi / share;
                BOOST_REQUIRE_GE(k.cycle, due);
                BOOST_REQUIRE_LT(k.cycle, due + config.refi);
                if (config.refresh == TLA_HBM_REFRESH_PER_BANK) BOOST_REQUIRE_EQUAL(k.bank, (refreshes - 1) % share);
            }
        }
    }
    std::sort(row_bus.begin(), row_bus.end());
    for (size_t i = 1; i < row_bus.size(); i++)
        BOOST_REQUIRE_GE(row_bus[i].first, row_bus[i - 1].second);
}

void report_finding(void *context, const tla_config_finding *finding) {
    *static_cast<std::string *>(context) +=
        std::to_string(finding->line) + ":" + std::to_string(finding->column) + ": " + finding->text + "\n";
}

std::string text_of(const std::string &path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

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
            config.row_bus_sharers = 1 + (uint32_t)(random() % 2);
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

BOOST_AUTO_TEST_CASE(profiles_of_hbm4_and_lpddr_have_the_peak_of_their_standard_and_keep_every_spacing) {
    const std::pair<const char *, double> peaks[] = {
        {"hbm4", 32}, {"hbm4_16g", 64}, {"lpddr6", 14.222}, {"lpddr5", 12.8}};
    for (const auto &[name, gb_s] : peaks) {
        BOOST_TEST_CONTEXT(name) {
            const tla_hbm_config config = profile(name);
            BOOST_CHECK_CLOSE(1000. * config.burst_bytes / (config.tck_ps * config.burst_cycles), gb_s, 0.01);
            std::mt19937_64 random(5);
            const auto trace = random_trace(random, config, 4000);
            check_commands(config, play(config, trace)->seen);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_taller_stacks_of_hbm4_have_more_banks_and_longer_refreshes) {
    // the settings that configs/timing/hbm4.yaml names
    const std::string text = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm4.yaml");
    for (const auto &settings : {std::vector<const char *>{"rfc=900 tCK", "bank_groups=4", "map=bg1,co5,ba3,bg1,ro14"},
                                 {"rfc=1060 tCK", "bank_groups=8", "map=bg1,co5,ba3,bg2,ro14"}}) {
        tla_hbm_config config{};
        std::string found;
        BOOST_CHECK_EQUAL(tla_timing_parse(text.data(), text.size(), "hbm4.yaml", settings.data(), settings.size(),
                                           &config, report_finding, &found),
                          TLA_OK);
        BOOST_CHECK_EQUAL(found, "");
    }
}

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

BOOST_AUTO_TEST_CASE(a_run_of_open_rows_in_closed_form_equals_the_run_burst_by_burst) {
    uint64_t closed = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            tla_hbm_config config = random_config(random);
            config.page_policy = TLA_HBM_PAGE_OPEN;
            // who listens to commands gets every burst visited
            tla_hbm_listener visits{};
            visits.command = [](void *, uint32_t, tla_hbm_command, uint64_t, uint32_t, uint32_t) {};
            auto fast = make(config), slow = make(config, &visits);
            uint64_t at_ps = 0, base = 0;
            for (int i = 0; i < 300; i++) {
                if (random() % 20 == 0) base = random() % (1u << 13) * 16384;
                const uint64_t address = base + random() % 16384, nbytes = 1 + random() % (random() % 4 ? 2048 : 16384);
                const tla_hbm_op op = random() % 4 == 0 ? TLA_HBM_WRITE : TLA_HBM_READ;
                if (random() % 10 == 0) { // something else is waiting
                    const tla_hbm_request r{at_ps, address, 0, op};
                    uint64_t a = 0, b = 0;
                    BOOST_REQUIRE_EQUAL(tla_hbm_submit(fast.get(), &r, &a), TLA_OK);
                    BOOST_REQUIRE_EQUAL(tla_hbm_submit(slow.get(), &r, &b), TLA_OK);
                    BOOST_REQUIRE_EQUAL(a, b);
                }
                tla_hbm_transfer a{}, b{};
                BOOST_REQUIRE_EQUAL(tla_hbm_access(fast.get(), at_ps, op, address, nbytes, &a), TLA_OK);
                BOOST_REQUIRE_EQUAL(tla_hbm_access(slow.get(), at_ps, op, address, nbytes, &b), TLA_OK);
                BOOST_REQUIRE_EQUAL(a.first_accepted_ps, b.first_accepted_ps);
                BOOST_REQUIRE_EQUAL(a.last_accepted_ps, b.last_accepted_ps);
                BOOST_REQUIRE_EQUAL(a.first_end_ps, b.first_end_ps);
                BOOST_REQUIRE_EQUAL(a.last_end_ps, b.last_end_ps);
                // sometimes before the end of the data: reads are still on their way
                at_ps = random() % 3 ? a.last_end_ps + random() % 20000 : a.last_accepted_ps;
            }
            tla_hbm_drain(fast.get());
            tla_hbm_drain(slow.get());
            const tla_hbm_stats f = tla_hbm_get_stats(fast.get()), s = tla_hbm_get_stats(slow.get());
            BOOST_CHECK_EQUAL(f.row_hits, s.row_hits);
            BOOST_CHECK_EQUAL(f.row_misses, s.row_misses);
            BOOST_CHECK_EQUAL(f.row_conflicts, s.row_conflicts);
            BOOST_CHECK_EQUAL(f.reads, s.reads);
            BOOST_CHECK_EQUAL(f.last_end_ps, s.last_end_ps);
            BOOST_CHECK_EQUAL(s.closed_form, 0u);
            closed += f.closed_form;
        }
    }
    BOOST_CHECK_GT(closed, 100000u); // it is the closed form that was compared
}

BOOST_AUTO_TEST_CASE(a_lone_read_takes_the_time_of_its_commands) {
    // hbm3: closed row (31 + 20 + 2) * 0.625 = 33.1 ns, and a cycle for the second half of the ACT;
    // conflict 26 cycles more, of which the ACT's first cycle overlaps one: 49.4 ns
    tla_hbm_config config = profile("hbm3");
    auto hbm = make(config);
    tla_hbm_transfer t{};
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, 0, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps, (31 + 1 + 20 + 2) * 625u);
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 100000, TLA_HBM_READ, 128, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps - 100000, (20 + 2) * 625u);
    BOOST_REQUIRE_EQUAL(tla_hbm_access(hbm.get(), 200000, TLA_HBM_READ, 16384, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.last_end_ps - 200000, (26 + 31 + 20 + 2) * 625u);
    const tla_hbm_stats stats = tla_hbm_get_stats(hbm.get());
    BOOST_CHECK_EQUAL(stats.row_misses, 1u);
    BOOST_CHECK_EQUAL(stats.row_hits, 1u);
    BOOST_CHECK_EQUAL(stats.row_conflicts, 1u);
}

BOOST_AUTO_TEST_CASE(agrees_with_three_cycle_accurate_simulators) {
    // the goals: 95 % of the points in range + 2 %, median deviation under 1 %; latency median 2 %, 90th percentile 5 %
    std::vector<double> deviations, latency_deviations;
    size_t in_range = 0;
    for (const auto &part : hbm_reference_parts) {
        const tla_hbm_config config = profile(part.name);
        for (int p = 0; p < TLA_TRAFFIC_PATTERN_COUNT; p++) {
            const auto &reference = part.references[p];
            const tla_traffic_geometry geometry{32, 1024, 16384, 1u << 28,
                                                32 * UINT64_C(1000000000000) / (config.burst_cycles * config.tck_ps)};
            tla_traffic traffic{};
            BOOST_REQUIRE_EQUAL(tla_traffic_generate(static_cast<tla_traffic_pattern>(p), HBM_REFERENCE_SEED,
                                                     HBM_REFERENCE_COUNT, config.window, &geometry, &traffic),
                                TLA_OK);
            tla_traffic_result result{};
            size_t bad = 0;
            BOOST_REQUIRE_EQUAL(tla_traffic_run(&config, &traffic, &result, &bad, nullptr), TLA_OK);
            const double gb_s = (double)result.nbytes * 1000 / (double)result.end_ps;
            deviations.push_back(std::fabs(gb_s / reference.gb_s - 1));
            in_range += gb_s >= reference.gb_s_low * 0.98 && gb_s <= reference.gb_s_high * 1.02;
            if (reference.latency_ns > 0)
                latency_deviations.push_back(
                    std::fabs(tla_traffic_summarize(&result).mean_ns / reference.latency_ns - 1));
            tla_traffic_result_free(&result);
            tla_traffic_free(&traffic);
        }
    }
    std::sort(deviations.begin(), deviations.end());
    std::sort(latency_deviations.begin(), latency_deviations.end());
    BOOST_CHECK_GE(in_range * 100, deviations.size() * 95);
    BOOST_CHECK_LT(deviations[(deviations.size() - 1) / 2], 0.01);
    BOOST_CHECK_LT(latency_deviations[(latency_deviations.size() - 1) / 2], 0.02);
    BOOST_CHECK_LT(latency_deviations[(latency_deviations.size() * 9 + 9) / 10 - 1], 0.05);
}

BOOST_AUTO_TEST_CASE(two_pseudo_channels_on_one_row_bus_slow_each_other_down) {
    // one of the references drops from 43 % to 31 % of peak each
    tla_hbm_config config = profile("hbm2");
    config.row_bus_sharers = 2;
    set_map(config, "bg2,co5,ba2,ro14,pc1");
    std::mt19937_64 random(3);
    std::vector<tla_traffic_access> accesses(40000);
    for (size_t i = 0; i < accesses.size(); i++)
        accesses[i] = {0, random() % (1u << 23) * 32 + (i % 2) * (1u << 28), 32, TLA_HBM_READ};
    const tla_traffic both{accesses.data(), accesses.size(), false, config.window};
    tla_traffic_result result{};
    size_t bad = 0;
    BOOST_REQUIRE_EQUAL(tla_traffic_run(&config, &both, &result, &bad, nullptr), TLA_OK);
    const double share = (double)result.nbytes * 1000 / (double)result.end_ps / 16 / 2;
    tla_traffic_result_free(&result);
    BOOST_CHECK_GT(share, 0.30);
    BOOST_CHECK_LT(share, 0.33);
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
            tla_hbm_access(hbm, 0, TLA_HBM_READ, 0, 16384, &a);
        const uint64_t later = 40000000000; // 40 ms
        tla_hbm_advance(once.get(), later);
        for (uint64_t at = 0; at <= later; at += 10000000)
            tla_hbm_advance(often.get(), at);
        const uint64_t expected = later / 3900000 * (refresh == TLA_HBM_REFRESH_PER_BANK ? 16 : 1);
        BOOST_CHECK_LE(tla_hbm_get_stats(once.get()).refreshes, expected + 16);
        BOOST_CHECK_GE(tla_hbm_get_stats(once.get()).refreshes + 2, expected);
        BOOST_CHECK_EQUAL(tla_hbm_get_stats(once.get()).refreshes, tla_hbm_get_stats(often.get()).refreshes);
        BOOST_REQUIRE_EQUAL(tla_hbm_access(once.get(), later, TLA_HBM_READ, 4096, 4096, &a), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_hbm_access(often.get(), later, TLA_HBM_READ, 4096, 4096, &b), TLA_OK);
        BOOST_CHECK_EQUAL(a.last_end_ps, b.last_end_ps);
    }
}

BOOST_AUTO_TEST_CASE(address_maps_are_read_and_printed) {
    tla_hbm_config config = profile("hbm2");
    char text[128];
    for (auto [name, spelled] :
         {std::pair{"m1", "bg2,ba2,co5,ro14"}, {"m2", "co5,bg2,ba2,ro14"}, {"m3", "bg2,co5,ba2,ro14"}}) {
        set_map(config, name);
        tla_hbm_map_print(&config.map, text, sizeof text);
        BOOST_CHECK_EQUAL(text, spelled);
        set_map(config, spelled);
        tla_hbm_map_print(&config.map, text, sizeof text);
        BOOST_CHECK_EQUAL(text, spelled);
    }
    for (const char *bad : {"", "m4", "bg2,", ",bg2", "bg", "bg0", "bg33", "bg2 co5", "xx2", "bg-1", "bg2;co5"}) {
        tla_error error{};
        const tla_hbm_map before = config.map;
        BOOST_CHECK_EQUAL(tla_hbm_map_parse(bad, &config, &error), TLA_SYNTAX);
        BOOST_CHECK_MESSAGE(std::string(error.text).find("expected") != std::string::npos, error.text);
        BOOST_CHECK_EQUAL(before.count, config.map.count);
    }
}

BOOST_AUTO_TEST_CASE(contradicting_parameters_are_named) {
    struct {
        const char *names;
        std::function<void(tla_hbm_config &)> spoil;
    } const cases[] = {
        {"rc 41 is less than ras 28 + rp 14", [](tla_hbm_config &c) { c.rc = 41; }},
        {"rrd_l", [](tla_hbm_config &c) { c.rrd_l = 3; }},
        {"ccd_l", [](tla_hbm_config &c) { c.ccd_l = 1; }},
        {"ccd_s", [](tla_hbm_config &c) { c.ccd_s = 1; }},
        {"wtr_l", [](tla_hbm_config &c) { c.wtr_l = 3; }},
        {"rtw", [](tla_hbm_config &c) { c.rtw = 12; }},
        {"faw", [](tla_hbm_config &c) { c.faw = 3; }},
        {"refi", [](tla_hbm_config &c) { c.refi = 230; }},
        {"rp is 0", [](tla_hbm_config &c) { c.rp = 0; }},
        {"ras 10", [](tla_hbm_config &c) { c.ras = 10; }},
        {"act_cycles", [](tla_hbm_config &c) { c.act_cycles = 5; }},
        {"rows is 10000", [](tla_hbm_config &c) { c.rows = 10000; }},
        {"write_low", [](tla_hbm_config &c) { c.write_low_percent = 90; }},
        {"row_hits", [](tla_hbm_config &c) { c.row_hits = 0; }},
        {"before_refresh", [](tla_hbm_config &c) { c.before_refresh = TLA_HBM_BEFORE_REFRESH_COUNT; }},
        {"read_queue", [](tla_hbm_config &c) { c.read_queue = 0; }},
        {"row_bus_sharers", [](tla_hbm_config &c) { c.row_bus_sharers = 3; }},
        {"map bg2,co5,ba2,ro13 loses a bit: it has 13 row bits",
         [](tla_hbm_config &c) { set_map(c, "bg2,co5,ba2,ro13"); }},
        {"doubles a bit: it has 3 bank-group bits", [](tla_hbm_config &c) { set_map(c, "bg2,co5,bg1,ba2,ro14"); }},
        {"0 pseudo-channel bits", [](tla_hbm_config &c) { c.row_bus_sharers = 2; }},
    };
    for (const auto &k : cases) {
        tla_hbm_config config = profile("hbm2");
        k.spoil(config);
        tla_error error{};
        tla_hbm *hbm = nullptr;
        BOOST_CHECK_EQUAL(tla_hbm_create(&config, nullptr, &hbm, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(hbm == nullptr);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(k.names) != std::string::npos, k.names << ": " << error.text);
    }
}

BOOST_AUTO_TEST_CASE(impossible_accesses_are_rejected) {
    auto hbm = make(profile("hbm2"));
    BOOST_CHECK_EQUAL(tla_hbm_capacity(hbm.get()), uint64_t{1} << 28);
    tla_hbm_transfer t{};
    uint64_t accepted = 0;
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, 0, 0, &t), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, (1u << 28) - 16, 32, &t), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, 32, UINT64_MAX, &t), TLA_OUT_OF_RANGE);
    const tla_hbm_request past{0, 1u << 28, 0, TLA_HBM_READ};
    BOOST_CHECK_EQUAL(tla_hbm_submit(hbm.get(), &past, &accepted), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_hbm_access(hbm.get(), 0, TLA_HBM_READ, (1u << 28) - 32, 32, &t), TLA_OK);
    BOOST_CHECK_EQUAL(tla_hbm_get_stats(hbm.get()).reads, 1u);
}

BOOST_AUTO_TEST_CASE(row_hits_are_all_older_or_a_number) {
    const std::string text = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml");
    const auto row_hits = [&](const std::string &value, std::string &found) {
        const std::string line = "row_hits=" + value;
        const char *const overrides[] = {line.c_str()};
        tla_hbm_config config{};
        const tla_status status =
            tla_timing_parse(text.data(), text.size(), "t.yaml", overrides, 1, &config, report_finding, &found);
        BOOST_CHECK_EQUAL(status == TLA_OK, found.empty());
        return config.row_hits;
    };
    std::string found;
    BOOST_CHECK_EQUAL(row_hits("all", found), TLA_HBM_ROW_HITS_ALL);
    BOOST_CHECK_EQUAL(row_hits("older", found), 1u);
    BOOST_CHECK_EQUAL(row_hits("4", found), 4u);
    BOOST_CHECK_EQUAL(row_hits("9999", found), 9999u);
    BOOST_CHECK_EQUAL(profile("hbm2").row_hits, TLA_HBM_ROW_HITS_ALL); // as without the key
    for (const char *wrong : {"0", "10000", "-1", "4x", "younger", "99999999999999999999"}) {
        found.clear();
        BOOST_CHECK_EQUAL(row_hits(wrong, found), 0u);
        BOOST_CHECK_MESSAGE(found.find("expected all, older, or a number of bursts, 1 .. 9999") != std::string::npos,
                            wrong << ": " << found);
    }
}

BOOST_AUTO_TEST_CASE(an_inconsistent_timing_profile_is_reported_with_its_place) {
    const std::string good = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml");
    const auto findings = [&](const std::string &from, const std::string &to) {
        std::string text = good, found;
        BOOST_REQUIRE(text.find(from) != std::string::npos);
        text.replace(text.find(from), from.size(), to);
        tla_hbm_config config{};
        config.rows = 77;
        const tla_status status =
            tla_timing_parse(text.data(), text.size(), "t.yaml", nullptr, 0, &config, report_finding, &found);
        BOOST_CHECK_EQUAL(status == TLA_OK, found.empty());
        if (status != TLA_OK) BOOST_CHECK_EQUAL(config.rows, 77u); // untouched
        return found;
    };
    BOOST_CHECK_EQUAL(findings("rc: 42 tCK", "rc: 42 tCK"), "");
    BOOST_CHECK_EQUAL(findings("\nrc: 42 tCK", "\nrc: 40 tCK"), "20:5: rc 40 is less than ras 28 + rp 14\n");
    BOOST_CHECK_EQUAL(findings("map: m3", "map: bg2,co4,ba2,ro14"),
                      "12:6: map bg2,co4,ba2,ro14 loses a bit: it has 4 column bits, but a count of 32 needs 5\n");
    BOOST_CHECK_EQUAL(findings("\nwr: 14 tCK", "\n"),
                      "0:0: wr is 0 cycles: must be 1 .. 16777216 (the key is not written)\n");
    BOOST_CHECK(findings("rp: 14 tCK", "rp: 14").find("18:5: rp: found \"14\", which has no unit") == 0);
    BOOST_CHECK(findings("rp: 14 tCK", "rp: 14 ns").find("unknown unit") != std::string::npos);
    BOOST_CHECK(findings("rp: 14 tCK", "rpp: 14 tCK").find("did you mean \"rp\"") != std::string::npos);
    BOOST_CHECK(findings("refresh: all_bank", "refresh: sometimes").find("expected none or all_bank or per_bank") !=
                std::string::npos);
}
