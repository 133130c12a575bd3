// `tlmalloc traffic`: one pseudo-channel under a trace or a pattern.
#include "platform/command_line.hpp"

#include <regex>
#include <sstream>

namespace {

const std::string timing = TLMALLOC_SOURCE_DIR "/configs/timing/";
const std::string header = "time_ps,op,addr,bytes\n";

// The report without what depends on the host or names the input.
std::string comparable(const std::string &json) {
    return std::regex_replace(json, std::regex(" *\"(requests_per_host_s|config|trace|pattern|seed)\": [^\n]*\n"), "");
}

double number(const std::string &json, const std::string &key) {
    std::smatch match;
    BOOST_REQUIRE_MESSAGE(std::regex_search(json, match, std::regex("\"" + key + "\": ([-0-9.e+]+)")), key);
    return std::stod(match[1]);
}

} // namespace

BOOST_AUTO_TEST_CASE(traffic_reports_what_the_issue_lists) {
    scratch_directory scratch;
    const std::string path = scratch.path("report.json");
    command_result run =
        run_tlmalloc({"traffic", timing + "hbm2.yaml", "--pattern", "rand_rd1", "--count", "100000", "--json", path});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(run.err, "");
    const std::string json = read_text(path);
    // reference runs: 6.88 .. 7.39 GB/s, 137.5 .. 148.7 ns
    BOOST_CHECK_CLOSE(number(json, "bandwidth_gb_s"), 7.14, 5);
    BOOST_CHECK_CLOSE(number(json, "share_of_peak"), 7.14 / 16, 5);
    BOOST_CHECK_CLOSE(number(json, "latency_mean_ns"), 142.9, 5);
    BOOST_CHECK_LT(number(json, "latency_p50_ns"), number(json, "latency_p99_ns"));
    BOOST_CHECK_EQUAL(number(json, "row_hits") + number(json, "row_misses") + number(json, "row_conflicts"), 100000);
    BOOST_CHECK_GT(number(json, "refreshes"), 100);
    BOOST_CHECK_GT(number(json, "requests_per_host_s"), 0);
}

BOOST_AUTO_TEST_CASE(traffic_is_the_same_again_and_from_a_trace) {
    scratch_directory scratch;
    // chase: its trace is a list of random addresses, read one at a time
    std::string trace = "# made by hand\n# window=3\n" + header;
    for (int i = 0; i < 500; i++)
        trace += "0,R," + std::to_string(i * 7919 % 100000 * 32) + ",32\n";
    const std::string plain = scratch.write("a.csv", trace), json = scratch.path("a.json");
    const auto report = [&](const std::vector<std::string> &more) {
        std::vector<std::string> words{"traffic", timing + "hbm3.yaml", plain, "--json", json};
        words.insert(words.end(), more.begin(), more.end());
        BOOST_REQUIRE_EQUAL(run_tlmalloc(words).status, 0);
        return comparable(read_text(json));
    };
    const std::string first = report({});
    BOOST_CHECK_EQUAL(first, report({}));
    BOOST_CHECK_EQUAL(first, report({"--window", "3"}));
    BOOST_CHECK_EQUAL(first, report({"--map", "m3"}));
    BOOST_CHECK_EQUAL(first, report({"--map=bg2,co5,ba2,ro14"}));
    BOOST_CHECK(first != report({"--window", "9"}));
    write_text(plain, "# window=65536\n" + trace.substr(trace.find(header))); // the largest
    BOOST_CHECK_EQUAL(report({}), report({"--window", "65536"}));
    write_text(plain, trace);
    BOOST_CHECK(first != report({"--map", "m1"}));
    BOOST_CHECK(first != report({"--set", "rp=27 tCK", "--set", "rc=72 tCK"}));
}

