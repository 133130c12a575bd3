// Runs a user's code in a child, and judges how the child has ended.
#include "run/supervisor.hpp"

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/output.h"
#include "model/modules/pe/kernel_stack.hpp"
#include "programs/kernel_file.h"

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" { // which glibc 2.36 forgets
#include <sys/pidfd.h>
}

namespace tlmalloc {

namespace {

const int look_ms = 50; // between looks at the child

// The data that parent and child share.
struct shared {
    kernel_watch watch;
    volatile bool finished = false; // the work, and its files are in their places
    volatile int status = 0;        // of the work
    volatile bool told = false;     // the child has reported the signal that ends it
};

template <typename T>
T *map(int how) {
    void *const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) T{};
}

// The line of /proc/PID/status that begins with a word, without the word.
std::string status_of(const std::string &process, const std::string &word) {
    std::ifstream in("/proc/" + process + "/status");
    for (std::string line; std::getline(in, line);)
        if (line.compare(0, word.size(), word) == 0) return line.substr(word.size());
    return "";
}

bool is_traced(const std::string &process) {
    return std::atol(status_of(process, "TracerPid:").c_str()) != 0;
}

// ---- the child ----

int run_child(shared &all, pid_t parent, const std::function<int()> &work) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(CLI_FAILED);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    auto *const own = map<unsigned char>(MAP_PRIVATE);
    if (own && madvise(own, 1, MADV_WIPEONFORK) == 0) *own = 1;
    kernel_stack::be_watched(&all.watch, own && *own ? own : nullptr);
    interrupt_told(&all.told);
    const int status = work();
    all.status = status;
    all.finished = true;
    return status;
}

// ---- the parent ----

class parent {
  public:
    parent(pid_t child, shared &all) : child_(child), all_(all), handle_(pidfd_open(child, 0)) {}
    ~parent() {
        if (handle_ >= 0) close(handle_);
    }
    parent(const parent &) = delete;
    parent &operator=(const parent &) = delete;

    // How the child has ended, as of waitpid.
    int wait() {
        int status = 0;
        for (pid_t ended = 0; ended == 0;) {
            pollfd end{handle_, POLLIN, 0};
            if (handle_ >= 0)
                poll(&end, 1, look_ms);
            else
                usleep(1000 * look_ms);
            ended = waitpid(child_, &status, WNOHANG);
            if (ended < 0 && errno == EINTR) ended = 0;
            if (ended == 0) look();
        }
        return status;
    }
    bool is_too_long() const { return too_long_; }

  private:
    // A kernel that does not move has been ended by the child's own clock, unless it has stopped that.
    void look() {
        const kernel_watch &watch = all_.watch;
        if (!watch.inside || watch.entries != seen_ || !watch.host_limit_ps) {
            seen_ = watch.entries;
            looks_ = 0;
            return;
        }
        const std::uint64_t passed_ms = ++looks_ * look_ms, limit_ms = watch.host_limit_ps / 1'000'000'000;
        if (passed_ms < 2 * limit_ms + 1000) return;
        looks_ = 0;
        if (is_traced(std::to_string(child_))) return; // a debugger traces it
        too_long_ = true;
        kill(child_, SIGKILL);
    }

    const pid_t child_;
    shared &all_;
    const int handle_;
    std::uint64_t seen_ = 0, looks_ = 0;
    bool too_long_ = false;
};

// Processes that the child has made, and not waited for, are this one's children now. How many still ran.
unsigned end_what_is_left() {
    unsigned ended = 0;
    for (int round = 0; round < 1000; round++) {
        while (waitpid(-1, nullptr, WNOHANG) > 0)
            ;
        std::ifstream in("/proc/thread-self/children");
        bool any = false;
        for (pid_t left = 0; in >> left; any = true)
            if (kill(left, SIGKILL) == 0) ended++;
        if (!any) return ended;
        usleep(1000);
    }
    return ended;
}

// "on sip0.cube0.pe0, in its own code after tl_load, its call 2"
std::string place_of(const kernel_watch &watch) {
    if (!*watch.where) return "before it ran";
    std::string text =
        std::strchr(watch.where, '.') ? std::string("on ") + watch.where : std::string("in its ") + watch.where;
    if (!std::strchr(watch.where, '.')) return text;
    if (!watch.call) return text + ", before its first call";
    return text + ", after " + watch.call + ", its call " + std::to_string(watch.calls);
}

// Ends this process as the child has ended, but for another file with its memory.
[[noreturn]] void end_by(int number) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::fflush(nullptr);
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    std::raise(number);
    _exit(128 + number);
}

int judge(const std::string &command, const std::string &what, const shared &all, int ended, bool too_long,
          unsigned left) {
    const std::string who = command + ": kernel " + what + ", " + place_of(all.watch);
    if (too_long) {
        print_message("%s: makes no more calls and exceeded pe.host_limit, %" PRIu64
                      " ms of real time: it stopped the timer, for example by blocking signals",
                      who.c_str(), all.watch.host_limit_ps / 1'000'000'000);
        return CLI_FAILED;
    }
    if (WIFSIGNALED(ended)) {
        const int number = WTERMSIG(ended);
        if (!all.told && number != SIGPIPE)
            print_message("%s: ended by signal %d (%s)", who.c_str(), number, strsignal(number));
        end_by(number);
    }
    const int status = WEXITSTATUS(ended);
    if (!all.finished) {
        print_message("%s: ended the process with exit status %d, or replaced it: return a status instead", who.c_str(),
                      status);
        return CLI_FAILED;
    }
    if (all.watch.copied || left > 0) {
        print_message("%s: kernel %s: created processes (%s): a kernel must end without processes of its own",
                      command.c_str(), what.c_str(),
                      left ? "they were killed" : "by fork, and they called the platform");
        return CLI_FAILED;
    }
    return all.status ? all.status : status;
}

} // namespace

int supervise(const std::string &command, const std::string &what, const std::function<int()> &work) {
    if (is_traced("self")) return work();
    shared *const all = map<shared>(MAP_SHARED);
    const pid_t self = getpid();
    std::fflush(nullptr); // or both would write it
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::signal(SIGCHLD, SIG_DFL); // or there would be nothing to wait for
    const pid_t child = all ? interrupt_fork() : -1;
    if (child == 0) return run_child(*all, self, work);
    if (child < 0) {
        print_message("%s: cannot start a process for the kernel: %s", command.c_str(), std::strerror(errno));
        return CLI_FAILED;
    }
    parent waiting(child, *all);
    const int ended = waiting.wait();
    interrupt_forget_child();
    const unsigned left = end_what_is_left();
    output_remove_unfinished();
    tl_kernel_file_remove_scratch();
    return judge(command, what, *all, ended, waiting.is_too_long(), left);
}

} // namespace tlmalloc
