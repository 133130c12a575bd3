// Transfers of many bytes by physical address, cut into accesses of which several are in flight: for hosts and end
// points. Accesses end at multiples of `chunk`, as a PE's do, so that no access touches one burst more than necessary.
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

    std::uint64_t latency_ps = 0, end_ps = 0; // sum over the accesses; time of the last answer, 0 without accesses

    // Moves all pieces from start_ps on, in the calling thread. Writes are posted. Returns the index of the first piece
    // with an access that was answered with an error; pieces.size() if none was. After an error or a reset no further
    // access begins; accesses in flight are completed.
    std::size_t move(tlm::tlm_command command, const std::vector<piece> &pieces, std::uint64_t start_ps);
};

} // namespace tlmalloc
#endif
