// `tlmalloc replay` on the simulated controller, and its comparison of allocators.
#include "platform/trace_events.hpp"

#include <cstdlib>
#include <map>

namespace {

const std::string recorded = TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz";
const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

const std::vector<std::string> allocators{"first_fit",    "best_fit",       "next_fit",
                                          "worst_fit",    "first_fit_top",  "buddy",
                                          "tlsf",         "offset_bins",    "offset_bins_rounded",
                                          "caching_pool", "segment_cache",  "growing_pool",
                                          "slot_pool",    "mixed",          "lazy",
                                          "segmented",    "linear_regions", "interleaving_regions"};

// Slots of 4 MiB hold the largest request of the recording.
const std::vector<std::string> large_slots{"--set", "controller.hbm_front.slot=4 MiB"};

// The number behind a key's first occurrence at or after a place in a JSON text.
double number_of(const std::string &json, const std::string &key, std::size_t from = 0) {
    std::size_t at = json.find("\"" + key + "\": ", from);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << key << " in " << json);
    return std::strtod(json.c_str() + at + key.size() + 4, nullptr);
}

// The report of a replay that must succeed.
std::string report_of(std::vector<std::string> arguments) {
    scratch_directory scratch;
    arguments.insert(arguments.begin(), "replay");
    arguments.insert(arguments.end(), {"--json", scratch.path("report.json")});
    command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return read_text(scratch.path("report.json"));
}

std::vector<std::string> with_slots(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), large_slots.begin(), large_slots.end());
    return arguments;
}

// The same on an allocator.
std::vector<std::string> on(std::vector<std::string> arguments, const std::string &name) {
    arguments.insert(arguments.end(), {"--policy", name});
    return name == "slot_pool" ? with_slots(arguments) : arguments;
}

std::vector<std::string> all_costs(const std::string &fixed, const std::string &node) {
    return {"--set", "controller.cost.profile=ideal", "--set", "controller.cost.fixed=" + fixed,
            "--set", "controller.cost.node=" + node};
}

std::string simulate(const std::string &trace, const std::vector<std::string> &more) {
    std::vector<std::string> arguments{trace, "--config", npu_small};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return report_of(arguments);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_simulated_controller_places_as_the_core_does) {
    scratch_directory scratch;
    std::string simulated = scratch.path("simulated.csv"), plain = scratch.path("plain.csv");
    // Four PEs share a cube; 100 MiB for each is less than the trace needs.
    for (std::string cube : {"24 GiB", "400 MiB"}) {
        std::string capacity = cube == "24 GiB" ? "6 GiB" : "100 MiB";
        command_result a = run_tlmalloc({"replay", recorded, "--config", npu_small, "--set",
                                         "hbm.capacity_per_cube=" + cube, "--align", "64", "--placements", simulated});
        command_result b =
            run_tlmalloc({"replay", recorded, "--capacity", capacity, "--align", "64", "--placements", plain});
        BOOST_REQUIRE_MESSAGE(a.status == 0 && b.status == 0, a.err + b.err);
        BOOST_CHECK(read_text(simulated) == read_text(plain));
        BOOST_CHECK_EQUAL(contains(read_text(plain), ",-,"), capacity == "100 MiB");
        BOOST_CHECK_EQUAL(contains(a.err, "HBM of PE 0 overflow: requested"), capacity == "100 MiB");
    }
}

BOOST_AUTO_TEST_CASE(a_memory_that_grows_while_a_trace_is_played_is_counted_by_what_is_used) {
    // 64 MiB at first, of the 113 MiB that the recording needs at most; the rest comes within its first second.
    const std::vector<std::string> growing{"--set", "controller.hbm_front.initial=64 MiB", "--set",
                                           "controller.hbm_front.commit=64 MiB"};
    std::vector<std::string> lazy{"--policy", "lazy"};
    lazy.insert(lazy.end(), growing.begin(), growing.end());
    const std::string plain = simulate(recorded, {}), grown = simulate(recorded, lazy);
    for (const char *key : {"failed", "peak_used_bytes", "peak_requested_bytes"})
        BOOST_CHECK_EQUAL(number_of(grown, key), number_of(plain, key));
    scratch_directory scratch;
    const command_result fast =
        run_tlmalloc({"replay", recorded, "--config", npu_small, "--policy", "lazy", "--speed", "1000000", "--set",
                      "controller.hbm_front.initial=64 MiB", "--vcd", scratch.path("fast.vcd")});
    BOOST_CHECK_EQUAL(fast.status, 0); // the trace is over before the first commit
    BOOST_CHECK(contains(fast.err, "HBM of PE 0 overflow: requested"));
    const std::string wave = read_text(scratch.path("fast.vcd")); // and the simulation with it
    BOOST_CHECK_LT(std::stoull(wave.substr(wave.rfind("\n#") + 2)), 200'000'000u);
}

