// `tlmalloc sweep`: what it keeps of its points, whoever interrupts it, and what it refuses.
#include "platform/sweep_results.hpp"

#include <array>
#include <chrono>
#include <set>
#include <thread>

using namespace sweeps;

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/", npu = source + "configs/npu_small.yaml";

command_result sweep(const std::string &file, const std::string &results, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"sweep", file, "-o", results};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tlmalloc(arguments);
}

// As many reads at random that a point takes some hundredths of a second.
std::string slow_points(int count) {
    std::string seeds;
    for (int i = 1; i <= count; i++)
        seeds += (i > 1 ? ", " : "") + std::to_string(i);
    return "name: slow\ncommand: traffic\nplatform: " + source +
           "configs/timing/hbm2.yaml\nset: {--pattern: rand_rd1, --count: 60000}\nkeys: [{key: --seed, values: [" +
           seeds + "]}]\nfigures: {bandwidth: bandwidth_gb_s, hits: row_hits}\n";
}

std::uint64_t point_count(const std::string &results) {
    return std::stoull(cell(results, "SELECT count(*) FROM point WHERE point >= 0"));
}

// Waits until a sweep that has just begun has written to its results a few times, so that it is in their middle.
void wait_for_rows(const std::string &results) {
    std::set<std::filesystem::file_time_type> times;
    std::error_code error;
    for (int i = 0; i < 20000 && times.size() < 6; i++) {
        const auto time = std::filesystem::last_write_time(results + "-wal", error);
        if (!error) times.insert(time);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(points_are_rows_in_the_order_of_the_keys_and_those_that_fail_are_too) {
    scratch_directory scratch;
    scratch.write("buffers.csv", buffers);
    const std::string file = scratch.write("s.yaml", plans(12)), results = scratch.path("r.sqlite");
    const command_result run = sweep(file, results, {"--jobs", "2"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_MESSAGE(contains(run.out, "plans: 48 points, 48 of them in this run in "), run.out);
    const table rows = ask(results, "SELECT point, \"--method\", \"--capacity\", status, height, bound FROM point");
    BOOST_REQUIRE_EQUAL(rows.size(), 48u);
    for (std::size_t i = 0; i < 48; i++) {
        BOOST_CHECK_EQUAL(rows[i][0], std::to_string(i));
        BOOST_CHECK_EQUAL(rows[i][1], (std::vector<std::string>{"exact", "best", "stack", "greedy_area"}[i / 12]));
        BOOST_CHECK_EQUAL(rows[i][2], std::to_string(9 + i % 12) + " B");
    }
    BOOST_CHECK_EQUAL(rows[0][3], "1"); // 9 bytes are too few, which is proved
    BOOST_CHECK_EQUAL(rows[3][3], "0");
    BOOST_CHECK_EQUAL(rows[3][4], "12");
    BOOST_CHECK_EQUAL(rows[27][3], "3"); // there is a plan in 12 bytes, and `stack' does not find it
    BOOST_CHECK(contains(cell(results, "SELECT message FROM point WHERE point = 27"), "no plan found in 12 bytes"));
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(*) FROM point WHERE status = 0 AND message IS NOT NULL"), "0");
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(DISTINCT configuration) FROM point"), "48");
    BOOST_CHECK_EQUAL(cell(results, "SELECT value FROM sweep WHERE name = 'points'"), "48");
    BOOST_CHECK_EQUAL(scratch.file_count(), 3u); // no journal is left
}

BOOST_AUTO_TEST_CASE(a_swept_key_without_effect_at_any_point_is_warned_of_where_it_stands) {
    for (const bool walks : {false, true}) {
        scratch_directory scratch;
        const std::string file = scratch.write(
            "s.yaml", "name: idle\ncommand: run\nplatform: " + npu +
                          "\nset: {workload.kernel: dma_read}\nkeys:\n  - {key: mmu.tlb_l1.entries, values: [4, 8]}\n" +
                          "  - {key: dma.chunk, values: [128 B, 256 B, 1 GiB]}\n" + // the last does not load
                          (walks ? "  - {key: mmu.walk, values: [ideal, flat]}\n" : "") +
                          "figures: {end: critical_path.end_ps}\n");
        const command_result run = sweep(file, scratch.path("r.sqlite"));
        BOOST_CHECK_EQUAL(run.status, 0);
        const std::string says = file + ":6:11: warning: at every point mmu.tlb_l1.entries has no effect with mmu.walk "
                                        "ideal: it needs flat or memory\n";
        BOOST_CHECK_MESSAGE(contains(run.err, says) == !walks, run.err);
        BOOST_CHECK_MESSAGE(!contains(run.err, "dma.chunk"), run.err);
    }
}

// pe.gemm_rate needs a kernel with tl_dot: gemm has it, vector_add has not, and a kernel in a file may have it.
BOOST_AUTO_TEST_CASE(a_swept_key_without_effect_on_the_kernels_is_warned_of) {
    const auto warning = [](const std::string &set, const std::string &key) {
        scratch_directory scratch;
        scratch.write("own.c", "#error is not compiled\n");
        const std::string file =
            scratch.write("s.yaml", "name: idle\ncommand: run\nplatform: " + npu + "\nset: {" + set +
                                        "}\nkeys:\n  - {key: pe.gemm_rate, values: [1 TFLOPS]}\n" + key +
                                        "figures: {end: critical_path.end_ps}\n");
        return sweep(file, scratch.path("r.sqlite")).err;
    };
    const std::string says = ":6:11: warning: at every point pe.gemm_rate has no effect with workload.kernel "
                             "vector_add: it needs a kernel with tl_dot or composites\n";
    const std::string found = warning("--kernel: vector_add, workload.kernel: gemm", "");
    BOOST_CHECK_MESSAGE(contains(found, says), found);
    BOOST_CHECK(contains(warning("workload.kernel: vector_add", ""), says));
    BOOST_CHECK(!contains(warning("--kernel: gemm, workload.kernel: vector_add", ""), "warning"));
    BOOST_CHECK(!contains(warning("", "  - {key: --kernel, values: [vector_add, gemm]}\n"), "warning"));
    BOOST_CHECK(!contains(warning("--kernel: own.c", ""), "warning"));
}

BOOST_AUTO_TEST_CASE(a_point_has_the_figures_of_the_run_alone_and_the_base_stands_beside_it) {
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", "name: pages\ncommand: run\nplatform: " + npu +
                                                         "\nset: {mmu.walk: memory, --kernel: gemm}\nkeys:\n"
                                                         "  - {key: mmu.page_size, values: [4 KiB, 64 KiB]}\n"
                                                         "  - {key: parameter.k, values: [512]}\n"
                                                         "figures: {end: sim_time_ps, leaks: leaks, dma: 'max "
                                                         "kernels[].dma_ps', lost: elsewhere?}\n"),
                      results = scratch.path("r.sqlite"), json = scratch.path("r.json");
    const command_result run = sweep(file, results);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", npu, "--set", "mmu.walk=memory", "--kernel", "gemm", "--set",
                                      "mmu.page_size=64 KiB", "--parameter", "k=512", "--json", json})
                            .status,
                        0);
    const std::string report = read_text(json), end = cell(results, "SELECT end FROM point WHERE point = 1");
    BOOST_CHECK_MESSAGE(contains(report, "\"sim_time_ps\": " + end + ","), end);
    BOOST_CHECK_EQUAL(cell(results, "SELECT leaks FROM point WHERE point = 1"), "0");
    BOOST_CHECK_EQUAL(cell(results, "SELECT lost FROM point WHERE point = 1"), "-");
    const std::string dma = cell(results, "SELECT dma FROM point WHERE point = 1");
    BOOST_CHECK_MESSAGE(contains(report, "\"dma_ps\": " + dma + ","), dma);
    // The parameter has no value without the sweep, so there is no base.
    BOOST_CHECK_EQUAL(point_count(results), 2u);
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(*) FROM point"), "2");
    const std::string with_base =
        scratch.write("b.yaml", "name: pages\ncommand: run\nplatform: " + npu +
                                    "\nset: {--kernel: vector_add}\nkeys: [{key: mmu.page_size, values: [4 KiB]}]\n"
                                    "figures: {end: sim_time_ps}\n");
    BOOST_REQUIRE_EQUAL(sweep(with_base, scratch.path("b.sqlite")).status, 0);
    BOOST_CHECK_EQUAL(cell(scratch.path("b.sqlite"), "SELECT \"mmu.page_size\" FROM point WHERE point = -1"), "2 MiB");
}

