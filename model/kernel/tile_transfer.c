/* Parts of a transfer: dimensions that touch are joined, then walked like an odometer. */
#include "tile_transfer.h"

#include "element.h"

tla_status tla_tile_transfer_check(const char *call, const tl_tile *tile, const tl_tensor *tensor, tla_error *error) {
    if (tensor->rank == 0 || tensor->rank > TL_RANK_MAX)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: the tensor's rank %u must be 1 to %d", call,
                             tensor->rank, TL_RANK_MAX);
    if (tensor->dtype != tile->dtype)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: a tile of %s for a tensor of %s: the types must be equal", call,
                             tla_type_name(tile->dtype), tla_type_name(tensor->dtype));
    const uint32_t columns = tensor->shape[tensor->rank - 1];
    uint64_t rows = 1;
    bool fits = true;
    for (uint32_t dim = 0; dim + 1 < tensor->rank; dim++)
        fits = !__builtin_mul_overflow(rows, tensor->shape[dim], &rows) && fits;
    if (fits && rows == tile->rows && columns == tile->columns) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s: the tile is %u x %u, but must be %llu x %u: the product of all dimensions of the tensor "
                         "but the last, and the last",
                         call, tile->rows, tile->columns, (unsigned long long)rows, columns);
}

/* Removes dimensions of one index, and joins a dimension with the next one where they are contiguous. */
static void join_dimensions(tla_tile_transfer *t) {
    uint32_t kept = TL_RANK_MAX; /* from here on */
    for (uint32_t dim = t->rank; dim-- > 0;) {
        if (t->dims[dim].count == 1) continue;
        if (kept < TL_RANK_MAX && t->dims[dim].va_step == t->dims[kept].count * t->dims[kept].va_step &&
            t->dims[dim].tile_step == t->dims[kept].count * t->dims[kept].tile_step)
            t->dims[kept].count *= t->dims[dim].count;
        else
            t->dims[--kept] = t->dims[dim];
    }
    t->rank = TL_RANK_MAX - kept;
    for (uint32_t dim = 0; dim < t->rank; dim++)
        t->dims[dim] = t->dims[kept + dim];
}

/* The innermost dimensions become the part: elements that touch its row, then rows that touch in the tile. */
static void take_part(tla_tile_transfer *t) {
    if (t->rank > 0 && t->dims[t->rank - 1].va_step == t->part.row_bytes &&
        t->dims[t->rank - 1].tile_step == t->part.row_bytes)
        t->part.row_bytes *= t->dims[--t->rank].count;
    t->part.pitch = t->part.row_bytes;
    if (t->rank == 0 || t->dims[t->rank - 1].tile_step != t->part.row_bytes) return;
    t->rank--;
    t->part.rows = t->dims[t->rank].count;
    t->part.pitch = t->dims[t->rank].va_step;
}

void tla_tile_transfer_begin(tla_tile_transfer *transfer, const tl_tile *tile, const tl_tensor *tensor,
                             const uint8_t *mask) {
    tla_tile_transfer t = {.rank = tensor->rank, .mask = mask, .total = 1};
    const uint64_t element = tl_dtype_bytes(tensor->dtype), row = (tile->pitch ? tile->pitch : tile->columns) * element;
    uint64_t rows = 1; /* of the tile for one index of the dimension */
    for (uint32_t dim = t.rank; dim-- > 0;) {
        t.dims[dim].count = tensor->shape[dim];
        t.dims[dim].va_step = tensor->stride[dim];
        t.dims[dim].tile_step = dim + 1 == t.rank ? element : rows * row;
        if (dim + 1 < t.rank) rows *= tensor->shape[dim];
    }
    t.part = (tla_tile_part){.va = tensor->va.value, .rows = 1, .row_bytes = element, .pitch = element};
    const bool empty = tile->rows == 0 || tile->columns == 0;
    if (!mask && !empty) {
        join_dimensions(&t);
        take_part(&t);
    }
    for (uint32_t dim = 0; dim < t.rank; dim++)
        t.total *= t.dims[dim].count;
    if (empty) t.total = 0;
    *transfer = t;
}

/* On to the next index. */
static void advance(tla_tile_transfer *t) {
    t->done++;
    for (uint32_t dim = t->rank; dim-- > 0;) {
        t->part.va += t->dims[dim].va_step;
        t->part.offset += t->dims[dim].tile_step;
        if (++t->dims[dim].at < t->dims[dim].count) return;
        t->part.va -= t->dims[dim].count * t->dims[dim].va_step;
        t->part.offset -= t->dims[dim].count * t->dims[dim].tile_step;
        t->dims[dim].at = 0;
    }
}

bool tla_tile_transfer_next(tla_tile_transfer *t, tla_tile_part *part) {
    while (t->mask && t->done < t->total && !t->mask[t->done])
        advance(t);
    if (t->done == t->total) return false;
    *part = t->part;
    advance(t);
    while (t->mask && t->done < t->total && t->mask[t->done] && t->part.va == part->va + part->row_bytes &&
           t->part.offset == part->offset + part->row_bytes) {
        part->row_bytes += t->part.row_bytes;
        advance(t);
    }
    if (t->mask) part->pitch = part->row_bytes;
    return true;
}
