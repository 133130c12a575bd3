// Energy of memories, links, MMUs and allocators: profiles, and counts times constants.
#include "config_parsing.hpp"
#include "tlmalloc/dram/parts_energy.h"

#include <random>

using namespace config_parsing;

namespace {

tla_parts_energy published() {
    tla_parts_energy profile{};
    BOOST_REQUIRE_EQUAL(tla_parts_energy_named("published", &profile), TLA_OK);
    return profile;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_constant_of_the_built_in_profile_names_its_source_or_is_unknown) {
    const tla_parts_energy profile = published();
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++) {
        const tla_energy_constant &constant = profile.constants[i];
        BOOST_TEST_CONTEXT(tla_parts_constant_name(static_cast<tla_parts_constant>(i))) {
            BOOST_CHECK_EQUAL(constant.standing == TLA_ENERGY_UNKNOWN, constant.source[0] == '\0');
            BOOST_CHECK_EQUAL(constant.standing == TLA_ENERGY_UNKNOWN, constant.value == 0);
            BOOST_CHECK(tla_parts_constant_unit(static_cast<tla_parts_constant>(i)) != nullptr);
        }
    }
    BOOST_CHECK_EQUAL(profile.constants[TLA_PARTS_UCIE].value, 500u);
    BOOST_CHECK_EQUAL(profile.constants[TLA_PARTS_ENGINE_CYCLE].standing, TLA_ENERGY_UNKNOWN);
    BOOST_CHECK(tla_parts_constant_name(TLA_PARTS_CONSTANT_COUNT) == nullptr);
    BOOST_CHECK(tla_parts_constant_unit(TLA_PARTS_CONSTANT_COUNT) == nullptr);
}

// Another way to add up: cause by cause, in floating point of more bits than any product here.
BOOST_AUTO_TEST_CASE(each_femtojoule_has_one_constant_one_standing_and_one_cause) {
    std::mt19937_64 random(4);
    for (int run = 0; run < 1000; run++) {
        tla_parts_energy profile{};
        tla_parts_activity activity{};
        for (tla_energy_constant &constant : profile.constants) {
            constant.standing = static_cast<tla_energy_standing>(random() % TLA_ENERGY_STANDING_COUNT);
            constant.value = constant.standing == TLA_ENERGY_UNKNOWN ? 0 : random() % 1000000;
        }
        for (auto &counts : activity.counts)
            for (uint64_t &count : counts)
                count = random() % 3 ? random() % 100000000 : 0;
        tla_parts_energy_sum sum{};
        BOOST_REQUIRE_EQUAL(tla_parts_energy_add_up(&profile, &activity, &sum, nullptr), TLA_OK);
        uint64_t total = 0, by_constant = 0, by_standing = 0;
        for (int cause = 0; cause < TLA_ENERGY_CAUSE_COUNT; cause++) {
            uint64_t of_cause = 0;
            for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++) {
                const uint64_t product = activity.counts[i][cause] * profile.constants[i].value;
                of_cause += i == TLA_PARTS_WIRE ? product / 1000 : product;
            }
            BOOST_CHECK_EQUAL(sum.by_cause_fj[cause], of_cause);
            total += of_cause;
        }
        for (const uint64_t fj : sum.by_constant_fj)
            by_constant += fj;
        for (const uint64_t fj : sum.by_standing_fj)
            by_standing += fj;
        BOOST_CHECK_EQUAL(sum.total_fj, total);
        BOOST_CHECK_EQUAL(by_constant, total);
        BOOST_CHECK_EQUAL(by_standing, total);
        BOOST_CHECK_EQUAL(sum.by_standing_fj[TLA_ENERGY_UNKNOWN], 0u);
    }
}