BOOST_AUTO_TEST_CASE(an_experiment_of_a_workload_is_a_command_too) {
    scratch_directory scratch;
    const std::string file = scratch.write(
        "s.yaml", "name: spike\ncommand: reproduce\nworkload: transformer_block\nplatform: " + npu +
                      "\nset:\n  mmu.walk: memory\n  with.trace: " + source +
                      "configs/traces/lm_train.csv.gz\n  with.aged: false\n  with.sequences: 1\n  with.tokens: 1\n  "
                      "with.keys: 64\n  with.width: 64\n  with.heads: 2\n  with.depth: 32\n  with.hidden: 128\n"
                      "keys:\n  - {key: with.aged, values: [false, true]}\n  - {key: mmu.page_size, values: [4 KiB]}\n"
                      "figures: {kernel: kernel, misses: tlb_misses}\n");
    const std::string results = scratch.path("r.sqlite");
    const command_result run = sweep(file, results);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(*) FROM point WHERE status = 0 AND kernel > 0 AND misses > 0"), "3");
}

BOOST_AUTO_TEST_CASE(a_serving_engine_is_swept_by_its_settings_and_its_law) {
    scratch_directory scratch;
    const std::string serving = source + "configs/serving/";
    const std::string text = "name: engine\ncommand: serve\ninput: " + serving +
                             "small_requests.jsonl\nset:\n"
                             "  --settings: " +
                             serving + "small.yaml\n  --step-time: profile " + serving +
                             "profile_small\n  setting.gpu_blocks: 120\nkeys:\n"
                             "  - {key: setting.gpu_blocks, values: [120, 240]}\n"
                             "  - {key: --step-time, values: [profile " +
                             serving + "profile_small, fixed 5 ms]}\nfigures: {end: end_ns, preempted: preemptions}\n";
    const std::string results = scratch.path("r.sqlite"), json = scratch.path("r.json");
    const command_result run = sweep(scratch.write("s.yaml", text), results);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(cell(results, "SELECT count(*) FROM point WHERE status = 0 AND end > 0"), "5"); // and the base
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"serve", serving + "small_requests.jsonl", "--settings", serving + "small.yaml",
                                      "--set", "gpu_blocks=240", "--step-time", "fixed 5 ms", "--json", json})
                            .status,
                        0);
    const std::string end = cell(results, "SELECT end FROM point WHERE point = 3");
    BOOST_CHECK_MESSAGE(contains(read_text(json), "\"end_ns\": " + end + ","), end);
    // The files of a law stand beside the sweep, and what lies in them is in its digits, not what they are called.
    for (const char *name : {"requests.jsonl", "engine.yaml"})
        scratch.write(name, read_text(serving + (*name == 'r' ? "small_requests.jsonl" : "small.yaml")));
    const auto digits = [&](const std::string &config) {
        const std::string law = "--step-time: platform " + config + " + fixed 5 ms";
        const command_result ended = sweep(
            scratch.write("p.yaml",
                          "name: p\ncommand: serve\ninput: requests.jsonl\nset:\n  --settings: engine.yaml\n  " + law +
                              "\nkeys: [{key: setting.max_num_seqs, values: [1]}]\n"
                              "figures: {end: end_ns}\n"),
            scratch.path("p.sqlite"));
        BOOST_REQUIRE_MESSAGE(ended.status == 0, ended.err);
        const std::string made =
            cell(scratch.path("p.sqlite"), "SELECT configuration FROM point WHERE point = 0 AND status = 0");
        std::remove(scratch.path("p.sqlite").c_str());
        return made;
    };
    const std::string platform = read_text(source + "configs/npu_small.yaml");
    scratch.write("one.yaml", platform);
    scratch.write("two.yaml", platform);
    const std::string one = digits("one.yaml");
    BOOST_CHECK_EQUAL(one.size(), 16u);
    BOOST_CHECK_EQUAL(one, digits("two.yaml"));
    scratch.write("two.yaml", "# another\n" + platform);
    BOOST_CHECK_NE(one, digits("two.yaml"));
    const std::string unknown = "name: n\ncommand: serve\ninput: x\nkeys: [{key: gpu_blocks, values: [1]}]\n";
    BOOST_CHECK(contains(sweep(scratch.write("u.yaml", unknown), scratch.path("u.sqlite")).err,
                         "its options begin with --, its settings with \"setting.\""));
}

