/* Key-value cache of a model whose layers are of several types: windows of attention, tokens of pictures that only some
 * layers see (Jenga, arXiv 2503.18292, section 4).
 *
 * A small page holds a block of tokens in all layers of one type. Memory is cut into large pages, whose size is the
 * least common multiple of the small ones, so that a large page is whole small pages of any type. A type takes a large
 * page when it needs one, and gives it back when none of its small pages is in use. A sequence takes its small pages
 * from large ones that it began itself, so that those end with it; then from a free large page; then wherever its type
 * has one. Tokens that have left a type's window are given back block by block.
 *
 * Jenga's caches of prefixes and what they evict are not here. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_KV_KV_LAYERS_H
#define TLMALLOC_KV_KV_LAYERS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_KV_TYPES_MAX = 8, TLA_KV_STREAMS_MAX = 4, TLA_KV_SMALL_PAGES_MAX = 4096 };

typedef struct tla_kv_layer_type {
    uint64_t layers;      /* 1 .. 2^20 */
    uint64_t token_bytes; /* of a token in one of them, 1 .. 2^20 */
    uint64_t window;      /* so many tokens, the last ones, are needed; 0: all */
    uint32_t stream;      /* of which tokens: text, pictures; in the caller's numbers, below TLA_KV_STREAMS_MAX */
} tla_kv_layer_type;

typedef struct tla_kv_layers_config {
    tla_kv_layer_type types[TLA_KV_TYPES_MAX];
    uint32_t type_count;   /* 1 .. TLA_KV_TYPES_MAX */
    uint32_t block_tokens; /* of a small page, 1 .. 2^16 */
    uint64_t nbytes;       /* memory; what is no whole large page is not used */
    uint32_t sequences;    /* 1 .. 2^32 - 1 */
} tla_kv_layers_config;

/* Tokens of a sequence, by stream. */
typedef struct tla_kv_lengths {
    uint64_t tokens[TLA_KV_STREAMS_MAX];
} tla_kv_lengths;

/* Bytes that the layers need of a sequence's tokens, each type those of its stream in its window. */
uint64_t tla_kv_layers_needed(const tla_kv_layers_config *config, const tla_kv_lengths *lengths);

/* Bytes where every layer holds every token, as in one pool of blocks for all layers. Token sizes must be equal. */
uint64_t tla_kv_layers_uniform(const tla_kv_layers_config *config, const tla_kv_lengths *lengths);

typedef struct tla_kv_layers_stats {
    uint64_t large_bytes;             /* of a large page */
    uint64_t large_pages, free_large; /* of the memory */
    uint64_t small_pages;             /* in use */
    uint64_t small_bytes;             /* of them: what sequences have */
    uint64_t peak_large;              /* the most large pages in use at once */
} tla_kv_layers_stats;

typedef struct tla_kv_layers tla_kv_layers;

/* TLA_INVALID_ARGUMENT for a member outside its range, memory for less than one or 2^32 large pages and more, and sizes
 * of which a large page has more than TLA_KV_SMALL_PAGES_MAX; TLA_NO_HOST_MEMORY. *made is NULL then. */
tla_status tla_kv_layers_create(const tla_kv_layers_config *config, tla_kv_layers **made);
void tla_kv_layers_destroy(tla_kv_layers *layers); /* NULL is allowed */

/* A sequence has so many tokens now, in no stream less than before: blocks that have left a window are given back, then
 * those that are wanting are taken, all or none. A sequence that grows by more than a window in one call never has what
 * lies before the window. TLA_EXHAUSTED (what left the windows may be given back all the same), TLA_INVALID_ARGUMENT
 * for fewer tokens, TLA_OUT_OF_RANGE for a sequence that is none, TLA_NO_HOST_MEMORY. Work: nodes_visited and slots of
 * small pages taken, slots of those given back; splits of large pages begun, merges of those given back. */
tla_status tla_kv_layers_grow(tla_kv_layers *layers, uint32_t sequence, const tla_kv_lengths *lengths, tla_work *work);

/* Gives everything back that a sequence has, the last block first. TLA_OUT_OF_RANGE. */
tla_status tla_kv_layers_release(tla_kv_layers *layers, uint32_t sequence, tla_work *work);

/* Where the block that holds a token lies, for a type. TLA_UNMAPPED where there is none, TLA_OUT_OF_RANGE. */
tla_status tla_kv_layers_find(const tla_kv_layers *layers, uint32_t sequence, uint32_t type, uint64_t token,
                              uint64_t *offset);

tla_kv_layers_stats tla_kv_layers_get_stats(const tla_kv_layers *layers);

#ifdef __cplusplus
}
#endif
#endif
