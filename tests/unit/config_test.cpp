// Configurations: what is refused and where, what is resolved, and that what is printed reads back.
#include "tlmalloc/config.h"

#include "model/config/schema.h"
#include "tlmalloc/phys_addr.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using std::string;

namespace {

using strings = std::vector<string>;

void collect(void *context, const tla_config_finding *f) {
    std::ostringstream line;
    line << f->file << ':' << f->line << ':' << f->column << ": " << f->text;
    BOOST_CHECK(std::strchr(f->text, '\n') == nullptr);
    static_cast<strings *>(context)->push_back(line.str());
}

struct result {
    tla_status status;
    tla_config config;
    strings findings;
};

result parse(const string &text, const strings &overrides = {}) {
    std::vector<const char *> set;
    for (const string &o : overrides)
        set.push_back(o.c_str());
    result r{};
    std::memset(&r.config, 0x5a, sizeof r.config);
    // An exact copy on the heap, so that the address sanitizer sees a read past the end.
    std::unique_ptr<char[]> copy(new char[text.size()]);
    std::memcpy(copy.get(), text.data(), text.size());
    r.status = tla_config_parse(copy.get(), text.size(), "f", set.data(), set.size(), &r.config, collect, &r.findings);
    BOOST_CHECK_EQUAL(r.status == TLA_OK, r.findings.empty());
    if (r.status != TLA_OK) // untouched
        for (size_t i = 0; i < sizeof r.config; i++)
            BOOST_REQUIRE_EQUAL(reinterpret_cast<const unsigned char *>(&r.config)[i], 0x5a);
    return r;
}

void check_findings(const string &text, const strings &expected, const strings &overrides = {}) {
    result r = parse(text, overrides);
    BOOST_CHECK_EQUAL(r.status, TLA_SYNTAX);
    BOOST_CHECK_EQUAL_COLLECTIONS(r.findings.begin(), r.findings.end(), expected.begin(), expected.end());
}

tla_config good(const string &text, const strings &overrides = {}) {
    result r = parse(text, overrides);
    BOOST_CHECK_MESSAGE(r.status == TLA_OK, text << ": " << (r.findings.empty() ? "" : r.findings[0]));
    return r.config;
}

template <typename Print>
string printed(Print print) {
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    BOOST_REQUIRE_EQUAL(print(out), TLA_OK);
    std::fclose(out);
    string result(text, length);
    std::free(text);
    return result;
}

string printed(const tla_config &config) {
    return printed([&](FILE *out) { return tla_config_print(&config, out); });
}

string file_text(const string &path) {
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file, path);
    return {std::istreambuf_iterator<char>(file), {}};
}

const string configs = TLMALLOC_SOURCE_DIR "/configs/";

} // namespace

BOOST_AUTO_TEST_CASE(an_empty_file_gives_the_defaults) {
    for (const char *text : {"", "---\n", "# nothing\n", "hbm:\n"}) {
        tla_config c = good(text);
        BOOST_CHECK_EQUAL(c.system.pes_per_cube, 4u);
        BOOST_CHECK_EQUAL(c.hbm.capacity_per_cube, UINT64_C(24) << 30);
        BOOST_CHECK_EQUAL(c.mmu.overhead, 500u);
        BOOST_CHECK_EQUAL(c.controller.cost.fixed_ps, 10000u);
        BOOST_CHECK_EQUAL(c.pe.gemm_rate, 8000000000000u);
        BOOST_CHECK_EQUAL(c.workload.kernel, "qkv_gemm");
        BOOST_CHECK_EQUAL(c.mmu.unmapped, TLA_UNMAPPED_ERROR);
    }
    tla_config c{};
    BOOST_CHECK_EQUAL(tla_config_load(nullptr, nullptr, 0, &c, nullptr, nullptr), TLA_OK);
    tla_config empty = good("");
    BOOST_CHECK(std::memcmp(&c, &empty, sizeof c) == 0);
}

BOOST_AUTO_TEST_CASE(every_unit_has_its_factor) {
    const uint64_t k = 1000, ki = 1024;
    const std::vector<std::pair<string, uint64_t>> sizes{{"1 B", 1},
                                                         {"1 KiB", ki},
                                                         {"1 MiB", ki * ki},
                                                         {"1 GiB", ki * ki * ki},
                                                         {"1 KB", k},
                                                         {"1 MB", k * k},
                                                         {"1 GB", k * k * k},
                                                         {"1 TB", k * k * k * k},
                                                         {"1.5 KiB", 1536},
                                                         {"0.5KiB", 512},
                                                         {"0.001 KB", 1},
                                                         {"1.500 KiB", 1536},
                                                         {"007 B", 7},
                                                         {"1 TiB", ki * ki * ki * ki},
                                                         {"16777215.99999904632568359375 TiB", 0},
                                                         {"18446744073709551615 B", UINT64_MAX}};
    for (const auto &[text, nbytes] : sizes) {
        uint64_t value = 0;
        tla_error error;
        tla_status status = tla_parse_size(text.c_str(), &value, &error);
        if (nbytes)
            BOOST_CHECK_MESSAGE(status == TLA_OK && value == nbytes, text << " gave " << value);
        else
            BOOST_CHECK_EQUAL(status, TLA_SYNTAX); // more digits than 2^64 has
    }
    tla_config c = good("tcm: {latency: 1 us, read_bandwidth: 1 GiB/s, write_bandwidth: 1 TB/s}\n"
                        "pe: {launch: 0.000001 s, dispatch: 0.25 ns, gemm_rate: 1.5 GFLOPS}\n"
                        "fabric: {pe_latency: 0.001 ms, hbm_latency: 7 ps}\n"
                        "hbm: {pseudo_channel_bandwidth: 25.6 GB/s}\n");
    BOOST_CHECK_EQUAL(c.tcm.latency, 1000000u);
    BOOST_CHECK_EQUAL(c.tcm.read_bandwidth, ki * ki * ki);
    BOOST_CHECK_EQUAL(c.tcm.write_bandwidth, k * k * k * k);
    BOOST_CHECK_EQUAL(c.pe.launch, 1000000u);
    BOOST_CHECK_EQUAL(c.pe.dispatch, 250u);
    BOOST_CHECK_EQUAL(c.pe.gemm_rate, 1500000000u);
    BOOST_CHECK_EQUAL(c.fabric.pe_latency, 1000000u);
    BOOST_CHECK_EQUAL(c.fabric.hbm_latency, 7u);
    BOOST_CHECK_EQUAL(c.hbm.pseudo_channel_bandwidth, 25600000000u); // HBM3 per pseudo-channel
}

