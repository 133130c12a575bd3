// `tlmalloc probe`: figures beside their formula, checks that hold and that do not, shapes that lack a case.
#include "platform/command_line.hpp"
#include "today.hpp"

#include <algorithm>
#include <cmath>
#include <jansson.h>
#include <map>
#include <memory>

namespace {

const std::string kernbench = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";

struct json_end {
    void operator()(json_t *value) const { json_decref(value); }
};
using json = std::unique_ptr<json_t, json_end>;

std::vector<std::string> shape(unsigned sips, unsigned width, unsigned height, unsigned pes) {
    std::vector<std::string> words{"probe", kernbench};
    const std::pair<const char *, unsigned> keys[] = {
        {"sips", sips}, {"cube_mesh_width", width}, {"cube_mesh_height", height}, {"pes_per_cube", pes}};
    for (const auto &[key, value] : keys) {
        words.push_back("--set");
        words.push_back(std::string("system.") + key + "=" + std::to_string(value));
    }
    return words;
}

struct moved {
    double formula_ns, ns;
};

// Of each case by bytes; empty for one that is skipped.
std::map<std::string, std::map<json_int_t, moved>> cases_of(const json_t *report) {
    std::map<std::string, std::map<json_int_t, moved>> found;
    std::size_t i = 0, j = 0;
    const json_t *row = nullptr, *one = nullptr;
    json_array_foreach(json_object_get(report, "cases"), i, row) {
        auto &of = found[json_string_value(json_object_get(row, "case"))];
        const auto ps = [](const json_t *in, const char *key) {
            return static_cast<double>(json_integer_value(json_object_get(in, key)));
        };
        json_array_foreach(json_object_get(row, "transfers"), j, one) {
            const double nbytes = ps(one, "bytes");
            BOOST_CHECK_CLOSE(ps(one, "formula_ps"),
                              ps(row, "wire_ps") + ps(row, "overhead_ps") +
                                  nbytes * 1e12 / ps(row, "slowest_link_bytes_per_s"),
                              1e-3);
            of[static_cast<json_int_t>(nbytes)] = {ps(one, "formula_ps") / 1e3, ps(one, "actual_ps") / 1e3};
        }
    }
    return found;
}

json probe(std::vector<std::string> words, int status) {
    const scratch_directory scratch;
    words.insert(words.end(), {"--json", scratch.path("probe.json")});
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(run.err, "");
    BOOST_REQUIRE_EQUAL(run.status, status);
    return json(json_loads(read_text(scratch.path("probe.json")).c_str(), 0, nullptr));
}

} // namespace

BOOST_AUTO_TEST_CASE(every_case_is_as_it_must_be_on_kernbenchs_fabric) {
    std::vector<std::string> words = shape(2, 2, 2, 8);
    words.insert(words.end(), {"--set", "host_memory.capacity=1 MiB"});
    const json report = probe(words, 0);
    auto cases = cases_of(report.get());
    BOOST_REQUIRE_EQUAL(cases.size(), 9u);
    const json_int_t kib = 1024;
    for (const auto &[name, by_bytes] : cases) {
        BOOST_CHECK_EQUAL(by_bytes.size(), 6u);
        double before = 0;
        for (const auto &[nbytes, m] : by_bytes) {
            BOOST_CHECK_MESSAGE(m.formula_ns <= m.ns, name << ", " << nbytes << " bytes");
            BOOST_CHECK_MESSAGE(before < m.ns, name << ", " << nbytes << " bytes");
            before = m.ns;
        }
    }
    const auto at = [&](const char *name) { return cases[name][32 * kib].ns; };
    BOOST_CHECK_LE(at("h2d"), at("d2h"));
    BOOST_CHECK_LT(at("local"), at("same_half"));
    BOOST_CHECK_LT(at("same_half"), at("cross_half"));
    BOOST_CHECK_LT(at("cross_half"), at("cross_cube_best"));
    BOOST_CHECK_LT(at("cross_cube_best"), at("cross_cube_worst"));
    BOOST_CHECK_LT(at("cross_cube_best"), at("cross_sip"));
    // What is stored at the end point comes at 128 GB/s, and goes on at 64 (dma.outstanding: 64 KiB at a time).
    BOOST_CHECK_GT(at("to_host"), 32 * 1024 / 128.0 + 32 * 1024 / 64.0);
    BOOST_CHECK_LT(at("to_host"), 32 * 1024 / 128.0 + 32 * 1024 / 64.0 + 150);
    // KernBench's figures, and half a nanosecond of MMU on what a PE moves (kernbench.yaml; 0 there).
    BOOST_CHECK_CLOSE(cases["h2d"][4 * kib].ns, 65.53, 0.01);
    BOOST_CHECK_CLOSE(cases["local"][16 * kib].ns, 77.0 + 0.5, 0.01);
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(report.get(), "checks")), 30u);
    std::size_t i = 0;
    const json_t *check = nullptr;
    json_array_foreach(json_object_get(report.get(), "checks"), i, check) BOOST_CHECK_MESSAGE(
        json_is_true(json_object_get(check, "holds")), json_string_value(json_object_get(check, "check")));
}

