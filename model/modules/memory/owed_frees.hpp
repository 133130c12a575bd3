// FREEs and UNMAPs that failed in spite of all retries, and that their sender repeats.
#ifndef TLMALLOC_MODULES_MEMORY_OWED_FREES_HPP
#define TLMALLOC_MODULES_MEMORY_OWED_FREES_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/command/command.h"

#include <vector>

namespace tlmalloc {

// Rejected by a fault plan, or for lack of a node of the free list that another FREE may release: nothing has changed.
inline bool stays_owed(tla_status status) {
    return status == TLA_BUSY || status == TLA_LIMIT;
}

// An UNMAP that failed because the table of an MMU lacks memory for now. After other errors it never succeeds.
inline bool stays_mapped(tla_status status) {
    return stays_owed(status) || status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
}

// Sends all owed FREEs, in rounds, since one FREE may join blocks and release a node for the next. `free_one` returns
// the status of a FREE; `wait` waits for the retry policy's delay, after a round with a FREE that returned TLA_BUSY.
// Ends when nothing is owed, when no wait would help, or after TLA_OWED_TRIES unsuccessful rounds.
template <typename Owed, typename Free, typename Wait>
void free_owed_in_rounds(std::vector<Owed> &owed, Free free_one, Wait wait) {
    for (unsigned in_vain = 0; !owed.empty();) {
        std::vector<Owed> round;
        round.swap(owed);
        bool refused_for_now = false;
        for (const Owed &one : round) {
            const tla_status status = free_one(one);
            if (stays_owed(status)) owed.push_back(one);
            refused_for_now |= status == TLA_BUSY;
        }
        in_vain = owed.size() < round.size() ? 0 : in_vain + 1;
        if (in_vain > (refused_for_now ? TLA_OWED_TRIES : 0)) return;
        if (refused_for_now) wait();
    }
}

} // namespace tlmalloc
#endif
