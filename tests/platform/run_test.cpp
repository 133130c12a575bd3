// `tlmalloc run`: whole runs from YAML to report and waveform, what they take, and what they refuse.
#include "platform/command_line.hpp"

#include <fstream>
#include <jansson.h>
#include <memory>
#include <set>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string kernbench = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";

struct report {
    command_result run;
    std::shared_ptr<json_t> json;

    std::int64_t number(const char *key) const { return json_integer_value(json_object_get(json.get(), key)); }
    json_t *list(const char *key) const { return json_object_get(json.get(), key); }

    std::int64_t sum(const char *of, const char *key) const {
        std::int64_t total = 0;
        std::size_t i = 0;
        json_t *row = nullptr;
        json_array_foreach(list(of), i, row) total += json_integer_value(json_object_get(row, key));
        return total;
    }
};

std::int64_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    BOOST_REQUIRE_MESSAGE(json_is_integer(value), key << " is no number");
    return json_integer_value(value);
}

report run(const std::string &config, std::vector<std::string> arguments) {
    scratch_directory scratch;
    arguments.insert(arguments.begin(), {"run", config, "--json", scratch.path("report.json")});
    report result{run_tlmalloc(arguments), nullptr};
    json_error_t error;
    result.json.reset(json_load_file(scratch.path("report.json").c_str(), 0, &error), json_decref);
    BOOST_REQUIRE_MESSAGE(result.json, error.text << "; " << result.run.err);
    return result;
}

std::vector<std::string> with_prices(const std::vector<std::string> &prices) {
    std::vector<std::string> arguments;
    for (const std::string &price : prices) {
        arguments.push_back("--set");
        arguments.push_back(price);
    }
    return arguments;
}

// Every kernel ends later by exactly what `sum_key` grew by between a run with `key` at 0 ns and one at `price`.
void check_chain(const std::string &kernel, const std::string &key, const char *price, const char *sum_key) {
    const auto with = [&](const char *value) {
        report r = run(small, {"--kernel", kernel, "--set", key + "=" + value});
        BOOST_CHECK_EQUAL(r.run.status, 0);
        return r;
    };
    const report cheap = with("0 ns"), dear = with(price);
    BOOST_REQUIRE_EQUAL(json_array_size(cheap.list("kernels")), 4u);
    for (std::size_t i = 0; i < 4; i++) {
        const json_t *a = json_array_get(cheap.list("kernels"), i), *b = json_array_get(dear.list("kernels"), i);
        const std::int64_t growth = number(b, sum_key) - number(a, sum_key);
        BOOST_CHECK_GT(growth, 0);
        BOOST_CHECK_EQUAL(number(b, "end_ps") - number(a, "end_ps"), growth);
        for (const char *other : {"alloc_ps", "map_ps", "dma_ps", "compute_ps"}) // and nothing else moved
            if (std::string(other) != sum_key) BOOST_CHECK_EQUAL(number(b, other), number(a, other));
    }
}

void check_refused(const std::vector<std::string> &arguments, int status, const std::string &message) {
    const command_result result = run_tlmalloc(arguments);
    BOOST_CHECK_EQUAL(result.status, status);
    BOOST_CHECK_EQUAL(result.err, message);
}

} // namespace

