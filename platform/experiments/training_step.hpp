// The memory of one training step: the allocations and frees of a recorded program in a cycle that repeats.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_TRAINING_STEP_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_TRAINING_STEP_HPP

#include "tlmalloc/base/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tlmalloc {

// Slots identify blocks. A block that a step allocates has a slot of the step; a free releases a block of this step or
// of the step before. Blocks that live longer have a slot of the opening.
struct training_step {
    enum class kept { opening, last, now };
    struct event {
        bool is_free;
        kept where; // of an alloc: opening, last (the opening allocates the blocks that the first step frees) or now
        std::size_t slot;
        std::uint64_t nbytes;
    };

    std::vector<event> opening;                           // everything before the first step
    std::vector<event> step;                              // from then on, again and again
    std::vector<event> living;                            // allocs of the opening: what lives between two steps
    std::size_t opening_slots = 0, allocs = 0, frees = 0; // allocs, frees: of the step
};

// Reads a trace (trace.h), and uses the `calls` events from `first` on (counted from 0) as a step. TLA_INVALID_ARGUMENT
// when the trace ends before, or when these events are not a cycle: the older blocks that they free must equal the
// blocks that they leave, block for block. Other errors as trace_load, with a text in *error.
tla_status load_training_step(const std::string &path, std::uint64_t first, std::uint64_t calls, training_step &made,
                              tla_error *error);

} // namespace tlmalloc
#endif