BOOST_AUTO_TEST_CASE(a_size_that_is_none_says_what_was_expected) {
    const std::vector<std::pair<const char *, const char *>> bad{
        {"", "found \"\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"},
        {"6", "found \"6\", which has no unit, expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"},
        {"6 gib", "found \"6 gib\" with the unknown unit \"gib\", expected a size with a unit (B, KiB, MiB, GiB, TiB, "
                  "KB, MB, GB, TB)"},
        {"6. B",
         "found \"6. B\" with the unknown unit \". B\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, "
         "MB, GB, TB)"},
        {"-6 B", "found \"-6 B\", expected a size that is not negative"},
        {"0.5 B", "found \"0.5 B\", expected a whole number of bytes"},
        {"0.0001 KB", "found \"0.0001 KB\", expected a whole number of bytes"},
        {"18446744073709551616 B",
         "found \"18446744073709551616 B\", expected at most 20 digits and less than 2^64 bytes"},
        {"16777216 TiB", "found \"16777216 TiB\", expected at most 20 digits and less than 2^64 bytes"},
        {"B", "found \"B\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"}};
    for (const auto &[text, message] : bad) {
        uint64_t value = 77;
        tla_error error;
        BOOST_CHECK_EQUAL(tla_parse_size(text, &value, &error), TLA_SYNTAX);
        BOOST_CHECK_EQUAL(error.text, message);
        BOOST_CHECK_EQUAL(value, 77u);
    }
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_found_with_what_was_meant) {
    check_findings(
        "sytem: {sips: 1}\n"
        "hbm:\n"
        "  brust: 256 B\n"
        "  frequency: 1\n"
        "mmu:\n"
        "  cost:\n"
        "    pte_wirte: 1 ns\n"
        "    node: 1 ns\n"
        "zzz: [1, {a: 2}]\n",
        {"f:1:1: unknown key \"sytem\", did you mean \"system\"?",
         "f:3:3: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?", "f:4:3: unknown key \"hbm.frequency\"",
         "f:7:5: unknown key \"mmu.cost.pte_wirte\", did you mean \"mmu.cost.pte_write\"?",
         "f:8:5: unknown key \"mmu.cost.node\", did you mean \"va.cost.node\"?", "f:9:1: unknown key \"zzz\""});
}

BOOST_AUTO_TEST_CASE(a_key_written_twice_is_found) {
    check_findings("hbm:\n  burst: 256 B\n  burst: 512 B\nmmu: {cost: {chunk: 1 ns}}\nhbm: {burst: 1 B}\n",
                   {"f:3:3: hbm.burst: found the key again, expected it once (line 2)",
                    "f:5:1: hbm: found the key again, expected it once (line 1)"});
    // A value that was bad has still been written.
    check_findings("hbm:\n  burst: 3 B\n  burst: 512 B\n",
                   {"f:2:10: hbm.burst: found \"3 B\", expected a power of two",
                    "f:3:3: hbm.burst: found the key again, expected it once (line 2)"});
}

BOOST_AUTO_TEST_CASE(missing_and_unknown_units_are_found) {
    check_findings(
        "hbm:\n  direction_switch: 0\n  burst: 256 Bytes\n  pseudo_channels: 8 B\n"
        "pe: {gemm_rate: 8 TB/s}\ndma:\n    bandwidth:   256GB\n",
        {"f:2:21: hbm.direction_switch: found \"0\", which has no unit, expected a time with a unit (ps, ns, us, "
         "ms, s)",
         "f:3:10: hbm.burst: found \"256 Bytes\" with the unknown unit \"Bytes\", expected a size with a unit "
         "(B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)",
         "f:4:20: hbm.pseudo_channels: found \"8 B\", expected an integer without a unit",
         "f:5:17: pe.gemm_rate: found \"8 TB/s\" with the unknown unit \"TB/s\", expected a rate with a unit "
         "(GFLOPS, TFLOPS)",
         "f:7:18: dma.bandwidth: found \"256GB\" with the unknown unit \"GB\", expected a bandwidth with a unit "
         "(B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s)"});
}

