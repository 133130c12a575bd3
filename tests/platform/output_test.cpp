// Output files of every command: whole or not there, never over an input, written through links and pipes.
#include "platform/command_line.hpp"

#include <sys/stat.h>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string hbm2 = TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml";
const std::string recorded = TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz";
const std::string small_trace = "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n3,free,1,8\n";

// A recording of PyTorch of one block in one segment.
const std::string small_recording =
    R"({"device_traces": [[{"action": "segment_alloc", "addr": 4194304, "size": 2097152, "stream": 0, "time_us": 1},
{"action": "alloc", "addr": 4194304, "size": 512, "stream": 0, "time_us": 2}]],
"segments": [{"device": 0, "address": 4194304, "total_size": 2097152, "allocated_size": 512, "active_size": 512,
"stream": 0, "segment_type": "small", "blocks": [{"address": 4194304, "size": 512, "requested_size": 512,
"state": "active_allocated"}, {"address": 4194816, "size": 2096640, "requested_size": 0, "state": "inactive"}]}]})";

// An experiment of one row that takes no time.
const std::string experiment =
    "name: s\nunit: GB/s\nworkload: stream\nwith: {bytes: 64 KiB}\nset: {system.pes_per_cube: 1, mmu.walk: flat}\n"
    "rows:\n  - {label: a, published: 10, source: none}\n";

// Everything a command can write, each with inputs in a directory of its own.
struct writer {
    std::vector<std::string> arguments; // up to the option
    std::string option;
};

std::vector<writer> writers(const scratch_directory &scratch) {
    const std::string trace = scratch.write("t.csv", small_trace);
    const std::string addresses = scratch.write("a.csv", "time_ps,op,addr,bytes\n0,R,0,64\n0,W,64,64\n");
    const std::string config = scratch.write("c.yaml", read_text(npu_small));
    const std::string rows = scratch.write("e.yaml", experiment);
    const std::string recording = scratch.write("s.json", small_recording);
    const std::vector<std::string> replay{"replay", trace, "--capacity", "1 KiB"};
    const std::vector<std::string> simulated{"replay", trace, "--config", config};
    return {{{"run", config, "--kernel", "dma_read"}, "--json"},
            {{"run", config, "--kernel", "dma_read"}, "--vcd"},
            {{"run", config, "--kernel", "dma_read"}, "--events"},
            {{"run", config, "--kernel", "dma_read"}, "--trace"},
            {replay, "--json"},
            {replay, "--placements"},
            {replay, "--map"},
            {simulated, "--json"},
            {simulated, "--placements"},
            {{"age", trace, "--capacity", "1 KiB"}, "--output"},
            {{"traffic", hbm2, addresses}, "--json"},
            {{"explain", recording}, "--json"},
            {{"explain", recording}, "--map"},
            {{"reproduce", rows}, "--json"}};
}

command_result run_writer(const writer &w, const std::string &path) {
    std::vector<std::string> words = w.arguments;
    words.insert(words.end(), {w.option, path});
    return run_tlmalloc(words);
}

std::string shell_line(const writer &w, const std::string &path) {
    std::string line = "\"$tlmalloc\"";
    for (const std::string &word : w.arguments)
        line += " '" + word + "'";
    return line + " " + w.option + " '" + path + "'";
}

std::string name_of(const writer &w) {
    return w.arguments[0] + " " + w.option;
}

ino_t inode_of(const std::string &path) {
    struct stat found {};
    BOOST_REQUIRE_EQUAL(stat(path.c_str(), &found), 0);
    return found.st_ino;
}

unsigned mode_of(const std::string &path) {
    struct stat found {};
    BOOST_REQUIRE_EQUAL(stat(path.c_str(), &found), 0);
    return found.st_mode & 07777;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_output_is_written_and_an_older_one_replaced) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string path = scratch.write("out", "older");
            const command_result run = run_writer(w, path);
            BOOST_CHECK_MESSAGE(run.status == 0, run.err);
            BOOST_CHECK(read_text(path) != "older" && !read_text(path).empty());
            BOOST_CHECK_EQUAL(scratch.file_count(), 6u); // five inputs and this
        }
    }
}

