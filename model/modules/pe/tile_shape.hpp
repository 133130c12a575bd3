// How large a tile is and how it lies in the TCM.
#ifndef TLMALLOC_MODULES_PE_TILE_SHAPE_HPP
#define TLMALLOC_MODULES_PE_TILE_SHAPE_HPP

#include "tlmalloc/kernel/types.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace tlmalloc {

inline std::uint64_t elements(const tl_tile &tile) {
    return std::uint64_t{tile.rows} * tile.columns;
}

inline std::uint64_t bytes_of(const tl_tile &tile) {
    return elements(tile) * tl_dtype_bytes(tile.dtype);
}

// Whether the rows of a tile are one run of bytes.
inline bool rows_touch(const tl_tile &tile) {
    return tile.pitch == 0 || tile.pitch == tile.columns || tile.rows == 1;
}

// Bytes from the first to the last of a tile, gaps between rows included.
inline std::uint64_t reach_of(const tl_tile &tile) {
    if (rows_touch(tile) || tile.rows == 0) return bytes_of(tile);
    return (std::uint64_t{tile.rows - 1} * tile.pitch + tile.columns) * tl_dtype_bytes(tile.dtype);
}

inline bool same_shape(const tl_tile &a, const tl_tile &b) {
    return a.rows == b.rows && a.columns == b.columns;
}

// Calls visit(address of bytes in the TCM, offset in the piece, bytes) for each run of bytes of a tile that
// [offset, offset + nbytes) of its elements, row by row, lie in.
template <typename Visit>
void for_each_run(const tl_tile &tile, std::uint64_t offset, std::uint64_t nbytes, Visit visit) {
    const std::uint64_t element = tl_dtype_bytes(tile.dtype), row = tile.columns * element;
    if (rows_touch(tile)) {
        visit(tile.pa.value + offset, 0, nbytes);
        return;
    }
    for (std::uint64_t done = 0; done < nbytes;) {
        const std::uint64_t at = offset + done, in_row = at % row, length = std::min(row - in_row, nbytes - done);
        visit(tile.pa.value + at / row * tile.pitch * element + in_row, done, length);
        done += length;
    }
}

// Returns the bits of an enumeration that foreign C has filled: C++ must not read an invalid value as an enumeration.
template <typename Enumeration>
std::uint32_t raw(const Enumeration &value) {
    static_assert(sizeof(std::uint32_t) == sizeof value, "an enumeration of C");
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// For messages: "4 x 8".
inline std::string shape(const tl_tile &tile) {
    return std::to_string(tile.rows) + " x " + std::to_string(tile.columns);
}

} // namespace tlmalloc
#endif
