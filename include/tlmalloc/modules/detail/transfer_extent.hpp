// Of which transfer an access is a part: an extension of the generic payload that every module may ignore.
#ifndef TLMALLOC_MODULES_DETAIL_TRANSFER_EXTENT_HPP
#define TLMALLOC_MODULES_DETAIL_TRANSFER_EXTENT_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>

namespace tlmalloc {

// A transfer that is cut into several accesses (pe_dma's chunks) reaches `before` bytes in front of this one and
// `after` bytes behind it, gaps between rows included. With it a guarded memory sees a transfer that leaves its block
// between two accesses. In the addresses of the payload: what shifts all of them alike leaves it as it is, what
// translates them cuts it to what stays contiguous (pe_mmu), and what makes payloads of its own on behalf of another
// copies it.
struct transfer_extent : tlm::tlm_extension<transfer_extent> {
    std::uint64_t before = 0, after = 0;

    transfer_extent() = default;
    transfer_extent(std::uint64_t in_front, std::uint64_t behind) : before(in_front), after(behind) {}

    tlm::tlm_extension_base *clone() const override { return new transfer_extent(before, after); }
    void copy_from(const tlm::tlm_extension_base &other) override {
        const auto &from = static_cast<const transfer_extent &>(other);
        before = from.before;
        after = from.after;
    }
};

} // namespace tlmalloc
#endif
