// What every fuzz target uses.
#ifndef TLMALLOC_TESTS_FUZZ_HPP
#define TLMALLOC_TESTS_FUZZ_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the run with a line that says what did not hold; the fuzzer keeps the input.
#define fuzz_require(condition)                                                                                        \
    ((condition) ? static_cast<void>(0)                                                                                \
                 : (std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), std::abort()))

#endif