BOOST_AUTO_TEST_CASE(wrong_types_are_found) {
    check_findings(
        "system:\n"
        "  sips: two\n"
        "  pes_per_cube: 1.5\n"
        "hbm: 3 GiB\n"
        "tcm: [16 MiB]\n"
        "mmu:\n"
        "  page_size: [4 KiB, 2 MiB]\n"
        "  allow_remap: yes\n"
        "  unmapped: fault\n"
        "  ports: {}\n"
        "  queue_depth:\n"
        "workload: {kernel: 'a b', seed: -1, elements_per_pe: \"1\\0\"}\n"
        "controller: {hbm_policy: first-fit}\n",
        {"f:2:9: system.sips: found \"two\", expected an integer without a unit",
         "f:3:17: system.pes_per_cube: found \"1.5\", expected an integer without a unit",
         "f:4:6: hbm: found \"3 GiB\", expected a mapping with keys such as hbm.capacity_per_cube",
         "f:5:6: tcm: found a sequence, expected a mapping with keys such as tcm.capacity",
         "f:7:14: mmu.page_size: found a sequence, expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, "
         "GB, TB)",
         "f:8:16: mmu.allow_remap: found \"yes\", expected false or true",
         "f:9:13: mmu.unmapped: found \"fault\", expected error or pa_fallback or demand",
         "f:10:10: mmu.ports: found a mapping, expected an integer without a unit",
         "f:11:15: mmu.queue_depth: found nothing, expected an integer without a unit",
         "f:12:20: workload.kernel: found \"a b\", expected a name of letters, digits and _, at most 63 long",
         "f:12:33: workload.seed: found \"-1\", expected an integer that is not negative",
         "f:12:54: workload.elements_per_pe: found a text with a NUL character, expected an integer without a "
         "unit",
         string("f:13:26: controller.hbm_policy: found \"first-fit\", expected ") +
             tla_value_expected(TLA_VALUE_POLICY).text + ", did you mean \"first_fit\"?"});
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_found) {
    check_findings(
        "system: {pes_per_cube: 0, sips: 17}\n"
        "hbm: {burst: 100 B, capacity_per_cube: 129 GiB, pseudo_channel_bandwidth: 0 B/s, pseudo_channels: 6}\n"
        "tcm: {capacity: 513 MiB, latency: -1 ns}\n"
        "mmu: {page_size: 2 KiB}\n"
        "dma: {chunk: 0 B, outstanding: 0}\n"
        "workload: {seed: 18446744073709551616}\n",
        {"f:1:24: system.pes_per_cube: found \"0\", expected 1 .. 16",
         "f:1:33: system.sips: found \"17\", expected 1 .. 16",
         "f:2:14: hbm.burst: found \"100 B\", expected a power of two",
         "f:2:40: hbm.capacity_per_cube: found \"129 GiB\", expected 4 KiB .. 128 GiB",
         "f:2:75: hbm.pseudo_channel_bandwidth: found \"0 B/s\", expected 1 MB/s .. 1000 TB/s",
         "f:2:99: hbm.pseudo_channels: found \"6\", expected a power of two",
         "f:3:17: tcm.capacity: found \"513 MiB\", expected 1 KiB .. 512 MiB",
         "f:3:35: tcm.latency: found \"-1 ns\", expected a time that is not negative",
         "f:4:18: mmu.page_size: found \"2 KiB\", expected 4 KiB .. 1 GiB",
         "f:5:14: dma.chunk: found \"0 B\", expected 1 B .. 1 GiB",
         "f:5:32: dma.outstanding: found \"0\", expected 1 .. 65536",
         "f:6:18: workload.seed: found \"18446744073709551616\", expected an integer below 2^64"});
}

BOOST_AUTO_TEST_CASE(rules_between_keys_are_checked_where_the_key_was_written) {
    check_findings("system: {cube_mesh_height: 5, cube_mesh_width: 4}\n",
                   {"f:1:48: found 4 x 5 cubes, expected cube_mesh_width * cube_mesh_height of at most 16"});
    check_findings("system: {pes_per_cube: 7}\n",
                   {"f:1:24: found 24 GiB for 7 PEs, expected hbm.capacity_per_cube to be a "
                    "multiple of system.pes_per_cube"});
    check_findings("tcm: {capacity: 1 MiB}\n",
                   {"f:1:17: found 1 MiB of 1 MiB, expected tcm.scheduler_reserve below tcm.capacity"});
    check_findings("tcm:\n  capacity: 1 MiB\n  scheduler_reserve: 2 MiB\n",
                   {"f:3:22: found 2 MiB of 1 MiB, expected tcm.scheduler_reserve below tcm.capacity"});
    check_findings("faults: {plan: refuse; channel_out channel=8}\n",
                   {"f:1:16: found a fault of pseudo-channel 8, expected 0 .. 7"});
    check_findings("faults: {plan: channel_out channel=1 bank=0}\n",
                   {"f:1:16: found a fault of bank 0, expected an hbm.timing that has banks"});
    check_findings("hbm: {timing: hbm2}\nfaults: {plan: channel_out channel=1 bank=16}\n",
                   {"f:2:16: found a fault of bank 16, expected 0 .. 15"});
    check_findings("faults:\n  plan: correctable pe=4\n", {"f:2:9: found a fault of PE 4, expected 0 .. 3"});
    check_findings("faults: {plan: uncorrectable address=6442450944}\n",
                   {"f:1:16: found a fault at byte 6442450944 of a slice of 6 GiB"});
    check_findings("faults: {plan: corectable}\n",
                   {"f:1:16: faults.plan: found \"corectable\", expected a fault: correctable, uncorrectable, "
                    "channel_out or refuse"});
    check_findings("controller: {free_list: hbm, hbm_policy: buddy}\n",
                   {"f:1:25: found a free list in memory with buddy, expected first_fit, best_fit, next_fit or "
                    "worst_fit"});
    check_findings("hbm: {capacity_per_cube: 4 MiB}\ncontroller: {free_list: hbm}\n",
                   {"f:2:25: found 1 MiB of a slice of 1 MiB, expected controller.list_reserve below it"});
    check_findings("va: {base: 5 KiB, size: 65 KiB, page_size: 64 KiB}\n",
                   {"f:1:12: found va.base 5 KiB, expected a multiple of va.page_size, 64 KiB",
                    "f:1:25: found va.size 65 KiB, expected a multiple of va.page_size, 64 KiB"});
    check_findings("mmu: {page_size: 1 GiB}\nva: {size: 0.5 GiB}\n",
                   {"f:2:12: found va.size 512 MiB, expected a multiple of va.page_size, 1 GiB"});
    // A rule is not checked when what it reads has had its finding, or when the file was not read to its end.
    check_findings("tcm: {capacity: 0 B, scheduler_reserve: 500 MiB}\n",
                   {"f:1:17: tcm.capacity: found \"0 B\", expected 1 KiB .. 512 MiB"});
    check_findings("system: {pes_per_cube: 7}\n]",
                   {"f:2:1: not YAML: did not find expected key, while parsing a block mapping"});
}

