// One access as several, where the addresses behind it part.
#ifndef TLMALLOC_MODEL_MODULES_SPLIT_ACCESS_HPP
#define TLMALLOC_MODEL_MODULES_SPLIT_ACCESS_HPP

#include "tlmalloc/mmu.h"
#include "tlmalloc/modules/transfer_extent.hpp"

#include <systemc>
#include <tlm>
#include <vector>

namespace tlmalloc {

// Makes an access as one transaction for each piece of its span (min(streaming width, length)), in order, all of them
// from the delay's time on; the delay ends with the last. Byte enables and streaming are kept: a piece gets, pass after
// pass, the data that belong to it. The response is the first that is no OK, and a read brings no data from a piece
// that failed. `extents` says of which transfer each piece is a part; empty: nothing is said.
void transport_split(tlm::tlm_fw_transport_if<> &out, tlm::tlm_generic_payload &payload,
                     const std::vector<tla_mmu_piece> &pieces, std::vector<transfer_extent> &extents,
                     sc_core::sc_time &delay);

} // namespace tlmalloc
#endif