// --- what a run gives ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_kernel_is_verified_and_leaves_nothing_behind) {
    for (std::string kernel : {"vector_add", "qkv_gemm", "dma_read"}) {
        const report r = run(small, {"--kernel", kernel, "--set", "simulation.style=exact"});
        BOOST_CHECK_EQUAL(r.run.status, 0);
        BOOST_CHECK_EQUAL(r.run.err, "");
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
        std::size_t i = 0;
        json_t *row = nullptr;
        BOOST_CHECK_EQUAL(json_array_size(r.list("kernels")), 4u);
        json_array_foreach(r.list("kernels"), i, row) {
            BOOST_CHECK_EQUAL(json_string_value(json_object_get(row, "name")), kernel);
            BOOST_CHECK_EQUAL(json_string_value(json_object_get(row, "pe")), "sip0.cube0.pe" + std::to_string(i));
            BOOST_CHECK(json_is_true(json_object_get(row, "verified")) == (kernel != "dma_read"));
            BOOST_CHECK_GT(number(row, "end_ps"), number(row, "start_ps"));
            BOOST_CHECK_LE(number(row, "end_ps"), r.number("sim_time_ps"));
        }
        BOOST_CHECK_EQUAL(r.sum("controllers", "allocs"), r.sum("controllers", "frees"));
        BOOST_CHECK_EQUAL(r.sum("controllers", "used_bytes"), 0);
        BOOST_CHECK_GT(r.sum("controllers", "peak_used_bytes"), 0);
        BOOST_CHECK_EQUAL(r.sum("mmus", "maps"), r.sum("mmus", "unmaps"));
    }
}

BOOST_AUTO_TEST_CASE(a_run_says_how_far_it_is_from_the_order_of_arrival) {
    const auto order = [](const report &r) { return json_object_get(r.json.get(), "order"); };
    const std::vector<std::string> fast{"--kernel", "vector_add", "--set", "simulation.style=fast"},
        exact{"--kernel", "vector_add", "--set", "simulation.style=exact"},
        alone{"--kernel", "dma_read", "--set", "simulation.style=fast"};
    const report off = run(small, fast); // the host's chunks meet on its link in another order than it makes them
    const std::int64_t displaced = number(order(off), "displaced_ps"), worst = number(order(off), "worst_ps");
    BOOST_CHECK_GT(number(order(off), "late"), 0);
    BOOST_CHECK_GT(worst, 0);
    BOOST_CHECK_GE(displaced, worst);
    BOOST_REQUIRE_GT(displaced, number(order(off), "transfer_latency_ps") / 100);
    BOOST_CHECK_MESSAGE(off.run.err.find("tlmalloc run: warning: ") == 0 &&
                            off.run.err.find("out of the order of their arrival") != std::string::npos,
                        off.run.err);
    for (const auto &arguments : {exact, alone}) {
        const report none = run(small, arguments);
        for (const char *key : {"late", "displaced_ps", "worst_ps"})
            BOOST_CHECK_EQUAL(number(order(none), key), 0);
        BOOST_CHECK_GT(number(order(none), "transfer_latency_ps"), 0);
        BOOST_CHECK_EQUAL(none.run.err, "");
    }
}

// The guard finds nothing wrong with our own kernels, wherever tables, pages and free lists lie, and costs no time.
BOOST_AUTO_TEST_CASE(every_kernel_is_right_and_takes_as_long_under_guard) {
    for (const char *kernel : {"vector_add", "qkv_gemm", "dma_read"})
        for (const char *setting : {"mmu.walk=ideal", "mmu.walk=flat", "mmu.walk=memory", "controller.free_list=hbm",
                                    "mmu.unmapped=demand", "controller.hbm_policy=buddy", "dma.chunk=4 KiB"}) {
            const report plain = run(small, {"--kernel", kernel, "--set", setting}),
                         guarded =
                             run(small, {"--kernel", kernel, "--set", setting, "--set", "controller.guard=error"});
            BOOST_CHECK_EQUAL(guarded.run.status, 0);
            BOOST_CHECK_EQUAL(guarded.run.err, plain.run.err);
            BOOST_CHECK_EQUAL(guarded.number("sim_time_ps"), plain.number("sim_time_ps"));
            for (const char *count : {"use_after_free", "out_of_bounds", "not_owner", "never_written"})
                BOOST_CHECK_EQUAL(guarded.sum("controllers", count), 0);
        }
}

