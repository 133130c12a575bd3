// `tlmalloc run --record` and what `tlmalloc replay` makes of it: the same placements, on every stack.
#include "platform/command_line.hpp"
#include "platform/heap_with_holes.hpp"

#include <filesystem>
#include <sstream>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml",
                  recorded = TLMALLOC_SOURCE_DIR "/configs/traces/lm_train.csv.gz";

std::vector<std::string> fields(const std::string &line) {
    std::vector<std::string> all;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');)
        all.push_back(field);
    return all;
}

// A column of a table, of the lines whose second one is `op` (all, where it is empty).
std::string column(const std::string &text, std::size_t number, const std::string &op) {
    std::istringstream lines(text);
    std::string line, result;
    std::getline(lines, line); // header
    while (std::getline(lines, line)) {
        const std::vector<std::string> all = fields(line);
        if (op.empty() || all.at(1) == op) result += all.at(number) + "\n";
    }
    return result;
}

// Records a run and plays every memory that was asked for something; each block must lie where the run put it.
void check(const std::string &policy, std::vector<std::string> run_options, const std::string &from = "") {
    scratch_directory scratch;
    run_options.insert(run_options.begin(), {"run", small, "--record", scratch.path("r")});
    for (const char *key : {"hbm_policy", "tcm_policy"})
        run_options.insert(run_options.end(), {"--set", std::string("controller.") + key + "=" + policy});
    if (!from.empty()) run_options.insert(run_options.end(), {"--from", from});
    const command_result run = run_tlmalloc(run_options);
    BOOST_REQUIRE_MESSAGE(run.status == 0, policy << ": " << run.err);
    std::size_t played = 0;
    for (const char *memory :
         {"sip0.cube0.pe0.hbm", "sip0.cube0.pe0.tcm", "sip0.cube0.pe3.hbm", "sip0.cube0.pe3.tcm"}) {
        const std::string trace = scratch.path("r/" + std::string(memory) + ".csv"), text = read_text(trace);
        const bool hbm = std::string(memory).find("hbm") != std::string::npos;
        // Sizes of the TCM's front stand in another key; without --config they are those of hbm_front.
        std::vector<std::string> play = {
            "replay", trace, "--placements", scratch.path("p.csv"), "--set", "controller.hbm_policy=" + policy};
        if (hbm)
            play.insert(play.end(), {"--config", small});
        else
            play = {"replay", trace, "--placements", scratch.path("p.csv"), "--capacity", "15 MiB", "--policy", policy};
        if (!hbm && (policy.find("pool") != std::string::npos || policy.find("cache") != std::string::npos))
            play.insert(play.end(), {"--set", "controller.hbm_front.segment=1280 KiB", "--set",
                                     "controller.hbm_front.slot=256 KiB"});
        if (hbm && !from.empty()) play.insert(play.end(), {"--from", from});
        const command_result replay = run_tlmalloc(play);
        BOOST_REQUIRE_MESSAGE(replay.status == 0, policy << ", " << memory << ": " << replay.err);
        const std::string placed = column(read_text(scratch.path("p.csv")), 1, "");
        BOOST_CHECK_MESSAGE(placed == column(text, 7, "alloc"), policy << ", " << memory << "\n" << text);
        played += std::count(placed.begin(), placed.end(), '\n') > 0;
    }
    BOOST_CHECK_GE(played, 2u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_replay_of_a_recorded_run_places_blocks_like_the_run_on_every_stack) {
    for (const char *policy :
         {"first_fit", "best_fit", "next_fit", "worst_fit", "first_fit_top", "buddy", "tlsf", "offset_bins",
          "offset_bins_rounded", "caching_pool", "segment_cache", "growing_pool/best_fit", "slot_pool"})
        check(policy, {"--kernel", "qkv_gemm"});
    for (const char *kernel : {"vector_add", "dma_read"})
        check("best_fit", {"--kernel", kernel});
    check("first_fit", {"--set", "mmu.walk=memory"});        // tables lie in the HBM too
    check("first_fit", {"--set", "host.pool=caching_pool"}); // classes of a pool are what is asked for
}

BOOST_AUTO_TEST_CASE(blocks_that_compaction_has_moved_are_placed_again_on_the_core_alone) {
    const scratch_directory scratch;
    const std::string aged = write_heap_with_holes(scratch);
    const std::vector<std::string> keys = {"hbm.capacity_per_cube=16 MiB",      "controller.hbm_policy=worst_fit",
                                           "controller.move=concurrent",        "controller.compaction=background",
                                           "controller.compaction_threshold=1", "controller.compaction_budget=1 TB/s"};
    std::vector<std::string> options = {"run",    small, "--kernel", "gemm",
                                        "--from", aged,  "--record", scratch.path("r")};
    for (const std::string &key : keys)
        options.insert(options.end(), {"--set", key});
    const command_result run = run_tlmalloc(options);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    for (const char *pe : {"0", "3"}) {
        const std::string recorded_trace = scratch.path(std::string("r/sip0.cube0.pe") + pe + ".hbm.csv");
        const std::string lines = read_text(recorded_trace), places = column(lines, 7, "place");
        BOOST_CHECK_GE(std::count(places.begin(), places.end(), '\n'), 2);
        const std::string taken = [&] { // by whatever op
            std::string all;
            std::istringstream in(lines);
            for (std::string line; std::getline(in, line);)
                if (contains(line, ",alloc,") || contains(line, ",place,")) all += fields(line).at(7) + "\n";
            return all;
        }();
        const command_result core = run_tlmalloc(
            {"replay", recorded_trace, "--from", aged, "--policy", "worst_fit", "--placements", scratch.path("p.csv")});
        BOOST_REQUIRE_MESSAGE(core.status == 0, core.err);
        BOOST_CHECK_EQUAL(column(read_text(scratch.path("p.csv")), 1, ""), taken);
        const command_result platform = run_tlmalloc({"replay", recorded_trace, "--config", small});
        BOOST_CHECK_EQUAL(platform.status, 2);
        BOOST_CHECK(contains(platform.err, "was placed by compaction, for which no command asks"));
        // Another policy has other free places: it uses a place where it can.
        BOOST_CHECK_EQUAL(run_tlmalloc({"replay", recorded_trace, "--capacity", "8 MiB", "--compare", "all"}).status,
                          0);
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_place_of_a_recording_is_rejected_with_line_and_column) {
    const scratch_directory scratch;
    const std::string header = "time_ns,op,id,bytes,references,format,stream,offset\n";
    const std::pair<const char *, const char *> wrong[] = {
        {"1,place,1,64,1,0,0,-\n", "t.csv:2:20: found '-', expected the offset of a place"},
        {"1,place,1,64,1,0,0,here\n", "t.csv:2:20: found 'here', expected the offset of a place"},
        {"1,places,1,64,1,0,0,0\n", "t.csv:2:3: found 'places', expected alloc, place, free, ref or unref"}};
    for (const auto &[row, words] : wrong) {
        const std::string path = scratch.write("t.csv", header + row);
        const command_result replay = run_tlmalloc({"replay", path, "--capacity", "1 MiB"});
        BOOST_CHECK_EQUAL(replay.status, 2);
        BOOST_CHECK_MESSAGE(contains(replay.err, words), replay.err);
    }
    const std::string plain = scratch.write("t.csv", "time_ns,op,id,bytes\n1,place,1,64\n");
    BOOST_CHECK(contains(run_tlmalloc({"replay", plain, "--capacity", "1 MiB"}).err, "expected alloc or free"));
}

BOOST_AUTO_TEST_CASE(a_run_on_aged_heaps_is_placed_again_from_the_same_heap) {
    scratch_directory scratch;
    for (const std::string policy : {"first_fit", "tlsf", "growing_pool/best_fit"}) {
        const std::string aged = scratch.path("aged"), under = policy.substr(policy.find('/') + 1);
        BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", recorded, "--capacity", "6 GiB", "--policy", under, "--events", "peak",
                                          "--output", aged})
                                .status,
                            0);
        check(policy, {"--kernel", "vector_add"}, aged);
    }
}

