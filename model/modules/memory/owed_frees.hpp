// FREEs that were refused in spite of all retries, and are sent again by whoever owes them.
#ifndef TLMALLOC_MODULES_MEMORY_OWED_FREES_HPP
#define TLMALLOC_MODULES_MEMORY_OWED_FREES_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/command/command.h"

#include <vector>

namespace tlmalloc {

// Refused by plan, or for want of a node of the free list that another FREE may give back: nothing has changed.
inline bool stays_owed(tla_status status) {
    return status == TLA_BUSY || status == TLA_LIMIT;
}

// Sends all that is owed, in rounds, since one FREE may join blocks and give the next one its node. `free_one` returns
// the status of a FREE; `wait` lets the retry policy's delay pass, after a round in which one was refused for now.
// Ends when nothing is owed, when no wait would help, or after TLA_OWED_TRIES rounds in vain.
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
