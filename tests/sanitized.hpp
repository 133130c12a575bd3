// Whether a test's program was linked with sanitizers, under which everything takes ten times as long and more. It is
// asked when the test runs, not when it is compiled: the objects of tests are the same with sanitizers and without.
#ifndef TLMALLOC_TESTS_SANITIZED_HPP
#define TLMALLOC_TESTS_SANITIZED_HPP

// Of the sanitizers' libraries, where they are linked.
extern "C" {
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
}

inline bool is_sanitized() {
    return __asan_init || __tsan_init;
}

#endif
