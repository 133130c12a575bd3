// `tlmalloc run` of kernels that send each other messages: results, reports, costs by KernBench's tables, deadlocks.
#include "platform/run_report.hpp"
#include "today.hpp"

#include <map>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/", small = source + "configs/npu_small.yaml",
                  large = source + "configs/kernbench.yaml";

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string> &sets) {
    const std::vector<std::string> more = with_prices(sets);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

// The least latency of each pair of PEs, in ps.
std::map<std::string, std::int64_t> least(const report &of) {
    std::map<std::string, std::int64_t> all;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(of.list("message_paths"), i, row) {
        all[std::string(json_string_value(json_object_get(row, "from"))) + " -> " +
            json_string_value(json_object_get(row, "to"))] = number(row, "latency_least_ps");
    }
    return all;
}

std::string kernel(const std::string &name, const std::string &run) {
    return "#include \"tlmalloc/kernel.h\"\n"
           "static tla_status run(tl_context *tl) {\n"
           "    tl_tile tile = {.rows = 1, .columns = 64, .dtype = TL_F32};\n"
           "    uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);\n"
           "    tla_status status = tl_alloc_tiles(tl, &tile, 1);\n"
           "    (void)p, (void)programs;\n"
           "    if (status == TLA_OK) {" +
           run +
           "}\n"
           "    return tl_free_tiles(tl, &tile, 1, status);\n"
           "}\n"
           "TL_KERNEL(.name = \"" +
           name + "\", .run = run);\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_ring_of_1_8_64_and_256_pes_passes_every_byte_on) {
    const std::vector<std::vector<std::string>> sizes = {
        {"system.pes_per_cube=1", "system.cube_mesh_width=1", "system.cube_mesh_height=1", "system.sips=1"},
        {"system.cube_mesh_width=1", "system.cube_mesh_height=1", "system.sips=1"},
        {"system.cube_mesh_width=4", "system.cube_mesh_height=2", "system.sips=1"},
        {}};
    const std::int64_t programs[] = {1, 8, 64, 256};
    for (std::size_t i = 0; i < sizes.size(); i++) {
        const report r = run(large, with({"--kernel", "ring", "--set", "workload.elements_per_pe=100"}, sizes[i]));
        BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "result verified; leaks 0"),
                            r.run.out << r.run.err);
        if (programs[i] == 1) {
            BOOST_CHECK(!r.list("messages"));
            continue;
        }
        BOOST_CHECK_EQUAL(number(r.list("message_sums"), "received"), programs[i] * (programs[i] - 1));
        BOOST_CHECK_EQUAL(number(r.list("message_sums"), "sent_bytes"), programs[i] * (programs[i] - 1) * 400);
        BOOST_CHECK_EQUAL(r.sum("messages", "received_bytes"), programs[i] * (programs[i] - 1) * 400);
        BOOST_CHECK_EQUAL(number(r.list("message_sums"), "slot_allocs"), programs[i]);
        BOOST_CHECK_EQUAL(r.sum("message_paths", "messages"), programs[i] * (programs[i] - 1));
    }
}

BOOST_AUTO_TEST_CASE(an_all_reduce_of_1_to_256_pes_has_the_bits_of_its_order_of_additions) {
    const std::vector<std::string> one_cube = {"system.cube_mesh_width=1", "system.cube_mesh_height=1",
                                               "system.sips=1"};
    std::vector<std::pair<std::string, std::string>> sizes;
    for (const char *pes : {"1", "2", "3", "6", "8"})
        for (const char *elements : {"1", "5", "1000", "40001"})
            sizes.emplace_back(pes, elements);
    for (const auto &[pes, elements] : some_of_today(sizes, 3)) {
        std::vector<std::string> sets = one_cube;
        sets.push_back("system.pes_per_cube=" + pes);
        sets.push_back("workload.elements_per_pe=" + elements);
        const report r = run(large, with({"--kernel", "all_reduce"}, sets));
        BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "result verified; leaks 0"),
                            pes << " PEs, " << elements << r.run.out << r.run.err);
    }
    const report r = run(large, {"--kernel", "all_reduce", "--set", "workload.elements_per_pe=600"});
    BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "256 PEs"), r.run.out << r.run.err);
    BOOST_CHECK(contains(r.run.out, "result verified; leaks 0"));
    BOOST_CHECK_EQUAL(number(r.list("message_sums"), "received"), 2 * 255 * 256);
}