BOOST_AUTO_TEST_CASE(what_is_not_yaml_is_found_with_its_place) {
    check_findings("hbm: {burst: 256 B\n",
                   {"f:2:1: not YAML: did not find expected ',' or '}', while parsing a flow mapping"});
    check_findings("hbm:\n\tburst: 256 B\n",
                   {"f:2:1: not YAML: found character that cannot start any token, while scanning for the next token: "
                    "found a tab in the indentation, did you mean spaces?"});
    check_findings("workload:\n  kernel: 'abc\n",
                   {"f:3:1: not YAML: found unexpected end of stream, while scanning a quoted scalar"});
    check_findings("hbm:\n  burst: \xff\n", {"f:2:10: not YAML: invalid leading UTF-8 octet (found 0xff)"});
    check_findings("# \xc3\xa9\xc3", {"f:1:4: not YAML: incomplete UTF-8 octet sequence"});
    check_findings(string("# \xc3\xa9\nhb\0m: 1\n", 14),
                   {"f:2:3: not YAML: control characters are not allowed (found 0x00)"});
    check_findings("a\r\nb\rc\x01", {"f:3:2: not YAML: control characters are not allowed (found 0x01)"});
    // Findings before a syntax error are reported too.
    check_findings("hbm:\n  brust: 1 B\n  burst: {\n",
                   {"f:2:3: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?",
                    "f:3:10: hbm.burst: found a mapping, expected a size with a unit "
                    "(B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)",
                    "f:4:1: not YAML: did not find expected node content, while "
                    "parsing a flow node"});
}

BOOST_AUTO_TEST_CASE(yaml_that_means_nothing_here_is_refused) {
    check_findings("- 1\n- 2\n", {"f:1:1: found a sequence, expected a mapping of sections"});
    check_findings("\n  text\n", {"f:2:3: found \"text\", expected a mapping of sections"});
    check_findings("*a\n", {"f:1:1: found the alias \"a\", expected a mapping of sections"});
    check_findings("hbm: {burst: 256 B}\n---\nhbm: {}\n", {"f:2:1: found a second document, expected one"});
    check_findings(
        "hbm: &x {burst: !!str 256 B}\ntcm: *x\nmmu: {page_size: *y}\n",
        {"f:1:6: found the anchor \"x\", expected none",
         "f:1:17: found the tag \"tag:yaml.org,2002:str\", expected none",
         "f:2:6: tcm: found the alias \"x\", expected a mapping with keys such as tcm.capacity",
         "f:3:18: mmu.page_size: found the alias \"y\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, "
         "MB, GB, TB)"});
    check_findings(
        "a: &a [*a, *a]\n<<: *a\n",
        {"f:1:1: unknown key \"a\"", "f:1:4: found the anchor \"a\", expected none", "f:2:1: unknown key \"<<\""});
    check_findings("? [a, b]\n: c\n", {"f:1:3: found a sequence, expected a key"});
    check_findings("? &k hbm\n: {burst: 256 B}\n", {"f:1:3: found the anchor \"k\", expected none"});
    check_findings("hbm.burst: 256 B\n", {"f:1:1: found the key \"hbm.burst\", expected sections as nested mappings"});
}

