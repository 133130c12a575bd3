// Every signal that can be caught, at several moments of a command: nothing half is left, no process, and the shell
// sees the signal.
#include "platform/command_line.hpp"
#include "platform/doubling_kernel.hpp"
#include "today.hpp"

#include <chrono>
#include <cstring>
#include <sys/stat.h>
#include <thread>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// All that end a process if it does nothing about them, but for SIGKILL, and for SIGXFSZ, which is an error of a file.
std::vector<int> ending_signals() {
    std::vector<int> all;
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction now {};
        const bool others = number == SIGKILL || number == SIGSTOP || number == SIGCHLD || number == SIGCONT ||
                            number == SIGURG || number == SIGWINCH || number == SIGTSTP || number == SIGTTIN ||
                            number == SIGTTOU || number == SIGXFSZ;
        if (!others && sigaction(number, nullptr, &now) == 0) all.push_back(number);
    }
    return all;
}

template <typename Condition>
bool comes(Condition condition) {
    for (int i = 0; i < 6000 && !condition(); i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
}

std::size_t entries_in(const std::string &folder) {
    std::size_t count = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
        (void)entry;
        count++;
    }
    return count;
}

// Whether a process of this number is there that has not ended.
bool is_alive(const std::string &process) {
    std::ifstream in("/proc/" + process + "/stat");
    std::string line;
    return std::getline(in, line) && !contains(line, ") Z ");
}

// A command that stands still somewhere, with its files in a folder of its own.
struct moment {
    std::string name, line;   // of the shell, in which $dir is the folder, and $k a kernel
    std::string kernel, sign; // C in the kernel, and what is there when the moment has come
};

const std::vector<moment> moments{
    {"reading a trace", "exec \"$tlmalloc\" replay \"$dir/pipe\" --capacity 1024 --placements \"$dir/p.csv\"", "",
     ".part"},
    {"compiling",
     "CC=\"$dir/cc\"; export CC; exec \"$tlmalloc\" run '" + npu_small + "' --kernel \"$k\" --json \"$dir/r.json\"", "",
     "compiler"},
    {"in a kernel",
     "exec \"$tlmalloc\" run '" + npu_small + "' --kernel \"$k\" --json \"$dir/r.json\" --vcd \"$dir/v\"",
     "close(open(getenv(\"SIGN\"), O_CREAT | O_WRONLY, 0600)); for (;;) pause();", "sign"},
    {"in a kernel that blocks signals",
     "exec \"$tlmalloc\" run '" + npu_small + "' --kernel \"$k\" --json \"$dir/r.json\"",
     "sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); "
     "close(open(getenv(\"SIGN\"), O_CREAT | O_WRONLY, 0600)); for (;;) pause();",
     "sign"},
    {"in a kernel of the platform",
     "exec \"$tlmalloc\" run '" TLMALLOC_SOURCE_DIR
     "/configs/kernbench.yaml' --json \"$dir/r.json\" --vcd \"$dir/pipe\"",
     "", ".part"},
};

bool has_come(const std::string &folder, const std::string &sign) {
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.path().filename() == sign || (sign == ".part" && entry.path().extension() == sign)) return true;
    return false;
}

void check(const moment &m, int signal) {
    scratch_directory scratch, work;
    const std::string kernel =
        scratch.write("k.c", "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <signal.h>\n#include <unistd.h>\n" +
                                 doubling("", m.kernel));
    // A compiler that makes a file and a process of its own, and never ends.
    const std::string cc = work.path("cc"), sign = scratch.path("sign"), told = scratch.path("compiler");
    scratch.write("cc", "#!/bin/sh\n: > \"$TMPDIR/half.s\"\nsleep 1000 &\necho $! > '" + told + ".new'; mv '" + told +
                            ".new' '" + told + "'\nwait\n");
    std::filesystem::permissions(scratch.path("cc"), std::filesystem::perms::owner_all);
    std::filesystem::rename(scratch.path("cc"), cc);
    BOOST_REQUIRE_EQUAL(mkfifo(work.path("pipe").c_str(), 0600), 0);
    const std::size_t before = entries_in(work.path(""));
    running_command run({"/bin/sh", "-c",
                         "ulimit -c 0; tlmalloc='" TLMALLOC_COMMAND "' k='" + kernel + "' dir='" + work.path("") +
                             "' SIGN='" + sign + "' TMPDIR='" + work.path("") + "'; export SIGN TMPDIR; " + m.line});
    const int pipe = open(work.path("pipe").c_str(), O_RDWR | O_NONBLOCK);
    BOOST_REQUIRE_MESSAGE(comes([&] { return has_come(m.sign == ".part" ? work.path("") : scratch.path(""), m.sign); }),
                          "the moment does not come");
    if (m.name == "in a kernel of the platform") { // it has begun when the first bytes are there
        char byte = 0;
        BOOST_REQUIRE(comes([&] { return read(pipe, &byte, 1) == 1; }));
    }
    run.send(signal);
    const command_result ended = run.wait();
    close(pipe);
    BOOST_CHECK_EQUAL(ended.status, 1000 + signal);
    BOOST_CHECK_MESSAGE(signal == SIGPIPE || contains(ended.err, "ended by "), ended.err);
    BOOST_CHECK_MESSAGE(entries_in(work.path("")) == before, "files are left");
    if (m.sign == "compiler") {
        std::string process = read_text(told);
        process.pop_back();
        BOOST_CHECK_MESSAGE(comes([&] { return !is_alive(process); }), "the compiler is left");
    }
}

const moment &moment_of(const char *name) {
    return *std::find_if(moments.begin(), moments.end(), [&](const moment &m) { return m.name == name; });
}

// Each of them where that takes no compiler and no long run, elsewhere one of six a day.
void check_all(const char *name, std::size_t step = 6) {
    const std::vector<int> all = ending_signals();
    BOOST_CHECK_GT(all.size(), 40u);
    for (const int signal : step == 1 ? all : some_of_today(all, step))
        BOOST_TEST_CONTEXT(name << ", signal " << signal << " (" << strsignal(signal) << ")") {
            check(moment_of(name), signal);
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_signal_leaves_nothing_half_while_a_trace_is_read) {
    check_all("reading a trace", 1);
}

BOOST_AUTO_TEST_CASE(every_signal_ends_the_compiler_of_a_kernel) {
    check_all("compiling");
}

BOOST_AUTO_TEST_CASE(every_signal_leaves_nothing_half_in_a_kernel_of_a_file) {
    check_all("in a kernel");
}

BOOST_AUTO_TEST_CASE(every_signal_leaves_nothing_half_in_a_kernel_of_the_platform) {
    check_all("in a kernel of the platform");
}

// Such a kernel is given two seconds, and killed.
BOOST_AUTO_TEST_CASE(a_signal_ends_a_kernel_that_blocks_signals) {
    for (const int signal : {SIGINT, SIGTERM, SIGXCPU})
        check(moment_of("in a kernel that blocks signals"), signal);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_program_itself_leaves_nothing_half) {
    const moment &m = moment_of("reading a trace");
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
        BOOST_TEST_CONTEXT(strsignal(signal)) {
            check(m, signal);
        }
}
