// Fault plans: as text, and when they strike.
#include "tlmalloc/dram/fault_injection.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

tla_fault_injection plan_of(const char *text, uint64_t seed = 1) {
    tla_fault_injection plan{};
    tla_error error{};
    plan.seed = seed;
    BOOST_CHECK_MESSAGE(tla_fault_injection_parse(text, &plan, &error) == TLA_OK, error.text);
    return plan;
}

tla_faults faults_of(const char *text, uint64_t seed = 1) {
    tla_faults faults{};
    faults.plan = plan_of(text, seed);
    return faults;
}

void check_refused(const char *text, const std::string &found) {
    tla_fault_injection plan{};
    plan.count = 77;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_fault_injection_parse(text, &plan, &error), TLA_SYNTAX);
    BOOST_CHECK_EQUAL(std::string(error.text), found);
    BOOST_CHECK_EQUAL(plan.count, 77u);
}

// Eight pseudo-channels of 256 bytes, as KernBench's slices; every 16 KiB of a pseudo-channel the next of four banks.
uint32_t bank_of(const void *, uint64_t offset) {
    return static_cast<uint32_t>(offset / 16384 % 4);
}
const tla_fault_geometry eight{256, 8, bank_of, nullptr};

tla_fault_hits read(tla_faults &faults, uint64_t offset, uint64_t nbytes, uint64_t time = 0) {
    return tla_faults_access(&faults, &eight, false, offset, nbytes, time);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_is_read) {
    BOOST_CHECK_EQUAL(plan_of("none").count, 0u);
    const tla_fault_injection plan =
        plan_of("uncorrectable address=0x1000 pe=3 at=2us; refuse rate=500;channel_out channel=7");
    BOOST_REQUIRE_EQUAL(plan.count, 3u);
    BOOST_CHECK_EQUAL(plan.faults[0].kind, TLA_FAULT_UNCORRECTABLE);
    BOOST_CHECK(plan.faults[0].has_address);
    BOOST_CHECK_EQUAL(plan.faults[0].address, 4096u);
    BOOST_CHECK_EQUAL(plan.faults[0].pe, 3);
    BOOST_CHECK_EQUAL(plan.faults[0].at_ps, 2'000'000u);
    BOOST_CHECK_EQUAL(plan.faults[1].kind, TLA_FAULT_REFUSE);
    BOOST_CHECK_EQUAL(plan.faults[1].rate, 500u);
    BOOST_CHECK_EQUAL(plan.faults[1].pe, TLA_FAULT_EVERY_PE);
    BOOST_CHECK_EQUAL(plan.faults[2].channel, 7u);
}

BOOST_AUTO_TEST_CASE(bad_plans_are_rejected_with_the_found_and_expected_text) {
    check_refused("", "found \"\", expected a fault: correctable, uncorrectable, channel_out or refuse");
    check_refused("corectable",
                  "found \"corectable\", expected a fault: correctable, uncorrectable, channel_out or refuse");
    check_refused("refuse;", "found \"\", expected a fault: correctable, uncorrectable, channel_out or refuse");
    check_refused("refuse channel=1", "found \"channel=1\" of a fault refuse, expected pe=, at= or rate=");
    check_refused("refuse at=1ns at=2ns", "found \"at=2ns\" of a fault refuse, expected it once");
    check_refused("refuse rate=0", "found \"rate=0\", expected a rate of 1 .. 1000000 in a million");
    check_refused("refuse rate=1000001", "found \"rate=1000001\", expected a rate of 1 .. 1000000 in a million");
    check_refused("correctable address=-1", "found \"address=-1\", expected an offset in bytes");
    check_refused("correctable address=1 rate=1", "found address= and rate= of one fault, expected one of them");
    check_refused("channel_out", "found channel_out without a channel=");
    check_refused("refuse;refuse;refuse;refuse;refuse;refuse;refuse;refuse;refuse", "found more than 8 faults");
    tla_fault_injection plan{};
    BOOST_CHECK_EQUAL(tla_fault_injection_parse("refuse at=5", &plan, nullptr), TLA_SYNTAX);
}

