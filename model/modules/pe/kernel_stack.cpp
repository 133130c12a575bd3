// Switches to a kernel's stack and back, and ends kernels that fault, overflow or never return.
#include "kernel_stack.hpp"

#include "tlmalloc/modules/detail/time_queue.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#ifndef sigev_notify_thread_id // in newer C libraries only
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace tlmalloc {

namespace {

const std::size_t guard_bytes = 64 << 10;  // larger than the largest step of a frame that is probed page by page
const std::size_t calls_bytes = 256 << 10; // for the platform's own frames, sanitizers included
const std::uint64_t tick_ns = 50'000'000;  // of the clock that looks at kernels which do not call
const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};

kernel_stack *volatile kernel_inside = nullptr; // whose code runs now
kernel_watch unwatched;
kernel_watch *watch = &unwatched; // its entries show a tick whether any kernel has made progress
const kernel_stack *last_entered = nullptr;
const volatile unsigned char *own_process = nullptr;
volatile std::uint64_t seen_entry = 0, ticks = 0;
volatile std::uint64_t waiting_limit_ps = 0; // of the kernels that run
unsigned running = 0;                        // kernels that have begun and not ended
std::array<struct sigaction, std::size(faults)> actions_before{};
struct sigaction before_tick {};
timer_t ticking{};
bool has_clock = false;
alignas(16) char signal_stack[64 << 10]; // on which handlers run: a kernel's own may be used up
stack_t stack_before{};

int tick_signal() {
    return SIGRTMAX - 2;
}

// Returns the stack pointer at a signal; 0 if it is unknown.
std::uintptr_t stack_pointer(const void *context) {
    const auto &machine = static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return static_cast<std::uintptr_t>(machine.sp);
#else
    (void)machine;
    return 0;
#endif
}

const char *name_of_signal(int number) {
    switch (number) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGILL:
        return "illegal instruction";
    case SIGFPE:
        return "arithmetic fault, such as a division by zero";
    case SIGABRT:
        return "abort";
    default:
        return "trap";
    }
}

} // namespace

std::string kernel_stack::outcome::text() const {
    if (how == end::overflowed) return "stack overflow";
    if (how == end::too_long) return "makes no more calls";
    if (how == end::stopped) return "does not return";
    std::string said = name_of_signal(signal);
    if (signal == SIGSEGV || signal == SIGBUS) {
        char place[40];
        std::snprintf(place, sizeof place, " at address 0x%" PRIxPTR, address);
        said += place;
    }
    return said;
}

// The handlers, and who takes them when.
struct kernel_stack::signals {
    static void on_fault(int number, siginfo_t *info, void *context) {
        kernel_stack *const kernel = kernel_inside;
        const std::uintptr_t at = stack_pointer(context);
        if (kernel && (!at || kernel->holds(at))) {
            const bool addressed = number == SIGSEGV || number == SIGBUS;
            const auto address = addressed ? reinterpret_cast<std::uintptr_t>(info->si_addr) : 0;
            const auto low = reinterpret_cast<std::uintptr_t>(kernel->memory_);
            const bool overflow = addressed && address >= low && address < low + guard_bytes;
            kernel->end_with({overflow ? end::overflowed : end::faulted, number, address});
        }
        // Not a kernel's: as it would be without us. A fault happens again when this returns, a signal that was sent
        // is sent again.
        for (std::size_t i = 0; i < std::size(faults); i++)
            if (faults[i] == number) sigaction(number, &actions_before[i], nullptr);
        if (info->si_code <= 0) raise(number);
    }

    static void on_tick(int, siginfo_t *, void *context) {
        kernel_stack *const kernel = kernel_inside;
        if (watch->entries != seen_entry) {
            seen_entry = watch->entries;
            ticks = 0;
            return;
        }
        ticks = ticks + 1;
        if (!kernel) { // all of them wait, and nothing comes of it
            const std::uint64_t limit_ticks = (waiting_limit_ps / 1000 + tick_ns - 1) / tick_ns;
            if (limit_ticks > 0 && ticks % limit_ticks == 0) time_queue::nothing_moves(ticks / limit_ticks > 1);
            return;
        }
        const std::uintptr_t at = stack_pointer(context);
        if (kernel->host_limit_ps_ && ticks * tick_ns >= kernel->host_limit_ps_ / 1000 && (!at || kernel->holds(at)))
            kernel->end_with({end::too_long, 0, 0});
    }