BOOST_AUTO_TEST_CASE(interrupted_killed_and_resumed_it_has_the_rows_of_a_run_in_one_go) {
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", slow_points(48)), whole = scratch.path("whole.sqlite"),
                      parts = scratch.path("parts.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, whole, {"--jobs", "1"}).status, 0);
    std::uint64_t had = 0;
    for (const int signal : {SIGINT, SIGKILL, SIGTERM}) {
        std::vector<std::string> words{TLMALLOC_COMMAND, "sweep", file, "-o", parts, "--jobs", "2"};
        if (signal != SIGINT) words.push_back("--resume");
        running_command run(words);
        wait_for_rows(parts);
        run.send(signal);
        const command_result ended = run.wait();
        BOOST_CHECK_EQUAL(ended.status, 1000 + signal);
        if (signal != SIGKILL) BOOST_CHECK_MESSAGE(contains(ended.err, "during the sweep, after "), ended.err);
        BOOST_CHECK_GE(point_count(parts), had); // readable, and nothing is lost
        had = point_count(parts);
    }
    BOOST_CHECK_LT(had, 48u);
    const command_result last = sweep(file, parts, {"--resume"});
    BOOST_REQUIRE_MESSAGE(last.status == 0, last.err);
    BOOST_CHECK(contains(last.out, "slow: 48 points, " + std::to_string(48 - had) + " of them in this run"));
    BOOST_CHECK_EQUAL(rows_of(parts), rows_of(whole));
    BOOST_CHECK(contains(sweep(file, parts, {"--resume"}).out, "48 points, 0 of them in this run; 0 failed"));
}

BOOST_AUTO_TEST_CASE(a_part_of_the_points_can_be_run_and_the_failed_ones_again) {
    scratch_directory scratch;
    scratch.write("buffers.csv", buffers);
    const std::string file = scratch.write("s.yaml", plans(12)), results = scratch.path("r.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, results, {"--points", "3-5"}).status, 0);
    BOOST_CHECK_EQUAL(point_count(results), 3u);
    BOOST_REQUIRE_EQUAL(sweep(file, results, {"--resume"}).status, 0);
    const std::string failed = cell(results, "SELECT count(*) FROM point WHERE status != 0");
    BOOST_CHECK(
        contains(sweep(file, results, {"--resume", "--retry"}).out, "48 points, " + failed + " of them in this run"));
    BOOST_CHECK_EQUAL(sweep(file, results, {"--resume", "--points", "47-48"}).status, 2);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_crashes_and_a_point_that_takes_too_long_are_rows) {
    scratch_directory scratch;
    const std::string crash =
        scratch.write("crash.c", "#include \"tlmalloc/kernel.h\"\n#include <stdio.h>\n#include <stdlib.h>\n"
                                 "static tla_status run(tl_context *k) {\n"
                                 "    (void)k;\n"
                                 "    for (int i = 0; i < 1000; i++)\n"
                                 "        fputs(\"tlmalloc run: warning: one\\n\", stderr);\n"
                                 "    abort();\n"
                                 "}\n"
                                 "TL_KERNEL(.name = \"crash\", .run = run);\n");
    const std::string file = scratch.write("s.yaml", "name: ends\ncommand: run\nplatform: " + npu +
                                                         "\nkeys: [{key: --kernel, values: [vector_add, ./crash.c]}]\n"
                                                         "figures: {end: sim_time_ps}\n");
    const std::string results = scratch.path("r.sqlite");
    const command_result run = sweep(file, results);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(cell(results, "SELECT status FROM point WHERE point = 0"), "0");
    BOOST_CHECK_EQUAL(cell(results, "SELECT status FROM point WHERE point = 1"), "1");
    BOOST_CHECK_MESSAGE(cell(results, "SELECT message FROM point WHERE point = 1").size() > 5,
                        cell(results, "SELECT message FROM point WHERE point = 1"));
    const std::string slow = scratch.write(
        "slow.yaml", "name: slow\ncommand: traffic\ntime_limit: 50 ms\nplatform: " + source +
                         "configs/timing/hbm2.yaml\nset: {--pattern: rand_rd1}\nkeys: [{key: --count, values: [1000, "
                         "100000000]}]\nfigures: {hits: row_hits}\n");
    BOOST_REQUIRE_EQUAL(sweep(slow, scratch.path("s.sqlite"), {"--points", "1"}).status, 0);
    BOOST_CHECK_EQUAL(cell(scratch.path("s.sqlite"), "SELECT status || ': ' || message FROM point WHERE point = 1"),
                      "137: the point exceeded time_limit");
}

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_the_rows_that_were_there) {
    scratch_directory scratch;
    scratch.write("buffers.csv", buffers);
    const std::string file = scratch.write("s.yaml", plans(100)), results = scratch.path("r.sqlite");
    const command_result run = run_shell("ulimit -f 48; exec \"$tlmalloc\" sweep " + file + " -o " + results);
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.err, "tlmalloc sweep: " + results + ": "), run.err);
    const std::uint64_t had = point_count(results);
    BOOST_CHECK(had > 0 && had < 400);
    BOOST_CHECK_EQUAL(cell(results, "PRAGMA integrity_check"), "ok");
    BOOST_CHECK_EQUAL(sweep(file, results, {"--resume"}).status, 0);
    BOOST_CHECK_EQUAL(point_count(results), 400u);
}