BOOST_AUTO_TEST_CASE(cases_that_a_shape_lacks_are_skipped_with_a_reason) {
    const command_result run = run_tlmalloc(shape(1, 1, 1, 1));
    BOOST_CHECK_EQUAL(run.status, 0);
    for (const char *line :
         {"same_half         skipped: a half of a cube has one PE\n", "cross_half        skipped: a cube has one PE\n",
          "cross_cube_best   skipped: a SIP has one cube\n", "cross_cube_worst  skipped: a SIP has one cube\n",
          "cross_sip         skipped: the platform has one SIP\n",
          "to_host           skipped: the host has no memory\n", "\n9 checks, 0 failed\n"})
        BOOST_CHECK_MESSAGE(contains(run.out, line), run.out);
}

BOOST_AUTO_TEST_CASE(other_shapes_pass_the_checks) {
    const std::vector<std::array<unsigned, 4>> shapes{{4, 1, 1, 2}, {1, 3, 5, 2}, {2, 1, 1, 16}, {1, 2, 1, 4}};
    for (const auto &[sips, width, height, pes] : some_of_today(shapes, 2)) {
        std::vector<std::string> words = shape(sips, width, height, pes);
        words.insert(words.end(), {"--set", "system.sip_topology=ring"});
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_MESSAGE(run.status == 0, run.out << run.err);
    }
}

// The way to the other end takes a microsecond, so that a MiB fills 88.6 % of it.
BOOST_AUTO_TEST_CASE(a_row_of_16_cubes_is_too_long_for_one_check) {
    for (const unsigned width : some_of_today<unsigned>({16, 1}, 2)) {
        const command_result run = run_tlmalloc(shape(1, width, 16 / width, 1));
        BOOST_CHECK_EQUAL(run.status, 1);
        BOOST_CHECK_MESSAGE(
            contains(run.out,
                     "failed: cross_cube_worst: 1 MiB fills over 90 % of its slowest link\n\n16 checks, 1 failed\n"),
            run.out << run.err);
    }
}

BOOST_AUTO_TEST_CASE(a_topology_file_takes_the_time_of_the_shape_that_it_lists) {
    for (const std::string routing : {"straight", "shortest"}) {
        const scratch_directory scratch;
        std::vector<std::string> words = shape(1, 2, 1, 8), shaped = words, listing;
        shaped.insert(shaped.end(), {"--set", "links.routing=" + routing});
        listing = shaped;
        listing[0] = "topology";
        listing.push_back("--yaml");
        scratch.write("fabric.yaml", run_tlmalloc(listing).out);
        const json plain = probe(shaped, 0);
        words.insert(words.end(), {"--set", "system.topology_file=" + scratch.path("fabric.yaml")});
        const json listed = probe(words, 0);
        BOOST_CHECK(json_equal(json_object_get(plain.get(), "cases"), json_object_get(listed.get(), "cases")));
    }
}

BOOST_AUTO_TEST_CASE(the_shortest_paths_and_a_flat_memory_pass_the_checks) {
    std::vector<std::string> words = shape(2, 4, 4, 8);
    words.insert(words.end(), {"--set", "links.routing=shortest", "--set", "hbm.timing=flat"});
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_MESSAGE(run.status == 0 && contains(run.out, " checks, 0 failed\n"), run.out << run.err);
}

// Links are not always the slowest: the output names the stage that is, and a transfer fills that one.
BOOST_AUTO_TEST_CASE(a_transfer_fills_its_slowest_stage_with_both_transports) {
    struct limited {
        std::string setting, stage; // of `local`
    };
    const std::string channels = "the channels of its slice";
    const std::vector<limited> all{{"hbm.timing=hbm2", "128.0 GB/s by " + channels},
                                   {"hbm.timing=hbm3", "204.8 GB/s by " + channels},
                                   {"hbm.pseudo_channels=2", "64.0 GB/s by " + channels},
                                   {"hbm.pseudo_channel_bandwidth=8 GB/s", "64.0 GB/s by " + channels},
                                   {"dma.chunk=64 B", "64.0 GB/s by " + channels}, // a burst of 256 B each
                                   {"dma.bandwidth=32 GB/s", "32.0 GB/s by dma.bandwidth"},
                                   {"dma.outstanding=1", " GB/s by dma.outstanding"},
                                   {"dma.outstanding=5", " GB/s by dma.outstanding"},
                                   {"hbm.timing=flat", ""},
                                   {"dma.chunk=4 KiB", ""}};
    for (const limited &one : some_of_today(all, 4))
        for (const std::string transport : {"per_flit", "once"}) {
            std::vector<std::string> words = shape(1, 2, 1, 8);
            words.insert(words.end(), {"--set", one.setting, "--set", "links.transport=" + transport});
            const command_result run = run_tlmalloc(words);
            const std::string about = one.setting + ", " + transport + ":\n" + run.out + run.err;
            BOOST_CHECK_MESSAGE(run.status == 0 && contains(run.out, "\n25 checks, 0 failed\n"), about);
            BOOST_CHECK_MESSAGE(contains(run.out, "\nlocal: limited to ") == !one.stage.empty(), about);
            BOOST_CHECK_MESSAGE(contains(run.out, one.stage + "\n"), about);
        }
}