BOOST_AUTO_TEST_CASE(hostile_texts_are_shown_on_one_short_line) {
    check_findings(
        "workload: {kernel: \"a\\nb\\x01\"}\n",
        {"f:1:20: workload.kernel: found \"a\\x0ab\\x01\", expected a name of letters, digits and _, at most 63 "
         "long"});
    check_findings("workload: {kernel: " + string(100, 'k') + "}\n",
                   {"f:1:20: workload.kernel: found \"" + string(48, 'k') +
                    "...\", expected a name of letters, digits and _, at most 63 long"});
    check_findings(string(47, 'k') + "\xe2\x82\xac\xe2\x82\xac: 1\n",
                   {"f:1:1: unknown key \"" + string(47, 'k') + "\xe2\x82\xac...\""});
    BOOST_CHECK_EQUAL(good("workload: {kernel: " + string(63, 'k') + "}\n").workload.kernel, string(63, 'k'));
    check_findings(string(1 << 20, '['), {"f:1:1: found a sequence, expected a mapping of sections",
                                          "f:1:33: found more than 32 levels in one another, expected a few"});
    BOOST_CHECK_EQUAL(parse(string(1 << 20, '{')).status, TLA_SYNTAX);
    string keys;
    for (int i = 0; i < 5000; i++)
        keys += "key_" + std::to_string(i) + ": 1\n";
    BOOST_CHECK_EQUAL(parse(keys).findings.size(), 5000u);
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_and_crlf_do_not_shift_places) {
    check_findings("\xef\xbb\xbfhbm:\r\n  burst: 3 B\r\n",
                   {"f:2:10: hbm.burst: found \"3 B\", expected a power of two"});
    check_findings("\xef\xbb\xbfhmb:\n", {"f:1:1: unknown key \"hmb\", did you mean \"hbm\"?"});
}

BOOST_AUTO_TEST_CASE(overrides_win_and_the_last_one_most) {
    tla_config c = good("hbm: {burst: 256 B}\n",
                        {"hbm.burst=512 B", "hbm.burst = 1KiB ", "workload.kernel=a", "controller.cost.node=0.5 ns"});
    BOOST_CHECK_EQUAL(c.hbm.burst, 1024u);
    BOOST_CHECK_EQUAL(c.workload.kernel, "a");
    BOOST_CHECK_EQUAL(c.controller.cost.node_ps, 500u);
}

BOOST_AUTO_TEST_CASE(bad_overrides_are_found_and_quoted) {
    check_findings("",
                   {"--set:0:0: \"hbm.burst=100 B\": hbm.burst: found \"100 B\", expected a power of two",
                    "--set:0:0: \"hbm.burst\": expected KEY=VALUE, such as \"hbm.burst=256 B\"",
                    "--set:0:0: \"hbm=1\": found a section, expected one of its keys, such as hbm.capacity_per_cube",
                    "--set:0:0: \"=\": unknown key \"\"",
                    "--set:0:0: \"hbm.brust=1 B\": unknown key \"hbm.brust\", did you mean \"hbm.burst\"?",
                    "--set:0:0: \"system.pes_per_cube=0\": system.pes_per_cube: found \"0\", expected 1 .. 16"},
                   {"hbm.burst=100 B", "hbm.burst", "hbm=1", "=", "hbm.brust=1 B", "system.pes_per_cube=0"});
    // A rule that an override breaks is that override's; what the file says wrong stays wrong.
    check_findings(
        "tcm: {scheduler_reserve: 4 KiB, capacity: 8 KiB, latency: 3}\n",
        {"f:1:59: tcm.latency: found \"3\", which has no unit, expected a time with a unit (ps, ns, us, ms, s)",
         "--set:0:0: \"tcm.scheduler_reserve=8 KiB\": found 8 KiB of 8 KiB, expected tcm.scheduler_reserve below "
         "tcm.capacity"},
        {"tcm.scheduler_reserve=8 KiB", "tcm.latency=3 ns"});
}

// ADR-0048 D4: class default 2 MiB, context fallback 4 KiB, and a page size that is written goes to both.
BOOST_AUTO_TEST_CASE(the_page_size_has_the_two_defaults_of_adr_0048_d4) {
    const uint64_t kib = 1024, mib = 1024 * kib;
    tla_config c = good("");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 2 * mib);
    BOOST_CHECK_EQUAL(c.va.page_size, 4 * kib);
    c = good("mmu: {page_size: 64 KiB}\n");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 64 * kib);
    BOOST_CHECK_EQUAL(c.va.page_size, 64 * kib);
    c = good("", {"mmu.page_size=2 MiB"});
    BOOST_CHECK_EQUAL(c.va.page_size, 2 * mib);
    c = good("mmu: {page_size: 64 KiB}\nva: {page_size: 8 KiB}\n");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 64 * kib);
    BOOST_CHECK_EQUAL(c.va.page_size, 8 * kib);
}

BOOST_AUTO_TEST_CASE(every_default_is_valid_and_every_key_has_its_own_member) {
    for (size_t i = 0; i < TLA_PLATFORM_KEYS; i++) {
        const tla_schema_key &k = tla_platform_keys[i];
        tla_value value;
        tla_error error;
        BOOST_REQUIRE_MESSAGE(tla_value_parse(k.type, k.default_text, &value, &error) == TLA_OK, k.key);
        BOOST_CHECK(*k.source && *k.meaning);
        BOOST_CHECK(!std::strchr(k.source, '|') && !std::strchr(k.meaning, '|')); // would break the Markdown table
        for (size_t j = 0; j < i; j++) {
            BOOST_CHECK_MESSAGE(k.offset != tla_platform_keys[j].offset, k.key);
            BOOST_CHECK_MESSAGE(std::strcmp(k.key, tla_platform_keys[j].key) != 0, k.key);
        }
        // A section is known by its first key, which must not lie in a sub-section as well.
        string path = k.key, section = path.substr(0, path.rfind('.'));
        if (section.find('.') != string::npos)
            BOOST_CHECK(tla_schema_find_section(&tla_platform_schema, section.c_str()) !=
                        tla_schema_find_section(&tla_platform_schema, section.substr(0, section.rfind('.')).c_str()));
    }
}

