// What a kernel of a user may do to the process that runs it: no run that has not finished returns 0, the table comes
// once, and no file is half.
#include "platform/command_line.hpp"
#include "platform/doubling_kernel.hpp"
#include "today.hpp"

#include <jansson.h>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string headers =
    "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <pthread.h>\n#include <setjmp.h>\n#include <signal.h>\n"
    "#include <stdio.h>\n#include <string.h>\n#include <sys/prctl.h>\n"
    "#include <sys/resource.h>\n#include <sys/syscall.h>\n#include <sys/wait.h>\n"
    "#include <unistd.h>\n";

// Every day a quarter of them.
struct act {
    std::string inside, before, check; // C in the kernel's body, in front of it, and in its check
};

const std::vector<act> acts{
    {"exit(0);"},
    {"exit(3);"},
    {"_exit(0);"},
    {"_Exit(0);"},
    {"quick_exit(0);"},
    {"syscall(SYS_exit_group, 0);"},
    {"pthread_exit(0);"},
    {"execl(\"/bin/true\", \"true\", (char *)0);"},
    {"execl(\"/bin/sh\", \"sh\", \"-c\", \"echo simulated in; exit 0\", (char *)0);"},
    {"if (fork() < 0) abort();"},
    {"fork(); fork();"},
    {"syscall(SYS_fork);"},
    {"if (fork() == 0) _exit(0);"},
    {"if (fork() == 0) exit(0);"},
    {"if (fork() == 0) for (;;) pause();"},
    {"if (fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); _exit(0); }"},
    {"int child = fork(); if (child) waitpid(child, 0, 0);"},
    {"if (fork() > 0) _exit(0);"},
    {"(void)!daemon(1, 1);"},
    {"(void)!system(\"true\");"},
    {"kill(getpid(), SIGKILL);"},
    {"raise(SIGTERM);"},
    {"raise(SIGUSR1);"},
    {"signal(SIGTERM, SIG_DFL); raise(SIGTERM);"},
    {"signal(SIGTERM, SIG_IGN); raise(SIGTERM);"},
    {"raise(SIGSTOP);"},
    {"signal(SIGABRT, SIG_DFL); abort();"},
    {"jmp_buf to; memset(&to, 0, sizeof to); longjmp(to, 1);"},
    {"for (int i = 3; i < 256; i++) close(i);"},
    {"for (int i = 0; i < 256; i++) close(i);"},
    {"for (int i = 0; i < 256; i++) close(i); for (int i = 0; i < 20; i++) open(\"mine\", O_RDWR | O_CREAT, 0600);"},
    {"close(1); open(\"mine\", O_RDWR | O_CREAT, 0600);"},
    {"fclose(stdout);"},
    {"fclose(stderr);"},
    {"(void)!chdir(\"/\");"},
    {"struct rlimit none = {0, 0}; setrlimit(RLIMIT_FSIZE, &none);"},
    {"struct rlimit few = {3, 3}; setrlimit(RLIMIT_NOFILE, &few);"},
    {"sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); for (volatile int i = 0;;) i++;"},
    {"signal(SIGRTMAX - 2, SIG_IGN); for (volatile int i = 0;;) i++;"},
    {"sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); for (;;) pause();"},
    {"on_exit(out, 0);", "static void out(int status, void *none) { (void)status, (void)none; _exit(0); }\n"},
    {"", "__attribute__((constructor)) static void in(void) { _exit(0); }\n"},
    {"", "__attribute__((destructor)) static void out(void) { _exit(0); }\n"},
    {"", "", "_exit(0);"},
    {"", "", "fork();"},
};

// Processes that a test has begun by a mark in their environment.
std::vector<std::string> marked(const std::string &mark) {
    std::vector<std::string> found;
    std::error_code problem;
    for (const auto &entry : std::filesystem::directory_iterator("/proc", problem)) {
        std::ifstream in(entry.path() / "environ", std::ios::binary);
        std::ostringstream text;
        if (in) text << in.rdbuf();
        std::ifstream status(entry.path() / "stat");
        std::string line;
        std::getline(status, line);
        if (contains(text.str(), mark) && !contains(line, ") Z ")) found.push_back(line);
    }
    return found;
}

std::size_t count_of(const std::string &text, const std::string &part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        count++;
    return count;
}