// A chunk at a time: there in 1 ns for each of two links, 8 ns of a burst, and back by the links' latency.
BOOST_AUTO_TEST_CASE(a_window_of_one_chunk_moves_in_the_time_of_its_way) {
    std::vector<std::string> words = shape(1, 1, 1, 8);
    words.insert(words.end(), {"--case", "local", "--set", "dma.outstanding=1", "--set", "mmu.overhead=0 ns"});
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_MESSAGE(contains(run.out, "\nlocal: limited to 25.6 GB/s by dma.outstanding\n"), run.out);
}

BOOST_AUTO_TEST_CASE(transfers_that_wait_for_walks_are_not_compared) {
    for (const std::string walk : {"flat", "memory"}) {
        std::vector<std::string> words = shape(1, 1, 1, 8);
        words.insert(words.end(), {"--set", "mmu.walk=" + walk, "--set", "mmu.page_size=4 KiB"});
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_MESSAGE(run.status == 0, run.out << run.err);
        BOOST_CHECK_MESSAGE(contains(run.out,
                                     "\nlocal: not compared with its slowest link or with other cases, because "
                                     "of mmu.walk\n"),
                            run.out);
        BOOST_CHECK_MESSAGE(!contains(run.out, "\nh2d: "), run.out);
    }
}

BOOST_AUTO_TEST_CASE(a_failed_check_is_reported_and_sets_the_exit_status) {
    std::vector<std::string> words = shape(1, 1, 1, 8);
    words.insert(words.end(), {"--case", "cross_half", "--set", "cube.router_overhead=50 ns"}); // seven of them
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.out, "failed: cross_half: 1 MiB fills over 90 % of its slowest link\n"), run.out);
    BOOST_CHECK_MESSAGE(contains(run.out, "\n3 checks, 1 failed\n"), run.out);
    BOOST_CHECK(!contains(run.out, "h2d"));
    const json report = probe(words, 1);
    BOOST_CHECK(json_is_false(json_object_get(json_array_get(json_object_get(report.get(), "checks"), 2), "holds")));
}

BOOST_AUTO_TEST_CASE(invalid_input_is_rejected_and_leaves_no_file) {
    const scratch_directory scratch;
    const auto refused = [&](std::vector<std::string> words, const std::string &text) {
        words.insert(words.end(), {"--json", scratch.path("probe.json")});
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
        BOOST_CHECK(std::filesystem::is_empty(scratch.path("")));
    };
    refused({"probe", kernbench, "--case", "lokal"}, "did you mean \"local\"?");
    refused({"probe", kernbench, "--set", "links.router_bandwidth=0 GB/s"}, "links.router_bandwidth");
    refused({"probe", kernbench, "--set", "cube.pe_places=r0c0 r9c9 r1c4 r1c5 r4c0 r4c1 r5c4 r5c5"}, "cube.pe_places");
    refused({"probe", kernbench, kernbench}, "found a second argument");
    refused({"probe"}, "expected a CONFIG");
}

BOOST_AUTO_TEST_CASE(a_guard_that_denies_reads_of_unwritten_bytes_permits_reads_of_the_host) {
    std::vector<std::string> words = shape(1, 1, 1, 1);
    words.insert(words.end(), {"--case", "d2h"});
    const json plain = probe(words, 0);
    words.insert(words.end(), {"--set", "controller.guard=error"});
    const json guarded = probe(words, 0);
    BOOST_CHECK(json_equal(json_object_get(plain.get(), "cases"), json_object_get(guarded.get(), "cases")));
}

BOOST_AUTO_TEST_CASE(reports_of_modules_are_on_standard_error) {
    std::vector<std::string> words = shape(1, 1, 1, 1);
    words.insert(words.end(), {"--case", "h2d", "--json", "-", "--set", "faults.plan=channel_out channel=0"});
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_MESSAGE(contains(run.err, "tlmalloc probe: warning: /tlmalloc/hbm_slice/"), run.err);
    BOOST_CHECK_MESSAGE(contains(run.err, "tlmalloc probe: h2d, 32768 bytes: the transfer failed: "), run.err);
}

BOOST_AUTO_TEST_CASE(a_platform_too_large_for_the_host_names_the_part) {
    const command_result run = run_shell("ulimit -v 200000; exec \"$tlmalloc\" probe '" + kernbench + "' --case h2d");
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_MESSAGE(!contains(run.err, "In file"), run.err);
    if (contains(run.err, "Sanitizer")) return; // has no room itself
    BOOST_CHECK_EQUAL(run.err, "tlmalloc probe: h2d, 32768 bytes: /tlmalloc/hbm_slice/config: the host cannot reserve "
                               "address space for the capacity\n");
}