BOOST_AUTO_TEST_CASE(each_key_sets_the_member_it_names) {
    tla_config c = good("hbm: {pseudo_channels: 16}\nva: {size: 1 GiB, cost: {merge: 3 ps}}\n"
                        "mmu: {cost: {invalidate: 9 ps, chunk: 8 ps, table_level: 7 ps}}\n"
                        "controller: {cost: {insert_node: 1 ps, probe: 2 ps, split: 4 ps, metadata_line: 5 ps}}\n");
    BOOST_CHECK_EQUAL(c.hbm.pseudo_channels, 16u);
    BOOST_CHECK_EQUAL(c.va.size, 1u << 30);
    BOOST_CHECK_EQUAL(c.va.cost.merge_ps, 3u);
    BOOST_CHECK_EQUAL(c.mmu.cost.invalidate_ps, 9u);
    BOOST_CHECK_EQUAL(c.mmu.cost.chunk_ps, 8u);
    BOOST_CHECK_EQUAL(c.mmu.cost.table_level_ps, 7u);
    BOOST_CHECK_EQUAL(c.controller.cost.insert_node_ps, 1u);
    BOOST_CHECK_EQUAL(c.controller.cost.probe_ps, 2u);
    BOOST_CHECK_EQUAL(c.controller.cost.split_ps, 4u);
    BOOST_CHECK_EQUAL(c.controller.cost.metadata_line_ps, 5u);
}

BOOST_AUTO_TEST_CASE(what_is_printed_reads_back_to_the_same_configuration) {
    const unsigned seed = 20260101;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    auto up_to = [&](uint64_t max) { return max == UINT64_MAX ? random() : random() % (max + 1); };
    for (int round = 0; round < 2000; round++) {
        tla_config c{};
        for (size_t i = 0; i < TLA_PLATFORM_KEYS; i++) {
            const tla_schema_key &k = tla_platform_keys[i];
            tla_value value{};
            if (k.type == TLA_VALUE_NAME) {
                size_t length = 1 + up_to(TLA_CONFIG_NAME_MAX - 2);
                for (size_t n = 0; n < length; n++)
                    value.name[n] = "abcxyz_ABC0189"[up_to(13)];
            } else if (k.type == TLA_VALUE_TIMING) {
                std::strcpy(value.name, "channels");
            } else if (k.type == TLA_VALUE_FAULTS) {
                std::strcpy(value.name, up_to(1) ? "none" : "correctable rate=10 at=5us; refuse pe=0");
            } else if (k.power_of_two) {
                do
                    value.number = UINT64_C(1) << up_to(63);
                while (value.number < k.min || value.number > k.max);
            } else {
                // All magnitudes, and often a round number.
                value.number = k.min + up_to((k.max - k.min) >> up_to(63));
                uint64_t round_to[] = {1, 1, 1000, 1024, 1000000, 1 << 20, 1000000000, 1 << 30};
                uint64_t unit = round_to[up_to(7)];
                if (value.number > unit && value.number / unit * unit >= k.min)
                    value.number = value.number / unit * unit;
            }
            tla_schema_set(&tla_platform_keys[i], &c, &value);
        }
        c.mmu.pages_64k = c.mmu.page_size < 1 << 16 && c.mmu.pages_64k;
        c.mmu.pages_2m = c.mmu.page_size < 1 << 21 && c.mmu.pages_2m;
        c.mmu.pages_1g = c.mmu.page_size < 1 << 30 && c.mmu.pages_1g;
        c.mmu.va_bits = 64;
        c.workload.asid %= c.mmu.asids;
        for (tla_tlb_keys *tlb : {&c.mmu.tlb_l1, &c.mmu.tlb_l2}) { // two ways, of a power of two of sets
            while (tlb->entries & (tlb->entries - 1))
                tlb->entries &= tlb->entries - 1;
            tlb->ways = tlb->entries > 1 ? 2 : 0;
        }
        while (c.system.cube_mesh_width * c.system.cube_mesh_height > TLA_CUBE_DIE_COUNT)
            c.system.cube_mesh_width = 1;
        c.hbm.capacity_per_cube -= c.hbm.capacity_per_cube % c.system.pes_per_cube;
        if (c.hbm.capacity_per_cube < 4096) c.hbm.capacity_per_cube = 4096 * c.system.pes_per_cube;
        c.tcm.scheduler_reserve %= c.tcm.capacity;
        if (c.controller.list_reserve >= c.hbm.capacity_per_cube / c.system.pes_per_cube)
            c.controller.free_list = TLA_LIST_REGISTERS;
        if (c.controller.free_list != TLA_LIST_REGISTERS)
            c.controller.hbm_policy = c.controller.tcm_policy = TLA_FIRST_FIT + up_to(3);
        c.va.base -= c.va.base % c.va.page_size;
        c.va.size = std::max(c.va.size - c.va.size % c.va.page_size, c.va.page_size);
        string text = printed(c);
        tla_config back = good(text);
        BOOST_REQUIRE_MESSAGE(std::memcmp(&back, &c, sizeof c) == 0, text);
    }
}