BOOST_AUTO_TEST_CASE(the_report_has_every_key_that_later_work_relies_on) {
    const report r = run(small, {});
    const auto check_rows = [&](const char *list, const std::set<std::string> &names,
                                const std::set<std::string> &texts, std::size_t rows) {
        BOOST_REQUIRE_EQUAL(json_array_size(r.list(list)), rows);
        for (std::size_t i = 0; i < rows; i++) {
            const json_t *row = json_array_get(r.list(list), i);
            for (const std::string &name : names)
                BOOST_CHECK_MESSAGE(json_is_integer(json_object_get(row, name.c_str())), list << "." << name);
            for (const std::string &text : texts)
                BOOST_CHECK_MESSAGE(json_is_string(json_object_get(row, text.c_str())), list << "." << text);
        }
    };
    check_rows("kernels", {"start_ps", "end_ps", "alloc_ps", "map_ps", "dma_ps", "compute_ps"}, {"name", "pe"}, 4);
    BOOST_CHECK(json_is_boolean(json_object_get(json_array_get(r.list("kernels"), 0), "verified")));
    check_rows("controllers",
               {"allocs", "frees", "failed", "used_bytes", "peak_used_bytes", "free_bytes", "largest_free_bytes",
                "free_blocks", "nodes_visited", "busy_ps"},
               {"name", "channel"}, 8);
    check_rows("mmus", {"lookups", "maps", "unmaps", "faults", "pa_fallbacks"}, {"name"}, 4);
    check_rows("slices", {"reads", "writes", "bytes_read", "bytes_written", "busy_ps"}, {"name"}, 4);
    BOOST_CHECK(json_is_integer(r.list("sim_time_ps")));
    BOOST_CHECK(json_is_integer(r.list("leaks")));
    const json_t *hbm = json_object_get(r.list("config"), "hbm"); // resolved: not written in npu_small.yaml
    BOOST_CHECK_EQUAL(json_string_value(json_object_get(hbm, "burst")), std::string("256 B"));
}

BOOST_AUTO_TEST_CASE(every_byte_of_the_tensors_crosses_the_slices_as_often_as_it_must) {
    const report r = run(small, {"--kernel", "vector_add", "--set", "workload.elements_per_pe=1000"});
    const std::int64_t tensor = 4 * 1000 * 4;                        // PEs, elements, bytes
    BOOST_CHECK_EQUAL(r.sum("slices", "bytes_written"), 3 * tensor); // a and b by the host, c by the PEs
    BOOST_CHECK_EQUAL(r.sum("slices", "bytes_read"), 3 * tensor);    // a and b by the PEs, c by the host
    BOOST_CHECK_EQUAL(r.sum("mmus", "faults"), 0);
}

BOOST_AUTO_TEST_CASE(two_runs_write_the_same_report_and_the_same_waveform_in_time_order) {
    scratch_directory scratch;
    for (std::string name : {"a", "b"}) {
        const command_result r = run_tlmalloc(
            {"run", small, "--json", scratch.path(name + ".json"), "--vcd", scratch.path(name + ".vcd"), "--set",
             "simulation.quantum=100 ns"}); // modules run ahead of the kernel: changes are known out of order
        BOOST_REQUIRE_EQUAL(r.status, 0);
    }
    BOOST_CHECK(read_text(scratch.path("a.json")) == read_text(scratch.path("b.json")));
    const std::string vcd = read_text(scratch.path("a.vcd"));
    BOOST_CHECK(vcd == read_text(scratch.path("b.vcd")));
    std::istringstream lines(vcd);
    std::string line;
    std::uint64_t last = 0, stamps = 0;
    while (std::getline(lines, line)) {
        if (line.empty() || line[0] != '#') continue;
        const std::uint64_t at = std::stoull(line.substr(1));
        BOOST_REQUIRE(stamps == 0 || at > last);
        last = at;
        stamps++;
    }
    BOOST_CHECK_GT(stamps, 1000u);
    for (const char *signal : {"hbm_used_bytes", "queue_depth", "lookups", "bytes_read", "chunks_in_flight"})
        BOOST_CHECK_MESSAGE(contains(vcd, std::string(" ") + signal), signal << " is not in the waveform");
}

