// Calls that several callers make at one time. Who includes this defines SC_INCLUDE_DYNAMIC_PROCESSES first.
#ifndef TLMALLOC_TESTS_MODULES_AT_ONCE_HPP
#define TLMALLOC_TESTS_MODULES_AT_ONCE_HPP

#include <functional>
#include <string>
#include <systemc>
#include <vector>

// From a thread: every call gets a thread of its own, and all begin now. Requests of the calls that arrive at one time
// arrive in the order of the list. Returns when all have returned.
inline void at_once(const std::vector<std::function<void()>> &calls) {
    std::size_t left = calls.size();
    sc_core::sc_event over;
    for (std::size_t i = 0; i < calls.size(); i++) {
        const std::string name = "call" + std::to_string(10'000 + i); // the lower name goes first
        sc_core::sc_spawn(
            [&, i] {
                calls[i]();
                if (--left == 0) over.notify(sc_core::SC_ZERO_TIME);
            },
            sc_core::sc_gen_unique_name(name.c_str()));
    }
    while (left > 0)
        sc_core::wait(over);
}

#endif
