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
#include <jansson.h>
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

// An option with a positive whole number, such as --ops N.
struct number_option {
    argp_option form;
    std::uint64_t *value;
};

struct wanted_options {
    std::vector<number_option> numbers;
    const char **json;
};

inline error_t set_option(int key, char *argument, argp_state *state) {
    const auto &wanted = *static_cast<wanted_options *>(state->input);
    for (const number_option &option : wanted.numbers) {
        if (key != option.form.key) continue;
        char *end = nullptr;
        *option.value = std::strtoull(argument, &end, 10);
        if (end == argument || *end || *option.value == 0)
            argp_error(state, "%s is not a positive whole number", argument);
        return 0;
    }
    if (key == 'j') *wanted.json = argument;
    if (key == ARGP_KEY_ARG) argp_usage(state);
    return key == 'j' || key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

// Sets the values of options, and *json to the argument of --json; a wrong argument ends the program.
inline void read_options(int argc, char **argv, const char *about, const std::vector<number_option> &numbers,
                         const char **json) {
    std::vector<argp_option> forms;
    for (const number_option &option : numbers)
        forms.push_back(option.form);
    forms.push_back({"json", 'j', "FILE", 0, "write the figures to a file", 0});
    forms.push_back({});
    const argp parser = {forms.data(), set_option, "", about, nullptr, nullptr, nullptr};
    wanted_options wanted{numbers, json};
    argp_parse(&parser, argc, argv, 0, nullptr, &wanted);
}

// Writes the figures, if there is a file for them, and drops them; returns the program's exit status.
inline int write_figures(json_t *figures, const char *json) {
    const int status = json ? json_dump_file(figures, json, JSON_INDENT(2)) : 0;
    if (status) std::fprintf(stderr, "%s: cannot write %s\n", program_invocation_short_name, json);
    json_decref(figures);
    return status ? 1 : 0;
}

#endif