BOOST_AUTO_TEST_CASE(files_that_are_not_results_of_this_sweep_are_rejected_and_kept) {
    scratch_directory scratch;
    scratch.write("buffers.csv", buffers);
    const std::string file = scratch.write("s.yaml", plans(2)), other = scratch.write("o.yaml", plans(3));
    const std::string results = scratch.path("r.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, results).status, 0);
    const std::string before = read_text(results);
    const auto refused = [&](const command_result &run, const std::string &why, int status = 2) {
        BOOST_CHECK_EQUAL(run.status, status);
        BOOST_CHECK_MESSAGE(contains(run.err, why), run.err);
    };
    refused(sweep(file, results), "the results exist already: add --resume, or name another file");
    refused(sweep(other, results, {"--resume"}), "the results belong to another sweep, or the sweep");
    BOOST_CHECK(read_text(results) == before);
    refused(sweep(file, file), "s.yaml: not a results file of tlmalloc sweep");
    BOOST_CHECK_EQUAL(read_text(file), plans(2));
    refused(sweep(file, scratch.path("none/r.sqlite")), "r.sqlite: cannot be opened: No such file or directory", 1);
    ask(results, "UPDATE sweep SET value = '0.0.9' WHERE name = 'version'");
    refused(sweep(file, results, {"--resume"}), "the results were written by tlmalloc 0.0.9, expected ");
    ask(results, "DELETE FROM sweep WHERE name = 'fingerprint'");
    refused(sweep(file, results, {"--resume"}), "r.sqlite: not a results file of tlmalloc sweep");
    ask(results, "PRAGMA user_version = 7");
    refused(sweep(file, results, {"--resume"}), "the file has version 7, expected version 1");
    refused(run_tlmalloc({"sweep", file}), "expected -o FILE for the results");
    refused(run_tlmalloc({"sweep", file, "-o", "x", "--jobs", "0"}), "--jobs: found '0', expected 1 .. 256");
}

BOOST_AUTO_TEST_CASE(a_point_is_known_by_what_lies_in_its_files_not_by_where_they_lie) {
    scratch_directory scratch;
    std::string point = "4"; // of the plans, one that is found with either file
    const auto configurations = [&](const std::string &folder, const std::string &file, const std::string &name) {
        const std::string results = scratch.path(name + ".sqlite");
        BOOST_REQUIRE_EQUAL(sweep(folder + "/" + file, results, {"--points", point}).status, 0);
        BOOST_CHECK_EQUAL(cell(results, "SELECT status || coalesce(message, '') FROM point"), "0");
        return cell(results, "SELECT configuration FROM point") + cell(results, "SELECT value FROM sweep WHERE name = "
                                                                                "'fingerprint'");
    };
    const auto put = [&](const std::string &folder, const std::string &name, const std::string &text) {
        std::filesystem::create_directories(scratch.path(folder));
        scratch.write(folder + "/" + name, text);
    };
    const std::string timing = read_text(source + "configs/timing/hbm2.yaml"), platform = "hbm: {timing: ./own.yaml}\n",
                      pages = "keys: [{key: mmu.page_size, values: [64 KiB]}]\nfigures: {e: sim_time_ps}\n";
    const std::vector<std::array<std::string, 3>> files = {
        // the file of the points, what it says, and what it might say instead
        {"buffers.csv", buffers, buffers + "b6,0,21,1\n"},
        {"own.yaml", timing, timing + "# another\n"},
        {"own.c", read_text(source + "platform/kernels/vector_add.c"),
         read_text(source + "platform/kernels/vector_add.c") + "/* another */\n"},
    };
    const std::vector<std::string> sweeps = {
        plans(12), "name: n\ncommand: run\nplatform: p.yaml\nset: {--kernel: vector_add}\n" + pages,
        "name: n\ncommand: run\nplatform: " + npu + "\nset: {--kernel: ./own.c}\n" + pages};
    for (std::size_t i = 0; i < files.size(); i++) {
        const auto &[name, text, changed] = files[i];
        for (const char *folder : {"a", "b"}) {
            put(folder, "s.yaml", sweeps[i]);
            put(folder, "p.yaml", platform);
            put(folder, name, text);
        }
        const std::string number = std::to_string(i), one = configurations(scratch.path("a"), "s.yaml", "a" + number);
        BOOST_CHECK_EQUAL(one, configurations(scratch.path("b"), "s.yaml", "b" + number));
        put("b", name, changed);
        BOOST_CHECK_NE(one, configurations(scratch.path("b"), "s.yaml", "c" + number));
        const command_result refused =
            sweep(scratch.path("b/s.yaml"), scratch.path("b" + number + ".sqlite"), {"--resume"});
        BOOST_CHECK_MESSAGE(
            contains(refused.err, "the results belong to another sweep, or the sweep or one of its files"),
            refused.err);
        point = "0";
    }
}

BOOST_AUTO_TEST_CASE(two_sweeps_do_not_write_to_one_file) {
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", slow_points(40)), results = scratch.path("r.sqlite");
    running_command first({TLMALLOC_COMMAND, "sweep", file, "-o", results});
    for (int i = 0; i < 1000 && !(std::filesystem::exists(results) && std::filesystem::file_size(results) > 8192); i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const command_result second = sweep(file, results, {"--resume"});
    BOOST_CHECK_EQUAL(second.status, 1);
    BOOST_CHECK_MESSAGE(contains(second.err, "r.sqlite: another process writes to it"), second.err);
    first.send(SIGTERM);
    first.wait();
}

BOOST_AUTO_TEST_CASE(an_unknown_figure_is_rejected_and_leaves_no_file) {
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", "name: f\ncommand: run\nplatform: " + npu +
                                                         "\nkeys: [{key: mmu.page_size, values: [4 KiB]}]\n"
                                                         "figures:\n  end: sim_time_ps\n  speed: sim_time\n");
    const command_result run = sweep(file, scratch.path("r.sqlite"));
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_EQUAL(run.err, file + ":7:10: error: speed: \"sim_time\" is missing in the report\n");
    BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
}

BOOST_AUTO_TEST_CASE(invalid_sweeps_are_rejected_with_line_and_column) {
    const std::string head = "name: n\ncommand: run\nplatform: " + npu + "\n", figures = "figures: {e: sim_time_ps}\n";
    const std::string key = "keys: [{key: mmu.page_size, values: [4 KiB]}]\n";
    const auto row = [&](const std::string &text) { return head + "keys:\n  - " + text + "\n" + figures; };
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", ":1:1: error: name is missing"},
        {"name: a/b\n" + key, ":1:7: error: name: found \"a/b\", expected a file name"},
        {"name: n\ncommand: rum\n",
         ":2:10: error: command: found \"rum\", expected one of run, replay, traffic, serve, plan"},
        {"name: n\ncommand: rum\n", ", did you mean \"run\"?"},
        {"name: n\ncommand: run\n" + key + figures, ":2:10: error: the command run needs platform"},
        {"name: n\ncommand: plan\nplatform: x\n" + key,
         ":3:11: error: platform: the command plan does not take this key"},
        {head + "colour: red\n", ":4:1: error: unknown key \"colour\""},
        {head + figures, ":1:1: error: keys and points are missing: name keys to sweep, or points"},
        {head + key, ":1:1: error: figures are missing: name at least one figure"},
        {row("{key: mmu.page_sise, values: [4 KiB]}"),
         ":5:11: error: unknown key \"mmu.page_sise\", did you mean \"mmu.page_size\"?"},
        {row("{key: mmu.walkers, values: [1]}"),
         ":5:11: error: mmu.walkers: found a section, expected one of its keys"},
        {row("{key: mmu.page_size, values: [4 KiB, 5]}"),
         ":5:42: error: mmu.page_size: found \"5\", which has no unit, expected a size"},
        {row("{key: mmu.page_size, values: [4 KiB, 4 KiB]}"),
         ":5:42: error: mmu.page_size: found the value \"4 KiB\" again, expected it once"},
        {row("{key: mmu.page_size, values: []}"), ":5:34: error: values: found none, expected a sequence"},
        {row("{key: mmu.page_size, values: 4 KiB}"), ":5:34: error: values: found \"4 KiB\", expected a sequence"},
        {row("{key: mmu.page_size}"), ":5:5: error: mmu.page_size: expected values, or from and to with a scale"},
        {row("{key: mmu.page_size, from: 4 KiB, to: 2 MiB}"),
         ":5:5: error: mmu.page_size: a range needs sample: random or latin"},
        {row("{values: [4 KiB]}"), ":5:5: error: key is missing"},
        {row("{key: --kernal, values: [gemm]}"),
         ":5:11: error: --kernal: the command run has no such option to sweep, did you mean \"--kernel\"?"},
        {row("{key: --json, values: [x]}"), ":5:11: error: --json: the command run has no such option"},
        {row("{key: mmu.page_size, values: [4 KiB, 64 KiB], zip: a}\n  - {key: mmu.walkers.count, values: [1], zip: "
             "a}"),
         ":6:11: error: mmu.walkers.count: found 1 values, expected 2, as mmu.page_size has in the same zip"},
        {head + "set: {mmu.page_sise: 4 KiB}\n" + key + figures, ":4:7: error: unknown key \"mmu.page_sise\""},
        {head + "set: {mmu.page_size: 4}\n" + key + figures, ":4:22: error: mmu.page_size: found \"4\""},
        {head + key + "points: [{set: {mmu.page_size: 4 KiB}}]\n" + figures,
         "error: keys: found both keys and points, expected one of them"},
        {head + key + "points: [{set: {mmu.page_size: 4 KiB}}, {set: {mmu.page_size: 64 KiB}}]\n" + figures,
         "error: keys: found both keys and points, expected one of them"},
        {head + "set:\n  hbm.burst: 64 B\n  hbm.burst: 128 B\n" + key + figures,
         ":6:3: error: hbm.burst: found the key again, expected it once (line 5)"},
        {head + key + "figures:\n  e: sim_time_ps\n  e: end_ps\n",
         ":7:3: error: e: found the key again, expected it once (line 6)"},
        {head + "sample: latim\n" + key + figures,
         ":4:9: error: sample: found \"latim\", expected product, list, random or latin, did you mean \"latin\"?"},
        {head + "sample: random\n" + key + figures, ":4:9: error: sample: random needs count, the number of points"},
        {head + "count: 5\n" + key + figures, ":4:8: error: count: found a count, but sample product draws no points"},
        {head +
             "limit: 2\nkeys:\n  - {key: mmu.page_size, values: [4 KiB, 64 KiB]}\n  - {key: mmu.walkers.count, "
             "values: [1, 2, 3]}\n" +
             figures,
         ":1:1: error: found 6 points, 2 x 3, expected at most 2 (limit)"},
        {head + key + "figures: {e: 'kernels[].end_ps'}\n",
         ":5:14: error: e: found \"kernels[].end_ps\", expected min, max, mean, sum or count before a path with []"},
        {head + key + "figures: {e: max sim_time_ps}\n", "expected [] after the list to summarize"},
        {head + key + "figures: {e: a..b}\n", "expected a path into the report"},
        {head + key + "figures: {status: sim_time_ps}\n", "status: another column has this name"},
        {head + key + "constraints: [mmu.page_sise < 4]\n" + figures,
         ":5:15: error: constraints: unknown key \"mmu.page_sise\""},
        {head + key + "constraints: [mmu.page_size <]\n" + figures, ":5:15: error: constraints: found"},
        {head + key + "constraints: [load_extension('x')]\n" + figures, "not authorized"},
        {head + key + "constraints: ['1); DROP TABLE x; --']\n" + figures, ":5:15: error: constraints: found"},
    };
    for (const auto &[text, why] : cases) {
        scratch_directory scratch;
        const std::string file = scratch.write("s.yaml", text);
        const command_result run = sweep(file, scratch.path("r.sqlite"));
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, why[0] == ':' ? file + why : why), text << "\n"
                                                                                      << run.err << "\n"
                                                                                      << why);
        BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
    }
}
