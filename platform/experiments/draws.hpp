// Whole random numbers as libstdc++ draws them from 32 bits (GCC 11 and later), on every standard library.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_DRAWS_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_DRAWS_HPP

#include <cstdint>
#include <random>

namespace tlmalloc {

class draws {
  public:
    explicit draws(std::uint32_t seed) : engine_(seed) {}

    // From 0 up to n - 1.
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = next() * n;
        if (static_cast<std::uint32_t>(product) < n)
            for (const std::uint32_t least = (0 - n) % n; static_cast<std::uint32_t>(product) < least;)
                product = next() * n;
        return static_cast<std::uint32_t>(product >> 32);
    }

  private:
    std::uint64_t next() { return engine_(); }
    std::mt19937 engine_;
};

} // namespace tlmalloc
#endif
