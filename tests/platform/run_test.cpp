// `tlmalloc run`: whole runs from YAML to report and waveform, and what they take.
#include "platform/run_report.hpp"
#include "today.hpp"

#include <fstream>
#include <set>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string kernbench = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";

// Every kernel ends later by exactly what `sum_key` grew by between a run with `key` at 0 ns and one at `price`.
void check_chain(const std::string &kernel, const std::string &key, const char *price, const char *sum_key) {
    const auto with = [&](const char *value) {
        // Without a clock of the engine's, for whose next cycle a command would wait.
        report r =
            run(small, {"--kernel", kernel, "--set", "controller.cost.profile=ideal", "--set", key + "=" + value});
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

} // namespace

BOOST_AUTO_TEST_CASE(every_kernel_is_verified_and_leaks_no_memory) {
    for (const std::string &kernel : kernel_names()) {
        const report r = run(small, {"--kernel", kernel});
        BOOST_CHECK_EQUAL(r.run.status, 0);
        BOOST_CHECK_EQUAL(r.run.err, "");
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
        const json_t *const workload = json_object_get(r.list("config"), "workload"); // as it was run
        BOOST_CHECK_EQUAL(json_string_value(json_object_get(workload, "kernel")), kernel);
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

BOOST_AUTO_TEST_CASE(nothing_of_a_run_comes_late_whatever_the_look_ahead_and_the_quantum) {
    for (const char *setting : {"simulation.quantum=0 ns", "simulation.quantum=10 us", "simulation.look_ahead=1 ms"}) {
        const report r = run(small, {"--kernel", "vector_add", "--set", setting});
        json_t *const order = json_object_get(r.json.get(), "order");
        for (const char *key : {"late", "displaced_ps", "worst_ps"})
            BOOST_CHECK_EQUAL(number(order, key), 0);
        BOOST_CHECK_GT(number(order, "transfer_latency_ps"), 0);
        BOOST_CHECK_EQUAL(contains(r.run.err, "warning"), contains(setting, "look_ahead")); // that it has no effect
    }
}

// The guard finds nothing wrong with our own kernels, wherever tables, pages and free lists lie, and costs no time.
BOOST_AUTO_TEST_CASE(every_kernel_is_right_and_takes_as_long_under_guard) {
    for (const char *kernel : {"vector_add", "qkv_gemm", "dma_read", "softmax", "layer_norm", "all_reduce"})
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
               {"name", "channel"}, 10);
    check_rows("mmus", {"lookups", "maps", "unmaps", "faults", "pa_fallbacks"}, {"name"}, 4);
    check_rows("slices", {"reads", "writes", "bytes_read", "bytes_written", "busy_ps"}, {"name"}, 4);
    for (const char *list : {"srams", "m_cpu_memories"})
        check_rows(list, {"reads", "writes", "bytes_read", "bytes_written", "errors", "busy_ps"}, {"name"}, 1);
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
    for (const char *policy : {"first_fit", "best_fit", "next_fit", "worst_fit", "first_fit_top", "buddy", "tlsf",
                               "offset_bins", "offset_bins_rounded"}) {
        const report r = run(small, {"--kernel", "vector_add", "--set", std::string("controller.hbm_policy=") + policy,
                                     "--set", std::string("controller.tcm_policy=") + policy});
        BOOST_CHECK_MESSAGE(r.run.status == 0, policy << ": " << r.run.err);
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    }
}

BOOST_AUTO_TEST_CASE(every_front_serves_every_kernel_in_hbm_and_tcm_and_nothing_is_left_when_it_is_trimmed) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const char *front :
         {"caching_pool", "segment_cache", "growing_pool", "slot_pool", "mixed", "caching_pool/best_fit",
          "segment_cache/tlsf", "growing_pool/first_fit_top", "lazy", "lazy/buddy", "mixed/offset_bins_rounded",
          "segmented", "linear_regions", "interleaving_regions/tlsf"})
        for (const std::string &kernel : kernel_names())
            all.emplace_back(front, kernel);
    for (const auto &[front, kernel] : some_of_today(all, 7)) {
        std::vector<std::string> arguments{"--kernel", kernel};
        for (const char *key : {"hbm_policy", "tcm_policy", "sram_policy", "m_cpu_policy"})
            arguments.insert(arguments.end(), {"--set", std::string("controller.") + key + "=" + front});
        const report r = run(small, arguments);
        BOOST_CHECK_MESSAGE(r.run.status == 0, front << ", " << kernel << ": " << r.run.err);
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
        BOOST_CHECK_EQUAL(r.sum("controllers", "used_bytes"), 0);
        BOOST_CHECK_EQUAL(r.sum("controllers", "held_bytes"), 0);
        BOOST_CHECK_EQUAL(r.sum("controllers", "trims"), 8); // of the HBM and the TCM of four PEs
        for (const std::string pool : {"caching_pool", "segment_cache", "growing_pool"})
            if (front.rfind(pool, 0) == 0) {
                BOOST_CHECK_EQUAL(r.sum("controllers", "free_blocks"),
                                  static_cast<std::int64_t>(json_array_size(r.list("controllers")))); // one each
                BOOST_CHECK_GT(r.sum("controllers", "driver_calls"), 0);
                BOOST_CHECK_GT(r.sum("controllers", "peak_reserved_bytes"),
                               r.sum("controllers", "peak_used_bytes") - 1);
            }
    }
    const report plain = run(small, {"--kernel", "vector_add"});
    BOOST_CHECK(!json_object_get(json_array_get(plain.list("controllers"), 0), "held_bytes"));
}

