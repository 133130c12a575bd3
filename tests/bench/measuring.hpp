// What benchmarks of whole simulations have in common: time of the processor, and programs of their own.
#ifndef TLMALLOC_TESTS_BENCH_MEASURING_HPP
#define TLMALLOC_TESTS_BENCH_MEASURING_HPP

#include <algorithm>
#include <argp.h>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

[[noreturn]] inline void fail(const char *what) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    std::exit(1);
}

// Of the thread.
inline double processor_ns() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// What a program with these words, the first of them its name, takes of a processor; what it prints is dropped.
inline double program_ns(const char *path, std::vector<const char *> words) {
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) fail("cannot fork");
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        execv(path, const_cast<char *const *>(words.data()));
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child || status != 0) fail("a program failed");
    const auto ns = [](const timeval &t) {
        return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// What an option says; another text ends the program.
inline std::uint64_t number(const char *text, argp_state *state) {
    char *end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (end == text || *end || value == 0) argp_error(state, "%s is not a positive whole number", text);
    return value;
}

#endif
