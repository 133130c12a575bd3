// `tlmalloc traffic --energy`: the energy of a run, and profiles that cannot give it.
#include "platform/command_line.hpp"

#include <jansson.h>

#include <memory>

namespace {

const std::string timing = TLMALLOC_SOURCE_DIR "/configs/timing/", profiles = TLMALLOC_SOURCE_DIR "/configs/energy/";

using report_pointer = std::unique_ptr<json_t, void (*)(json_t *)>;

report_pointer report_of(const std::vector<std::string> &words) {
    scratch_directory scratch;
    const std::string path = scratch.path("report.json");
    std::vector<std::string> all{"traffic"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--json", path});
    const command_result run = run_tlmalloc(all);
    BOOST_REQUIRE_EQUAL(run.err, "");
    BOOST_REQUIRE_EQUAL(run.status, 0);
    return {json_loads(read_text(path).c_str(), 0, nullptr), json_decref};
}

std::uint64_t whole(const json_t *json, const char *key) {
    return static_cast<std::uint64_t>(json_integer_value(json_object_get(json, key)));
}

std::string refusal(const std::vector<std::string> &words) {
    std::vector<std::string> all{"traffic"};
    all.insert(all.end(), words.begin(), words.end());
    const command_result run = run_tlmalloc(all);
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_EQUAL(run.out, "");
    return run.err;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_constant_is_multiplied_by_the_count_that_the_report_has) {
    const report_pointer report =
        report_of({timing + "hbm4.yaml", "--pattern", "mix21_seq", "--count", "20000", "--energy", "hbm4_ayna"});
    const std::uint64_t closed = whole(report.get(), "all_closed_ps"), time = whole(report.get(), "sim_time_ps"),
                        open = whole(report.get(), "open_bank_ps");
    const std::vector<std::uint64_t> counts = {whole(report.get(), "activates"),
                                               whole(report.get(), "read_commands"),
                                               whole(report.get(), "write_commands"),
                                               whole(report.get(), "refreshes"),
                                               0,
                                               closed,
                                               time - closed,
                                               open - (time - closed)};
    const json_t *const energy = json_object_get(report.get(), "energy");
    const json_t *const rows = json_object_get(energy, "constants");
    BOOST_REQUIRE_EQUAL(json_array_size(rows), counts.size());
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < counts.size(); i++) {
        const json_t *const row = json_array_get(rows, i);
        const std::uint64_t fj = json_object_get(row, "power_uw") ? counts[i] * whole(row, "power_uw") / 1000
                                                                  : counts[i] * whole(row, "energy_fj");
        BOOST_CHECK_EQUAL(whole(row, "total_fj"), fj);
        total += fj;
    }
    BOOST_CHECK_EQUAL(whole(energy, "total_fj"), total);
    BOOST_CHECK_GT(total, 20000u * 8 * 32 * 3000); // 3 pJ/bit
    const double shares = json_real_value(json_object_get(energy, "share_assumed")) +
                          json_real_value(json_object_get(energy, "share_extrapolated")) +
                          json_real_value(json_object_get(energy, "share_measured"));
    BOOST_CHECK_CLOSE(shares, 1, 1e-9);
    BOOST_CHECK_GT(json_real_value(json_object_get(energy, "share_assumed")), 0);
}

BOOST_AUTO_TEST_CASE(unknown_constants_are_named_and_a_file_serves_as_a_name_does) {
    const command_result run = run_tlmalloc(
        {"traffic", timing + "hbm2.yaml", "--pattern", "seq_rd", "--count", "1000", "--energy", "hbm2_fgdram"});
    BOOST_CHECK(run.out.find("refresh      unknown, taken as 0\n") != std::string::npos);
    BOOST_CHECK(run.out.find("  0.0 % of the energy rests on assumptions\n") != std::string::npos);
    const std::vector<std::string> words = {timing + "hbm2.yaml", "--pattern", "seq_rd", "--count", "1000", "--energy"};
    const auto total = [&](const std::string &profile) {
        std::vector<std::string> all = words;
        all.push_back(profile);
        return whole(json_object_get(report_of(all).get(), "energy"), "total_fj");
    };
    BOOST_CHECK_EQUAL(total("hbm2_fgdram"), total(profiles + "hbm2_fgdram.yaml"));
}

BOOST_AUTO_TEST_CASE(profiles_that_do_not_hold_for_the_timing_are_refused) {
    const std::string command = "tlmalloc traffic: ";
    const std::vector<std::string> some = {"--pattern", "seq_rd", "--count", "1000", "--energy"};
    const auto with = [&](const std::string &of, const std::string &profile) {
        std::vector<std::string> all = {of};
        all.insert(all.end(), some.begin(), some.end());
        all.push_back(profile);
        return refusal(all);
    };
    BOOST_CHECK_EQUAL(with(timing + "hbm4.yaml", "hbm2_ayna"),
                      command + "--energy: hbm2_ayna holds for 'hbm2', not for the timing 'hbm4': use hbm4_ayna, "
                                "hbm4_ayna_study\n");
    BOOST_CHECK_EQUAL(with(timing + "lpddr6.yaml", "hbm2_ayna"),
                      command + "--energy: hbm2_ayna holds for 'hbm2', not for the timing 'lpddr6': write a profile "
                                "whose `timing` names it\n");
    BOOST_CHECK_EQUAL(with(timing + "hbm2.yaml", "hbm2_aina"),
                      command + "--energy: found 'hbm2_aina', expected one of: hbm2_ayna, hbm2_dramsim3, hbm2_fgdram, "
                                "hbm3_ayna, hbm4_ayna, hbm4_ayna_study, or the file of an energy profile (with a / or "
                                "ending in .yaml), did you mean \"hbm2_ayna\"?\n");
    scratch_directory scratch;
    const std::string mine =
        scratch.write("mine.yaml", "timing: kernbench\nburst: 256 B\nread: {energy: -1 pJ, standing: assumed}\n");
    BOOST_CHECK_EQUAL(with(timing + "kernbench.yaml", mine),
                      mine + ":3:16: error: read.energy: found \"-1 pJ\", expected an energy that is not negative\n");
    write_text(mine, "timing: kernbench\nburst: 256 B\nread: {energy: 1 pJ, standing: assumed, source: me}\n");
    BOOST_CHECK_EQUAL(with(timing + "kernbench.yaml", mine),
                      command + "--energy: a timing without banks has no commands to count\n");
}
