/* The memory of requests' keys and values under one of several managers, behind one interface: the scheduler requests
 * memory for the tokens of a request, and releases all of it. The interface also passes the final lengths of requests:
 * a reservation needs them, and an oracle knows them. */
#ifndef TLMALLOC_PLATFORM_SERVING_KV_MEMORY_H
#define TLMALLOC_PLATFORM_SERVING_KV_MEMORY_H

#include "serving/requests.h"
#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_kv_memory_kind {
    TLA_KV_MEMORY_MAXIMUM, /* a region by its rule (kv_cache.h) over buddies; so the next two */
    TLA_KV_MEMORY_POWER_OF_TWO,
    TLA_KV_MEMORY_ORACLE,
    TLA_KV_MEMORY_FIRST_FIT, /* a region of exactly what will be needed, where first fit finds it */
    TLA_KV_MEMORY_PAGED,     /* blocks out of a queue of slots (buffer_pools.h), when the first of their tokens comes */
    TLA_KV_MEMORY_MAPPED,    /* pages that are mapped when the first of their tokens comes (kv_cache.h) */
    TLA_KV_MEMORY_COUNT
} tla_kv_memory_kind;

/* Returns "maximum", "power_of_two", "oracle", "first_fit", "paged", "mapped"; NULL for an unknown value. */
const char *tla_kv_memory_name(tla_kv_memory_kind kind);

typedef struct tla_kv_memory_config {
    tla_kv_memory_kind kind;
    uint64_t tokens;       /* of the memory, 1 .. 2^40; a partial block or page is not used */
    uint64_t longest;      /* no request has more, prompt and output: 1 .. 2^32 */
    uint32_t requests;     /* numbers of requests are below it, 1 or more */
    uint32_t block_tokens; /* of a block (paged); of a sequence in a page of each tensor (mapped); 1 or more */
    uint32_t tensors;      /* of keys, and of values, of all layers: each has pages of its own (mapped) */
    uint32_t page_ptes;    /* entries of a page in the page table (mapped) */
} tla_kv_memory_config;

typedef struct tla_kv_memory_stats {
    uint64_t tokens;                          /* of the memory */
    uint64_t held;                            /* of regions, blocks and pages that requests have, as they asked */
    uint64_t taken;                           /* the same as granted: buddies round up */
    uint64_t too_long, fragmented, exhausted; /* failures since the beginning, by cause */
} tla_kv_memory_stats;

typedef struct tla_kv_memory tla_kv_memory;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_memory_create(const tla_kv_memory_config *config, tla_kv_memory **made);
void tla_kv_memory_destroy(tla_kv_memory *memory); /* NULL is allowed */

/* Returns whether a kind allocates all memory of a request at its first token, and never fails later. */
bool tla_kv_memory_reserves(tla_kv_memory_kind kind);

/* Holds memory for the first `tokens` tokens of a request, which has some of it already, or none. TLA_LIMIT for a
 * request that never fits, TLA_EXHAUSTED and TLA_FRAGMENTED for a request that may fit when others have released
 * memory, TLA_NO_HOST_MEMORY; nothing has changed then. Failures may count work, too. */
tla_status tla_kv_memory_hold(tla_kv_memory *memory, uint32_t number, const tla_serving_request *request,
                              uint64_t tokens, tla_work *work);

/* Returns whether so many tokens of a request could be held now, for kinds that allocate on demand; kinds that reserve
 * decide at tla_kv_memory_hold. */
bool tla_kv_memory_fits(const tla_kv_memory *memory, uint32_t number, uint64_t tokens);

/* All that a request has goes back; nothing happens to one that has nothing. */
tla_status tla_kv_memory_release(tla_kv_memory *memory, uint32_t number, tla_work *work);

tla_kv_memory_stats tla_kv_memory_get_stats(const tla_kv_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