BOOST_AUTO_TEST_CASE(with_lockstep_no_slice_is_played_on) {
    const command_result run =
        run_tlmalloc({"replay", recorded, "--config", npu_small, "--set", "controller.lockstep=cube"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK(contains(run.err, "controller.lockstep is cube: set it to off, because a replay has one slice"));
}

BOOST_AUTO_TEST_CASE(every_stack_places_on_the_simulated_controller_as_on_the_core) {
    scratch_directory scratch;
    std::string simulated = scratch.path("simulated.csv"), plain = scratch.path("plain.csv");
    for (const std::string stack :
         {"caching_pool", "segment_cache", "growing_pool", "slot_pool", "mixed", "caching_pool/best_fit",
          "segment_cache/tlsf", "growing_pool/first_fit_top", "mixed/buddy", "segment_cache/next_fit", "lazy/best_fit",
          "offset_bins", "growing_pool/offset_bins_rounded", "segmented", "linear_regions/buddy",
          "interleaving_regions"}) {
        // In 112 MiB some requests fail.
        for (std::string cube : {"24 GiB", "448 MiB"}) {
            std::string capacity = cube == "24 GiB" ? "6 GiB" : "112 MiB";
            const std::vector<std::string> sizes{"--set", "controller.hbm_front.slot=4 MiB",
                                                 "--set", "controller.hbm_front.buffers=2 MiB",
                                                 "--set", "controller.hbm_front.chunk_time=0 ns"};
            std::vector<std::string> a{
                "replay",   recorded, "--config",     npu_small, "--set", "hbm.capacity_per_cube=" + cube,
                "--policy", stack,    "--placements", simulated};
            std::vector<std::string> b{"replay",   recorded, "--capacity",   capacity,
                                       "--policy", stack,    "--placements", plain};
            a.insert(a.end(), sizes.begin(), sizes.end());
            if (stack != "offset_bins") b.insert(b.end(), sizes.begin(), sizes.end()); // which are those of fronts
            const command_result on_controller = run_tlmalloc(a), on_core = run_tlmalloc(b);
            BOOST_REQUIRE_MESSAGE(on_controller.status == 0 && on_core.status == 0, on_controller.err + on_core.err);
            BOOST_CHECK_MESSAGE(read_text(simulated) == read_text(plain), stack << " in " << capacity);
            const auto line = [](const std::string &text, const std::string &word) {
                const std::size_t at = text.find(word);
                return text.substr(at, text.find('\n', at) - at);
            };
            for (const char *word : {"failed  ", "peak used", "reserved", "nodes visited"})
                BOOST_CHECK_EQUAL(line(on_controller.out, word), line(on_core.out, word));
        }
    }
}

// Two commands at once: the second waits for the first. 10 ns fixed, 1 ns a node.
BOOST_AUTO_TEST_CASE(latency_is_queueing_and_the_price_of_the_receipt) {
    scratch_directory scratch;
    std::string together = scratch.write("together.csv", "time_ns,op,id,bytes\n7,alloc,1,64\n7,alloc,2,64\n");
    std::string report = simulate(together, all_costs("10 ns", "1 ns"));
    BOOST_CHECK_EQUAL(number_of(report, "p50"), 11000);
    BOOST_CHECK_EQUAL(number_of(report, "p99"), 22000);
    BOOST_CHECK_EQUAL(number_of(report, "max"), 22000);
    BOOST_CHECK_EQUAL(number_of(report, "sim_time_ps"), 22000);
    // 16 ns apart they do not meet; at four times the speed, 4 ns apart, the second waits 7 ns.
    std::string apart = scratch.write("apart.csv", "time_ns,op,id,bytes\n0,alloc,1,64\n16,alloc,2,64\n");
    BOOST_CHECK_EQUAL(number_of(simulate(apart, all_costs("10 ns", "1 ns")), "max"), 11000);
    std::vector<std::string> fast = all_costs("10 ns", "1 ns");
    fast.insert(fast.end(), {"--speed", "4"});
    BOOST_CHECK_EQUAL(number_of(simulate(apart, fast), "max"), 18000);
}

BOOST_AUTO_TEST_CASE(an_ideal_allocator_has_no_latency_and_the_same_placements) {
    std::string ideal = simulate(recorded, all_costs("0 ns", "0 ns"));
    std::string dear = simulate(recorded, all_costs("0 ns", "10 ns"));
    BOOST_CHECK_EQUAL(number_of(ideal, "max"), 0);
    // Every allocation looks at one node or more; the recorded commands hardly ever meet.
    BOOST_CHECK_GE(number_of(dear, "p50"), 10000);
    BOOST_CHECK_EQUAL(number_of(ideal, "nodes_visited"), number_of(dear, "nodes_visited"));
    BOOST_CHECK_EQUAL(number_of(ideal, "reserved_bytes"), number_of(dear, "reserved_bytes"));
}

BOOST_AUTO_TEST_CASE(the_report_of_a_simulated_replay_holds_the_resolved_configuration) {
    std::string report = simulate(recorded, {"--set", "controller.queue_depth=3"});
    BOOST_CHECK_EQUAL(number_of(report, "queue_depth"), 3);
    BOOST_CHECK_MESSAGE(contains(report, "\"capacity_per_cube\": \"24 GiB\""), report);
    BOOST_CHECK_MESSAGE(contains(report, "\"hbm_policy\": \"first_fit\""), report);
}

BOOST_AUTO_TEST_CASE(a_bad_configuration_stops_a_replay_with_its_place) {
    scratch_directory scratch;
    std::string config = scratch.write("c.yaml", "hbm:\n  capacity_per_cubes: 24 GiB\n");
    command_result run = run_tlmalloc({"replay", recorded, "--config", config});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "c.yaml:2:3:"), run.err);
    command_result missing = run_tlmalloc({"replay", recorded, "--config", scratch.path("none.yaml")});
    BOOST_CHECK_EQUAL(missing.status, 1);
    BOOST_CHECK_MESSAGE(contains(missing.err, "none.yaml"), missing.err);
}

