// Transfers of a kernel between tensors and tiles: strides, masks, rows by index.
#include "kernel/element.h"
#include "tensor_requests.hpp"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/time.hpp"
#include "transfer_queue.hpp"

#include <algorithm>

namespace tlmalloc {

tla_status processing_element::check_tensor(pe_dma::direction way, const tl_tile &tile, const tl_tensor &tensor) {
    if (const tla_status status = check_tile(tile)) return status;
    tla_error why{};
    const tla_status status = tla_tile_transfer_check(call_, &tile, &tensor, &why);
    return status ? problem(status, "%s", why.text) : check_use(tile, way == pe_dma::direction::read, &queue(way));
}

// One call, or the rest of a call, in which the kernel waits for data: `collect` determines the transfers, and may take
// time itself.
template <typename Collect>
tla_status processing_element::move_tensor(pe_dma::direction way, tla_vaddr va, const tl_tile &tile, Collect collect) {
    const std::uint64_t since = local_ps(delay_);
    waits_for_dma_.set(since, 1);
    transfer_list requests;
    tla_status status = collect(requests);
    const bool moves = !status;
    if (moves && !requests.empty()) translate();
    if (moves) status = queue(way).move(requests, delay_, went());
    waits_for_dma_.set(local_ps(delay_), 0);
    end(run_.dma_ps, since, TLA_TIME_ENGINE_QUEUE);
    if (!moves || status != TLA_BUS_ERROR) return status;
    return refuse_transfer(call_, way, va, transfer_queue::end_of(requests), &tile);
}

tla_status processing_element::read_mask(const tl_tile &tile, const tl_tile &mask, std::vector<std::uint8_t> &bytes) {
    if (const tla_status status = check_tile(mask, "mask")) return status;
    if (mask.dtype != TL_U8 || mask.rows != tile.rows || mask.columns != tile.columns)
        return problem(TLA_INVALID_ARGUMENT, "%s: the mask is %u x %u of %s, but must be %u x %u of u8", call_,
                       mask.rows, mask.columns, tla_type_name(mask.dtype), tile.rows, tile.columns);
    begin();
    const std::uint64_t since = local_ps(delay_);
    waits_for_dma_.set(since, 1);
    const tla_status status = fetch(mask, bytes);
    waits_for_dma_.set(local_ps(delay_), 0);
    end(run_.dma_ps, since, TLA_TIME_ENGINE_QUEUE);
    return status;
}

tla_status processing_element::load_tensor(const tl_tile &tile, const tl_tensor &tensor, const tl_tile *mask,
                                           float other) {
    if (const tla_status status = check_tensor(pe_dma::direction::read, tile, tensor)) return status;
    std::vector<std::uint8_t> holds;
    if (!mask) {
        begin();
    } else {
        if (const tla_status status = read_mask(tile, *mask, holds)) return status;
        const bool ragged = std::find(holds.begin(), holds.end(), 0) != holds.end();
        if (const tla_status status = ragged ? fill(tile, other) : TLA_OK) return status;
    }
    return move_tensor(pe_dma::direction::read, tensor.va, tile, [&](transfer_list &requests) {
        append_requests(requests, pe_dma::direction::read, tile, tensor, mask ? holds.data() : nullptr);
        return TLA_OK;
    });
}

tla_status processing_element::store_tensor(const tl_tensor &tensor, const tl_tile &tile, const tl_tile *mask) {
    if (const tla_status status = check_tensor(pe_dma::direction::write, tile, tensor)) return status;
    std::vector<std::uint8_t> holds;
    if (!mask)
        begin();
    else if (const tla_status status = read_mask(tile, *mask, holds))
        return status;
    return move_tensor(pe_dma::direction::write, tensor.va, tile, [&](transfer_list &requests) {
        append_requests(requests, pe_dma::direction::write, tile, tensor, mask ? holds.data() : nullptr);
        return TLA_OK;
    });
}

tla_status processing_element::gather_rows(const tl_tile &tile, const tl_tensor &tensor, const tl_tile &index) {
    if (const tla_status status = check_tile(index, "index")) return status;
    if (!tla_is_integer(index.dtype) || (index.rows != 1 && index.columns != 1))
        return problem(TLA_INVALID_ARGUMENT, "%s: indices of %u x %u of %s: must be a row or a column of integers",
                       call_, index.rows, index.columns, tla_type_name(index.dtype));
    if (tensor.rank < 2)
        return problem(TLA_INVALID_ARGUMENT, "%s: the tensor's rank %u must be 2 to %d", call_, tensor.rank,
                       TL_RANK_MAX);
    tl_tensor chosen = tensor; // as many indices as are asked for
    const std::uint32_t count = index.rows * index.columns;
    chosen.shape[0] = count;
    if (const tla_status status = check_tensor(pe_dma::direction::read, tile, chosen)) return status;
    begin();
    return move_tensor(pe_dma::direction::read, tensor.va, tile, [&](transfer_list &requests) {
        std::vector<std::uint8_t> indices;
        if (const tla_status status = fetch(index, indices)) return status;
        const std::uint32_t size = tl_dtype_bytes(index.dtype), rows = count ? tile.rows / count : 0;
        const std::uint64_t step =
            std::uint64_t{tile.pitch ? tile.pitch : tile.columns} * tl_dtype_bytes(tile.dtype) * rows;
        for (std::uint32_t i = 0; i < count; i++) {
            const std::uint64_t which = tla_element_get_integer(indices.data() + i * std::size_t{size}, index.dtype);
            if (which >= tensor.shape[0])
                return problem(TLA_INVALID_ARGUMENT, "%s: index %.0f at %u must be 0 to %.0f", call_,
                               tla_element_get(indices.data() + i * std::size_t{size}, index.dtype), i,
                               double(tensor.shape[0]) - 1);
            tl_tile part = tile;
            part.rows = rows;
            part.pa.value += i * step;
            chosen.shape[0] = 1;
            chosen.va.value = tensor.va.value + which * tensor.stride[0];
            append_requests(requests, pe_dma::direction::read, part, chosen, nullptr);
        }
        return TLA_OK;
    });
}

} // namespace tlmalloc
