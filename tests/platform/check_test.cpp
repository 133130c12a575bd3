// `tlmalloc check`: findings as a compiler writes them, and a resolved configuration that can be read back.
#include "platform/command_line.hpp"
#include "sanitized.hpp"

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

} // namespace

BOOST_AUTO_TEST_CASE(check_prints_the_resolved_configuration_and_it_reads_back) {
    scratch_directory scratch;
    for (std::string name : {"npu_small.yaml", "kernbench.yaml"}) {
        command_result first = run_tlmalloc({"check", configs + name});
        BOOST_CHECK_EQUAL(first.status, 0);
        BOOST_CHECK_EQUAL(first.err, "");
        BOOST_CHECK_MESSAGE(first.out.rfind("system:\n  sips: ", 0) == 0, first.out);
        command_result second = run_tlmalloc({"check", scratch.write(name, first.out)});
        BOOST_CHECK_EQUAL(second.status, 0);
        BOOST_CHECK_EQUAL(second.out, first.out);
    }
}

BOOST_AUTO_TEST_CASE(check_reports_every_finding_with_its_place_and_prints_nothing_else) {
    scratch_directory scratch;
    std::string path = scratch.write("bad.yaml", "system:\n  pes_per_cube: 0\nhbm:\n  brust: 256 B\n  burst: 256\n");
    command_result run = run_tlmalloc({"check", path, "--set", "tcm.capacity=-1 MiB", "--set", "nonsense"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_EQUAL(
        run.err,
        path + ":2:17: error: system.pes_per_cube: found \"0\", expected 1 .. 16\n" + path +
            ":4:3: error: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?\n" + path +
            ":5:10: error: hbm.burst: found \"256\", which has no unit, expected a size with a unit (B, KiB, MiB, GiB, "
            "TiB, KB, MB, GB, TB)\n"
            "--set: error: \"tcm.capacity=-1 MiB\": tcm.capacity: found \"-1 MiB\", expected a size that is not "
            "negative\n"
            "--set: error: \"nonsense\": expected KEY=VALUE, such as \"hbm.burst=256 B\"\n");
}

BOOST_AUTO_TEST_CASE(check_applies_overrides_in_order) {
    command_result run =
        run_tlmalloc({"check", configs + "npu_small.yaml", "--set", "hbm.burst=64 B", "--set=hbm.burst=128 B"});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.out, "\n  burst: 128 B\n"), run.out);
}

BOOST_AUTO_TEST_CASE(check_prints_the_source_and_the_standing_of_every_constant_of_energy_as_comments) {
    scratch_directory scratch;
    const std::vector<std::string> words{"check", configs + "npu_small.yaml", "--set", "hbm.timing=hbm4",
                                         "--set", "hbm.energy=hbm4_ayna",     "--set", "system.energy=published"};
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(run.status, 0);
    for (const char *line :
         {"\n# constants of hbm.energy hbm4_ayna:\n",
          "\n#   activate: 2028600 fJ, extrapolated: Ayna (CMU-SAFARI HBM-Power): V (I_act - IDD3N1) tRAS, ",
          "\n#   refresh_bank: unknown, taken as 0\n", "\n#   all_closed: 92505 uW, extrapolated: Ayna",
          "\n# constants of system.energy published:\n",
          "\n#   tcm_read: 12500 fJ per byte, assumed: Horowitz, ISSCC 2014",
          "\n#   wire: 120 fJ per bit mm, assumed: Keckler", "\n#   engine_cycle: unknown, taken as 0\n"})
        BOOST_CHECK_MESSAGE(contains(run.out, line), line << run.out);
    const command_result again = run_tlmalloc({"check", scratch.write("printed.yaml", run.out)});
    BOOST_CHECK_EQUAL(again.out, run.out);
    BOOST_CHECK(!contains(run_tlmalloc({"check", configs + "npu_small.yaml"}).out, "#"));
    const std::string unknown = "\n# constants of host_memory.timing: unknown: no set has a source\n";
    BOOST_CHECK(!contains(run.out, unknown));
    for (const char *energy : {"hbm.energy=hbm4_ayna", "system.energy=published"}) {
        const command_result with_host =
            run_tlmalloc({"check", configs + "npu_small.yaml", "--set", "hbm.timing=hbm4", "--set", energy, "--set",
                          "host_memory.timing=ddr5", "--set", "host_memory.capacity=1 MiB"});
        BOOST_CHECK_MESSAGE(contains(with_host.out, unknown), with_host.out);
    }
}

BOOST_AUTO_TEST_CASE(check_prints_the_reference_of_all_keys) {
    command_result run = run_tlmalloc({"check", "--reference"});
    BOOST_CHECK_EQUAL(run.status, 0);
    std::string page = read_text(configs + "keys.md");
    BOOST_REQUIRE(run.out.size() > 1000 && run.out.size() < page.size());
    BOOST_CHECK_EQUAL(page.substr(page.size() - run.out.size()), run.out);
}

BOOST_AUTO_TEST_CASE(check_rejects_a_bad_command_line) {
    BOOST_CHECK_EQUAL(run_tlmalloc({"check"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"check", "--nonsense"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"check", "a.yaml", "b.yaml"}).status, 2);
    for (const std::vector<std::string> &more : std::vector<std::vector<std::string>>{{"a.yaml"}, {"--set", "a=1"}}) {
        std::vector<std::string> words{"check", "--reference"};
        words.insert(words.end(), more.begin(), more.end());
        const command_result both = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(both.status, 2);
        BOOST_CHECK_MESSAGE(contains(both.err, "--reference excludes CONFIG and --set"), both.err);
    }
    command_result missing = run_tlmalloc({"check", "/no/such/file.yaml"});
    BOOST_CHECK_EQUAL(missing.status, 1);
    BOOST_CHECK_EQUAL(missing.err, "/no/such/file.yaml: error: cannot be read: No such file or directory\n");
    BOOST_CHECK_EQUAL(missing.out, "");
}

// Whatever the host has no room for, somebody says so.
BOOST_AUTO_TEST_CASE(no_command_fails_in_silence_for_lack_of_host_memory) {
    const unsigned most = is_sanitized() ? 0 : 40'000; // a sanitizer alone reserves terabytes: nothing starts
    for (unsigned kib = 12'000; kib < most; kib += 2'000)
        for (const char *command : {"check", "topology"}) {
            const command_result run = run_shell("ulimit -v " + std::to_string(kib) + "; exec \"$tlmalloc\" " +
                                                 command + " '" + configs + "npu_small.yaml'");
            BOOST_CHECK_MESSAGE(run.status == 0 || !run.err.empty(), command << " in " << kib << " KiB");
        }
}
