// What a signal leaves of a command: what it says, and no file that is half.
#include "platform/command_line.hpp"

#include <chrono>
#include <sys/stat.h>
#include <thread>

namespace {

const std::string trace_text = "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n3,free,1,8\n";

template <typename Condition>
void wait_until(Condition condition) {
    for (int i = 0; i < 2000 && !condition(); i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BOOST_REQUIRE(condition());
}

} // namespace

// A pipe that nobody reads holds the run up in the middle of its waveform.
BOOST_AUTO_TEST_CASE(an_interrupt_says_how_far_it_came_and_leaves_nothing_half) {
    for (const auto &[signal, name] : std::vector<std::pair<int, std::string>>{
             {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}}) {
        scratch_directory scratch;
        const std::string pipe = scratch.path("pipe"), json = scratch.write("r.json", "older");
        BOOST_REQUIRE_EQUAL(mkfifo(pipe.c_str(), 0600), 0);
        const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
        BOOST_REQUIRE(reader >= 0);
        running_command run(
            {TLMALLOC_COMMAND, "run", TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", "--json", json, "--vcd", pipe});
        char byte = 0;
        wait_until([&] { return read(reader, &byte, 1) == 1; }); // the waveform has begun, and the run with it
        BOOST_CHECK_EQUAL(scratch.file_count(), 2u);             // the report and what will replace it
        run.send(signal);
        const command_result ended = run.wait();
        close(reader);
        BOOST_CHECK_EQUAL(ended.status, 1000 + signal);
        BOOST_CHECK_MESSAGE(contains(ended.err, "tlmalloc run: ended by " + name + " during run, after "), ended.err);
        BOOST_CHECK_MESSAGE(contains(ended.err, " of 256 PEs; removed 1 unfinished file\n"), ended.err);
        BOOST_CHECK_EQUAL(read_text(json), "older");
        BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
    }
}

// A kernel may make a process, in a session of its own, and then hang.
BOOST_AUTO_TEST_CASE(a_signal_ends_the_processes_of_a_kernel_too) {
    scratch_directory scratch;
    const std::string number = scratch.path("number");
    const std::string kernel =
        scratch.write("k.c", "#include \"tlmalloc/kernel.h\"\n#include <stdio.h>\n#include <unistd.h>\n"
                             "static tla_status run(tl_context *tl) {\n"
                             "    if (tl_program_id(tl, TL_ALL) == 0 && !fork()) {\n        setsid();\n"
                             "        FILE *out = fopen(\"" +
                                 number +
                                 "~\", \"w\");\n        fprintf(out, \"%d\\n\", (int)getpid());\n        fclose(out);\n"
                                 "        rename(\"" +
                                 number + "~\", \"" + number +
                                 "\");\n        for (;;)\n            sleep(1000);\n    }\n"
                                 "    for (;;)\n        sleep(1000);\n    return TLA_OK;\n}\n"
                                 "TL_KERNEL(.name = \"k\", .description = \"leaves a process\", .run = run);\n");
    running_command run({TLMALLOC_COMMAND, "run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--kernel", kernel});
    wait_until([&] { return std::filesystem::exists(number); });
    run.send(SIGTERM);
    BOOST_CHECK_EQUAL(run.wait().status, 1000 + SIGTERM);
    const std::string process = "/proc/" + std::to_string(std::stoi(read_text(number)));
    std::ifstream state(process + "/stat"); // gone, or ended and not yet waited for by init
    std::string line;
    std::getline(state, line);
    BOOST_CHECK_MESSAGE(line.empty() || contains(line, ") Z "), line);
}

// A reader that goes away in the middle is a broken pipe, and no message.
BOOST_AUTO_TEST_CASE(a_pipe_that_breaks_leaves_nothing_half) {
    scratch_directory scratch;
    const command_result run =
        run_shell("\"$tlmalloc\" run '" TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml' --json '" +
                  scratch.path("r.json") + "' --vcd - 2>'" + scratch.path("err") + "' | head -c 10");
    BOOST_CHECK_EQUAL(run.out, "$timescale");
    BOOST_CHECK_EQUAL(read_text(scratch.path("err")), "");
    BOOST_CHECK(!std::filesystem::exists(scratch.path("r.json")));
    BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_a_trace_is_read_leaves_nothing_half) {
    scratch_directory scratch;
    const std::string trace = scratch.path("trace");
    BOOST_REQUIRE_EQUAL(mkfifo(trace.c_str(), 0600), 0);
    running_command run({TLMALLOC_COMMAND, "replay", trace, "--capacity", "1 KiB", "--placements",
                         scratch.path("p.csv"), "--map", scratch.path("m.svg")});
    const int writer = open(trace.c_str(), O_WRONLY); // waits for the reader
    BOOST_REQUIRE(writer >= 0);
    BOOST_REQUIRE_EQUAL(write(writer, trace_text.data(), trace_text.size()), trace_text.size());
    BOOST_CHECK_EQUAL(scratch.file_count(), 2u);
    run.send(SIGTERM);
    const command_result ended = run.wait();
    close(writer);
    BOOST_CHECK_EQUAL(ended.status, 1000 + SIGTERM);
    BOOST_CHECK_EQUAL(ended.err,
                      "tlmalloc replay: ended by SIGTERM during reading the trace; removed 2 unfinished files\n");
    BOOST_CHECK_EQUAL(scratch.file_count(), 0u);
}

BOOST_AUTO_TEST_CASE(a_signal_that_was_ignored_stays_ignored) {
    scratch_directory scratch;
    const std::string json = scratch.path("r.json");
    const command_result run =
        run_shell("trap '' HUP; \"$tlmalloc\" run '" TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml' --json '" + json +
                  "' & sleep 0.1; kill -HUP $!; wait $!");
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK(std::filesystem::exists(json));
}