BOOST_AUTO_TEST_CASE(every_algorithm_reduces_on_1_to_256_pes_with_as_many_messages_as_the_page_says) {
    struct size {
        std::vector<std::string> sets;
        std::int64_t ranks, rows, columns;
    };
    const std::string one = "system.sips=1", width = "system.cube_mesh_width=", height = "system.cube_mesh_height=";
    const size sizes[] = {{{one, width + "1", height + "1", "system.pes_per_cube=1"}, 1, 1, 1},
                          {{one, width + "1", height + "1"}, 8, 2, 4},
                          {{one, width + "5", height + "3", "system.pes_per_cube=1"}, 15, 3, 5},
                          {{one, width + "4", height + "2"}, 64, 8, 8},
                          {{}, 256, 16, 16}};
    std::vector<std::pair<size, std::string>> all;
    for (const size &s : sizes)
        for (const char *algorithm : {"torus_2d", "mesh_2d", "hierarchical"})
            all.emplace_back(s, algorithm);
    for (const auto &[s, algorithm] : some_of_today(all, 4)) {
        std::vector<std::string> sets = s.sets;
        sets.push_back("collectives.algorithm=" + algorithm);
        sets.push_back("workload.elements_per_pe=301");
        const report r = run(large, with({"--kernel", "all_reduce"}, sets));
        BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "result verified; leaks 0"),
                            s.ranks << " PEs, " << algorithm << r.run.out << r.run.err);
        if (s.ranks == 1) continue;
        const std::int64_t around = 2 * s.ranks * (s.rows - 1 + s.columns - 1), inward = 2 * (s.ranks - 1);
        BOOST_CHECK_EQUAL(number(r.list("message_sums"), "received"), algorithm == "torus_2d" ? around : inward);
    }
}

// Bit by bit, each SIP in the order of its own additions; messages are counted.
BOOST_AUTO_TEST_CASE(an_all_reduce_around_rings_of_sips_has_the_bits_of_its_order_of_additions) {
    struct size {
        std::string topology;
        std::int64_t sips, messages; // of roots of SIPs
    };
    const size all[] = {{"torus", 6, 6 * (2 + 1)},
                        {"ring", 5, 5 * 4},
                        {"switch", 4, 4 * 2},
                        {"mesh", 6, 2 * (4 + 3)},
                        {"torus", 16, 16 * 6}};
    for (const size &s : some_of_today(std::vector<size>(std::begin(all), std::end(all)), 3))
        for (const char *receives : {"both", "in_order"}) {
            const report r =
                run(small, with({"--kernel", "all_reduce"},
                                {"collectives.algorithm=hierarchical", "collectives.between_sips=rings",
                                 std::string("collectives.receives=") + receives, "system.sip_topology=" + s.topology,
                                 "system.sips=" + std::to_string(s.sips), "workload.elements_per_pe=37"}));
            BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "result verified; leaks 0"),
                                s.topology << " of " << s.sips << r.run.out << r.run.err);
            BOOST_CHECK_EQUAL(number(r.list("message_sums"), "received"), s.messages + 2 * 3 * s.sips);
        }
}

BOOST_AUTO_TEST_CASE(a_section_of_collectives_is_read_like_any_other) {
    const command_result typo = run_tlmalloc({"run", small, "--set", "collectives.algorithm=torus"});
    BOOST_CHECK_EQUAL(typo.status, 2);
    BOOST_CHECK_MESSAGE(contains(typo.err, "expected ring or torus_2d or mesh_2d or hierarchical"), typo.err);
    const report grid = run(
        small, {"--kernel", "all_reduce", "--set", "collectives.algorithm=mesh_2d", "--set", "collectives.columns=3"});
    BOOST_CHECK_EQUAL(grid.run.status, 1);
    BOOST_CHECK(contains(grid.run.err, "tl_world_init: collectives.columns 3 must divide the 4 ranks"));
    BOOST_CHECK_EQUAL(grid.number("leaks"), 0);
    const report some = run(small, {"--kernel", "all_reduce", "--set", "collectives.world_size=3"});
    BOOST_CHECK_MESSAGE(some.run.status == 0, some.run.out << some.run.err);
    BOOST_CHECK_EQUAL(number(some.list("message_sums"), "received"), 2 * 3 * 2);
}

