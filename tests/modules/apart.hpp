// A simulation in a process of its own: a kernel simulates once.
#ifndef TLMALLOC_TESTS_MODULES_APART_HPP
#define TLMALLOC_TESTS_MODULES_APART_HPP

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

// Fills in a Result, whose `error` is the text of an exception; the case fails if the process does.
template <typename Result, typename Work>
Result apart(const std::string &what, const Work &work) {
    static_assert(std::is_trivially_copyable_v<Result>);
    Result result{};
    int ends[2];
    BOOST_REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        try {
            work(result);
        } catch (const std::exception &error) {
            std::snprintf(result.error, sizeof result.error, "%s", error.what());
        }
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(ends[1]);
    const bool told = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_REQUIRE_MESSAGE(told && status == 0, what << " ended with status " << status);
    return result;
}

// The seeds of a test: from 1 on as many as TLMALLOC_PLATFORMS says, else `count`; or TLMALLOC_SEED alone.
struct seeds {
    explicit seeds(std::uint64_t how_many) : count(how_many) {
        const char *const one = std::getenv("TLMALLOC_SEED"), *const many = std::getenv("TLMALLOC_PLATFORMS");
        if (one) first = std::strtoull(one, nullptr, 0);
        if (one || many) count = one ? 1 : std::strtoull(many, nullptr, 0);
    }
    static bool is_one() { return std::getenv("TLMALLOC_SEED") != nullptr; }

    std::uint64_t first = 1, count;
};

#endif