    static void take() {
        if (running++) return;
        sigaltstack(nullptr, &stack_before);
        if (stack_before.ss_flags & SS_DISABLE || stack_before.ss_size < sizeof signal_stack / 4) {
            stack_t ours{};
            ours.ss_sp = signal_stack;
            ours.ss_size = sizeof signal_stack;
            sigaltstack(&ours, nullptr);
        }
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (std::size_t i = 0; i < std::size(faults); i++)
            sigaction(faults[i], &action, &actions_before[i]);
        action.sa_sigaction = on_tick;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigaction(tick_signal(), &action, &before_tick);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = tick_signal();
        event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
        has_clock = timer_create(CLOCK_MONOTONIC, &event, &ticking) == 0;
        itimerspec period{};
        period.it_interval.tv_nsec = period.it_value.tv_nsec = static_cast<long>(tick_ns);
        if (has_clock) timer_settime(ticking, 0, &period, nullptr);
    }

    static void give_back() {
        if (--running) return;
        if (has_clock) timer_delete(ticking);
        // A tick that is on its way finds a handler that does nothing, or the one from before.
        struct sigaction ignored {};
        ignored.sa_handler = SIG_IGN;
        sigaction(tick_signal(), &ignored, nullptr);
        sigaction(tick_signal(), &before_tick, nullptr);
        for (std::size_t i = 0; i < std::size(faults); i++)
            sigaction(faults[i], &actions_before[i], nullptr);
        sigaltstack(&stack_before, nullptr);
    }
};

kernel_stack::kernel_stack(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (guard_bytes + calls_bytes + bytes + page - 1) / page * page;
    void *const memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<char *>(memory);
    mprotect(memory_, guard_bytes, PROT_NONE);
}

// Frames that were left without a return stay marked for the sanitizer; the next owner of this memory, for example
// another stack, must not find the marks.
void kernel_stack::forget_frames() {
#if defined(__SANITIZE_ADDRESS__)
    if (memory_) __asan_unpoison_memory_region(memory_ + guard_bytes, mapped_ - guard_bytes);
#endif
}

kernel_stack::~kernel_stack() {
    forget_frames();
    if (memory_) munmap(memory_, mapped_);
    if (body_) signals::give_back(); // the simulation ended before the kernel did
}

bool kernel_stack::holds(std::uintptr_t address) const {
    const auto low = reinterpret_cast<std::uintptr_t>(memory_);
    return address >= low && address <= low + mapped_;
}

void kernel_stack::begin(unsigned upper, unsigned lower) {
    auto *const self = reinterpret_cast<kernel_stack *>(static_cast<std::uintptr_t>(upper) << 32 | lower);
    try {
        self->enter();
        (*self->body_)();
    } catch (...) {
        self->thrown_ = std::current_exception();
    }
    self->end_with({});
}

void kernel_stack::end_with(const outcome &how) {
    leave();
    outcome_ = how;
    setcontext(&caller_);
    std::terminate(); // setcontext returns only for an invalid context
}

kernel_stack::outcome kernel_stack::run(const std::function<void()> &body, std::uint64_t host_limit_ps,
                                        const char *where) {
    body_ = &body;
    where_ = where;
    last_entered = nullptr;
    waiting_limit_ps = host_limit_ps; // volatile: C++20 deprecates the use of its assignment as a value
    host_limit_ps_ = host_limit_ps;
    forget_frames(); // of a kernel that was ended
    signals::take();
    getcontext(&start_);
    start_.uc_stack.ss_sp = memory_;
    start_.uc_stack.ss_size = mapped_;
    start_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&start_, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
    switched_ = false;
    getcontext(&caller_); // returns here a second time, from end_with
    if (!switched_) {
        switched_ = true;
        setcontext(&start_);
    }
    signals::give_back();
    body_ = nullptr;
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return outcome_;
}

void kernel_stack::enter(const char *call, std::uint64_t calls) {
    const auto low = reinterpret_cast<std::uintptr_t>(memory_) + guard_bytes + calls_bytes;
    if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < low) end_with({end::overflowed, 0, 0});
    if (last_entered != this) {
        last_entered = this;
        watch->host_limit_ps = host_limit_ps_;
        std::strncpy(watch->where, where_, sizeof watch->where - 1);
    }
    watch->call = call;
    watch->calls = calls;
    watch->entries = watch->entries + 1;
    watch->inside = true;
    kernel_inside = this;
}

void kernel_stack::leave() {
    if (own_process && !*own_process) { // its memory is a copy, and so are the files that it would write
        watch->copied = true;
        _exit(EXIT_FAILURE);
    }
    kernel_inside = nullptr;
    watch->inside = false;
}

void kernel_stack::has_moved() {
    watch->entries = watch->entries + 1;
}

void kernel_stack::stop() {
    end_with({end::stopped, 0, 0});
}

void kernel_stack::be_watched(kernel_watch *by, const volatile unsigned char *own) {
    watch = by;
    own_process = own;
}

} // namespace tlmalloc
