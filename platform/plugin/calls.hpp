// Calls of a host, and the one simulation that they are made in: who may call when, what time it is, why it has ended.
#ifndef TLMALLOC_PLATFORM_PLUGIN_CALLS_HPP
#define TLMALLOC_PLATFORM_PLUGIN_CALLS_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/time.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace tlmalloc::plugin {

struct plugin_state {
    bool running = false;                  // time has begun: nothing can be made any more
    std::uint64_t now_ps = 0;              // the host's time; the simulation may be ahead of it
    std::atomic<std::thread::id> inside{}; // the thread of the call that is being made
    std::string ended;                     // why the simulation has ended
    void (*warned)(void *, const char *, const char *) = nullptr;
    void *warned_context = nullptr;
};

inline plugin_state &state() {
    static auto *const the = new plugin_state; // as long as the process, whatever its end calls
    return *the;
}

// One for each thread, so that concurrent calls have their own texts.
inline std::string &last_error() {
    static thread_local std::string text;
    return text;
}

inline int fail(int status, const std::string &why) {
    last_error() = why;
    return status;
}

inline std::string words_of(const std::exception &problem) {
    const auto *const report = dynamic_cast<const sc_core::sc_report *>(&problem);
    return report ? std::string(report->get_msg_type()) + ": " + report->get_msg() : problem.what();
}

// While it lives a call is being made, if no other one was.
class stay {
  public:
    stay() { is_alone_ = state().inside.compare_exchange_strong(other_, std::this_thread::get_id()); }
    ~stay() {
        if (is_alone_) state().inside = std::thread::id();
    }
    stay(const stay &) = delete;
    stay &operator=(const stay &) = delete;

    bool is_alone() const { return is_alone_; }
    const char *why_not() const {
        return other_ == std::this_thread::get_id()
                   ? "call from within a callback: make it after the outer call has returned"
                   : "another thread is in a call: make one call at a time, and hold a lock";
    }

  private:
    std::thread::id other_{};
    bool is_alone_ = false;
};

// No exception leaves the plugin, and no call comes into it from within another or beside it.
template <typename Result, typename Body>
Result guarded(Result failed, Body body) {
    const stay here;
    if (!here.is_alone()) {
        fail(0, here.why_not());
        return failed;
    }
    if (!state().ended.empty()) {
        fail(0, "the simulation has ended: " + state().ended);
        return failed;
    }
    try {
        return body();
    } catch (const std::exception &problem) {
        fail(0, words_of(problem));
    } catch (...) {
        fail(0, "unknown exception");
    }
    return failed;
}

inline void report(const sc_core::sc_report &what, const sc_core::sc_actions &actions) {
    if (what.get_severity() >= sc_core::SC_ERROR) {
        if (actions & sc_core::SC_THROW) throw what;
        return;
    }
    if (what.get_severity() != sc_core::SC_WARNING) return;
    if (state().warned)
        state().warned(state().warned_context, what.get_msg_type(), what.get_msg());
    else
        std::fprintf(stderr, "tlmalloc: %s: %s\n", what.get_msg_type(), what.get_msg());
}

// Advances time, or executes everything that is due now. SystemC does not continue after an error that reaches it, for
// example without host memory for the stack of a thread.
inline void run(const sc_core::sc_time &duration) {
    try {
        sc_core::sc_start(duration);
    } catch (const std::exception &problem) {
        state().ended = words_of(problem);
        throw;
    }
}

// Executes everything that is due at this time.
inline void settle() {
    const bool is_first = !std::exchange(state().running, true);
    if (is_first || sc_core::sc_pending_activity_at_current_time()) run(sc_core::SC_ZERO_TIME);
}

// The host makes something at now_ps + delay_ps: how far that is ahead of the simulation.
inline sc_core::sc_time arrival(std::uint64_t delay_ps) {
    const std::uint64_t at_ps = time_queue::of_simulation().admit(state().now_ps + delay_ps);
    return from_ps(at_ps) - sc_core::sc_time_stamp();
}

// When that is over, as the host counts.
inline std::uint64_t delay_of(const sc_core::sc_time &delay) {
    return local_ps(delay) - state().now_ps;
}

} // namespace tlmalloc::plugin
#endif