// A limit on the size of files stands for a full disk.
BOOST_AUTO_TEST_CASE(an_output_that_cannot_be_written_whole_leaves_the_older_one) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string path = scratch.write("out", "older");
            const command_result run = run_shell("(ulimit -f 0; " + shell_line(w, path) + ") 2>&1 | cat");
            BOOST_CHECK_MESSAGE(contains(run.out, path + ": cannot write: File too large"), run.out);
            BOOST_CHECK_EQUAL(read_text(path), "older");
            BOOST_CHECK_EQUAL(scratch.file_count(), 6u);
            const command_result full = run_writer(w, "/dev/full");
            BOOST_CHECK_EQUAL(full.status, 1);
            BOOST_CHECK_MESSAGE(contains(full.err, "/dev/full: cannot write: No space left on device"), full.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_failed_output_prevents_the_other_output) {
    scratch_directory scratch;
    const std::string json = scratch.write("r.json", "older");
    const command_result run =
        run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--json", json, "--placements", "/dev/full"});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_EQUAL(read_text(json), "older");
    BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
}

BOOST_AUTO_TEST_CASE(an_output_that_is_an_input_is_rejected_under_every_name) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string input = w.arguments.back().find('/') == 0 ? w.arguments.back() : w.arguments[1];
            if (input == hbm2) continue;
            const std::string before = read_text(input);
            const std::string symbolic = scratch.path("symbolic"), hard = scratch.path("hard");
            std::filesystem::create_symlink(input, symbolic);
            std::filesystem::create_hard_link(input, hard);
            for (const std::string &spelling :
                 {input, scratch.path("./") + input.substr(input.rfind('/') + 1), symbolic, hard}) {
                const command_result run = run_writer(w, spelling);
                BOOST_CHECK_EQUAL(run.status, 2);
                BOOST_CHECK_MESSAGE(contains(run.err, w.option + ": '" + spelling + "' is the input '" + input +
                                                          "': name another file"),
                                    run.err);
                BOOST_CHECK_EQUAL(run.out, "");
                BOOST_CHECK_EQUAL(read_text(input), before);
            }
            std::filesystem::remove(symbolic);
            std::filesystem::remove(hard);
        }
    }
    // Inputs that other inputs name.
    const std::string profile = scratch.write("profile.yaml", read_text(hbm2));
    const std::string platform = scratch.write("p.yaml", read_text(npu_small));
    const command_result timing = run_tlmalloc({"run", platform, "--set", "hbm.timing=" + profile, "--vcd", profile});
    BOOST_CHECK_EQUAL(timing.status, 2);
    const std::string rows = scratch.write("on_platform.yaml", "platform: p.yaml\n" + experiment);
    const command_result nested = run_tlmalloc({"reproduce", rows, "--json", platform});
    BOOST_CHECK_EQUAL(nested.status, 2);
    BOOST_CHECK(read_text(platform) == read_text(npu_small) && read_text(profile) == read_text(hbm2));
}

// As a shell does it: >> INPUT.
BOOST_AUTO_TEST_CASE(a_table_that_goes_into_an_input_is_rejected) {
    scratch_directory scratch;
    std::vector<std::pair<std::string, std::string>> lines; // the input and the command
    for (const writer &w : writers(scratch)) {
        const std::string input = w.arguments.back().find('/') == 0 ? w.arguments.back() : w.arguments[1];
        if (input != hbm2) lines.push_back({input, shell_line(w, scratch.path("out"))});
    }
    const std::string trace = scratch.path("t.csv"), config = scratch.path("c.yaml"), rows = scratch.path("e.yaml");
    lines.push_back({trace, "\"$tlmalloc\" replay '" + trace + "' --capacity 16"});
    lines.push_back({config, "\"$tlmalloc\" check '" + config + "'"});
    lines.push_back({config, "\"$tlmalloc\" traffic '" + config + "' --pattern seq_rd"});
    lines.push_back({rows, "\"$tlmalloc\" reproduce '" + rows + "'"});
    for (const auto &[input, line] : lines) {
        BOOST_TEST_CONTEXT(line) {
            const std::string before = read_text(input);
            const command_result run = run_shell(line + " >> '" + input + "'");
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_MESSAGE(
                contains(run.err, "standard output is the input '" + input + "': redirect it to another"), run.err);
            BOOST_CHECK_EQUAL(read_text(input), before);
            BOOST_CHECK(!std::filesystem::exists(scratch.path("out")));
        }
    }
}