BOOST_AUTO_TEST_CASE(traffic_drives_a_channel_of_a_platform) {
    scratch_directory scratch;
    const std::string json = scratch.path("a.json");
    const auto share = [&](const std::string &config) {
        command_result run = run_tlmalloc({"traffic", config, "--pattern", "seq_wr", "--json", json});
        BOOST_CHECK_EQUAL(run.status, 0);
        return number(read_text(json), "bandwidth_gb_s");
    };
    // KernBench: 32 GB/s, nothing in the way
    BOOST_CHECK_CLOSE(share(TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml"), 32, 1e-6);
    BOOST_CHECK_CLOSE(share(timing + "kernbench.yaml"), 32, 1e-6);
}

BOOST_AUTO_TEST_CASE(traffic_drives_one_of_several_channels_with_traces_of_other_simulators) {
    scratch_directory scratch;
    const std::string json = scratch.path("a.json");
    std::string dramsys, dramsim3, ramulator;
    for (int i = 0; i < 400; i++) {
        std::ostringstream address;
        address << "0x" << std::hex << i * 7919 % 100000 * 32 + 0x100000000;
        dramsys += "0: read " + address.str() + "\n";
        dramsim3 += address.str() + " READ 0\n";
        ramulator += "LD " + address.str() + "\n";
    }
    const auto report = [&](const std::string &text, const char *part) {
        const std::string trace = scratch.write("trace.txt", text);
        const command_result run =
            run_tlmalloc({"traffic", timing + "hbm2.yaml", trace, "--select", part, "--json", json});
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        return comparable(read_text(json));
    };
    double reads = 0;
    for (const char *part : {"0/4", "1/4", "2/4", "3/4"}) {
        BOOST_CHECK_EQUAL(report(dramsys, part), report(ramulator, part));
        BOOST_CHECK_EQUAL(report(dramsys, part), report(dramsim3, part));
        reads += number(read_text(json), "reads");
        BOOST_CHECK_EQUAL(number(read_text(json), "reads") + number(read_text(json), "left_out"), 400);
    }
    BOOST_CHECK_EQUAL(reads, 400);
    report(dramsim3, "0/1");
    BOOST_CHECK_EQUAL(number(read_text(json), "reads"), 400);
}

BOOST_AUTO_TEST_CASE(traffic_counts_payload_and_the_bytes_of_the_data_bus) {
    scratch_directory scratch;
    const std::string json = scratch.path("a.json");
    for (const auto &[name, bus] : {std::pair{"hbm2", 32}, {"lpddr6", 36}}) {
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc({"traffic", timing + name + ".yaml", "--pattern", "seq_rd", "--count", "1000", "--json", json})
                .status,
            0);
        BOOST_CHECK_EQUAL(number(read_text(json), "bus_bytes"), number(read_text(json), "reads") * bus);
        BOOST_CHECK_LE(number(read_text(json), "share_of_peak"), 1);
    }
}

BOOST_AUTO_TEST_CASE(traffic_drives_the_profile_that_a_platform_names) {
    scratch_directory scratch;
    const std::string json = scratch.path("a.json");
    const auto report = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "traffic");
        words.insert(words.end(), {"--pattern", "rand_rd1", "--count", "5000", "--json", json});
        BOOST_REQUIRE_EQUAL(run_tlmalloc(words).status, 0);
        return comparable(read_text(json));
    };
    const std::string platform = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";
    BOOST_CHECK_EQUAL(report({platform, "--set", "hbm.timing=hbm3"}), report({timing + "hbm3.yaml"}));
    BOOST_CHECK_EQUAL(report({platform, "--set", "hbm.timing=hbm2", "--map", "m1"}),
                      report({timing + "hbm2.yaml", "--map", "m1"}));
}

BOOST_AUTO_TEST_CASE(traffic_names_the_place_of_bad_input) {
    scratch_directory scratch;
    const struct {
        const char *text, *finding;
    } cases[] = {
        {"time_ps,op,addr,bytes\n0,R,0,32\n0,X,0,32\n", ":3:3: found 'X', expected R or W"},
        {"# window=8\ntime_ps,op,addr,bytes\n0,R,0,0\n", ":3:7: found '0', expected a number of bytes, 1 .. "},
        {"# window=2\n#\n# window=3\ntime_ps,op,addr,bytes\n0,R,0,32\n",
         ":3:1: found the window again, expected it once"},
        {"# window=2\n", ":2:1: found the end of the file, expected the header line time_ps,op,addr,bytes"},
        {"# window=x\ntime_ps,op,addr,bytes\n0,R,0,32\n", ":1:10: found 'x', expected a window"},
        {"# window=65537\ntime_ps,op,addr,bytes\n0,R,0,32\n", ":1:10: found '65537', expected a window, 0 .. 65536"},
        {"time_ps,op,addr,bytes\n5,R,0,32\n4,R,0,32\n", ":3:1: found '4', expected a time not before the previous"},
        {"time_ps,op,addr,bytes\n0,R,0,32\n18446744073709551615,R,0,32\n",
         ":3:1: found '18446744073709551615', expected a time in ps, 0 .. 2^63 - 1"},
        {"time_ps,op,addr,bytes\n9223372036854775807,R,0,32\n", ": the traffic ends after 2^63 ps: reduce it"},
        {"time_ps,op,addr,bytes\n0,R,268435456,32\n", ":2:5: found '268435456', expected a decimal address below"},
        {"time_ps,op,addr,bytes\n0,R,268435440,32\n", ":2:15: found '32', expected a number of bytes, 1 .. 16"},
        {"time_ps,op,addr,bytes\n0,R,0\n", ":2:6: found 3 columns, expected 4"},
        {"time_ps,op,addr,bytes\n0,R,-1,32\n", ":2:5: found '-1'"},
        {"time_ps,op,addr,bytes\n0,R,0,32\n\n0,R,0,32\n", ":3:1: found 1 column, expected 4"},
        {"time_ps,op,addr\n", ":1:1: found 'time_ps,op,addr', expected the header line"},
        {"LOAD 0x40\n",
         ":1:1: found 'LOAD 0x40', expected the header line time_ps,op,addr,bytes, or an access of DRAMSys (31: read "
         "0x400140), DRAMsim3 (0x400140 READ 31) or Ramulator (LD 0x400140)"},
        {"time_ps,op,addr,bytes\n", ":1:1: found no access"},
        {"", ":1:1: the file is empty"},
    };
    for (const auto &c : cases) {
        const std::string path = scratch.write("bad.csv", c.text);
        command_result run = run_tlmalloc({"traffic", timing + "hbm2.yaml", path, "--json", scratch.path("no.json")});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_MESSAGE(contains(run.err, path + c.finding), run.err);
        BOOST_CHECK(!std::filesystem::exists(scratch.path("no.json")));
    }
}

