// Many bytes by physical address, cut into accesses of which several are under way: what hosts and end points do.
// Accesses end at multiples of `chunk`, as a PE's, so that none has parts of two bursts where one would do.
#ifndef TLMALLOC_MODULES_PE_BULK_TRANSFER_HPP
#define TLMALLOC_MODULES_PE_BULK_TRANSFER_HPP

#include "scatter.hpp"
#include "tlmalloc/modules/resettable.hpp"

#include <cstdint>
#include <vector>

namespace tlmalloc {

struct bulk_transfer {
    struct piece { // a transaction: it lies in one memory
        std::uint64_t pa;
        std::uint8_t *bytes; // a target of a write only reads them
        std::uint64_t nbytes;
    };

    outlet &out;
    std::uint64_t chunk, outstanding;
    requester *who;
    const resettable *of; // the module that moves: during a reset of it no access begins

    std::uint64_t latency_ps = 0, end_ps = 0; // sum over the accesses; when the last was answered, 0: there was none

    // From start_ps on, in the calling thread. Writes are posted. Returns the first piece of which an access was
    // answered with an error, pieces.size() when there was none; what had not begun then is left out.
    std::size_t move(tlm::tlm_command command, const std::vector<piece> &pieces, std::uint64_t start_ps);
};

} // namespace tlmalloc
#endif