// --- time ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(kernels_end_later_by_what_the_free_lists_nodes_cost) {
    for (const char *kernel : {"vector_add", "qkv_gemm"})
        check_chain(kernel, "controller.cost.node", "10 ns", "alloc_ps");
}

BOOST_AUTO_TEST_CASE(kernels_end_later_by_what_a_mapping_costs) {
    // More than the few ns for which the answer of an MMU is on its way anyway, before anybody asks for it.
    check_chain("qkv_gemm", "mmu.cost.pte_write", "100 ns", "map_ps");
    check_chain("vector_add", "mmu.cost.fixed", "100 ns", "map_ps");
}

BOOST_AUTO_TEST_CASE(a_local_read_of_16_kib_takes_what_kernbench_measures) {
    std::vector<std::string> arguments =
        with_prices({"controller.cost.fixed=0 ns", "controller.cost.node=0 ns", "controller.cost.split=0 ns",
                     "controller.cost.merge=0 ns", "mmu.overhead=0 ns", "mmu.cost.fixed=0 ns",
                     "mmu.cost.pte_write=0 ns", "mmu.cost.invalidate=0 ns"}); // ideal MMU and allocators
    arguments.insert(arguments.end(), {"--kernel", "dma_read"});
    const report r = run(kernbench, arguments);
    BOOST_CHECK_EQUAL(r.run.status, 0);
    std::size_t i = 0;
    json_t *row = nullptr;
    BOOST_CHECK_EQUAL(json_array_size(r.list("kernels")), 256u);
    // KernBench's published 16 KiB local PE DMA read: 77 ns (64 stream + 8 commit + 5 path), on every PE at once.
    json_array_foreach(r.list("kernels"), i, row)
        BOOST_CHECK_CLOSE(static_cast<double>(number(row, "dma_ps")), 77000.0, 5.0);
}

BOOST_AUTO_TEST_CASE(all_256_pes_of_kernbench_run_within_two_gibibytes_of_host_memory) {
    const report r = run(kernbench, {"--kernel", "qkv_gemm"});
    BOOST_CHECK_EQUAL(r.run.status, 0);
    BOOST_CHECK_EQUAL(json_array_size(r.list("kernels")), 256u);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_LT(r.run.max_rss_kib, 2l << 20);
}

// --- bad input -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_bad_configuration_is_refused_with_its_place) {
    scratch_directory scratch;
    const std::string malformed = scratch.write("malformed.yaml", "system: {sips: 1\nhbm: [\n");
    const command_result result = run_tlmalloc({"run", malformed});
    BOOST_CHECK_EQUAL(result.status, 2);
    BOOST_CHECK_MESSAGE(contains(result.err, malformed + ":2:") && contains(result.err, "error: not YAML: "),
                        result.err);
    const std::string unknown = scratch.write("unknown.yaml", "hbm:\n  brust: 256 B\n");
    check_refused({"run", unknown}, 2,
                  unknown + ":2:3: error: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?\n");
    const std::string negative = scratch.write("negative.yaml", "tcm:\n  capacity: -1 MiB\n");
    check_refused({"run", negative}, 2,
                  negative + ":2:13: error: tcm.capacity: found \"-1 MiB\", expected a size that is not negative\n");
    check_refused({"run", small, "--set", "system.pes_per_cube=0"}, 2,
                  "--set: error: \"system.pes_per_cube=0\": system.pes_per_cube: found \"0\", expected 1 .. 16\n");
    check_refused({"run", "/no/such.yaml"}, 1, "/no/such.yaml: error: cannot be read: No such file or directory\n");
}