BOOST_AUTO_TEST_CASE(a_ring_takes_messages_longer_than_all_slots_in_every_memory) {
    for (const char *memory : {"tcm", "hbm", "sram"})
        for (const char *pressure : {"sleep", "poll"}) {
            const report r = run(small, with({"--kernel", "ring"}, {std::string("messages.memory=") + memory,
                                                                    std::string("messages.back_pressure=") + pressure,
                                                                    "workload.elements_per_pe=20001"}));
            BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "result verified; leaks 0"),
                                memory << " " << pressure << r.run.out << r.run.err);
            BOOST_CHECK_EQUAL(number(r.list("message_sums"), "polls") > 0, std::string(pressure) == "poll");
        }
}

BOOST_AUTO_TEST_CASE(messages_go_four_ways_and_farther_takes_longer) {
    const report r = run(large, {"--kernel", "pe2pe", "--set", "workload.elements_per_pe=64"});
    BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.out << r.run.err);
    BOOST_CHECK(contains(r.run.out, "32 messages, 4096 bytes; PEs waited "));
    BOOST_CHECK(contains(r.run.out, "  sip0.cube0.pe0 -> sip0.cube4.pe0: 4 of 512 bytes, "));
    std::map<std::string, std::int64_t> ways = least(r);
    BOOST_CHECK_EQUAL(ways.size(), 8u); // there and back
    const std::int64_t h1 = ways["sip0.cube0.pe0 -> sip0.cube0.pe1"], h2 = ways["sip0.cube0.pe0 -> sip0.cube0.pe4"],
                       h3 = ways["sip0.cube0.pe0 -> sip0.cube1.pe0"], h4 = ways["sip0.cube0.pe0 -> sip0.cube4.pe0"];
    BOOST_CHECK_GT(h1, 0);
    BOOST_CHECK_GT(h2, h1);
    BOOST_CHECK_GT(h3, h2);
    BOOST_CHECK_EQUAL(h3, h4); // the ways are of one form
}

namespace {

// The least latency of each path of pe2pe with messages of 8 KiB.
std::map<std::string, std::int64_t> latencies(std::vector<std::string> sets) {
    sets.insert(sets.end(), {"system.sips=1", "system.cube_mesh_height=2", "workload.elements_per_pe=4096",
                             "tcm.read_bandwidth=512 GB/s"});
    const report r = run(large, with({"--kernel", "pe2pe"}, sets));
    BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.out << r.run.err);
    return least(r);
}

} // namespace

// However many pieces a message has. Receivers wait for their credits, which would otherwise leave meanwhile.
BOOST_AUTO_TEST_CASE(a_message_takes_its_overhead_once) {
    for (const std::string slot : {"messages.slot_size=8 KiB", "messages.slot_size=1 KiB"}) {
        std::vector<std::string> sets = {slot, "messages.slots=8", "messages.costs=kernbench"};
        std::map<std::string, std::int64_t> without = latencies(sets);
        sets.emplace_back("messages.overhead=9500 ps");
        for (const auto &[way, took] : latencies(sets))
            BOOST_CHECK_MESSAGE(took - without[way] == 9500, slot << " " << way << ": " << took - without[way]);
    }
}

// By the bandwidth of the TCM. By a table a receiver also waits for its credit, which can now meet the answers of the
// message: it gains the cost of a read at most.
BOOST_AUTO_TEST_CASE(a_receiver_pays_no_read_of_a_slot_without_read_slot) {
    const std::int64_t bytes = 8192;
    struct row {
        std::string memory, costs;
        std::int64_t read_ps;
    };
    const row rows[] = {{"tcm", "memory", bytes * 1000 / 512},
                        {"tcm", "kernbench", bytes * 1000 / 512},
                        {"sram", "kernbench", 2000 + bytes * 1000 / 128},
                        {"hbm", "kernbench_hop", 6000 + bytes * 1000 / 256 + bytes * 1000 / 256}};
    for (const row &r : rows) {
        std::vector<std::string> sets = {"messages.memory=" + r.memory, "messages.costs=" + r.costs,
                                         "messages.slot_size=8 KiB"};
        std::map<std::string, std::int64_t> before = latencies(sets);
        sets.emplace_back("messages.read_slot=false");
        for (const auto &[way, took] : latencies(sets)) {
            const std::int64_t gain = before[way] - took, least_gain = r.costs == "memory" ? r.read_ps : r.read_ps / 2;
            BOOST_CHECK_MESSAGE(gain >= least_gain && gain <= r.read_ps,
                                r.memory << " " << r.costs << " " << way << ": " << gain << " of " << r.read_ps);
        }
    }
}

