// The stack on which a kernel's own code runs, and the ways out of it that the kernel does not take by itself.
#ifndef TLMALLOC_MODULES_PE_KERNEL_STACK_HPP
#define TLMALLOC_MODULES_PE_KERNEL_STACK_HPP

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <ucontext.h>

namespace tlmalloc {

// The state of the kernels of this process that another process observes, in shared memory.
struct kernel_watch {
    volatile std::uint64_t entries = 0;       // how often a kernel's own code was entered, or anything has moved
    volatile std::uint64_t host_limit_ps = 0; // of the kernel whose code was entered last
    volatile std::uint64_t calls = 0;         // that it has made
    const char *volatile call = nullptr;      // the last one: a text of this program
    volatile bool inside = false;             // a kernel's own code runs now
    volatile bool copied = false;             // a copy of the process (fork) has called the platform
    char where[64] = "";                      // whose code was entered last
};

// A kernel is foreign C. It runs on a stack of its own with a guard below it, so that too deep a recursion harms no
// other code. A fault in its code (a wild address, a division by zero, abort) ends the kernel and not the process.
// enter() and leave() mark the kernel's code: during a call into the platform no fault is caught, and SystemC may
// switch away from the kernel.
//
// Signals are taken only while kernels run: the handlers that were there before are put back behind the last one, and
// get every signal that is not a kernel's. The stack belongs to one thread of the simulation at a time.
class kernel_stack {
  public:
    enum class end {
        returned,
        faulted,    // a signal of its own code
        overflowed, // more stack than it has
        too_long,   // longer in its own code than host_limit_ps, without a call
        stopped     // by stop()
    };

    struct outcome {
        end how = end::returned;
        int signal = 0;             // faulted
        std::uintptr_t address = 0; // faulted: the accessed address, where the signal has an address

        // "segmentation fault at address 0x10", "stack overflow", ...
        std::string text() const;
    };

    // `bytes` for the kernel; the stack for the platform's calls is added.
    explicit kernel_stack(std::size_t bytes);
    ~kernel_stack();
    kernel_stack(const kernel_stack &) = delete;
    kernel_stack &operator=(const kernel_stack &) = delete;

    // Whether the host had memory for it.
    bool is_there() const { return memory_ != nullptr; }

    // Runs a body on this stack, from a thread of SystemC; waits of that thread work as usual. Returns when the body
    // has returned or was ended; no destructor of an ended body has run. An exception that leaves the body continues
    // from here. host_limit_ps is a limit of real time: for the body's own code, and for all bodies while they wait and
    // none has_moved(); time_queue::nothing_moves then informs the queue. 0: no limit. `where` is for observers, and
    // lives as long.
    outcome run(const std::function<void()> &body, std::uint64_t host_limit_ps, const char *where = "");

    // The kernel's own code runs from here on, or no more. enter() may end the kernel, for it has too little stack
    // left.
    void enter(const char *call = nullptr, std::uint64_t calls = 0);
    void leave();

    // Ends the kernel: does not return (and is not declared so: sanitizers would look for the end of a stack that is
    // not the thread's). Where nothing has a destructor that must run.
    void stop();

    // Has another process watch the kernels of this one, for as long as it lives. *own is not 0 in this process alone
    // (MADV_WIPEONFORK): a copy of the process that a kernel makes by fork ends at its next call.
    static void be_watched(kernel_watch *by, const volatile unsigned char *own);

    // Something moves that kernels wait for: while it does, the real time of their waits is no failure.
    static void has_moved();

  private:
    struct signals;
    friend struct signals;

    static void begin(unsigned upper, unsigned lower);
    bool holds(std::uintptr_t address) const;
    void forget_frames();
    void end_with(const outcome &how);

    char *memory_ = nullptr; // guard, what calls need, the kernel's part
    std::size_t mapped_ = 0;
    ucontext_t caller_{}, start_{};
    volatile bool switched_ = false;
    const std::function<void()> *body_ = nullptr;
    std::exception_ptr thrown_;
    outcome outcome_{};
    std::uint64_t host_limit_ps_ = 0;
    const char *where_ = "";
};

} // namespace tlmalloc
#endif
