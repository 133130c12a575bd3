// Random numbers for tests: the seed is printed, and TLMALLOC_SEED repeats a run.
#ifndef TLMALLOC_TESTS_SEEDED_RANDOM_HPP
#define TLMALLOC_TESTS_SEEDED_RANDOM_HPP

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <random>

class seeded_random {
  public:
    explicit seeded_random(std::uint64_t seed) : engine_(from_environment(seed)) {}

    // Uniform in low .. high, both included; the same on every standard library.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }
    bool one_in(std::uint64_t n) { return between(1, n) == 1; }

  private:
    static std::uint64_t from_environment(std::uint64_t seed) {
        if (const char *text = std::getenv("TLMALLOC_SEED")) seed = std::strtoull(text, nullptr, 0);
        BOOST_TEST_MESSAGE("TLMALLOC_SEED=" << seed);
        return seed;
    }
    std::mt19937_64 engine_;
};

#endif
