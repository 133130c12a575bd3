// The energy of a run by cause: it is counts times constants, each cause appears where it must, and observers change
// nothing.
#include "platform/energy_sums.hpp"

#include <map>

using energy_sums::causes_of;

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using settings = std::vector<std::string>;

report run_with_energy(const std::string &kernel, const settings &keys, const settings &more = {}) {
    settings words{"--kernel", kernel, "--set", "hbm.timing=hbm4", "--set", "hbm.energy=hbm4_ayna"};
    for (const std::string &key : keys)
        words.insert(words.end(), {"--set", key});
    words.insert(words.end(), more.begin(), more.end());
    report result = run(npu_small, words);
    BOOST_REQUIRE_MESSAGE(result.run.status == 0, result.run.err);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(energy_is_the_counts_of_the_slices_times_constants) {
    for (const char *kernel : {"gemm", "dma_read", "ring", "transpose"}) {
        BOOST_TEST_CONTEXT(kernel) {
            const report r = run_with_energy(kernel, {});
            BOOST_REQUIRE(r.list("energy"));
            energy_sums::check(r);
            const json_t *const part = json_array_get(json_object_get(r.list("energy"), "parts"), 0);
            BOOST_CHECK_EQUAL(text_of(part, "part"), "hbm");
            BOOST_CHECK_EQUAL(text_of(part, "profile"), "hbm4_ayna");
        }
    }
}

BOOST_AUTO_TEST_CASE(each_cause_appears_where_it_must_and_nowhere_else) {
    const auto causes = [](const std::string &kernel, const settings &keys) {
        return causes_of(run_with_energy(kernel, keys).list("energy"));
    };
    const auto plain = causes("gemm", {});
    for (const char *some : {"loads", "stores", "host", "background"})
        BOOST_CHECK_GT(plain.at(some), 0);
    for (const char *none : {"walks", "allocator", "mapping", "moves", "messages", "links"})
        BOOST_CHECK_EQUAL(plain.at(none), 0);
    const auto walks = causes("gemm", {"mmu.walk=memory", "mmu.page_size=4 KiB"});
    BOOST_CHECK_GT(walks.at("walks"), 0);
    BOOST_CHECK_GT(walks.at("mapping"), 0);
    BOOST_CHECK_GT(causes("gemm", {"controller.free_list=hbm"}).at("allocator"), 0);
    BOOST_CHECK_GT(causes("ring", {"messages.memory=hbm"}).at("messages"), 0);
    BOOST_CHECK_GT(causes("gemm", {"host_memory.capacity=64 MiB", "mmu.unmapped=demand", "mmu.eviction=clock",
                                   "mmu.page_size=4 KiB", "hbm.capacity_per_cube=64 KiB"})
                       .at("moves"),
                   0);
}

BOOST_AUTO_TEST_CASE(a_run_without_an_energy_profile_reports_no_energy) {
    const report r = run(npu_small, {"--kernel", "dma_read", "--set", "hbm.timing=hbm4"});
    BOOST_CHECK(!r.list("energy"));
    BOOST_CHECK(!contains(r.run.out, "uJ"));
}

BOOST_AUTO_TEST_CASE(observers_change_no_energy) {
    scratch_directory scratch;
    const settings keys{"mmu.walk=memory", "controller.free_list=hbm"};
    const report alone = run_with_energy("gemm", keys),
                 watched = run_with_energy("gemm", keys,
                                           {"--vcd", scratch.path("a.vcd"), "--events", scratch.path("events"),
                                            "--trace", scratch.path("trace.json")});
    BOOST_CHECK(json_equal(alone.list("energy"), watched.list("energy")));
    BOOST_CHECK_EQUAL(alone.number("sim_time_ps"), watched.number("sim_time_ps"));
}

BOOST_AUTO_TEST_CASE(explain_shows_the_causes_beside_the_time) {
    scratch_directory scratch;
    const std::string file = scratch.path("report.json"), explained = scratch.path("explained.json");
    const command_result told = run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--set", "hbm.timing=hbm4",
                                              "--set", "hbm.energy=hbm4_ayna", "--json", file});
    BOOST_REQUIRE_MESSAGE(told.status == 0, told.err);
    BOOST_CHECK_MESSAGE(contains(told.out, "HBM: ") && contains(told.out, "hbm4_ayna"), told.out);
    const command_result result = run_tlmalloc({"explain", file, "--json", explained});
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    BOOST_CHECK_MESSAGE(contains(result.out, "energy of the whole run"), result.out);
    BOOST_CHECK(!contains(result.out, "unknown"));
    const std::unique_ptr<json_t, void (*)(json_t *)> json(json_load_file(explained.c_str(), 0, nullptr), json_decref);
    const std::unique_ptr<json_t, void (*)(json_t *)> report(json_load_file(file.c_str(), 0, nullptr), json_decref);
    const auto causes = causes_of(json_object_get(report.get(), "energy"));
    std::int64_t before = INT64_MAX, sum = 0;
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(json.get(), "energy"), i, row) {
        BOOST_CHECK_LE(number(row, "fj"), before);
        BOOST_CHECK_EQUAL(causes.at(text_of(row, "cause")), number(row, "fj"));
        before = number(row, "fj");
        sum += before;
    }
    BOOST_CHECK_EQUAL(sum, number(json_object_get(report.get(), "energy"), "total_fj"));
}

BOOST_AUTO_TEST_CASE(explain_names_the_constants_that_are_unknown_and_count) {
    scratch_directory scratch;
    const std::string file = scratch.path("report.json");
    const command_result told =
        run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--set", "system.energy=published", "--json", file});
    BOOST_REQUIRE_MESSAGE(told.status == 0, told.err);
    const command_result result = run_tlmalloc({"explain", file});
    BOOST_CHECK_MESSAGE(contains(result.out, "\nunknown, and in no sum: others.router, others.table_write, "
                                             "others.engine_cycle\n"),
                        result.out);
}

