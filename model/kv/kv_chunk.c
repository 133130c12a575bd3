/* Checked products, a division, and the bytes taken from a budget. */
#include "tlmalloc/kv/kv_cache.h"

static const uint64_t largest = (uint64_t)1 << 63;

tla_status tla_kv_chunk_bytes(const tla_kv_shape *shape, bool layerwise, uint64_t *nbytes) {
    const uint64_t factors[] = {layerwise ? 1 : shape->layers,
                                shape->kv,
                                shape->chunk_tokens,
                                shape->heads,
                                shape->head_size,
                                shape->dtype_bytes};
    uint64_t product = 1;
    for (unsigned i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (factors[i] == 0 || product > largest / factors[i]) return TLA_INVALID_ARGUMENT;
        product *= factors[i];
    }
    *nbytes = product;
    return TLA_OK;
}

tla_status tla_kv_chunk_budget(uint64_t total_bytes, uint64_t chunk_bytes, uint64_t alignment, uint64_t *chunks) {
    if (chunk_bytes == 0 || chunk_bytes > largest || alignment == 0 || alignment > largest ||
        (alignment & (alignment - 1)))
        return TLA_INVALID_ARGUMENT;
    *chunks = total_bytes / ((chunk_bytes + alignment - 1) & ~(alignment - 1));
    return TLA_OK;
}

tla_status tla_kv_budget_take(tla_kv_budget *budget, uint64_t chunks) {
    if (chunks > budget->chunks) return TLA_LIMIT;
    if (chunks > budget->chunks - budget->taken) return TLA_BUSY;
    budget->taken += chunks;
    return TLA_OK;
}

tla_status tla_kv_budget_give_back(tla_kv_budget *budget, uint64_t chunks) {
    if (chunks > budget->taken) return TLA_INVALID_ARGUMENT;
    budget->taken -= chunks;
    return TLA_OK;
}