BOOST_AUTO_TEST_CASE(the_comparison_has_a_row_for_each_allocator_and_agrees_with_single_replays) {
    std::string report = report_of(with_slots({recorded, "--capacity", "1 GiB", "--compare", "all"}));
    for (const std::string &name : allocators) {
        std::size_t row = report.find("\"policy\": \"" + name + "\"");
        BOOST_REQUIRE_MESSAGE(row != std::string::npos, name << " is missing in " << report);
        std::string single = report_of(on({recorded, "--capacity", "1 GiB"}, name));
        for (std::string key : {"failed", "nodes_visited", "reserved_bytes", "peak_used_bytes", "peak_requested_bytes"})
            BOOST_CHECK_MESSAGE(number_of(report, key, row) == number_of(single, key), name << ": " << key);
        double reserved = number_of(report, "reserved_over_peak", row);
        BOOST_CHECK_GE(reserved, 1.0);
        double internal = number_of(report, "internal_fragmentation", row);
        double external = number_of(report, "external_fragmentation", row);
        BOOST_CHECK_CLOSE(reserved, 1 / ((1 - internal) * (1 - external)), 1e-9);
        BOOST_CHECK_GT(number_of(report, "ns_per_op", row), 0.0);
        BOOST_CHECK_GE(number_of(report, "latency_p99_ps", row), number_of(report, "latency_p50_ps", row));
    }
}

// The comparison prices receipts on the same engine as the controller does.
BOOST_AUTO_TEST_CASE(the_comparison_has_the_latencies_of_the_simulated_controller) {
    std::string compared = report_of({recorded, "--config", npu_small, "--compare", "all"});
    std::string simulated = simulate(recorded, {});
    std::size_t row = compared.find("\"policy\": \"first_fit\"");
    BOOST_REQUIRE(row != std::string::npos);
    BOOST_CHECK_EQUAL(number_of(compared, "latency_p50_ps", row), number_of(simulated, "p50"));
    BOOST_CHECK_EQUAL(number_of(compared, "latency_p99_ps", row), number_of(simulated, "p99"));
    BOOST_CHECK_EQUAL(number_of(compared, "latency_max_ps", row), number_of(simulated, "max"));
}