BOOST_AUTO_TEST_CASE(a_lazy_memory_grows_while_kernels_run_and_the_waveform_shows_it) {
    scratch_directory scratch;
    const report r = run(small, {"--kernel", "vector_add", "--set", "controller.hbm_policy=lazy", "--set",
                                 "controller.hbm_front.chunk_time=10 ns", "--vcd", scratch.path("lazy.vcd")});
    BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.err);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(r.sum("controllers", "commits"),
                      4 * 5); // of four slices, each of 1 GiB at first and 6 in the end
    BOOST_CHECK_EQUAL(r.sum("controllers", "committed_bytes"), INT64_C(4) * 6 << 30);
    const std::string vcd = read_text(scratch.path("lazy.vcd"));
    BOOST_CHECK_NE(vcd.find(" hbm_committed_bytes "), std::string::npos);
    BOOST_CHECK_EQUAL(vcd.find(" tcm_committed_bytes "), std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_host_allocator_gives_correct_kernels_and_no_leaks) {
    for (const char *driver : {"serial", "per_device", "asynchronous"})
        for (const char *pool : {"none", "caching_pool"}) {
            const report r =
                run(small, {"--kernel", "vector_add", "--set", std::string("host.driver=") + driver, "--set",
                            std::string("host.pool=") + pool, "--set", "host.driver_alloc=50 us"});
            BOOST_CHECK_MESSAGE(r.run.status == 0, driver << ", " << pool << ": " << r.run.err);
            BOOST_CHECK_EQUAL(r.number("leaks"), 0);
            BOOST_CHECK_EQUAL(r.sum("host_driver", "allocs"), 12); // three tensors on four PEs
            BOOST_CHECK_EQUAL(r.sum("host_driver", "frees"), 12);
            BOOST_CHECK_EQUAL(r.sum("host_driver", "busy_ps"), 12 * (50'000'000 + 14'000'000));
            BOOST_CHECK_GT(r.number("sim_time_ps"), 600'000'000);
        }
    const report plain = run(small, {"--kernel", "vector_add"});
    BOOST_CHECK(!json_object_get(plain.json.get(), "host_driver"));
    const command_result both =
        run_tlmalloc({"check", small, "--set", "host.driver=asynchronous", "--set", "host.driver_synchronous=true"});
    BOOST_CHECK_EQUAL(both.status, 2);
    BOOST_CHECK(contains(
        both.err,
        "host.driver_synchronous: true with host.driver asynchronous: set host.driver to serial or per_device"));
}