// No source has constants for DDR5. Its bytes count at the constants of other parts.
BOOST_AUTO_TEST_CASE(the_energy_of_commands_of_the_hosts_memory_is_unknown_and_their_counts_are_reported) {
    const report r = run_with_energy("gemm", {"host_memory.capacity=64 MiB", "host_memory.timing=ddr5",
                                              "mmu.unmapped=demand", "mmu.eviction=clock", "mmu.page_size=4 KiB",
                                              "hbm.capacity_per_cube=64 KiB", "system.energy=published"});
    energy_sums::check(r);
    const json_t *const parts = json_object_get(r.list("energy"), "parts"), *const host = json_array_get(parts, 1),
                        *const others = json_array_get(parts, 2);
    BOOST_REQUIRE_EQUAL(json_array_size(parts), 3u);
    BOOST_CHECK_EQUAL(text_of(host, "part"), "host");
    BOOST_CHECK_EQUAL(text_of(host, "profile"), "none");
    BOOST_CHECK_EQUAL(number(host, "total_fj"), 0);
    BOOST_CHECK_GT(energy_sums::counts_of(host).at("activate"), 0);
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(host, "unknown")), 7u); // all but refreshes of one bank
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(host, "constants"), i, row)
        BOOST_CHECK_EQUAL(text_of(row, "standing"), "unknown");
    BOOST_CHECK_GT(energy_sums::counts_of(others).at("host_read"), 0);
    BOOST_CHECK_MESSAGE(contains(r.run.out, "\nhost memory: unknown: no constant has a source (none)\n"), r.run.out);
    BOOST_CHECK_MESSAGE(contains(r.run.out, "; unknown, and not in the sum: router, host_memory_link, table_write, "
                                            "engine_cycle)\n"),
                        r.run.out);
}

BOOST_AUTO_TEST_CASE(the_hosts_memory_without_banks_has_no_commands_and_no_part) {
    const report r = run_with_energy("dma_read", {"host_memory.capacity=1 MiB"});
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(r.list("energy"), "parts")), 1u);
}

// Refreshes of single banks have a constant of their own, which the profile may lack. Two pseudo-channels on one bus
// are two in times of rows.
BOOST_AUTO_TEST_CASE(refreshes_of_banks_and_shared_buses_count_as_the_timing_says) {
    scratch_directory scratch;
    const std::string text = read_text(TLMALLOC_SOURCE_DIR "/configs/timing/hbm4.yaml"),
                      file = scratch.path("hbm4.yaml");
    const auto count_of = [](const report &r, const char *constant) {
        return energy_sums::counts_of(json_array_get(json_object_get(r.list("energy"), "parts"), 0)).at(constant);
    };
    const auto changed = [](std::string from, const std::string &old, const std::string &now) {
        BOOST_REQUIRE(contains(from, old));
        return from.replace(from.find(old), old.size(), now);
    };
    const auto run_of = [&](const std::string &timing) {
        write_text(file, timing);
        report r = run_with_energy("gemm", {"hbm.timing=" + file});
        energy_sums::check(r); // reads the file, too
        return r;
    };
    const report whole = run_of(text), banks = run_of(changed(text, "refresh: all_bank", "refresh: per_bank")),
                 shared = run_of(changed(changed(text, "map: m3", "map: bg1,co5,ba3,ro14,pc1"), "row_bus_sharers: 1",
                                         "row_bus_sharers: 2"));
    BOOST_CHECK_GT(count_of(whole, "refresh"), 0);
    BOOST_CHECK_EQUAL(count_of(whole, "refresh_bank"), 0);
    BOOST_CHECK_EQUAL(count_of(banks, "refresh"), 0);
    BOOST_CHECK_GT(count_of(banks, "refresh_bank"), 4 * count_of(whole, "refresh"));
    BOOST_CHECK_GT(count_of(shared, "refresh"), 0);
    BOOST_CHECK_MESSAGE(contains(banks.run.out, "; unknown, and not in the sum: refresh_bank)\n"), banks.run.out);
    BOOST_CHECK(!contains(whole.run.out, "unknown"));
}

// 1 MW of background: 2^63 fJ take 9 ms.
BOOST_AUTO_TEST_CASE(an_energy_of_2_to_the_63_femtojoules_is_not_reported_and_a_warning_states_it) {
    scratch_directory scratch;
    const std::string profile = scratch.write(
        "mine.yaml", "timing: hbm4\nburst: 32 B\nall_closed: {power: 1000 W, standing: assumed, source: a test}\n"
                     "one_open: {power: 1000 W, standing: assumed, source: a test}\n");
    const auto run_for = [&](const std::string &time) {
        report r = run(npu_small, {"--kernel", "gemm", "--set", "hbm.timing=hbm4", "--set", "hbm.energy=" + profile,
                                   "--set", "hbm.pseudo_channels=256", "--set", "mmu.unmapped=demand", "--set",
                                   "mmu.fault_latency=" + time});
        BOOST_CHECK_EQUAL(r.run.status, 0);
        return r;
    };
    const report most = run_for("8 ms"), more = run_for("10 ms");
    energy_sums::check(most);
    BOOST_CHECK_GT(number(most.list("energy"), "total_fj"), INT64_MAX / 8 * 7);
    BOOST_CHECK_EQUAL(most.run.err, "");
    BOOST_CHECK_EQUAL(more.run.err, "tlmalloc run: warning: the energy is 2^63 fJ or more, and is not reported: set "
                                    "smaller constants\n");
    BOOST_CHECK(!more.list("energy"));
    BOOST_CHECK(!contains(more.run.out, "uJ"));
}
