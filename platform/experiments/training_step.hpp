// The memory of one training step: what a recorded program allocates and frees in a cycle that repeats.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_TRAINING_STEP_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_TRAINING_STEP_HPP

#include "tlmalloc/base/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tlmalloc {

// Blocks are known by slots. What a step allocates has a slot of the step; a free gives back what this step put there,
// or what the step before did. What lives longer has a slot of the opening.
struct training_step {
    enum class kept { opening, last, now };
    struct event {
        bool is_free;
        kept where; // of an alloc: opening, last (the opening puts what the first step frees there) or now
        std::size_t slot;
        std::uint64_t nbytes;
    };

    std::vector<event> opening;                           // everything before the first step
    std::vector<event> step;                              // from then on, again and again
    std::vector<event> living;                            // allocs of the opening: what lives between two steps
    std::size_t opening_slots = 0, allocs = 0, frees = 0; // allocs, frees: of the step
};

// Reads a trace (trace.h) and takes the `calls` events from `first` on (counted from 0) for a step.
// TLA_INVALID_ARGUMENT when the trace ends before, or when these are no cycle: what they free of older blocks must be
// what they themselves leave behind, block for block. Else as trace_load; *error is told.
tla_status load_training_step(const std::string &path, std::uint64_t first, std::uint64_t calls, training_step &made,
                              tla_error *error);

} // namespace tlmalloc
#endif
