// Energy profiles, and counts times constants.
#include "tlmalloc/config.h"
#include "tlmalloc/dram/energy.h"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <fstream>
#include <random>
#include <string>

namespace {

tla_dram_energy named(const char *name) {
    tla_dram_energy energy{};
    BOOST_REQUIRE_EQUAL(tla_dram_energy_named(name, &energy), TLA_OK);
    return energy;
}

tla_hbm_config timing_of(const char *name) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named(name, &timing), TLA_OK);
    return timing;
}

void keep_finding(void *list, const tla_config_finding *finding) {
    *static_cast<std::string *>(list) +=
        std::to_string(finding->line) + ":" + std::to_string(finding->column) + ": " + finding->text + "\n";
}

// The findings about a file of this text.
std::string findings_of(const std::string &text) {
    const std::string path = "energy_test.yaml";
    std::ofstream(path) << text;
    tla_dram_energy energy{};
    std::string found;
    const tla_status status = tla_dram_energy_load(path.c_str(), &energy, keep_finding, &found);
    std::remove(path.c_str());
    BOOST_CHECK_EQUAL(status, found.empty() ? TLA_OK : TLA_SYNTAX);
    return found;
}

// Each cause has the energy of its commands, and all together that of the sum.
void check_causes(const tla_dram_energy &profile, const tla_dram_activity &a, const tla_dram_energy_sum &sum) {
    uint64_t by_cause[TLA_ENERGY_CAUSE_COUNT] = {}, all = 0;
    tla_dram_energy_charge(&profile, &a, &sum, by_cause);
    for (const uint64_t fj : by_cause)
        all += fj;
    BOOST_CHECK_EQUAL(all, sum.total_fj);
    const auto at = [&](tla_dram_constant constant) { return profile.constants[constant].value; };
    const auto reads = [&](tla_purpose purpose) {
        return a.stats.commands_for[TLA_HBM_READ][purpose] * at(TLA_DRAM_READ) +
               a.stats.activates_for[TLA_HBM_READ][purpose] * at(TLA_DRAM_ACTIVATE);
    };
    const auto writes = [&](tla_purpose purpose) {
        return a.stats.commands_for[TLA_HBM_WRITE][purpose] * at(TLA_DRAM_WRITE) +
               a.stats.activates_for[TLA_HBM_WRITE][purpose] * at(TLA_DRAM_ACTIVATE);
    };
    BOOST_CHECK_EQUAL(by_cause[TLA_ENERGY_LOADS], reads(TLA_PURPOSE_KERNEL));
    BOOST_CHECK_EQUAL(by_cause[TLA_ENERGY_STORES], writes(TLA_PURPOSE_KERNEL));
    const std::pair<tla_energy_cause, tla_purpose> others[] = {
        {TLA_ENERGY_WALKS, TLA_PURPOSE_WALK},       {TLA_ENERGY_ALLOCATOR, TLA_PURPOSE_ALLOCATOR},
        {TLA_ENERGY_MAPPING, TLA_PURPOSE_MAPPING},  {TLA_ENERGY_MOVES, TLA_PURPOSE_MOVE},
        {TLA_ENERGY_MESSAGES, TLA_PURPOSE_MESSAGE}, {TLA_ENERGY_HOST, TLA_PURPOSE_HOST}};
    for (const auto &[cause, purpose] : others)
        BOOST_CHECK_EQUAL(by_cause[cause], reads(purpose) + writes(purpose));
    BOOST_CHECK_EQUAL(by_cause[TLA_ENERGY_REFRESHES],
                      sum.by_constant_fj[TLA_DRAM_REFRESH] + sum.by_constant_fj[TLA_DRAM_REFRESH_BANK]);
    BOOST_CHECK_EQUAL(by_cause[TLA_ENERGY_LINKS], 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(purposes_and_causes_have_names) {
    BOOST_CHECK_EQUAL(tla_purpose_name(TLA_PURPOSE_WALK), "walk");
    BOOST_CHECK_EQUAL(tla_purpose_name(TLA_PURPOSE_HOST), "host");
    BOOST_CHECK(tla_purpose_name(TLA_PURPOSE_COUNT) == nullptr);
    BOOST_CHECK_EQUAL(tla_energy_cause_name(TLA_ENERGY_STORES), "stores");
    BOOST_CHECK_EQUAL(tla_energy_cause_name(TLA_ENERGY_BACKGROUND), "background");
    BOOST_CHECK(tla_energy_cause_name(TLA_ENERGY_CAUSE_COUNT) == nullptr);
}

BOOST_AUTO_TEST_CASE(every_built_in_profile_is_for_a_timing_with_its_bursts_and_names_its_sources) {
    int count = 0;
    for (const char *name; (name = tla_dram_energy_name_at(static_cast<uint64_t>(count))) != nullptr; count++) {
        BOOST_TEST_CONTEXT(name) {
            const tla_dram_energy profile = named(name);
            const tla_hbm_config timing = timing_of(profile.timing);
            BOOST_CHECK_EQUAL(timing.burst_bytes, profile.burst_bytes);
            BOOST_CHECK(tla_dram_energy_is_for(&profile, profile.timing));
            BOOST_CHECK(!tla_dram_energy_is_for(&profile, "hbm"));
            for (const auto &constant : profile.constants)
                BOOST_CHECK_EQUAL(constant.standing == TLA_ENERGY_UNKNOWN, constant.source[0] == '\0');
        }
    }
    BOOST_CHECK_EQUAL(count, 6);
}

// The energies of the source's formulas, from the currents that it states.
BOOST_AUTO_TEST_CASE(profiles_of_ayna_have_the_energies_of_its_currents) {
    const struct {
        const char *name;
        double vdd, vddq, idd0, idd2n, idd3n1, idd3n16, idd4r, idd4w, idd5b, tck_ns, rp, ras, burst_ns;
        double still = 3.1798, dq = 1.04, tsv = 1.4875, bank_groups = 1.41; // pJ/bit, the rest times the toggle rate
    } parts[] = {
        {"hbm2_ayna", 1.2, 1.2, 28.544, 11.756, 12.394, 14.281, 202.769, 137.406, 66.331, 1.6667, 9, 20, 3.3333},
        {"hbm3_ayna", 1.1, 1.1, 106.1, 70.5, 71.2, 73.3, 560.7, 389.5, 164.7, 0.625, 26, 45, 1.25},
        {"hbm4_ayna", 1.05, 0.9, 128.9, 88.1, 88.9, 91.0, 700.9, 486.9, 192.5, 0.5, 30, 66, 1.0},
        {"hbm4_ayna_study", 1.05, 0.9, 217.0, 176.2, 177.0, 179.1, 789.0, 575.0, 280.6, 0.5, 30, 66, 1.0, 2.759, 1.192,
         1.331, 0.72},
    };
    for (const auto &p : parts) {
        BOOST_TEST_CONTEXT(p.name) {
            const tla_dram_energy profile = named(p.name);
            const auto check = [&](tla_dram_constant constant, double expected) {
                BOOST_CHECK_CLOSE(static_cast<double>(profile.constants[constant].value) / 1000, expected, 0.4);
            };
            const double rp = p.rp * p.tck_ns, ras = p.ras * p.tck_ns;
            const double act = (p.idd0 * (rp + ras) - p.idd2n * rp) / ras;
            const double half = p.still + (p.dq + p.tsv + p.bank_groups) / 2, random = half / p.still;
            const double pins = p.dq / 2 / half, vdd_read = pins * p.vddq + (1 - pins) * p.vdd;
            check(TLA_DRAM_ACTIVATE, p.vdd * (act - p.idd3n1) * ras);
            check(TLA_DRAM_READ, vdd_read * (p.idd4r - p.idd3n1) * random * p.burst_ns);
            check(TLA_DRAM_WRITE, p.vdd * (p.idd4w - p.idd3n1) * random * p.burst_ns);
            check(TLA_DRAM_REFRESH, p.vdd * (p.idd5b - p.idd2n) * 350);
            check(TLA_DRAM_ALL_CLOSED, p.vdd * p.idd2n);
            check(TLA_DRAM_ONE_OPEN, p.vdd * p.idd3n1);
            check(TLA_DRAM_NEXT_OPEN, p.vdd * (p.idd3n16 - p.idd3n1) / 15);
        }
    }
}

BOOST_AUTO_TEST_CASE(energies_are_counts_times_constants_and_add_up) {
    std::mt19937_64 random(3);
    const tla_dram_energy profile = named("hbm4_ayna");
    for (int i = 0; i < 1000; i++) {
        tla_hbm_config timing = timing_of("hbm4");
        tla_dram_activity a{};
        tla_dram_energy_sum sum{};
        const bool each_bank = random() % 2;
        timing.refresh = each_bank ? TLA_HBM_REFRESH_PER_BANK : TLA_HBM_REFRESH_ALL_BANK;
        a.stats.refreshes = random() % 1000000;
        for (int op = 0; op < TLA_HBM_OPS; op++)
            for (int k = 0; k < TLA_PURPOSE_COUNT; k++) {
                a.stats.commands_for[op][k] = random() % 1000000;
                a.stats.activates_for[op][k] = random() % 1000000;
                a.stats.activates += a.stats.activates_for[op][k];
                (op == TLA_HBM_READ ? a.stats.read_commands : a.stats.write_commands) += a.stats.commands_for[op][k];
            }
        a.pseudo_channel_ps = random() % 1000000000000;
        a.open_time.all_closed_ps = random() % (a.pseudo_channel_ps + 1);
        const uint64_t open_ps = a.pseudo_channel_ps - a.open_time.all_closed_ps;
        a.open_time.open_bank_ps = open_ps * (1 + random() % 16);
        BOOST_REQUIRE_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, nullptr), TLA_OK);
        const auto at = [&](tla_dram_constant constant) { return profile.constants[constant].value; };
        const uint64_t expected[TLA_DRAM_CONSTANT_COUNT] = {
            a.stats.activates * at(TLA_DRAM_ACTIVATE),
            a.stats.read_commands * at(TLA_DRAM_READ),
            a.stats.write_commands * at(TLA_DRAM_WRITE),
            each_bank ? 0 : a.stats.refreshes * at(TLA_DRAM_REFRESH),
            each_bank ? a.stats.refreshes * at(TLA_DRAM_REFRESH_BANK) : 0,
            a.open_time.all_closed_ps * at(TLA_DRAM_ALL_CLOSED) / 1000,
            open_ps * at(TLA_DRAM_ONE_OPEN) / 1000,
            (a.open_time.open_bank_ps - open_ps) * at(TLA_DRAM_NEXT_OPEN) / 1000};
        uint64_t total = 0, by_standing = 0;
        for (int k = 0; k < TLA_DRAM_CONSTANT_COUNT; k++) {
            BOOST_CHECK_EQUAL(sum.by_constant_fj[k], expected[k]);
            total += expected[k];
        }
        for (const uint64_t fj : sum.by_standing_fj)
            by_standing += fj;
        BOOST_CHECK_EQUAL(sum.total_fj, total);
        BOOST_CHECK_EQUAL(by_standing, total);
        BOOST_CHECK_EQUAL(sum.by_standing_fj[TLA_ENERGY_ASSUMED], expected[TLA_DRAM_REFRESH]);
        check_causes(profile, a, sum);
    }
}