// The least that the schema and its rules let pass; one port less ends before the run begins.
BOOST_AUTO_TEST_CASE(the_fewest_control_ports_that_a_configuration_may_have_are_enough) {
    for (const auto &[ports, keys] : std::vector<std::pair<unsigned, std::vector<std::string>>>{
             {2, {}}, {4, {"mmu.walk=memory"}}, {5, {"mmu.unmapped=demand"}}}) {
        const auto with = [&, &more = keys](unsigned count) {
            std::vector<std::string> words{"run", small, "--set", "mmu.ports=3"};
            words.insert(words.end(), {"--set", "controller.ports=" + std::to_string(count)});
            for (const std::string &key : more)
                words.insert(words.end(), {"--set", key});
            return run_tlmalloc(words);
        };
        const command_result enough = with(ports), few = with(ports - 1);
        BOOST_CHECK_MESSAGE(enough.status == 0, ports << " ports: " << enough.out << enough.err);
        BOOST_CHECK_EQUAL(few.status, 2);
        BOOST_CHECK_MESSAGE(contains(few.err, "--set: error: \"controller.ports="), few.err);
    }
}

BOOST_AUTO_TEST_CASE(a_bad_command_line_is_refused) {
    check_refused({"run", small, "--kernel", "relu"}, 2,
                  "tlmalloc run: --kernel: found kernel 'relu', expected one of: vector_add qkv_gemm dma_read\n");
    check_refused({"run", small, "--set", "workload.kernel=relu"}, 2,
                  "--set: error: \"workload.kernel=relu\": workload.kernel: found kernel 'relu', expected one of: "
                  "vector_add qkv_gemm dma_read\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"run"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "second.yaml"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--nonsense"}).status, 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_fails_the_run) {
    check_refused({"run", small, "--json", "/no/such/report.json"}, 1,
                  "tlmalloc run: /no/such/report.json: cannot write: No such file or directory\n");
    check_refused({"run", small, "--vcd", "/no/such/wave.vcd"}, 1,
                  "tlmalloc run: /no/such/wave.vcd: cannot write: No such file or directory\n");
    if (access("/dev/full", W_OK) == 0) {
        check_refused({"run", small, "--vcd", "/dev/full"}, 1,
                      "tlmalloc run: /dev/full: cannot write: No space left on device\n");
        const command_result full = run_tlmalloc({"run", small, "--json", "/dev/full"});
        BOOST_CHECK_EQUAL(full.status, 1);
        BOOST_CHECK_MESSAGE(contains(full.err, "/dev/full"), full.err);
    }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_fit_says_how_much_was_free_and_gives_the_others_back) {
    const report r = run(small, {"--set", "hbm.capacity_per_cube=64 KiB"}); // 16 KiB a PE: the first tensor fills it
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(r.run.err,
                      "tlmalloc run: TLA_EXHAUSTED: tensor w: HBM of sip0.cube0.pe0 overflow: requested 16384 "
                      "bytes, 0 free, largest free block 0: exhausted; free something first, or give it more memory\n");
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(json_string_value(r.list("status")), std::string("TLA_EXHAUSTED"));
    BOOST_CHECK_MESSAGE(contains(r.run.out, "NOT VERIFIED"), r.run.out);
}

BOOST_AUTO_TEST_CASE(a_kernel_whose_tiles_do_not_fit_fails_the_run_and_leaks_nothing) {
    const report r = run(small, {"--kernel", "vector_add", "--set", "tcm.capacity=10 KiB", "--set",
                                 "tcm.scheduler_reserve=0 B"}); // three tiles of 4 KiB
    BOOST_CHECK_EQUAL(r.run.status, 1);
    const std::string why = "kernel on sip0.cube0.pe0: TCM overflow: requested 4096 bytes, 2048 free, largest free "
                            "block 2048: exhausted; free something first, or give it more memory";
    BOOST_CHECK_EQUAL(r.run.err, "tlmalloc run: TLA_EXHAUSTED: " + why + "\n");
    BOOST_CHECK_EQUAL(json_string_value(r.list("message")), why);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(r.sum("controllers", "failed"), 4);
}