BOOST_AUTO_TEST_CASE(traffic_rejects_contradictions_and_bad_command_lines) {
    const std::string hbm2 = timing + "hbm2.yaml";
    const struct {
        std::vector<std::string> arguments;
        const char *finding;
    } cases[] = {
        {{hbm2, "--pattern", "seq_rd", "--map", "bg2,co5,ba2,ro13"}, "loses a bit"},
        {{hbm2, "--pattern", "seq_rd", "--map", "bg2,co5,ba2,ro14,ro1"}, "doubles a bit"},
        {{hbm2, "--pattern", "seq_rd", "--map", "bg2;co5"}, "character 4"},
        {{hbm2, "--pattern", "seq_rd", "--set", "rc=41 tCK"}, "rc 41 is less than ras 28 + rp 14"},
        {{hbm2, "--pattern", "seq"}, "--pattern: found 'seq'"},
        {{hbm2, "a.csv", "--select", "4/4"}, "--select: found '4/4', expected I/N"},
        {{hbm2, "a.csv", "--select", "1"}, "--select: found '1', expected I/N"},
        {{hbm2, "a.csv", "--select", "0/4x"}, "--select: found '0/4x', expected I/N"},
        {{hbm2, "--pattern", "seq_rd", "--select", "0/4"}, "--select needs a TRACE"},
        {{hbm2, "--pattern", "seq_rd", "--window", "many"}, "--window: found 'many'"},
        {{hbm2, "--pattern", "seq_rd", "--count", "0"}, "--count: found '0'"},
        {{hbm2, "--pattern", "chase", "--count", "7"}, "--count is too small"},
        {{"a.csv"},
         "'a.csv' is read as CONFIG, but a TRACE is missing: add a TRACE or --pattern NAME after it; if it is the "
         "TRACE, put a CONFIG before it"},
        {{hbm2, "a.csv", "--seed", "3"}, "--seed and --count need --pattern"},
        {{hbm2, "a.csv", "--pattern", "seq_rd"}, "TRACE and --pattern exclude"},
        {{}, "expected a CONFIG"},
        {{"--reference", hbm2}, "--reference excludes arguments and all other options"},
        {{"--reference", "--json", "a.json"}, "--reference excludes arguments and all other options"},
        {{TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--pattern", "seq_rd", "--map", "m1"}, "has no banks"},
        {{TLMALLOC_SOURCE_DIR "/configs/timing/flat.yaml", "--pattern", "seq_rd"},
         "bursts take no time (burst_cycles is 0 tCK)"},
        {{TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--pattern", "seq_rd", "--set", "hbm.timing=flat"},
         "use a timing profile with a bandwidth"},
    };
    for (const auto &c : cases) {
        std::vector<std::string> words{"traffic"};
        words.insert(words.end(), c.arguments.begin(), c.arguments.end());
        command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, c.finding), run.err);
    }
    BOOST_CHECK_EQUAL(run_tlmalloc({"traffic", hbm2, "/no/such/trace.csv"}).status, 1);
    BOOST_CHECK_EQUAL(run_tlmalloc({"traffic", "/no/such.yaml", "a.csv"}).status, 1);
}

BOOST_AUTO_TEST_CASE(the_timing_reference_stands_in_its_readme) {
    command_result run = run_tlmalloc({"traffic", "--reference"});
    BOOST_CHECK_EQUAL(run.status, 0);
    const std::string readme = read_text(timing + "README.md");
    BOOST_REQUIRE(run.out.size() > 1000 && run.out.size() < readme.size());
    BOOST_CHECK_EQUAL(readme.substr(readme.size() - run.out.size()), run.out);
}