BOOST_AUTO_TEST_CASE(every_kernel_runs_with_one_decision_for_the_slices_of_a_cube_or_a_sip) {
    for (const char *scope : {"cube", "sip"})
        for (const char *policy : {"first_fit", "first_fit_top"})
            for (const char *kernel : {"vector_add", "qkv_gemm", "dma_read", "softmax", "layer_norm"}) {
                const report r = run(small, {"--kernel", kernel, "--set", std::string("controller.lockstep=") + scope,
                                             "--set", std::string("controller.hbm_policy=") + policy});
                BOOST_CHECK_MESSAGE(r.run.status == 0, scope << ", " << kernel << ": " << r.run.err);
                BOOST_CHECK_EQUAL(r.number("leaks"), 0);
                BOOST_CHECK_EQUAL(r.sum("controllers", "used_bytes"), 0);
                BOOST_CHECK_GT(r.sum("controllers", "allocs"), 0);
            }
}

BOOST_AUTO_TEST_CASE(the_work_of_a_front_is_priced_and_the_waveform_shows_its_memory) {
    scratch_directory scratch;
    const std::vector<std::string> front{"--kernel", "vector_add", "--set", "controller.tcm_policy=caching_pool"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), front.begin(), front.end());
        const report r = run(small, more);
        BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.err);
        return r.sum("controllers", "busy_ps");
    };
    const std::int64_t before = with({});
    // A nanosecond more than by default. Of four PEs: three tiles taken, and given back, each of another class or a
    // miss; then a TRIM of them all.
    BOOST_CHECK_EQUAL(with({"--set", "controller.cost.class_lookup=2 ns"}) - before, 4 * 6 * 1000);
    BOOST_CHECK_EQUAL(with({"--set", "controller.cost.list_push=2 ns"}) - before, 4 * 3 * 1000);
    BOOST_CHECK_EQUAL(with({"--set", "controller.cost.list_pop=2 ns"}) - before, 0);
    BOOST_CHECK_EQUAL(with({"--set", "controller.cost.driver_call=2 ns"}) - before, 4 * 6 * 1000);
    with({"--vcd", scratch.path("front.vcd")});
    BOOST_CHECK(read_text(scratch.path("front.vcd")).find(" tcm_held_bytes ") != std::string::npos);
    BOOST_CHECK(read_text(scratch.path("front.vcd")).find(" hbm_held_bytes ") == std::string::npos);
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

BOOST_AUTO_TEST_CASE(pages_on_demand_come_through_mappings_that_are_acknowledged_before_they_are_visible) {
    const auto check = [](const char *walk, const char *cost, const char *ack) {
        const report r =
            run(small, with_prices({"mmu.unmapped=demand", "mmu.page_size=4 KiB", "system.sips=2",
                                    "system.pes_per_cube=2", std::string("mmu.walk=") + walk,
                                    std::string("mmu.cost.fixed=") + cost, std::string("va.map_ack=") + ack}));
        BOOST_TEST_CONTEXT(walk << ", " << cost << ", " << ack) {
            BOOST_CHECK_MESSAGE(r.run.status == 0, r.run.err);
            BOOST_CHECK_EQUAL(r.sum("mmus", "faults"), 0);
            BOOST_CHECK_GT(r.sum("mmus", "demand_faults"), 0);
            BOOST_CHECK_EQUAL(number(r.list("va_manager"), "posted_failures"), 0);
            BOOST_CHECK_EQUAL(r.number("leaks"), 0);
        }
    };
    for (const char *walk :
         {"ideal", "flat", "memory"}) // with tables in memory, some are given back after the last FREE
        for (const char *cost : {"0 ns", "7 us"})
            for (const char *ack : {"visible", "posted"})
                check(walk, cost, ack);
}
