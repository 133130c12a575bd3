// What an MMU writes to the host when it wants memory for an address: 16 bytes, little-endian.
#ifndef TLMALLOC_MODULES_PAGE_FAULT_HPP
#define TLMALLOC_MODULES_PAGE_FAULT_HPP

#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/vm/page_table.h"

#include <array>
#include <cstdint>

namespace tlmalloc {

//   0 u64 virtual address of the first byte that is not mapped   8 u32 access (TLA_READ, TLA_WRITE; again)   12 u32
//   asid
struct page_fault {
    // Or-ed to the access: an answer for this byte came before, all that the MMU knows of can be seen, and the byte is
    // not mapped still. A mapping that was acknowledged before it was visible may have been lost on its way.
    static constexpr std::uint32_t again = std::uint32_t{1} << 31;

    std::uint64_t va;
    std::uint32_t access, asid;

    using bytes = std::array<std::uint8_t, 16>;

    bytes encode() const {
        bytes result;
        for (unsigned i = 0; i < 8; i++)
            result[i] = static_cast<std::uint8_t>(va >> 8 * i);
        for (unsigned i = 0; i < 4; i++) {
            result[8 + i] = static_cast<std::uint8_t>(access >> 8 * i);
            result[12 + i] = static_cast<std::uint8_t>(asid >> 8 * i);
        }
        return result;
    }

    static page_fault decode(const std::uint8_t *bytes) {
        page_fault result{};
        for (unsigned i = 0; i < 8; i++)
            result.va |= std::uint64_t{bytes[i]} << 8 * i;
        for (unsigned i = 0; i < 4; i++) {
            result.access |= std::uint32_t{bytes[8 + i]} << 8 * i;
            result.asid |= std::uint32_t{bytes[12 + i]} << 8 * i;
        }
        return result;
    }
};

} // namespace tlmalloc
#endif
