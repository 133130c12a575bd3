// The stack that AddressSanitizer takes for the main thread's.
#ifndef TLMALLOC_CLI_MAIN_STACK_HPP
#define TLMALLOC_CLI_MAIN_STACK_HPP

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

// SystemC 2.3.4 informs the sanitizer of every switch to a thread process, but not of the switch back. At exit the leak
// check then takes a process's stack for the main one, and crashes if that stack was released. Call it after a
// simulation, on the main stack.
inline void restore_main_stack() {
    pthread_attr_t attributes;
    void *bottom = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
    __sanitizer_start_switch_fiber(nullptr, bottom, size);
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}
#else
inline void restore_main_stack() {}
#endif

#endif