BOOST_AUTO_TEST_CASE(every_memory_has_a_file_and_the_same_run_writes_the_same_files) {
    scratch_directory scratch;
    for (const char *name : {"a", "b"})
        BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--record", scratch.path(name)}).status, 0);
    std::size_t files = 0;
    for (const auto &entry : std::filesystem::directory_iterator(scratch.path("a"))) {
        const std::string name = entry.path().filename().string();
        BOOST_CHECK_EQUAL(read_text(entry.path().string()), read_text(scratch.path("b/" + name)));
        files++;
    }
    BOOST_CHECK_EQUAL(files, 10u); // HBM and TCM of four PEs, the cube's SRAM and its M_CPU's memory
    BOOST_CHECK_EQUAL(read_text(scratch.path("a/sip0.cube0.sram.csv")),
                      "time_ns,op,id,bytes,references,format,stream,offset\n");
    const std::string hbm = read_text(scratch.path("a/sip0.cube0.pe1.hbm.csv"));
    BOOST_CHECK_EQUAL(column(hbm, 1, ""), "alloc\nalloc\nalloc\nfree\nfree\nfree\n");
    BOOST_CHECK_EQUAL(column(hbm, 4, ""), "1\n1\n1\n0\n0\n0\n");
}

// By controllers of memories that no HBM is.
BOOST_AUTO_TEST_CASE(recorded_blocks_of_other_memories_are_placed_again_by_their_controllers) {
    scratch_directory scratch;
    const std::string kernel = scratch.write(
        "k.c",
        "#include <tlmalloc/kernel.h>\n"
        "static tla_status run(tl_context *tl) { (void)tl; return TLA_OK; }\n"
        "TL_KERNEL(.name = \"away\", .run = run, .tensors = {{.name = \"x\", .dtype = TL_F32, .shape = {999}, "
        ".memory = TL_HOST}, {.name = \"y\", .dtype = TL_F32, .shape = {64}, .memory = TL_SRAM}, {.name = \"z\", "
        ".dtype = TL_F32, .shape = {77}, .memory = TL_HOST}}, .arguments = {TL_ADDRESS_OF(0)});\n");
    for (const std::string policy : {"first_fit", "tlsf", "caching_pool/best_fit", "slot_pool"}) {
        const std::vector<std::string> sets{"--set", "host_memory.capacity=32 MiB",
                                            "--set", "controller.host_policy=" + policy,
                                            "--set", "controller.sram_policy=" + policy};
        std::vector<std::string> run{"run", small, "--kernel", kernel, "--record", scratch.path("r")};
        run.insert(run.end(), sets.begin(), sets.end());
        BOOST_REQUIRE_EQUAL(run_tlmalloc(run).status, 0);
        for (const std::string memory : {"host", "sram"}) {
            const std::string trace = scratch.path("r/" + std::string(memory == "sram" ? "sip0.cube0." : "") + memory +
                                                   ".csv"),
                              vcd = scratch.path("w.vcd");
            std::vector<std::string> play{"replay",   trace,  "--config",     small,
                                          "--memory", memory, "--placements", scratch.path("p.csv"),
                                          "--vcd",    vcd};
            play.insert(play.end(), sets.begin(), sets.end());
            const command_result replay = run_tlmalloc(play);
            BOOST_REQUIRE_MESSAGE(replay.status == 0, policy << ", " << memory << ": " << replay.err);
            const std::string placed = column(read_text(scratch.path("p.csv")), 1, "");
            BOOST_CHECK_EQUAL(placed, column(read_text(trace), 7, "alloc"));
            BOOST_CHECK_EQUAL(std::count(placed.begin(), placed.end(), '\n'), memory == "host" ? 8 : 4);
            BOOST_CHECK(contains(read_text(vcd), " " + memory + "_used_bytes "));
        }
    }
    const command_result none = run_tlmalloc({"replay", recorded, "--config", small, "--memory", "host"});
    BOOST_CHECK_EQUAL(none.status, 2);
    BOOST_CHECK_MESSAGE(
        contains(none.err, "--memory host: the configuration has no such memory (host_memory.capacity is 0 B)"),
        none.err);
    const command_result unknown = run_tlmalloc({"replay", recorded, "--config", small, "--memory", "dram"});
    BOOST_CHECK(contains(unknown.err, "--memory: found 'dram', expected hbm, tcm, sram, m_cpu or host"));
    const command_result core = run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--memory", "host"});
    BOOST_CHECK(contains(core.err, "--memory needs --config"));
    const command_result full = run_tlmalloc(
        {"replay", recorded, "--config", small, "--memory", "host", "--set", "host_memory.capacity=4 KiB"});
    BOOST_CHECK_EQUAL(full.status, 0);
    BOOST_CHECK_MESSAGE(contains(full.err, "host memory overflow: requested"), full.err);
}