// With slots as large as the message, one memory differs from another by a write and a read of its table.
BOOST_AUTO_TEST_CASE(by_kernbenchs_tables_memories_differ_by_a_write_and_a_read_of_a_slot) {
    const std::int64_t bytes = 8192;
    struct row {
        const char *costs, *memory;
        std::int64_t write_and_read_ps; // more than of the TCM
    };
    const std::int64_t tcm = bytes * 1000 / 512;
    const row rows[] = {{"kernbench", "sram", 2 * (2000 + bytes * 1000 / 128 - tcm)},
                        {"kernbench", "hbm", 2 * (6000 + bytes * 1000 / 32 - tcm)},
                        {"kernbench_hop", "sram", 2 * (2000 + bytes * 1000 / 512 + bytes * 1000 / 128 - tcm)},
                        {"kernbench_hop", "hbm", 2 * (6000 + bytes * 1000 / 256 + bytes * 1000 / 256 - tcm)}};
    const auto measure = [](const std::string &costs, const std::string &memory) {
        const report r = run(large, with({"--kernel", "pe2pe"},
                                         {"system.sips=1", "system.cube_mesh_height=2", "workload.elements_per_pe=4096",
                                          "messages.slots=4", "messages.slot_size=8 KiB", "messages.costs=" + costs,
                                          "messages.memory=" + memory}));
        BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.out << r.run.err);
        return least(r);
    };
    std::map<std::string, std::int64_t> base = measure("kernbench", "tcm");
    BOOST_CHECK(base == measure("kernbench_hop", "tcm"));
    for (const row &r : rows)
        for (const auto &[way, took] : measure(r.costs, r.memory))
            BOOST_CHECK_MESSAGE(took - base[way] == r.write_and_read_ps,
                                r.costs << " " << r.memory << " " << way << ": " << took - base[way] << ", expected "
                                        << r.write_and_read_ps);
}

BOOST_AUTO_TEST_CASE(a_deadlock_names_every_pe_that_waits_and_writes_report_and_waveform) {
    scratch_directory scratch;
    const std::string file = scratch.write("wait.c", kernel("wait", "status = tl_recv(tl, p ^ 1, &tile);"));
    const report r =
        run(small, {"--kernel", file, "--vcd", scratch.path("wait.vcd"), "--set", "messages.signals=true"});
    BOOST_CHECK_EQUAL(r.run.status, 1);
    for (int p = 0; p < 4; p++)
        BOOST_CHECK_MESSAGE(contains(r.run.err, "tlmalloc run: deadlock: sip0.cube0.pe" + std::to_string(p) +
                                                    " in tl_recv: waits for a message of 256 bytes from program " +
                                                    std::to_string(p ^ 1) + ", sip0.cube0.pe" + std::to_string(p ^ 1) +
                                                    "\n"),
                            r.run.err);
    BOOST_CHECK(contains(r.run.err, "TLA_DEADLOCK: kernel wait ("));
    BOOST_CHECK(contains(r.run.err, "4 PEs wait for messages, and no PE can continue: sip0.cube0.pe0 in tl_recv"));
    BOOST_CHECK(contains(r.run.out, "leaks 0"));
    BOOST_CHECK_EQUAL(std::string(json_string_value(r.list("status"))), "TLA_DEADLOCK");
    BOOST_CHECK(contains(read_text(scratch.path("wait.vcd")), "waits_for_message"));
}