BOOST_AUTO_TEST_CASE(two_outputs_of_one_name_are_rejected_before_anything_runs) {
    scratch_directory scratch;
    const std::string link = scratch.path("link"), file = scratch.path("new.json");
    std::filesystem::create_symlink("new.json", link); // to nothing, yet
    const std::string old_file = scratch.write("old.json", "older"), old_link = scratch.path("hard");
    std::filesystem::create_hard_link(old_file, old_link);
    const std::vector<std::pair<std::string, std::string>> pairs{
        {file, file},         {file, scratch.path("./new.json")},
        {file, link},         {link, file},
        {old_file, old_link}, {"-", "-"},
        {"-", "/dev/stdout"}, {"/proc/self/fd/1", "/dev/fd/1"}};
    for (const auto &[first, second] : pairs) {
        const command_result run =
            run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--json", first, "--placements", second});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "'" + first + "' is also the output '" + second + "'") ||
                                contains(run.err, "'" + second + "' is also the output '" + first + "'"),
                            run.err);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_EQUAL(scratch.file_count(), 2u);
        BOOST_CHECK_EQUAL(read_text(old_file), "older");
    }
    const command_result devices =
        run_tlmalloc({"replay", recorded, "--capacity", "1 GiB", "--json", "/dev/null", "--placements", "/dev/null"});
    BOOST_CHECK_MESSAGE(devices.status == 0, devices.err);
    // Where the shell sends standard output.
    const command_result redirected =
        run_shell("\"$tlmalloc\" replay '" + recorded + "' --capacity '1 GiB' --json '" + file + "' > '" + file + "'");
    BOOST_CHECK_EQUAL(redirected.status, 2);
    BOOST_CHECK_MESSAGE(contains(redirected.err, "standard output already goes to"), redirected.err);
    // Experiments of one name are plots of one name.
    const std::string experiments = scratch.path("experiments");
    std::filesystem::create_directory(experiments);
    write_text(experiments + "/1.yaml", experiment);
    write_text(experiments + "/2.yaml", experiment);
    const command_result plots = run_tlmalloc({"reproduce", "--from", experiments, "--plot", scratch.path("plots")});
    BOOST_CHECK_EQUAL(plots.status, 2);
    BOOST_CHECK_MESSAGE(contains(plots.err, "s.dat"), plots.err);
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_written_is_rejected_before_anything_runs) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            for (const auto &[path, reason] : std::vector<std::pair<std::string, std::string>>{
                     {scratch.path("none/out"), "No such file or directory"},
                     {scratch.path("t.csv/out"), "Not a directory"},
                     {scratch.path("."), "Is a directory"},
                     {scratch.path("new/"), "Is a directory"}}) {
                const command_result run = run_writer(w, path);
                BOOST_CHECK_EQUAL(run.status, 1);
                BOOST_CHECK_MESSAGE(contains(run.err, path + ": cannot write: " + reason), run.err);
                BOOST_CHECK_EQUAL(run.out, "");
            }
            const command_result run = run_writer(w, "");
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_MESSAGE(contains(run.err, w.option + ": found '', expected the name of a file"), run.err);
        }
    }
    if (geteuid() == 0) return; // may write anywhere
    const std::string closed = scratch.path("closed");
    std::filesystem::create_directory(closed);
    const std::string kept = scratch.write("closed/kept", "kept");
    chmod(kept.c_str(), 0444);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--json", kept}).status, 1);
    chmod(closed.c_str(), 0555);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--json", closed + "/new"}).status, 1);
    chmod(closed.c_str(), 0755);
    BOOST_CHECK_EQUAL(read_text(kept), "kept");
}

BOOST_AUTO_TEST_CASE(a_dash_is_standard_output_and_the_table_goes_to_standard_error) {
    scratch_directory scratch;
    const auto until_host_time = [](std::string text) { // what differs from run to run
        for (const std::string key : {"wall_s", "host time", "simulated in", "requests_per_host_s", "host  "})
            if (std::size_t at = text.find(key); at != std::string::npos) text.erase(at, text.find('\n', at) - at);
        return text;
    };
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string path = scratch.path("out");
            const command_result plain = run_writer(w, path);
            BOOST_REQUIRE_MESSAGE(plain.status == 0, plain.err);
            for (const std::string name : {"-", "/dev/stdout", "/dev/fd/1"}) {
                const command_result run = run_writer(w, name);
                BOOST_CHECK_EQUAL(run.status, 0);
                BOOST_CHECK_EQUAL(until_host_time(run.out), until_host_time(read_text(path)));
                BOOST_CHECK_EQUAL(until_host_time(run.err), until_host_time(plain.out));
            }
            const command_result full = run_shell(shell_line(w, "-") + " > /dev/full");
            BOOST_CHECK_EQUAL(full.status, 1);
            BOOST_CHECK_MESSAGE(contains(full.err, "cannot write: No space left on device"), full.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(links_and_pipes_are_written_through_and_modes_are_kept) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string target = scratch.path("target"), link = scratch.path("link"),
                              outer = scratch.path("outer");
            std::filesystem::create_symlink("target", link);
            std::filesystem::create_symlink(link, outer);
            const command_result made = run_shell("umask 027; " + shell_line(w, outer));
            BOOST_REQUIRE_MESSAGE(made.status == 0, made.err);
            BOOST_CHECK(std::filesystem::is_symlink(link) && std::filesystem::is_symlink(outer));
            BOOST_CHECK_EQUAL(mode_of(target), 0640u);
            const std::string text = read_text(target);
            chmod(target.c_str(), 0604);
            BOOST_CHECK_EQUAL(run_writer(w, link).status, 0);
            BOOST_CHECK_EQUAL(mode_of(target), 0604u);
            const std::string pipe = scratch.path("pipe"), drained = scratch.path("drained");
            BOOST_REQUIRE_EQUAL(mkfifo(pipe.c_str(), 0600), 0);
            const ino_t before = inode_of(pipe);
            const command_result piped =
                run_shell("cat '" + pipe + "' > '" + drained + "' & " + shell_line(w, pipe) + " && wait");
            BOOST_CHECK_MESSAGE(piped.status == 0, piped.err);
            BOOST_CHECK_EQUAL(read_text(drained).substr(0, 60), text.substr(0, 60));
            BOOST_CHECK_EQUAL(inode_of(pipe), before);
            const command_result descriptor = run_shell(shell_line(w, "/dev/fd/3") + " 3> '" + drained + "'");
            BOOST_CHECK_MESSAGE(descriptor.status == 0, descriptor.err);
            BOOST_CHECK_EQUAL(read_text(drained).size() / 100, text.size() / 100);
            for (const std::string &path : {target, link, outer, pipe, drained})
                std::filesystem::remove(path);
        }
    }
    const std::string loop = scratch.path("loop");
    std::filesystem::create_symlink("loop", loop);
    const command_result run = run_tlmalloc({"run", npu_small, "--json", loop});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.err, "Too many levels of symbolic links"), run.err);
}