// What the search says is played again, by a replay of its own, on both sides of the boundary that it found.
BOOST_AUTO_TEST_CASE(the_comparison_finds_a_capacity_on_which_nothing_fails) {
    for (const std::string align : {"1", "64", "4096"}) {
        BOOST_TEST_CONTEXT(align) {
            const std::string report =
                report_of(with_slots({recorded, "--capacity", "80 MiB", "--align", align, "--compare", "all"}));
            const double resolution = number_of(report, "fits_resolution_bytes");
            for (const std::string &policy : allocators) {
                const std::size_t row = report.find("\"policy\": \"" + policy + "\"");
                BOOST_REQUIRE(row != std::string::npos);
                const double fits = number_of(report, "fits_bytes", row), fails = number_of(report, "fails_bytes", row);
                BOOST_CHECK_MESSAGE(fails < fits && fits - fails <= (policy == "slot_pool" ? 4 << 20 : resolution),
                                    policy << ": " << fails << ", " << fits);
                const auto failed_on = [&](double capacity) {
                    const std::string single =
                        report_of(on({recorded, "--capacity", std::to_string(static_cast<std::uint64_t>(capacity)),
                                      "--align", align},
                                     policy));
                    return number_of(single, "failed");
                };
                BOOST_CHECK_MESSAGE(failed_on(fits) == 0, policy << " fails on " << fits);
                BOOST_CHECK_MESSAGE(failed_on(fails) > 0, policy << " does not fail on " << fails);
            }
            // The size that was asked for has no influence.
            const std::string larger =
                report_of({recorded, "--capacity", "3 GiB", "--align", align, "--compare", "buddy"});
            BOOST_CHECK_EQUAL(number_of(larger, "fits_bytes"),
                              number_of(report, "fits_bytes", report.find("\"policy\": \"buddy\"")));
        }
    }
}

