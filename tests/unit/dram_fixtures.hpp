// A pseudo-channel in tests: profiles and random timings, random bursts, the commands that were issued, and whether
// they keep every rule.
#pragma once

#include "tlmalloc/config.h"
#include "tlmalloc/dram/channels.h"

#include "tests/unit/naive_dram.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>

namespace dram {

struct hbm_deleter {
    void operator()(tla_hbm *hbm) const { tla_hbm_destroy(hbm); }
};
using hbm_pointer = std::unique_ptr<tla_hbm, hbm_deleter>;

inline hbm_pointer make(const tla_hbm_config &config, const tla_hbm_listener *listener = nullptr) {
    tla_hbm *hbm = nullptr;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_hbm_create(&config, listener, &hbm, &error) == TLA_OK, error.text);
    return hbm_pointer(hbm);
}

inline tla_hbm_config profile(const std::string &name) {
    tla_hbm_config config{};
    const std::string path = std::string(TLMALLOC_SOURCE_DIR "/configs/timing/") + name + ".yaml";
    const auto report = [](void *, const tla_config_finding *f) { BOOST_ERROR(f->text); };
    BOOST_REQUIRE_EQUAL(tla_timing_load(path.c_str(), nullptr, 0, &config, report, nullptr), TLA_OK);
    return config;
}

inline void set_map(tla_hbm_config &config, const char *map) {
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_hbm_map_parse(map, &config, &error) == TLA_OK, error.text);
}

// What an address selects, bit by bit.
inline std::map<tla_hbm_field, uint32_t> fields_of(const tla_hbm_config &config, uint64_t line) {
    std::map<tla_hbm_field, uint32_t> value, bits;
    for (uint32_t i = 0; i < config.map.count; i++)
        for (uint32_t b = 0; b < config.map.pieces[i].bits; b++, line >>= 1)
            value[config.map.pieces[i].field] |= (uint32_t)(line & 1) << bits[config.map.pieces[i].field]++;
    return value;
}

inline uint32_t bank_of(const tla_hbm_config &config, uint64_t line) {
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
inline std::vector<offered> random_trace(std::mt19937_64 &random, const tla_hbm_config &config, size_t count) {
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

// Rules that the profiles of HBM2 and HBM3 do not have.
inline void add_rules_of_ddr_and_stacks(std::mt19937_64 &random, tla_hbm_config &c) {
    const auto below = [&](uint32_t end) { return (uint32_t)(random() % end); };
    const auto or_none = [&](uint32_t value) { return random() % 3 == 0 ? 0 : value; };
    c.rp_ab = or_none(c.rp + below(4));
    c.ppd = below(6);
    c.rtw_l = or_none(c.rtw + below(5));
    c.ccd_l_wr = or_none(c.ccd_l + below(5));
    c.stack_ids = 1u << below(3);
    c.ccd_r = or_none(c.ccd_s + below(3));
    c.pre_cycles = 1 + below(c.act_cycles);
    c.column_cycles = 1 + below(2);
    c.command_buses = 1 + below(2);
    const uint32_t rcd = std::min(c.rcd_rd, c.rcd_wr);
    if (c.command_buses == 1 && rcd > 2 * c.act_cycles) c.aad = or_none(c.act_cycles + below(rcd - 2 * c.act_cycles));
}

// A part like no other: spacings around those of hbm2 or hbm3 that do not contradict.
inline tla_hbm_config random_config(std::mt19937_64 &random) {
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
    if (random() % 2) add_rules_of_ddr_and_stacks(random, c);
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

inline std::unique_ptr<outcome> play(const tla_hbm_config &config, const std::vector<offered> &trace) {
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

inline const char *name_of(tla_hbm_command what) {
    static const char *const names[] = {"ACT", "PRE", "PREA", "RD", "RDA", "WR", "WRA", "REFab", "REFpb", "ACT-2"};
    return names[what];
}

// Every command against every earlier one, both data-bus and command-bus occupancy, and the refresh rate.
inline void check_commands(const tla_hbm_config &config, const recorder &seen) {
    std::vector<std::pair<uint64_t, uint64_t>> row_bus; // and all commands, if they have one bus
    for (uint32_t pc = 0; pc < config.row_bus_sharers; pc++) {
        naive::device device(config);
        uint64_t data_free = 0, column_free = 0, refreshes = 0, second_act_by = UINT64_MAX;
        for (const auto &k : seen.commands[pc]) {
            const std::string wrong = device.wrong(k);
            BOOST_REQUIRE_MESSAGE(wrong.empty(), name_of(k.what) << " of bank " << k.bank << ": " << wrong);
            device.issue(k);
            const bool read = k.what == TLA_HBM_RD || k.what == TLA_HBM_RDA;
            if (read || k.what == TLA_HBM_WR || k.what == TLA_HBM_WRA) {
                const uint64_t data = k.cycle + config.column_cycles - 1 + (read ? config.cl : config.cwl);
                BOOST_REQUIRE_GE(data, data_free);
                BOOST_REQUIRE_GE(k.cycle, column_free);
                data_free = data + config.burst_cycles;
                column_free = k.cycle + config.column_cycles;
                if (config.command_buses == 1) row_bus.push_back({k.cycle, column_free});
            } else {
                const bool act = k.what == TLA_HBM_ACT || k.what == TLA_HBM_ACT_2;
                row_bus.push_back({k.cycle, k.cycle + (act ? config.act_cycles : config.pre_cycles)});
            }
            if (k.what == TLA_HBM_ACT_2) {
                BOOST_REQUIRE_LE(k.cycle, second_act_by);
                second_act_by = UINT64_MAX;
            } else if (k.what == TLA_HBM_ACT) {
                BOOST_REQUIRE_EQUAL(second_act_by, UINT64_MAX);
                if (config.aad != 0) second_act_by = k.cycle + config.aad;
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

inline void report_finding(void *context, const tla_config_finding *finding) {
    *static_cast<std::string *>(context) +=
        std::to_string(finding->line) + ":" + std::to_string(finding->column) + ": " + finding->text + "\n";
}

inline std::string text_of(const std::string &path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace dram
