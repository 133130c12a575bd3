// One access as several, where the addresses behind it part.
#ifndef TLMALLOC_MODULES_TRANSLATION_SPLIT_ACCESS_HPP
#define TLMALLOC_MODULES_TRANSLATION_SPLIT_ACCESS_HPP

#include "base/passes.h"
#include "modules/kit/lent_payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/vm/mmu.h"

#include <systemc>
#include <tlm>
#include <vector>

namespace tlmalloc {

// The part of an access that belongs to bytes [offset, offset + nbytes) of its span (min(streaming width, length)), as
// a transaction of its own. Byte enables and streaming are kept: the part gets, pass after pass, the data that belong
// to it. It can be used again when it has ended.
class access_part {
  public:
    // Fills `part` in, with the extensions of the requester and, if the access is part of a transfer, of that transfer;
    // the caller keeps `extent` until the end.
    void begin(tlm::tlm_generic_payload &whole, std::uint64_t offset, std::uint64_t nbytes, tla_paddr pa,
               transfer_extent *extent, lent_payload &part);

    // Between begin and end.
    bool is_under_way() const { return whole_ != nullptr; }

    // The whole is another payload from now on, with the same bytes elsewhere.
    void move(tlm::tlm_generic_payload &whole, lent_payload &part);

    // The part has its answer: copies the data of a read to the whole, unless the read failed.
    void end(lent_payload &part);

  private:
    void lead_to_whole(lent_payload &part);

    tlm::tlm_generic_payload *whole_ = nullptr; // while it is in flight
    tla_passes passes_{};
    bool streams_ = false;
    std::vector<std::uint8_t> data_, enables_; // data: only where it streams
};

} // namespace tlmalloc
#endif