BOOST_AUTO_TEST_CASE(an_energy_of_2_to_the_64_femtojoules_is_refused) {
    tla_parts_energy profile{};
    tla_parts_activity activity{};
    tla_parts_energy_sum sum{};
    tla_error error{};
    profile.constants[TLA_PARTS_UCIE].value = 2;
    profile.constants[TLA_PARTS_PCIE].value = 1;
    activity.counts[TLA_PARTS_UCIE][TLA_ENERGY_LINKS] = UINT64_MAX / 2;
    activity.counts[TLA_PARTS_PCIE][TLA_ENERGY_LINKS] = 1;
    BOOST_CHECK_EQUAL(tla_parts_energy_add_up(&profile, &activity, &sum, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(sum.total_fj, UINT64_MAX);
    activity.counts[TLA_PARTS_PCIE][TLA_ENERGY_LINKS] = 2;
    BOOST_CHECK_EQUAL(tla_parts_energy_add_up(&profile, &activity, &sum, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(error.text, "the energy exceeds 2^64 fJ");
    BOOST_CHECK_EQUAL(sum.total_fj + sum.by_cause_fj[TLA_ENERGY_LINKS] + sum.by_constant_fj[TLA_PARTS_UCIE], 0u);
    activity.counts[TLA_PARTS_UCIE][TLA_ENERGY_LINKS] = UINT64_MAX;
    BOOST_CHECK_EQUAL(tla_parts_energy_add_up(&profile, &activity, &sum, nullptr), TLA_LIMIT);
}

BOOST_AUTO_TEST_CASE(bytes_count_at_their_memory_direction_and_cause_except_those_of_hbm) {
    tla_parts_activity activity{};
    tla_parts_count_access(&activity, TLA_TCM, TLA_PURPOSE_KERNEL, false, 3);
    tla_parts_count_access(&activity, TLA_TCM, TLA_PURPOSE_KERNEL, false, 4);
    tla_parts_count_access(&activity, TLA_TCM, TLA_PURPOSE_KERNEL, true, 5);
    tla_parts_count_access(&activity, TLA_SRAM, TLA_PURPOSE_MESSAGE, true, 6);
    tla_parts_count_access(&activity, TLA_M_CPU_MEMORY, TLA_PURPOSE_HOST, false, 7);
    tla_parts_count_access(&activity, TLA_HOST_MEMORY, TLA_PURPOSE_MOVE, true, 8);
    BOOST_CHECK_EQUAL(activity.counts[TLA_PARTS_TCM_READ][TLA_ENERGY_LOADS], 7u);
    BOOST_CHECK_EQUAL(activity.counts[TLA_PARTS_TCM_WRITE][TLA_ENERGY_STORES], 5u);
    BOOST_CHECK_EQUAL(activity.counts[TLA_PARTS_SRAM_WRITE][TLA_ENERGY_MESSAGES], 6u);
    BOOST_CHECK_EQUAL(activity.counts[TLA_PARTS_M_CPU_READ][TLA_ENERGY_HOST], 7u);
    BOOST_CHECK_EQUAL(activity.counts[TLA_PARTS_HOST_WRITE][TLA_ENERGY_MOVES], 8u);
    const tla_parts_activity before = activity;
    tla_parts_count_access(&activity, TLA_HBM, TLA_PURPOSE_KERNEL, false, 9);
    BOOST_CHECK(std::memcmp(&before, &activity, sizeof before) == 0);
}

BOOST_AUTO_TEST_CASE(a_platform_names_an_energy_profile_of_its_parts) {
    BOOST_CHECK(!good("").parts_energy.has_profile);
    const tla_config c = good("system: {energy: published}"), back = good(printed(c)), none = good("");
    const tla_parts_energy profile = published();
    BOOST_CHECK(c.parts_energy.has_profile);
    BOOST_CHECK(std::memcmp(&c.parts_energy.profile, &profile, sizeof profile) == 0);
    BOOST_CHECK(tla_config_equal(&c, &back));
    BOOST_CHECK(!tla_config_equal(&c, &none));
    check_findings("system: {energy: publisht}",
                   {"f:1:18: system.energy: found \"publisht\", expected none, published, or the file of an energy "
                    "profile of parts (with a / or ending in .yaml), did you mean \"published\"?"});
    scratch_directory scratch;
    const string bad = scratch.write("bad.yaml", "ucie: {energy: -1 pJ, standing: assumed, source: me}\n"
                                                 "wire: {energy: 1 pJ}\n"
                                                 "pcie: {energy: 1 pJ, standing: assumed}\n");
    const strings found = parse("", {"system.energy=" + bad}).findings;
    BOOST_REQUIRE_EQUAL(found.size(), 4u);
    BOOST_CHECK(found[0].find("1:16: ucie.energy: found \"-1 pJ\", expected an energy that is not negative") !=
                string::npos);
    BOOST_CHECK(found[1].find("2:16: wire.energy: a constant needs a standing: set wire.standing to") != string::npos);
    BOOST_CHECK(found[2].find("3:32: pcie.standing: a known constant needs a source: set pcie.source") != string::npos);
    BOOST_CHECK(found[3].find("expected a file with a valid energy profile of parts") != string::npos);
}