// In a cache as on an arena: what is granted begins on a multiple and takes whole ones.
BOOST_AUTO_TEST_CASE(with_an_alignment_every_offset_is_a_multiple_of_it_on_every_allocator) {
    std::vector<std::vector<std::string>> kinds;
    for (const std::string &name : allocators)
        kinds.push_back(on({}, name));
    kinds.push_back({"--policy", "segment_cache", "--settings", "expandable_segments:True"});
    kinds.push_back({"--policy", "segment_cache", "--settings", "roundup_power2_divisions:8"});
    for (const std::uint64_t align : {64u, 4096u, 65536u, 2u << 20})
        for (const std::vector<std::string> &kind : kinds) {
            scratch_directory scratch;
            const std::string placements = scratch.path("p.csv");
            std::vector<std::string> arguments{recorded,       "--capacity", "64 GiB", "--align", std::to_string(align),
                                               "--placements", placements};
            arguments.insert(arguments.end(), kind.begin(), kind.end());
            const std::string report = report_of(arguments);
            BOOST_CHECK_EQUAL(number_of(report, "failed"), 0);
            BOOST_CHECK_EQUAL(static_cast<std::uint64_t>(number_of(report, "peak_used_bytes")) % align, 0u);
            std::istringstream lines(read_text(placements));
            std::string line;
            std::getline(lines, line);
            std::size_t count = 0, off = 0;
            for (; std::getline(lines, line); count++)
                off += std::strtoull(line.c_str() + line.find(',') + 1, nullptr, 10) % align != 0;
            BOOST_CHECK_GT(count, 1000u);
            BOOST_CHECK_MESSAGE(off == 0, kind[1] << " " << kind.back() << ": " << off
                                                  << " offsets are no multiples of " << align);
        }
    const command_result run = run_tlmalloc({"replay", recorded, "--capacity", "64 GiB", "--align", "4 MiB", "--policy",
                                             "segment_cache", "--settings", "expandable_segments:True"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(
        contains(run.err, "cannot make segment_cache: an alignment of 4194304 bytes: must be at most 2097152"),
        run.err);
}

// By hand: 8 + 8 bytes live, the first freed, 8 more: first fit needs 16 bytes and no less.
BOOST_AUTO_TEST_CASE(a_capacity_that_is_the_most_requested_has_nothing_below_it) {
    scratch_directory scratch;
    const std::string trace = scratch.write(
        "t.csv", "time_ns,op,id,bytes\n0,alloc,1,8\n1,alloc,2,8\n2,free,1,8\n3,alloc,3,8\n4,free,2,8\n5,free,3,8\n");
    const std::string report = report_of({trace, "--capacity", "8", "--compare", "first_fit,segment_cache"});
    BOOST_CHECK_EQUAL(number_of(report, "fits_bytes"), 16);
    BOOST_CHECK_MESSAGE(contains(report, "\"fails_bytes\": null"), report);
    // A segment of 2 MiB for small blocks, found to a byte.
    const std::size_t cache = report.find("segment_cache");
    BOOST_CHECK_EQUAL(number_of(report, "fits_resolution_bytes"), 1);
    BOOST_CHECK_EQUAL(number_of(report, "fits_bytes", cache), 2 << 20);
    BOOST_CHECK_EQUAL(number_of(report, "fails_bytes", cache), (2 << 20) - 1);
    const std::string empty = scratch.write("e.csv", "time_ns,op,id,bytes\n");
    BOOST_CHECK_EQUAL(number_of(report_of({empty, "--capacity", "8", "--compare", "tlsf"}), "fits_bytes"), 1);
}

BOOST_AUTO_TEST_CASE(a_policy_that_failed_requests_is_marked) {
    scratch_directory scratch;
    const std::string json = scratch.path("r.json");
    const command_result run = run_tlmalloc(
        {"replay", recorded, "--capacity", "124400000", "--compare", "next_fit,first_fit,buddy", "--json", json});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    const std::string report = read_text(json);
    std::istringstream lines(run.out);
    std::string line, names;
    bool told = false;
    while (std::getline(lines, line)) {
        told = told || line.rfind("! requests failed", 0) == 0;
        const std::string name = line.substr(0, line.find(' '));
        const std::size_t row = report.find("\"policy\": \"" + name + "\"");
        if (name.empty() || row == std::string::npos) continue;
        names += name + " ";
        const bool failed = number_of(report, "failed", row) > 0;
        BOOST_CHECK_EQUAL(failed, name != "first_fit");
        BOOST_CHECK_EQUAL(contains(line, "! "), failed);
        BOOST_CHECK_EQUAL(report.find("\"complete\": false", row) - row < 60, failed);
    }
    BOOST_CHECK_EQUAL(names, "next_fit first_fit buddy "); // in the order that was asked for
    BOOST_CHECK_MESSAGE(told, run.out);
    const command_result good = run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--compare", "first_fit"});
    BOOST_CHECK_MESSAGE(!contains(good.out, "!"), good.out);
}

// Two commands at once, the second waits: 11 + 22 ns; the frees have no part in it.
BOOST_AUTO_TEST_CASE(the_total_latency_is_the_sum_over_all_allocations_at_the_stated_prices) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n7,alloc,1,64\n7,alloc,2,64\n9,free,1,64\n");
    std::vector<std::string> arguments{trace, "--capacity", "1 KiB", "--compare", "first_fit,tlsf"};
    for (const std::string &word : all_costs("10 ns", "1 ns"))
        arguments.push_back(word);
    const std::string report = report_of(arguments);
    BOOST_CHECK_EQUAL(number_of(report, "latency_total_ps"), 33000);
    BOOST_CHECK_EQUAL(number_of(report, "fixed"), 10000);
    BOOST_CHECK_EQUAL(number_of(report, "node"), 1000);
    arguments.insert(arguments.begin(), "replay");
    const command_result run = run_tlmalloc(arguments);
    BOOST_CHECK_MESSAGE(contains(run.out, "prices in ns     of controller.cost, fixed 10, node 1\n"), run.out);
    BOOST_CHECK_EQUAL(number_of(simulate(trace, all_costs("10 ns", "1 ns")), "total"), 33000);
    // On a recorded trace it is what the simulated controller measures.
    const std::string compared = report_of({recorded, "--config", npu_small, "--compare", "first_fit"});
    BOOST_CHECK_EQUAL(number_of(compared, "latency_total_ps"), number_of(simulate(recorded, {}), "total"));
}

// The n-th of 200 commands at once is served after n times 11 ns.
BOOST_AUTO_TEST_CASE(percentiles_are_latencies_of_the_trace_up_to_which_so_many_are_served) {
    scratch_directory scratch;
    std::string text = "time_ns,op,id,bytes\n";
    for (int i = 0; i < 200; i++)
        text += "7,alloc," + std::to_string(i) + ",64\n";
    std::vector<std::string> arguments{scratch.write("t.csv", text), "--capacity", "1 MiB", "--compare", "first_fit"};
    for (const std::string &word : all_costs("10 ns", "1 ns"))
        arguments.push_back(word);
    const std::string report = report_of(arguments);
    BOOST_CHECK_EQUAL(number_of(report, "latency_p50_ps"), 100 * 11000);
    BOOST_CHECK_EQUAL(number_of(report, "latency_p99_ps"), 198 * 11000);
    BOOST_CHECK_EQUAL(number_of(report, "latency_max_ps"), 200 * 11000);
}

// Behind its first answer worst fit walks for 5 ns: the second command begins after 11 + 5 ns.
BOOST_AUTO_TEST_CASE(a_command_of_the_comparison_waits_for_the_walk_behind_the_answer_before) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n7,alloc,1,64\n7,alloc,2,64\n");
    std::vector<std::string> costs = all_costs("10 ns", "1 ns");
    costs.insert(costs.end(), {"--set", "controller.cost.walk=5 ns"});
    std::vector<std::string> arguments{trace, "--capacity", "1 KiB", "--compare", "worst_fit"};
    arguments.insert(arguments.end(), costs.begin(), costs.end());
    BOOST_CHECK_EQUAL(number_of(report_of(arguments), "latency_total_ps"), 11000 + 27000);
    costs.insert(costs.end(), {"--policy", "worst_fit"});
    BOOST_CHECK_EQUAL(number_of(simulate(trace, costs), "total"), 11000 + 27000);
}

