// The energy profile that a configuration names.
#include "config_parsing.hpp"

using namespace config_parsing;

namespace {

bool contains(const string &text, const string &part) {
    return text.find(part) != string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_energy_profile_of_the_slices_timing_is_named_or_stands_in_a_file) {
    BOOST_CHECK(!good("").hbm_energy.has_profile);
    BOOST_CHECK(!good("hbm: {timing: hbm4}").hbm_energy.has_profile);
    const tla_config c = good("hbm: {timing: hbm4, energy: hbm4_ayna}");
    tla_dram_energy named{};
    BOOST_REQUIRE_EQUAL(tla_dram_energy_named("hbm4_ayna", &named), TLA_OK);
    BOOST_CHECK(c.hbm_energy.has_profile);
    BOOST_CHECK(std::memcmp(&c.hbm_energy.profile, &named, sizeof named) == 0);
    const tla_config back = good(printed(c)), other = good("hbm: {timing: hbm4}");
    BOOST_CHECK(tla_config_equal(&back, &c));
    BOOST_CHECK(!tla_config_equal(&other, &c));
    BOOST_CHECK(!good("hbm: {timing: hbm4, energy: hbm4_ayna}", {"hbm.energy=none"}).hbm_energy.has_profile);
    // A file beside the file that names it; the timing is known by the name of its file.
    scratch_directory scratch;
    scratch.write("hbm4.yaml", read_text(configs + "timing/hbm4.yaml"));
    scratch.write("mine.yaml", "timing: hbm3 hbm4\nread: {energy: 3 pJ, standing: assumed, source: me}\n");
    const string platform = scratch.write("a_platform.yaml", "hbm:\n  timing: ./hbm4.yaml\n  energy: ./mine.yaml\n");
    tla_config of_file{};
    BOOST_CHECK_EQUAL(tla_config_load(platform.c_str(), nullptr, 0, &of_file, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(of_file.hbm_energy.profile.constants[TLA_DRAM_READ].value, 3000u);
}

BOOST_AUTO_TEST_CASE(an_energy_profile_that_cannot_be_used_is_found_where_it_is_named) {
    check_findings("hbm: {timing: hbm2, energy: hbm4_ayna}",
                   {"f:1:29: hbm.energy must hold for hbm.timing: hbm4_ayna holds for 'hbm4', not for the timing "
                    "'hbm2': use hbm2_ayna, hbm2_dramsim3, hbm2_fgdram"});
    check_findings("hbm: {timing: lpddr6, energy: hbm4_ayna}",
                   {"f:1:31: hbm.energy must hold for hbm.timing: hbm4_ayna holds for 'hbm4', not for the timing "
                    "'lpddr6': write a profile whose `timing` names it"});
    for (const string timing : {"channels", "kernbench", "flat"})
        check_findings("hbm: {energy: hbm4_ayna, timing: " + timing + "}",
                       {"f:1:15: hbm.energy hbm4_ayna must have an hbm.timing with banks, whose commands it counts: "
                        "hbm.timing " +
                        timing + " has none"});
    check_findings("",
                   {"--set:0:0: \"hbm.energy=hbm4_aina\": hbm.energy: found \"hbm4_aina\", expected none, hbm2_ayna, "
                    "hbm2_dramsim3, hbm2_fgdram, hbm3_ayna, hbm4_ayna, hbm4_ayna_study, or the file of an energy "
                    "profile (with a / or ending in .yaml), did you mean \"hbm4_ayna\"?"},
                   {"hbm.energy=hbm4_aina"});
    scratch_directory scratch;
    const string mine = scratch.write("mine.yaml", "timing: hbm4\nburst: 64 B\n"),
                 negative = scratch.write("negative.yaml", "read: {energy: -3 pJ, standing: assumed, source: me}\n");
    BOOST_CHECK_EQUAL(parse("", {"hbm.timing=hbm4", "hbm.energy=" + mine}).findings.size(), 1u);
    BOOST_CHECK(contains(parse("", {"hbm.timing=hbm4", "hbm.energy=" + mine}).findings.at(0),
                         "must have the bursts of hbm.timing hbm4: 32 B, not 64 B"));
    const string nameless = scratch.write("nameless.yaml", "read: {energy: 3 pJ, standing: assumed, source: me}\n");
    const std::vector<string> of_nameless = parse("", {"hbm.timing=hbm4", "hbm.energy=" + nameless}).findings;
    BOOST_REQUIRE_EQUAL(of_nameless.size(), 1u);
    BOOST_CHECK(contains(of_nameless[0], "hbm.energy must hold for hbm.timing: " + nameless +
                                             " names no timing: write `timing: hbm4` if its constants hold for it"));
    const std::vector<string> found = parse("", {"hbm.timing=hbm4", "hbm.energy=" + negative}).findings;
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    BOOST_CHECK(contains(found[0], "read.energy: found \"-3 pJ\", expected an energy that is not negative"));
    BOOST_CHECK(contains(found[1], "expected a file with a valid energy profile"));
}