BOOST_AUTO_TEST_CASE(a_fault_without_address_and_rate_strikes_once_at_its_time_and_reads_only) {
    tla_faults f = faults_of("correctable at=10ns");
    BOOST_CHECK_EQUAL(read(f, 0, 64, 9'999).correctable, 0u);
    BOOST_CHECK_EQUAL(tla_faults_access(&f, &eight, true, 0, 64, 20'000).correctable, 0u);
    BOOST_CHECK_EQUAL(read(f, 0, 64, 20'000).correctable, 1u);
    BOOST_CHECK_EQUAL(read(f, 0, 64, 20'000).correctable, 0u);
}

BOOST_AUTO_TEST_CASE(a_broken_cell_is_found_by_every_read_that_touches_it) {
    tla_faults f = faults_of("uncorrectable address=100");
    for (int i = 0; i < 2; i++) {
        BOOST_CHECK_EQUAL(read(f, 37, 64).uncorrectable, 1u);
        BOOST_CHECK_EQUAL(read(f, 100, 1).uncorrectable, 1u);
        BOOST_CHECK_EQUAL(read(f, 36, 64).uncorrectable, 0u);
        BOOST_CHECK_EQUAL(read(f, 101, 64).uncorrectable, 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_channel_that_is_out_fails_what_touches_it_from_its_time_on) {
    tla_faults f = faults_of("channel_out channel=2 at=1us");
    for (uint64_t first = 0; first < 20; first++)
        for (uint64_t bursts = 1; bursts < 20; bursts++) {
            bool touched = false;
            for (uint64_t burst = first; burst < first + bursts; burst++)
                touched |= burst % 8 == 2;
            BOOST_CHECK(!read(f, first * 256, bursts * 256, 999'999).channel_out);
            BOOST_CHECK_EQUAL(read(f, first * 256, bursts * 256, 1'000'000).channel_out, touched);
            BOOST_CHECK_EQUAL(
                tla_faults_access(&f, &eight, true, first * 256 + 255, (bursts - 1) * 256 + 1, 2'000'000).channel_out,
                touched);
        }
}

BOOST_AUTO_TEST_CASE(a_bank_that_is_out_fails_what_touches_it_in_its_channel) {
    tla_faults f = faults_of("channel_out channel=2 bank=3");
    BOOST_CHECK(read(f, 3 * 16384 + 2 * 256, 1).channel_out);
    BOOST_CHECK(!read(f, 3 * 16384 + 3 * 256, 256).channel_out); // the same bank of the next pseudo-channel
    BOOST_CHECK(!read(f, 2 * 16384 + 2 * 256, 1).channel_out);   // another bank
    BOOST_CHECK(read(f, 2 * 16384, 16384 + 3 * 256).channel_out);
    BOOST_CHECK(!read(f, 0, 3 * 16384 + 2 * 256).channel_out);
    const tla_fault_geometry without_banks{256, 8, nullptr, nullptr};
    BOOST_CHECK(!tla_faults_access(&f, &without_banks, false, 0, 1 << 20, 0).channel_out);
    check_refused("uncorrectable bank=1",
                  "found \"bank=1\" of a fault uncorrectable, expected pe=, at=, address= or rate=");
}

BOOST_AUTO_TEST_CASE(a_rate_is_met_and_repeats_with_the_same_seed) {
    std::vector<bool> runs[3];
    const uint64_t seeds[] = {7, 7, 8};
    for (int run = 0; run < 3; run++) {
        tla_faults f = faults_of("refuse rate=50000", seeds[run]);
        for (int i = 0; i < 100'000; i++)
            runs[run].push_back(tla_faults_refuse(&f, 0));
    }
    BOOST_CHECK(runs[0] == runs[1]);
    BOOST_CHECK(runs[0] != runs[2]);
    // binomial: 5000 of 100 000, standard deviation 69; six of them
    BOOST_CHECK_CLOSE_FRACTION(static_cast<double>(std::count(runs[0].begin(), runs[0].end(), true)), 5000.0, 0.083);
}

BOOST_AUTO_TEST_CASE(every_pe_has_its_part_of_the_plan_and_numbers_of_its_own) {
    const tla_fault_injection plan = plan_of("refuse pe=1; correctable rate=9; refuse pe=2");
    const tla_fault_injection zero = tla_fault_injection_for(&plan, 0), two = tla_fault_injection_for(&plan, 2);
    BOOST_CHECK_EQUAL(zero.count, 1u);
    BOOST_REQUIRE_EQUAL(two.count, 2u);
    BOOST_CHECK_EQUAL(two.faults[1].pe, 2);
    BOOST_CHECK_NE(zero.seed, two.seed);
}