bool is_whole_report(const std::string &path) {
    json_t *const report = json_load_file(path.c_str(), 0, nullptr);
    const bool whole = report && json_object_get(report, "critical_path");
    json_decref(report);
    return whole;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_run_returns_0_only_when_it_has_finished_whatever_a_kernel_does_to_its_process) {
    std::size_t number = 0;
    for (const act &a : some_of_today(acts, 4)) {
        scratch_directory scratch, home;
        std::string text = headers + doubling(a.before, a.inside);
        if (!a.check.empty()) text.replace(text.find("(void)workload;"), 15, a.check);
        const std::string file = home.write("k.c", text), json = scratch.path("r.json"), vcd = scratch.path("r.vcd");
        const std::string mark = "TLMALLOC_MARK=" + std::to_string(getpid()) + "." + std::to_string(number++);
        const command_result run =
            run_shell("cd '" + home.path("") + "'; export " + mark + " TMPDIR='" + scratch.path("") +
                      "'; exec timeout -s KILL 100 \"$tlmalloc\" run '" + npu_small + "' --kernel '" + file +
                      "' --json '" + json + "' --vcd '" + vcd + "' --set 'pe.host_limit=200 ms'");
        BOOST_TEST_CONTEXT(a.before << a.inside << a.check << "\n" << run.status << " " << run.out << run.err) {
            if (run.status == 0) BOOST_CHECK(is_whole_report(json) && contains(run.out, "result verified"));
            BOOST_CHECK_NE(run.status, 127);
            BOOST_CHECK_LE(count_of(run.out, " us simulated in "), 1u);
            BOOST_CHECK(!contains(run.err, "does not compile"));
            const bool can_tell = !contains(a.inside, "int i = 0; i < 256") && !contains(a.inside, "RLIMIT_FSIZE") &&
                                  !contains(a.inside, "fclose(stderr)"); // what takes away standard error
            BOOST_CHECK_MESSAGE(run.status == 0 || !can_tell || !run.err.empty(), "says nothing");
            if (std::filesystem::exists(json)) BOOST_CHECK(is_whole_report(json));
            for (const auto &entry : std::filesystem::directory_iterator(scratch.path("")))
                BOOST_CHECK_MESSAGE(entry.path() == json || entry.path() == vcd, entry.path());
            for (const std::string &left : marked(mark))
                BOOST_ERROR(left);
        }
    }
}

BOOST_AUTO_TEST_CASE(damage_of_a_kernel_to_its_process_is_reported_with_the_place) {
    scratch_directory scratch;
    const std::vector<std::pair<std::string, std::string>> told{
        {"_exit(0);", ", on sip0.cube0.pe0, after tl_load, its call 2: ended the process with exit status 0, or "
                      "replaced it: return a status instead\n"},
        {"execl(\"/bin/true\", \"true\", (char *)0);", "or replaced it: return a status instead\n"},
        {"fork();", "created processes ("},
        {"sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); for (volatile int i = 0;;) i++;",
         "makes no more calls and exceeded pe.host_limit, 200 ms of real time: it stopped the timer"},
        {"kill(getpid(), SIGKILL);", "ended by signal 9 (Killed)"}};
    for (const auto &[inside, says] : told) {
        const std::string file = scratch.write("k.c", headers + doubling("", inside));
        const command_result run = run_tlmalloc({"run", npu_small, "--kernel", file, "--set", "pe.host_limit=200 ms"});
        BOOST_CHECK_MESSAGE(run.status != 0 && contains(run.err, "tlmalloc run: kernel " + file) &&
                                contains(run.err, says),
                            inside << ": " << run.status << " " << run.err);
    }
}

// A sweep's row of such a point has a failure.
BOOST_AUTO_TEST_CASE(a_point_of_a_sweep_whose_kernel_ends_its_process_has_failed) {
    scratch_directory scratch;
    const std::string file = scratch.write("k.c", headers + doubling("", "_exit(0);"));
    const std::string sweep = scratch.write(
        "s.yaml", "name: p\ncommand: run\nplatform: " + npu_small + "\nset: {--kernel: " + file +
                      "}\nkeys: [{key: controller.cost.node, values: [1 ns, 2 ns]}]\nfigures: {end: sim_time_ps}\n");
    const command_result run = run_tlmalloc({"sweep", sweep, "--output", scratch.path("r.sqlite")});
    BOOST_CHECK_MESSAGE(run.status == 0 && contains(run.out, "2 failed"), run.out << run.err);
}