// What did not fit is recorded, too, and does not fit again.
BOOST_AUTO_TEST_CASE(an_allocation_that_failed_is_recorded_without_an_offset) {
    scratch_directory scratch;
    const command_result run =
        run_tlmalloc({"run", small, "--record", scratch.path("r"), "--set", "hbm.capacity_per_cube=80 KiB"});
    BOOST_CHECK_EQUAL(run.status, 1);
    const std::string trace = scratch.path("r/sip0.cube0.pe0.hbm.csv");
    BOOST_CHECK(contains(column(read_text(trace), 7, "alloc"), "-\n"));
    const command_result replay =
        run_tlmalloc({"replay", trace, "--capacity", "20 KiB", "--placements", scratch.path("p.csv")});
    BOOST_CHECK_EQUAL(replay.status, 0);
    BOOST_CHECK_EQUAL(column(read_text(scratch.path("p.csv")), 1, ""), column(read_text(trace), 7, "alloc"));
}

BOOST_AUTO_TEST_CASE(a_recorded_trace_has_formats_and_streams_and_counts_that_say_nothing_to_a_replay) {
    scratch_directory scratch;
    const std::string head = "time_ns,op,id,bytes,references,format,stream,offset\n",
                      trace = scratch.write("t.csv", head + "0,alloc,0,4096,1,0,0,0\n1,ref,0,4096,2,0,0,0\n"
                                                            "2,alloc,1,100,1,8,0,1048576\n3,unref,0,4096,1,0,0,0\n"
                                                            "4,free,0,4096,0,0,0,0\n5,alloc,2,50,1,1,0,-\n");
    const command_result mixed =
        run_tlmalloc({"replay", trace, "--capacity", "2 MiB", "--policy", "mixed", "--set",
                      "controller.hbm_front.buffers=1 MiB", "--placements", scratch.path("p.csv")});
    BOOST_CHECK_MESSAGE(mixed.status == 0, mixed.err);
    BOOST_CHECK_EQUAL(column(read_text(scratch.path("p.csv")), 1, ""), "0\n1048576\n0\n"); // plain buffers lie apart
    // Two streams of segment_cache never share a segment.
    const std::string streams =
        scratch.write("s.csv", head + "0,alloc,0,512,1,0,0,0\n1,alloc,1,512,1,0,7,0\n2,alloc,2,512,1,0,0,0\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"replay", streams, "--capacity", "1 GiB", "--policy", "segment_cache",
                                    "--placements", scratch.path("p.csv")})
                          .status,
                      0);
    BOOST_CHECK_EQUAL(column(read_text(scratch.path("p.csv")), 1, ""), "0\n2097152\n512\n");
    const std::string last = scratch.write("l.csv", head + "0,alloc,0,512,1,0,4294967295,0\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"replay", last, "--capacity", "1 MiB"}).status, 0);
    const auto refused = [&](const std::string &line, const std::string &finding) {
        const command_result bad = run_tlmalloc({"replay", scratch.write("b.csv", head + line), "--capacity", "1 MiB"});
        BOOST_CHECK_EQUAL(bad.status, 2);
        BOOST_CHECK_MESSAGE(contains(bad.err, "b.csv:2:" + finding), bad.err);
    };
    refused("0,keep,0,64,1,0,0,0\n", "3: found 'keep', expected alloc, place, free, ref or unref");
    refused("0,alloc,0,64,x,0,0,0\n", "14: found 'x', expected a number of references");
    refused("0,alloc,0,64,1,9,0,0\n", "16: found '9', expected a format, 0 .. 8");
    refused("0,alloc,0,64,1,0,-,0\n", "18: found '-', expected a stream, 0 .. 2^32 - 1");
    refused("0,alloc,0,64,1,0,4294967296,0\n", "18: found '4294967296', expected a stream, 0 .. 2^32 - 1");
    refused("0,alloc,0,64,1,0,0,?\n", "20: found '?', expected an offset, or - for a failed allocation");
    refused("0,alloc,0,64\n", "13: found 4 columns, expected 8: time_ns,op,id,bytes,references,format,stream,offset");
}