BOOST_AUTO_TEST_CASE(each_visits_the_keys_in_order_with_text_and_number) {
    tla_config c = good("");
    struct row {
        string key, text;
        bool is_number;
        uint64_t number;
    };
    std::vector<row> rows;
    tla_config_each(
        &c,
        [](void *context, const char *key, const char *text, bool is_number, uint64_t number) {
            static_cast<std::vector<row> *>(context)->push_back({key, text, is_number, number});
        },
        &rows);
    BOOST_REQUIRE_EQUAL(rows.size(), size_t{TLA_PLATFORM_KEYS});
    BOOST_CHECK_EQUAL(rows[0].key, "system.sips");
    BOOST_CHECK_EQUAL(rows[0].text, "1");
    BOOST_CHECK(rows[0].is_number);
    auto find = [&](const string &key) {
        for (const row &r : rows)
            if (r.key == key) return r;
        BOOST_FAIL(key);
        return row{};
    };
    BOOST_CHECK_EQUAL(find("tcm.capacity").text, "16 MiB");
    BOOST_CHECK_EQUAL(find("tcm.capacity").number, 16u << 20);
    BOOST_CHECK_EQUAL(find("mmu.overhead").text, "500 ps");
    BOOST_CHECK_EQUAL(find("hbm.direction_switch").text, "0 ns");
    BOOST_CHECK_EQUAL(find("mmu.allow_remap").text, "false");
    BOOST_CHECK(!find("mmu.allow_remap").is_number);
    BOOST_CHECK_EQUAL(find("controller.hbm_policy").text, "first_fit");
    BOOST_CHECK_EQUAL(find("workload.kernel").text, "qkv_gemm");
    BOOST_CHECK(!find("workload.kernel").is_number);
}

BOOST_AUTO_TEST_CASE(the_small_configuration_is_one_cube_of_four_pes) {
    tla_config c{};
    strings findings;
    BOOST_CHECK_EQUAL(tla_config_load((configs + "npu_small.yaml").c_str(), nullptr, 0, &c, collect, &findings),
                      TLA_OK);
    BOOST_CHECK(findings.empty());
    BOOST_CHECK_EQUAL(c.system.sips * c.system.cube_mesh_width * c.system.cube_mesh_height, 1u);
    BOOST_CHECK_EQUAL(c.system.pes_per_cube, 4u);
    BOOST_CHECK_EQUAL(c.mmu.page_size, c.va.page_size);
}

BOOST_AUTO_TEST_CASE(kernbench_is_2_x_16_x_8_and_writes_every_key) {
    tla_config c{};
    strings findings;
    BOOST_CHECK_EQUAL(tla_config_load((configs + "kernbench.yaml").c_str(), nullptr, 0, &c, collect, &findings),
                      TLA_OK);
    BOOST_CHECK(findings.empty());
    BOOST_CHECK_EQUAL(c.system.sips * c.system.cube_mesh_width * c.system.cube_mesh_height * c.system.pes_per_cube,
                      256u);
    BOOST_CHECK_EQUAL(c.hbm.capacity_per_cube / c.system.pes_per_cube, UINT64_C(6) << 30); // ADR-0019: slices of 6 GiB
    BOOST_CHECK_EQUAL(c.va.base, UINT64_C(0x100000000));                                   // ADR-0048 D4
    BOOST_CHECK_EQUAL(c.va.size, UINT64_C(64) << 30);
    BOOST_CHECK_EQUAL(c.va.page_size, 4096u);
    // Every key but va.page_size, which follows mmu.page_size, is written with its source beside it.
    string text = file_text(configs + "kernbench.yaml");
    for (size_t i = 0; i < TLA_PLATFORM_KEYS; i++) {
        string key = tla_platform_keys[i].key;
        BOOST_CHECK_MESSAGE(
            text.find(" " + key.substr(key.rfind('.') + 1) + ": ") != string::npos || key == "va.page_size", key);
    }
}

