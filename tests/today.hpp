// A part of many like cases: by default another part every day, all of them if TLMALLOC_ALL is set, as by
// tests/run --long.
#ifndef TLMALLOC_TESTS_TODAY_HPP
#define TLMALLOC_TESTS_TODAY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <vector>

inline bool all_is_tested() {
    return std::getenv("TLMALLOC_ALL") != nullptr;
}

// Days since 1970: what a part of a day begins with.
inline std::size_t today() {
    return static_cast<std::size_t>(std::time(nullptr)) / 86400;
}

// One of every `step`, and at least one of those there are.
template <typename T>
std::vector<T> some_of_today(const std::vector<T> &all, std::size_t step) {
    if (all_is_tested()) return all;
    std::vector<T> some;
    for (std::size_t i = all.empty() ? 0 : today() % std::min(step, all.size()); i < all.size(); i += step)
        some.push_back(all[i]);
    return some;
}

// One of every `step` numbers from `first` to `last`.
inline std::vector<std::uint64_t> numbers_of_today(std::uint64_t first, std::uint64_t last, std::size_t step) {
    std::vector<std::uint64_t> all(last - first + 1);
    std::iota(all.begin(), all.end(), first);
    return some_of_today(all, step);
}

#endif