BOOST_AUTO_TEST_CASE(a_replay_through_the_controller_writes_its_waveform) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("w.vcd");
    const command_result run = run_tlmalloc({"replay", recorded, "--config", small, "--vcd", vcd});
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    const std::string text = read_text(vcd);
    for (const char *figure : {" hbm_used_bytes ", " engine_busy ", " queue_depth ", " hbm_fragmentation_permille "})
        BOOST_CHECK_MESSAGE(contains(text, figure), figure);
    BOOST_CHECK_EQUAL(run_tlmalloc({"replay", recorded, "--config", small, "--vcd", scratch.path("again.vcd")}).status,
                      0);
    BOOST_CHECK(text == read_text(scratch.path("again.vcd")));
    const command_result core = run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--vcd", vcd});
    BOOST_CHECK_EQUAL(core.status, 2);
    BOOST_CHECK(contains(core.err, "--vcd needs --config"));
}

BOOST_AUTO_TEST_CASE(an_invalid_directory_is_rejected_before_the_run_starts) {
    scratch_directory scratch;
    const command_result deep = run_tlmalloc({"run", small, "--record", scratch.path("a/b")});
    BOOST_CHECK_EQUAL(deep.status, 1);
    BOOST_CHECK_MESSAGE(contains(deep.err, scratch.path("a/b") + ": cannot write: No such file or directory"),
                        deep.err);
    scratch.write("file", "");
    const command_result file = run_tlmalloc({"run", small, "--record", scratch.path("file")});
    BOOST_CHECK_EQUAL(file.status, 1);
    BOOST_CHECK_EQUAL(file.out, "");
    BOOST_CHECK_EQUAL(file.err, "tlmalloc run: " + scratch.path("file") + ": not a directory: name a directory\n");
    const std::string both = scratch.path("both");
    const command_result twice = run_tlmalloc({"run", small, "--json", both, "--record", both});
    BOOST_CHECK_EQUAL(twice.status, 2);
    BOOST_CHECK_EQUAL(twice.out, "");
    BOOST_CHECK_MESSAGE(contains(twice.err, both + ": the directory is also the output '" + both + "' of --json"),
                        twice.err);
    BOOST_CHECK(!std::filesystem::exists(both));
    for (const std::string name : {"", "-"}) {
        const command_result none = run_tlmalloc({"run", small, "--record", name});
        BOOST_CHECK_EQUAL(none.status, 2);
        BOOST_CHECK_MESSAGE(contains(none.err, "found '" + name + "', expected the name of a directory"), none.err);
    }
}
