// Platforms of random shapes and of random topology files beside the plain event model of them: every transfer ends at
// the same picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "random_platform.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct found {
    std::size_t transfers, different;
    char error[512];
};

found compare(std::uint64_t seed) {
    found result{};
    try {
        const scratch_directory scratch;
        const std::string file = scratch.path("topology.yaml");
        random_platform platform(seed);
        std::string topology;
        const std::vector<std::string> sets = platform.settings(file, topology);
        if (!topology.empty()) scratch.write("topology.yaml", topology);
        const comparison::result both = comparison::compare(
            comparison::configuration(sets), [&](comparison::run &on) { platform.transfer(on); },
            seed % 3 ? sc_core::SC_ZERO_TIME : sc_core::sc_time(1234567, sc_core::SC_PS)); // every third in slices
        result.transfers = both.ours.transfers;
        result.different = both.different;
    } catch (const std::exception &error) {
        std::snprintf(result.error, sizeof result.error, "%s", error.what());
    }
    return result;
}

// In a process of its own, as a simulation wants.
found compare_apart(std::uint64_t seed) {
    found result{};
    int ends[2];
    BOOST_REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        result = compare(seed);
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(ends[1]);
    const bool told = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_REQUIRE_MESSAGE(told && status == 0, "seed " << seed << " ended with status " << status);
    return result;
}

void compare_all(std::uint64_t first, std::uint64_t count) {
    std::size_t transfers = 0;
    for (std::uint64_t seed = first; seed < first + count; seed++) {
        const found f = compare_apart(seed);
        BOOST_CHECK_MESSAGE(!*f.error, "seed " << seed << ": " << f.error);
        BOOST_CHECK_MESSAGE(f.different == 0,
                            "seed " << seed << ": " << f.different << " of " << f.transfers << " end at another time");
        transfers += f.transfers;
    }
    BOOST_TEST_MESSAGE(count << " platforms, " << transfers << " transfers");
    BOOST_CHECK_GT(transfers, count);
}

} // namespace

// TLMALLOC_SEED: one platform; TLMALLOC_PLATFORMS: how many.
BOOST_AUTO_TEST_CASE(random_platforms_take_the_time_of_the_plain_event_model) {
    const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_PLATFORMS");
    if (seed)
        compare_all(std::strtoull(seed, nullptr, 0), 1);
    else
        compare_all(1, count ? std::strtoull(count, nullptr, 0) : 100);
}