BOOST_AUTO_TEST_CASE(a_run_reports_why_a_kernel_stopped_and_not_that_others_waited) {
    scratch_directory scratch;
    const std::string file = scratch.write(
        "stop.c",
        kernel("stop", "status = p == 2 ? tl_fail(tl, TLA_OUT_OF_RANGE, \"no more\") : tl_recv(tl, 2, &tile);"));
    const report r = run(small, {"--kernel", file});
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK(contains(r.run.err, "TLA_OUT_OF_RANGE: kernel stop ("));
    BOOST_CHECK(contains(r.run.err, "on sip0.cube0.pe2: no more"));
    BOOST_CHECK(
        contains(r.run.err, "deadlock: sip0.cube0.pe3 in tl_recv: waits for a message of 256 bytes from program 2"));
}

BOOST_AUTO_TEST_CASE(controllers_without_a_port_for_slots_are_rejected_with_the_key) {
    scratch_directory scratch; // a kernel that does not state what it does is run
    const std::string file = scratch.write(
        "mine.c", kernel("mine", "status = p % 2 == 0 ? tl_send(tl, p + 1, &tile) : tl_recv(tl, p - 1, &tile);"));
    const report r = run(small, {"--kernel", file, "--set", "controller.ports=5"});
    BOOST_CHECK_EQUAL(r.run.status, 1);
    const std::string refused = "tl_send: no slots at program 1, sip0.cube0.pe1: port 5 of the controller of its tcm "
                                "returned an error response: controller.ports must include it";
    BOOST_CHECK_MESSAGE(contains(r.run.err, refused), r.run.err);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
}

// Whatever call it is, and whether or not the kernel returns its error; the waits stand behind it.
BOOST_AUTO_TEST_CASE(a_call_that_failed_before_a_deadlock_is_reported_first) {
    struct refusal {
        std::string call, says;
        std::vector<std::string> sets;
    };
    const std::vector<refusal> refusals{
        {"tl_alloc(tl, 1, 1 << 24, TL_F32, &more)", "tl_alloc", {}},
        {"tl_send(tl, 2, &tile)", "controller.ports must include it", {"controller.ports=5"}},
        {"tl_send(tl, 2, &tile)",
         "tl_send: no slots at program 2",
         {"messages.slots=64", "messages.slot_size=128 KiB", "tcm.capacity=2 MiB"}},
        {"tl_load(tl, &tile, (tla_vaddr){64}, 256)", "tl_load from 0x40", {}},
        {"tl_send(tl, 99, &tile)", "tl_send: program 99", {}},
    };
    scratch_directory scratch;
    for (const refusal &of : refusals)
        for (const bool returns : {false, true}) {
            const std::string file = scratch.write(
                "stuck.c", kernel("stuck", "tl_tile more; (void)more;\n"
                                           "if (p == 1) { status = " +
                                               of.call + "; if (status && " + (returns ? "1" : "0") +
                                               ") goto end; }\n"
                                               "status = tl_recv(tl, (p + 1) % programs, &tile);\nend:;"));
            std::vector<std::string> words{"--kernel", file};
            const std::vector<std::string> sets = with_prices(of.sets);
            words.insert(words.end(), sets.begin(), sets.end());
            const report r = run(small, words);
            const std::size_t refused = r.run.err.find(of.says), waits = r.run.err.find("tlmalloc run: deadlock: "),
                              first = r.run.err.find("waits for");
            BOOST_CHECK_EQUAL(r.run.status, 1);
            BOOST_CHECK_MESSAGE(refused != std::string::npos && waits != std::string::npos && refused < waits &&
                                    refused < first,
                                of.call << ": " << r.run.err);
            if (!returns) BOOST_CHECK_MESSAGE(contains(r.run.err, "on sip0.cube0.pe1: "), r.run.err);
        }
}

BOOST_AUTO_TEST_CASE(a_message_without_a_receiver_is_an_error_of_the_run) {
    scratch_directory scratch;
    const std::string file = scratch.write("lost.c", kernel("lost", "if (p == 3) status = tl_send(tl, 1, &tile);"));
    const report r = run(small, {"--kernel", file});
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK(contains(r.run.err, "TLA_NOT_RECEIVED: kernel lost ("));
    BOOST_CHECK(
        contains(r.run.err, "sip0.cube0.pe3 sent 256 bytes in 1 messages to sip0.cube0.pe1 that were never received"));
    BOOST_CHECK(contains(r.run.out, "leaks 0"));
}
