/* How large a chunk of a key-value cache is, and how many fit: LMCache's get_full_chunk_size and calculate_chunk_budget
 * (seed 003). */
#ifndef TLMALLOC_KV_KV_CHUNK_H
#define TLMALLOC_KV_KV_CHUNK_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_kv_shape {
    uint64_t layers;
    uint64_t kv;           /* tensors a layer: 2 for keys and values, 1 for a joint one (MLA) */
    uint64_t chunk_tokens; /* LMCache: 256 */
    uint64_t heads;        /* of keys and values, on this rank */
    uint64_t head_size;    /* elements; heads * head_size is the hidden dimension */
    uint64_t dtype_bytes;  /* 2 for bf16 */
} tla_kv_shape;

/* Bytes of one chunk: kv * layers * tokens * hidden * dtype, or of one layer of it (`layerwise`).
 * TLA_INVALID_ARGUMENT when a member is 0 or the product is over 2^63; *nbytes is untouched then. */
tla_status tla_kv_chunk_bytes(const tla_kv_shape *shape, bool layerwise, uint64_t *nbytes);

/* How many chunks of chunk_bytes, rounded up to a multiple of `alignment` (a power of two), total_bytes hold: the bound
 * on what an asynchronous loader may have in flight without deadlock. Rounded down; there is no margin.
 * TLA_INVALID_ARGUMENT for 0 bytes, more than 2^63, or an alignment that is no power of two. */
tla_status tla_kv_chunk_budget(uint64_t total_bytes, uint64_t chunk_bytes, uint64_t alignment, uint64_t *chunks);

/* What loaders that run at the same time may hold together. A loader takes all that it is going to hold before it
 * allocates the first chunk, so that no two of them can wait for what the other one holds. */
typedef struct tla_kv_budget {
    uint64_t chunks; /* as tla_kv_chunk_budget says */
    uint64_t taken;
} tla_kv_budget;

/* Takes them all, or none: TLA_BUSY while others have too many, TLA_LIMIT for more than there are. */
tla_status tla_kv_budget_take(tla_kv_budget *budget, uint64_t chunks);

/* Gives back what was taken. TLA_INVALID_ARGUMENT, and nothing changed, for more than is taken. */
tla_status tla_kv_budget_give_back(tla_kv_budget *budget, uint64_t chunks);

#ifdef __cplusplus
}
#endif
#endif