BOOST_AUTO_TEST_CASE(a_timing_profile_is_named_or_stands_in_a_file) {
    BOOST_CHECK(!good("").hbm.has_profile);
    for (const char *name : {"hbm2", "hbm3", "kernbench"}) {
        const tla_config c = good(string("hbm: {timing: ") + name + "}");
        tla_hbm_config file{}, named{};
        const string path = configs + "timing/" + name + ".yaml";
        BOOST_REQUIRE_EQUAL(tla_timing_load(path.c_str(), nullptr, 0, &file, nullptr, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_timing_named(name, &named), TLA_OK);
        BOOST_CHECK(c.hbm.has_profile);
        BOOST_CHECK(std::memcmp(&c.hbm.profile, &file, sizeof file) == 0);
        BOOST_CHECK(std::memcmp(&named, &file, sizeof file) == 0);
        const tla_config back = good(printed(c));
        BOOST_CHECK(std::memcmp(&back, &c, sizeof c) == 0);
    }
    tla_hbm_config none{};
    BOOST_CHECK_EQUAL(tla_timing_named("hbm4", &none), TLA_INVALID_ARGUMENT);
    // A file is found beside the file that names it, and from here when the command line names it.
    std::ofstream("a_platform.yaml") << "hbm:\n  timing: ./a_profile.yaml\n";
    std::ofstream("a_profile.yaml") << file_text(configs + "timing/hbm3.yaml");
    char *here = realpath("a_platform.yaml", nullptr);
    tla_config c{};
    BOOST_CHECK_EQUAL(tla_config_load(here, nullptr, 0, &c, nullptr, nullptr), TLA_OK);
    std::free(here);
    BOOST_CHECK_EQUAL(c.hbm.profile.tck_ps, 625u);
    BOOST_CHECK_EQUAL(good("", {"hbm.timing=a_profile.yaml"}).hbm.profile.tck_ps, 625u);
    BOOST_CHECK_EQUAL(good("hbm: {timing: hbm2}", {"hbm.timing=hbm3"}).hbm.profile.tck_ps, 625u);
    BOOST_CHECK(!good("hbm: {timing: hbm2}", {"hbm.timing=channels"}).hbm.has_profile);
}

BOOST_AUTO_TEST_CASE(a_timing_profile_that_cannot_be_used_is_found_where_it_is_named) {
    const string names =
        "expected channels, hbm2, hbm3, kernbench, or the file of a timing profile (with a / or ending "
        "in .yaml)";
    check_findings("hbm:\n  timing: hbm4\n",
                   {"f:2:11: hbm.timing: found \"hbm4\", " + names + ", did you mean \"hbm2\"?"});
    check_findings("", {"--set:0:0: \"hbm.timing=x\": hbm.timing: found \"x\", " + names}, {"hbm.timing=x"});
    check_findings(
        "hbm:\n  timing: no/such.yaml\n",
        {"no/such.yaml:0:0: cannot be read: No such file or directory",
         "f:2:11: hbm.timing: found \"no/such.yaml\", expected a file with a timing profile that can be used"});
    std::ofstream("bad_profile.yaml") << "model: channel\ntck: 2 B\n";
    check_findings("hbm: {timing: bad_profile.yaml}",
                   {"bad_profile.yaml:2:6: tck: found \"2 B\" with the unknown unit \"B\", expected a time with a unit "
                    "(ps, ns, us, ms, s)",
                    "f:1:15: hbm.timing: found \"bad_profile.yaml\", expected a file with a timing profile that can be "
                    "used"});
    // A platform must not be named where a profile belongs.
    BOOST_CHECK_EQUAL(parse("", {"hbm.timing=" + configs + "npu_small.yaml"}).status, TLA_SYNTAX);
    string sharing = file_text(configs + "timing/hbm2.yaml");
    sharing.replace(sharing.find("sharers: 1"), 10, "sharers: 2");
    std::ofstream("sharing_profile.yaml") << sharing;
    check_findings(
        "hbm: {pseudo_channels: 1, timing: sharing_profile.yaml}",
        {"f:1:35: hbm.timing sharing_profile.yaml: found 1 pseudo-channels, expected a power of two, at least "
         "the 2 that share a row-command bus"});
}

BOOST_AUTO_TEST_CASE(the_committed_reference_is_what_the_schema_says) {
    string readme = file_text(configs + "README.md"), reference = printed(tla_config_print_reference);
    size_t at = readme.find("| key | unit and range |");
    BOOST_REQUIRE(at != string::npos);
    BOOST_CHECK_MESSAGE(readme.substr(at) == reference, "write it again with: tlmalloc check --reference");
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_read_or_refused_without_harm) {
    for (const char *name : {"npu_small.yaml", "kernbench.yaml"}) {
        string text = file_text(configs + name);
        for (size_t length = 0; length <= text.size(); length++) {
            result r = parse(text.substr(0, length));
            BOOST_CHECK(r.status == TLA_OK || r.status == TLA_SYNTAX);
        }
        const unsigned seed = 7;
        std::mt19937 random(seed);
        for (int round = 0; round < 2000; round++) {
            string damaged = text;
            for (int n = 0; n < 3; n++)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            tla_status status = parse(damaged).status;
            BOOST_CHECK_MESSAGE(status == TLA_OK || status == TLA_SYNTAX, "seed " << seed << " round " << round);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_says_why) {
    tla_config c{};
    strings findings;
    string missing = string(TLMALLOC_BINARY_DIR) + "/no_such_file.yaml";
    BOOST_CHECK_EQUAL(tla_config_load(missing.c_str(), nullptr, 0, &c, collect, &findings), TLA_IO);
    BOOST_CHECK_EQUAL(tla_config_load("/", nullptr, 0, &c, collect, &findings), TLA_IO);
    BOOST_CHECK_EQUAL(tla_config_load("/dev/zero", nullptr, 0, &c, collect, &findings), TLA_IO);
    const strings expected{missing + ":0:0: cannot be read: No such file or directory",
                           "/:0:0: cannot be read: Is a directory", "/dev/zero:0:0: cannot be read: File too large"};
    BOOST_CHECK_EQUAL_COLLECTIONS(findings.begin(), findings.end(), expected.begin(), expected.end());
    BOOST_CHECK_EQUAL(tla_config_load("/", nullptr, 0, &c, nullptr, nullptr), TLA_IO);
}

BOOST_AUTO_TEST_CASE(a_full_device_fails_printing) {
    FILE *full = std::fopen("/dev/full", "w");
    BOOST_REQUIRE(full);
    std::setvbuf(full, nullptr, _IONBF, 0);
    tla_config c = good("");
    BOOST_CHECK_EQUAL(tla_config_print(&c, full), TLA_IO);
    std::clearerr(full);
    BOOST_CHECK_EQUAL(tla_config_print_reference(full), TLA_IO);
    std::fclose(full);
}
