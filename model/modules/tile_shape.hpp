// How large a tile is and how it lies in the TCM.
#ifndef TLMALLOC_MODEL_MODULES_TILE_SHAPE_HPP
#define TLMALLOC_MODEL_MODULES_TILE_SHAPE_HPP

#include "tlmalloc/kernel/types.h"

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

// The bits of an enumeration that somebody's C has filled: in C++ a value that is none may not be read as one.
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