BOOST_AUTO_TEST_CASE(a_name_of_the_greatest_length_can_be_written) {
    scratch_directory scratch;
    const std::string path = scratch.path(std::string(255, 'n'));
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--json", path}).status, 0);
    BOOST_CHECK(std::filesystem::exists(path));
    const command_result longer = run_tlmalloc({"run", npu_small, "--json", path + "n"});
    BOOST_CHECK_EQUAL(longer.status, 1);
    BOOST_CHECK_MESSAGE(contains(longer.err, "File name too long"), longer.err);
}

BOOST_AUTO_TEST_CASE(a_standard_output_that_is_full_or_closed_is_an_error_of_every_command) {
    scratch_directory scratch;
    std::vector<std::string> lines{"--help",
                                   "--version",
                                   "help",
                                   "help run",
                                   "run --help",
                                   "check '" + npu_small + "'",
                                   "check --reference",
                                   "traffic --reference"};
    for (const writer &w : writers(scratch))
        lines.push_back(shell_line(w, "/dev/null").substr(std::string("\"$tlmalloc\" ").size()));
    for (const std::string &line : lines) {
        BOOST_TEST_CONTEXT(line) {
            const command_result full = run_shell("\"$tlmalloc\" " + line + " > /dev/full");
            BOOST_CHECK_EQUAL(full.status, 1);
            BOOST_CHECK_MESSAGE(contains(full.err, "standard output: cannot write: No space left on device"), full.err);
            const command_result closed = run_shell("\"$tlmalloc\" " + line + " >&-");
            BOOST_CHECK_EQUAL(closed.status, 1);
            BOOST_CHECK_MESSAGE(contains(closed.err, "standard output: cannot write: Bad file descriptor"), closed.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_full_standard_output_prevents_every_file_and_is_reported_once) {
    scratch_directory scratch;
    for (const writer &w : writers(scratch)) {
        BOOST_TEST_CONTEXT(name_of(w)) {
            const std::string path = scratch.write("out", "older");
            const command_result full = run_shell(shell_line(w, path) + " > /dev/full");
            BOOST_CHECK_EQUAL(full.status, 1);
            BOOST_CHECK_EQUAL(full.err, "tlmalloc " + w.arguments[0] +
                                            ": standard output: cannot write: No space left on device\n");
            BOOST_CHECK_EQUAL(read_text(path), "older");
            BOOST_CHECK_EQUAL(scratch.file_count(), 6u);
        }
    }
    // Not the table, but the output itself.
    const std::string map = scratch.path("map.svg");
    const command_result both = run_shell("\"$tlmalloc\" replay '" + scratch.path("t.csv") +
                                          "' --capacity 16 --json - --map '" + map + "' > /dev/full");
    BOOST_CHECK_EQUAL(both.status, 1);
    BOOST_CHECK(contains(both.err, "tlmalloc replay: standard output: cannot write: No space left on device\n"));
    BOOST_CHECK(!std::filesystem::exists(map));
}
