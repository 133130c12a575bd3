// Who replays a trace: every policy of arena.h, PyTorch's cache, the naive list, malloc, and nobody (the harness
// itself).
#pragma once

#include "tlmalloc/arena/arena.h"
#include "traces.hpp"

#include <memory>
#include <string>
#include <vector>

namespace bench {

struct run_result {
    double seconds = 0;
    std::uint64_t operations = 0; // without the frees that were skipped
    std::uint64_t failed = 0;     // allocations
};

class contender {
  public:
    virtual ~contender() = default;
    virtual run_result run(const op *ops, std::size_t count) = 0;
    // What every slot holds; nbytes 0 = nothing.
    virtual const std::vector<tla_block> &slots() const = 0;
};

// Each is made in the state that trace.prepare leads to. `harness` does nothing for an operation; `naive` takes over
// the state of a first-fit arena, which is the same, since to prepare a million blocks in the list itself takes
// minutes.
std::unique_ptr<contender> make_harness(const trace &t);
std::unique_ptr<contender> make_naive(const trace &t);
std::unique_ptr<contender> make_malloc(const trace &t);
std::unique_ptr<contender> make_segment_cache(const trace &t, bool expandable);
std::unique_ptr<contender> make_arena(const trace &t, tla_policy policy);

// True when the whole trace runs without a failed allocation in a range of this capacity.
bool fits(const trace &t, tla_policy policy, std::uint64_t capacity);

} // namespace bench