// Slots are searched for in steps of slots.
BOOST_AUTO_TEST_CASE(the_comparison_states_the_finest_resolution_of_its_rows) {
    const auto resolution = [](const std::string &policies) {
        return number_of(report_of(with_slots({recorded, "--capacity", "1 GiB", "--compare", policies})),
                         "fits_resolution_bytes");
    };
    BOOST_CHECK_EQUAL(resolution("first_fit,slot_pool"), resolution("first_fit"));
    BOOST_CHECK_EQUAL(resolution("slot_pool,first_fit"), resolution("first_fit"));
    BOOST_CHECK_GT(resolution("slot_pool"), resolution("first_fit"));
}

BOOST_AUTO_TEST_CASE(the_comparison_writes_the_files_of_every_policy_as_single_replays_do) {
    scratch_directory scratch;
    const std::string placements = scratch.path("p.csv"), map = scratch.path("no suffix");
    const std::string kept = scratch.write("p.buddy.csv", "older");
    const command_result run =
        run_tlmalloc({"replay", recorded, "--capacity", "100 MiB", "--compare", "first_fit,buddy,segment_cache",
                      "--placements", placements, "--map", map});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    for (const std::string name : {"first_fit", "buddy", "segment_cache"}) {
        const command_result single = run_tlmalloc({"replay", recorded, "--capacity", "100 MiB", "--policy", name,
                                                    "--placements", scratch.path("own"), "--map", scratch.path("m")});
        BOOST_REQUIRE_MESSAGE(single.status == 0, single.err);
        BOOST_CHECK(read_text(scratch.path("p." + name + ".csv")) == read_text(scratch.path("own")));
        BOOST_CHECK(read_text(map + "." + name) == read_text(scratch.path("m")));
    }
    BOOST_CHECK_EQUAL(scratch.file_count(), 8u); // nothing under the names that were given
    // A point in front of a name is no suffix.
    const command_result hidden = run_tlmalloc(
        {"replay", recorded, "--capacity", "100 MiB", "--compare", "tlsf", "--placements", scratch.path(".p")});
    BOOST_CHECK_MESSAGE(hidden.status == 0, hidden.err);
    BOOST_CHECK(std::filesystem::exists(scratch.path(".p.tlsf")));
    // What would be written over is refused for these names, too.
    const std::string trace = scratch.write("t.tlsf.csv", "time_ns,op,id,bytes\n0,alloc,1,8\n");
    const command_result over = run_tlmalloc(
        {"replay", trace, "--capacity", "1 KiB", "--compare", "tlsf", "--placements", scratch.path("t.csv")});
    BOOST_CHECK_EQUAL(over.status, 2);
    BOOST_CHECK_MESSAGE(contains(over.err, "is the input"), over.err);
    // A folder, or nothing, is no name that others are made of.
    const std::size_t before = scratch.file_count();
    for (const std::string &no_file : {std::string(), scratch.path(""), scratch.path("none/")}) {
        const command_result refused =
            run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--compare", "tlsf", "--placements", no_file});
        BOOST_CHECK_EQUAL(refused.status, 2);
        BOOST_CHECK_MESSAGE(contains(refused.err, "--placements: '" + no_file + "' is not a file: "), refused.err);
    }
    BOOST_CHECK_EQUAL(scratch.file_count(), before);
}