BOOST_AUTO_TEST_CASE(a_configuration_whose_tcm_is_too_small_for_a_kernel_says_channel_request_and_free_bytes) {
    scratch_directory scratch;
    std::string text = read_text(small);
    const std::string section = "tcm:\n";
    const std::size_t at = text.find(section), end = text.find("\n\n", at);
    BOOST_REQUIRE(at != std::string::npos);
    text.replace(at, end - at, section + "  capacity: 40 KiB\n  scheduler_reserve: 4 KiB");
    for (const char *policy : {"first_fit", "buddy"}) { // the tiles of a PE: 8, 8, 16 and 8 KiB
        const report r = run(scratch.write("small_tcm.yaml", text),
                             {"--kernel", "qkv_gemm", "--set", std::string("controller.tcm_policy=") + policy});
        BOOST_CHECK_EQUAL(r.run.status, 1);
        BOOST_CHECK_EQUAL(r.run.err, "tlmalloc run: TLA_EXHAUSTED: kernel on sip0.cube0.pe0: TCM overflow: requested "
                                     "8192 bytes, 4096 free, largest free block 4096: exhausted, reserved; set less "
                                     "aside for the scheduler or the free list\n");
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    }
}

BOOST_AUTO_TEST_CASE(a_run_with_banks_reports_rows_and_shows_them_in_the_waveform) {
    scratch_directory scratch;
    const report plain = run(small, {"--vcd", scratch.path("plain.vcd")});
    const report banks = run(small, {"--set", "hbm.timing=hbm2", "--vcd", scratch.path("banks.vcd")});
    BOOST_CHECK_EQUAL(banks.run.status, 0);
    BOOST_CHECK_GT(banks.number("sim_time_ps"), plain.number("sim_time_ps")); // 16 GB/s a pseudo-channel, not 32
    std::int64_t rows = 0;
    for (const char *key : {"row_hits", "row_misses", "row_conflicts"})
        rows += banks.sum("slices", key);
    BOOST_CHECK_EQUAL(rows, banks.sum("slices", "busy_ps") / 2000); // 2 cycles of 1 ns a burst
    BOOST_CHECK_GT(banks.sum("slices", "refreshes"), 0);
    BOOST_CHECK(!json_object_get(json_array_get(plain.list("slices"), 0), "row_hits"));
    BOOST_CHECK(read_text(scratch.path("banks.vcd")).find(" row_conflicts ") != std::string::npos);
    BOOST_CHECK(read_text(scratch.path("plain.vcd")).find(" row_conflicts ") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_policy_runs_a_kernel_and_leaves_its_heap_as_it_was) {
    for (const char *policy : {"first_fit", "best_fit", "next_fit", "worst_fit", "first_fit_top", "buddy", "tlsf"}) {
        const report r = run(small, {"--kernel", "vector_add", "--set", std::string("controller.hbm_policy=") + policy,
                                     "--set", std::string("controller.tcm_policy=") + policy});
        BOOST_CHECK_MESSAGE(r.run.status == 0, policy << ": " << r.run.err);
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_on_aged_heaps_waits_longer_for_its_allocations) {
    scratch_directory scratch;
    // 1000 holes of 64 bytes, too small for every shard, in front of the rest of the slice.
    std::string snapshot = "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 6442450944\nalignment 1\n"
                           "peak 6442450944\ncursor 0\nfree 1001\n";
    for (unsigned hole = 0; hole < 1000; hole++)
        snapshot += std::to_string(hole * 4096) + " 64\n";
    snapshot += "16777216 6425673728\nend\n";
    std::ofstream(scratch.path("aged.txt")) << snapshot;
    const report fresh = run(small, {"--kernel", "vector_add"});
    const report aged = run(small, {"--kernel", "vector_add", "--from", scratch.path("aged.txt")});
    BOOST_CHECK_EQUAL(aged.run.status, 0);
    BOOST_CHECK_EQUAL(aged.number("leaks"), 0);
    // Three tensors on four PEs, 1000 nodes more each.
    BOOST_CHECK_EQUAL(aged.sum("controllers", "nodes_visited") - fresh.sum("controllers", "nodes_visited"), 12000);
    BOOST_CHECK_GT(aged.sum("kernels", "alloc_ps"), fresh.sum("kernels", "alloc_ps"));
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_is_refused_with_its_line) {
    scratch_directory scratch;
    std::ofstream(scratch.path("cut.txt")) << "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapa";
    const command_result r = run_tlmalloc({"run", small, "--from", scratch.path("cut.txt")});
    BOOST_CHECK_EQUAL(r.status, 2);
    BOOST_CHECK_MESSAGE(r.err.find("line 4") != std::string::npos, r.err);
}

BOOST_AUTO_TEST_CASE(pages_on_demand_come_through_mappings_that_are_acknowledged_before_they_are_visible) {
    for (const char *walk : {"ideal", "flat", "memory"})
        for (const char *cost : {"0 ns", "7 us"})
            for (const char *ack : {"visible", "posted"}) {
                std::vector<std::string> arguments =
                    with_prices({"mmu.unmapped=demand", "mmu.page_size=4 KiB", "system.sips=2", "system.pes_per_cube=2",
                                 std::string("mmu.walk=") + walk, std::string("mmu.cost.fixed=") + cost,
                                 std::string("va.map_ack=") + ack});
                const report r = run(small, arguments);
                BOOST_CHECK_MESSAGE(r.run.status == 0, walk << ", " << cost << ", " << ack << ": " << r.run.err);
                BOOST_CHECK_EQUAL(r.sum("mmus", "faults"), 0);
                BOOST_CHECK_GT(r.sum("mmus", "demand_faults"), 0);
                BOOST_CHECK_EQUAL(r.number("leaks"), 0);
            }
}

BOOST_AUTO_TEST_CASE(a_run_whose_commands_are_refused_now_and_then_ends_well_and_leaks_nothing) {
    std::int64_t by_host = 0, by_mmus = 0, by_kernels = 0;
    for (const char *walk : {"flat", "memory"})
        for (const char *seed : {"1", "2", "3"})
            for (const char *plan : {"refuse rate=100000", "refuse at=0ns; refuse at=1us pe=2; refuse at=3us"}) {
                const report r = run(small, with_prices({std::string("faults.plan=") + plan, "host.retries=20",
                                                         std::string("faults.seed=") + seed, "mmu.page_size=4 KiB",
                                                         std::string("mmu.walk=") + walk}));
                BOOST_CHECK_MESSAGE(r.run.status == 0, walk << ", seed " << seed << ", " << plan << ": " << r.run.err);
                BOOST_CHECK_EQUAL(r.number("leaks"), 0);
                BOOST_CHECK_EQUAL(r.sum("controllers", "refused_commands"),
                                  r.number("host_retries") + r.sum("mmus", "retries") + r.sum("kernels", "retries"));
                by_host += r.number("host_retries");
                by_mmus += r.sum("mmus", "retries");
                by_kernels += r.sum("kernels", "retries");
            }
    BOOST_CHECK_GT(by_host, 0);
    BOOST_CHECK_GT(by_mmus, 0);
    BOOST_CHECK_GT(by_kernels, 0);
}

BOOST_AUTO_TEST_CASE(a_command_that_is_refused_too_often_fails_the_run_and_says_who_refused_it) {
    const auto with = [](const char *retries, const char *plan, const char *walk) {
        return run(small, with_prices({std::string("host.retries=") + retries, std::string("faults.plan=") + plan,
                                       std::string("mmu.walk=") + walk}));
    };
    report r = with("0", "refuse at=0ns pe=1", "ideal");
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(std::string(json_string_value(r.list("message"))),
                      "tensor x: HBM of sip0.cube0.pe1: refused by the fault plan");
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    r = with("5", "refuse rate=1000000 pe=1", "ideal"); // always
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(r.number("host_retries"), 5);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    r = with("0", "refuse at=1us pe=2", "ideal"); // a kernel's tl_alloc or tl_free
    BOOST_CHECK_EQUAL(r.run.status, 1);
    const std::string message = json_string_value(r.list("message"));
    BOOST_CHECK_MESSAGE(message.find("kernel on sip0.cube0.pe2") == 0 &&
                            message.find("refused by the fault plan") != std::string::npos,
                        message);
}
