// A kernel's scratch tiles: a block of the TCM that is given out from the front, and freed when the kernel ends.
#include "kernel/element.h"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/time.hpp"

#include <cinttypes>

namespace tlmalloc {

namespace {

const std::uint64_t scratch_alignment = 64;

} // namespace

tla_status processing_element::take_scratch(std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile &tile) {
    const tl_tile wanted{{}, rows, columns, dtype, 0};
    if (const tla_status status = check_type(wanted, "")) return status;
    const std::uint64_t left = config_.scratch - scratch_used_, most = UINT64_MAX / 8; // no element is larger
    const std::uint64_t count = std::uint64_t{rows} * columns, nbytes = count * tl_dtype_bytes(dtype);
    if (count == 0)
        return problem(TLA_INVALID_ARGUMENT, "tl_scratch: %" PRIu32 " x %" PRIu32 " elements: must be at least 1", rows,
                       columns);
    if (count > most || nbytes > left)
        return problem(TLA_EXHAUSTED,
                       "tl_scratch: requested %" PRIu32 " x %" PRIu32 " of %s, %.0f bytes, but %" PRIu64
                       " are free of pe.scratch, %" PRIu64 " bytes",
                       rows, columns, tla_type_name(dtype), double(count) * tl_dtype_bytes(dtype), left,
                       config_.scratch);
    if (scratch_.rows == 0) {
        // Its bytes as one tile; a TCM has fewer bytes than a dimension can express.
        const tla_status status = allocate(1, static_cast<std::uint32_t>(config_.scratch), TL_U8, scratch_);
        if (status) return status;
    } else {
        begin();
        std::uint64_t no_wait = 0;
        end(no_wait, local_ps(delay_), TLA_TIME_OTHER);
    }
    tile = wanted;
    tile.pa.value = scratch_.pa.value + scratch_used_;
    const std::uint64_t rounded = (nbytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
    scratch_used_ = rounded < left ? scratch_used_ + rounded : config_.scratch;
    return TLA_OK;
}

// The kernel has returned.
tla_status processing_element::free_scratch() {
    const tl_tile area = scratch_;
    scratch_ = tl_tile{};
    return area.rows ? release(area) : TLA_OK;
}

tla_status processing_element::check_no_scratch(const char *call, const tl_tile &tile) {
    if (scratch_.rows == 0 || tile.pa.value < scratch_.pa.value || tile.pa.value - scratch_.pa.value >= config_.scratch)
        return TLA_OK;
    return problem(
        TLA_INVALID_ARGUMENT,
        "%s: must be a tile of tl_alloc, not a scratch tile: the scratch area is released when the kernel ends", call);
}

} // namespace tlmalloc
