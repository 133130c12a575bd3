// The contents of the blocks of a cache on a platform, which let readers check them.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_PATTERN_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_PATTERN_HPP

#include <algorithm>
#include <cstdint>

namespace tlmalloc {

// Bytes [offset, offset + nbytes) of the pattern of a content, which is any number.
inline void pattern_of(std::uint64_t content, std::uint64_t offset, std::uint8_t *bytes, std::uint64_t nbytes) {
    for (std::uint64_t i = 0; i < nbytes;) {
        const std::uint64_t skipped = (offset + i) % 8, count = std::min(8 - skipped, nbytes - i);
        std::uint64_t x = content * 0x9e3779b97f4a7c15u + (offset + i) / 8 * 0xd1342543de82ef95u;
        x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 32)) >> 8 * skipped;
        for (std::uint64_t k = 0; k < count; k++, x >>= 8)
            bytes[i + k] = static_cast<std::uint8_t>(x);
        i += count;
    }
}

} // namespace tlmalloc
#endif
