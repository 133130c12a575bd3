// What the tests of a host without memory share: an object of the library with its end, and the check of its creation.
#ifndef TLMALLOC_TESTS_HOST_MEMORY_OWNER_HPP
#define TLMALLOC_TESTS_HOST_MEMORY_OWNER_HPP

#include "host_memory/failing.hpp"

#include <memory>

namespace host_memory {

template <typename T, auto Destroy>
struct owner {
    owner() = default;
    ~owner() { Destroy(made); }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;

    T *made = nullptr;
};

// create(T **) as it fails at every allocation: there is nothing then. It must make some.
template <typename Owner, typename Create>
void check_creation(const std::string &what, Create create) {
    const std::size_t allocations = exhaust(
        what, [] { return std::make_unique<Owner>(); }, [&](Owner &o) { return create(&o.made); },
        [](Owner &o) { return std::string(o.made ? "made" : "none"); });
    BOOST_CHECK_MESSAGE(allocations > 0, what << " makes no allocation");
}

// A line of numbers.
template <typename... Numbers>
std::string line(Numbers... numbers) {
    std::string text;
    ((text += std::to_string(numbers) + " "), ...);
    return text + "\n";
}

} // namespace host_memory
#endif