BOOST_AUTO_TEST_CASE(energies_that_cannot_be_added_up_are_refused) {
    tla_error error{};
    tla_dram_energy_sum sum{};
    tla_dram_energy profile = named("hbm4_ayna");
    tla_hbm_config timing = timing_of("hbm4");
    tla_dram_activity a{};
    a.stats.activates = UINT64_MAX;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(error.text, "the energy exceeds 2^64 fJ");
    a.stats.activates = UINT64_MAX / profile.constants[TLA_DRAM_ACTIVATE].value;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, nullptr), TLA_OK);
    a.stats.read_commands = 2;
    a.stats.activates--;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, nullptr), TLA_OK);
    a.stats.read_commands = 4;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(sum.total_fj, 0u);

    a = {};
    a.open_time.all_closed_ps = 1;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "rows are closed for longer than the whole time");
    a = {};
    profile.burst_bytes = 64;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "the energy profile is for bursts of 64 bytes, the timing has 32");
    timing.model = TLA_HBM_CHANNEL;
    BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&profile, &timing, &a, &sum, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "a timing without banks has no commands to count");
}

BOOST_AUTO_TEST_CASE(constants_need_a_standing_and_a_source) {
    const std::string good = "timing: mine\nburst: 64 B\nread: {energy: 1.5 nJ, standing: assumed, source: me}\n";
    BOOST_CHECK_EQUAL(findings_of(good), "");
    BOOST_CHECK_EQUAL(findings_of("read: {energy: 3 pJ}\n"),
                      "1:16: read.energy: a constant needs a standing: set read.standing to "
                      "assumed, extrapolated or measured\n");
    BOOST_CHECK_EQUAL(findings_of("read: {energy: 3 pJ, standing: assumed}\n"),
                      "1:32: read.standing: a known constant needs a source: set "
                      "read.source\n");
    BOOST_CHECK_EQUAL(findings_of("all_closed: {standing: measured, source: me}\n"),
                      "1:24: all_closed.standing: all_closed.power is not written: write it\n");
    const std::string negative = findings_of("write: {energy: -3 pJ, standing: assumed, source: me}\n");
    BOOST_CHECK_MESSAGE(negative.find("expected an energy that is not negative") != std::string::npos, negative);
    const std::string unit = findings_of("all_closed: {power: 3 pJ, standing: assumed, source: me}\n");
    BOOST_CHECK_MESSAGE(unit.find("expected a power with a unit (uW, mW, W)") != std::string::npos, unit);
}
