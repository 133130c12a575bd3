// Operation sequences of the allocator benchmark: made once from a seed, replayed the same for every policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Takes nbytes into a slot, or gives back what the slot holds (nbytes 0). A slot whose allocation failed holds nothing,
// and its free is skipped.
struct op {
    std::uint32_t slot;
    std::uint32_t nbytes;
};

struct trace {
    std::string name;
    std::uint64_t live;      // blocks, nominal
    std::uint64_t capacity;  // bytes of the range that serves it
    std::uint64_t peak;      // largest sum of live bytes
    std::size_t slots;       // slot numbers are below this
    std::vector<op> prepare; // leads to the state in which the measured part begins
    std::vector<op> measured;
};

struct trace_kind {
    const char *name;
    trace (*make)(std::uint64_t live, std::size_t operations, std::uint64_t seed);
    std::vector<std::uint64_t> live; // sizes of the full benchmark
    const char *text;
};

// stack, fifo, random, serving, comb.
const std::vector<trace_kind> &speed_traces();

// fifo, random, interleaved: what "range needed over peak live" is measured on.
const std::vector<trace_kind> &placement_traces();

} // namespace bench
