// The DMA engine's requests for a tile and a tensor of the same shape.
#ifndef TLMALLOC_MODULES_PE_TENSOR_REQUESTS_HPP
#define TLMALLOC_MODULES_PE_TENSOR_REQUESTS_HPP

#include "kernel/tile_transfer.h"
#include "tlmalloc/modules/pe_dma.hpp"

#include <vector>

namespace tlmalloc {

// Appends the requests; mask: a byte for each element, or null.
inline void append_requests(std::vector<pe_dma::request> &transfers, pe_dma::direction way, const tl_tile &tile,
                            const tl_tensor &tensor, const std::uint8_t *mask) {
    tla_tile_transfer parts;
    tla_tile_transfer_begin(&parts, &tile, &tensor, mask);
    for (tla_tile_part part; tla_tile_transfer_next(&parts, &part);)
        transfers.push_back({way, {part.va}, {tile.pa.value + part.offset}, part.rows, part.row_bytes, part.pitch});
}

} // namespace tlmalloc
#endif