// An aged arena has its size; what cannot be made of it has no row and no files.
BOOST_AUTO_TEST_CASE(a_comparison_that_begins_with_a_snapshot_looks_for_no_capacity) {
    scratch_directory scratch;
    const std::string aged = scratch.path("aged");
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"age", recorded, "--capacity", "200 MiB", "--events", "peak", "--output", aged}).status, 0);
    const std::string report = report_of({recorded, "--from", aged, "--compare", "first_fit,tlsf"});
    BOOST_CHECK_MESSAGE(contains(report, "\"fits_bytes\": null") && contains(report, "\"fits_resolution_bytes\": null"),
                        report);
}

BOOST_AUTO_TEST_CASE(every_allocator_keeps_the_blocks_that_live_apart) {
    scratch_directory scratch;
    const std::vector<event> events = read_events(gunzip(recorded, scratch));
    for (const std::string &name : allocators)
        for (std::string capacity : {"1 GiB", "64 MiB"}) { // the second: some fail
            BOOST_TEST_CONTEXT(name << " in " << capacity) {
                std::string placements = scratch.path("p.csv");
                command_result run = run_tlmalloc(on(
                    {"replay", recorded, "--capacity", capacity, "--align", "64", "--placements", placements}, name));
                BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
                std::istringstream lines(read_text(placements));
                std::string id, offset, nbytes, nodes;
                std::getline(lines, id);
                std::map<std::uint64_t, std::uint64_t> living, offsets; // offset to end; id to offset
                const std::uint64_t end = capacity == "1 GiB" ? std::uint64_t{1} << 30 : std::uint64_t{64} << 20;
                for (const event &e : events) {
                    if (e.is_free) {
                        if (auto found = offsets.find(e.id); found != offsets.end()) living.erase(found->second);
                        continue;
                    }
                    std::getline(std::getline(std::getline(lines, id, ','), offset, ','), nbytes, ',');
                    BOOST_REQUIRE(std::getline(lines, nodes) && id == std::to_string(e.id));
                    BOOST_REQUIRE_EQUAL(nbytes, std::to_string(e.nbytes));
                    if (offset == "-") continue;
                    const std::uint64_t at = std::stoull(offset);
                    const auto after = living.lower_bound(at);
                    BOOST_REQUIRE(at % 64 == 0 && at + e.nbytes <= end);
                    BOOST_REQUIRE(after == living.end() || at + e.nbytes <= after->first);
                    BOOST_REQUIRE(after == living.begin() || std::prev(after)->second <= at);
                    living[at] = at + e.nbytes;
                    offsets[e.id] = at;
                }
            }
        }
}

BOOST_AUTO_TEST_CASE(a_request_that_no_memory_could_hold_fails_as_others_do) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,0,9223372036854775808\n"
                                                     "0,alloc,1,4611686018427387905\n0,alloc,2,5\n");
    const command_result run = run_tlmalloc({"replay", trace, "--capacity", "32 MiB", "--compare", "all"});
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    for (const std::string &name : allocators) {
        const std::string report = report_of({trace, "--capacity", "32 MiB", "--policy", name});
        BOOST_CHECK_MESSAGE(number_of(report, "failed") == 2, name);
    }
}
