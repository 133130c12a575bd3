/* Memory of key-value caches as serving systems keep them. The header has paged blocks, pages for layers of several
 * types, ranges that are mapped on demand, reserved regions, and the size of a chunk. */
#ifndef TLMALLOC_KV_KV_CACHE_H
#define TLMALLOC_KV_KV_CACHE_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Paged blocks ---
 *
 * Blocks of a paged key-value cache, with reference counts and an index of their content.
 *
 * vLLM's rules (V1: vllm/v1/core/block_pool.py and kv_cache_manager.py, 0.19.0 and 0.28.0). Block 0 is a placeholder
 * that is never allocated. Free blocks are in one queue, initially in order. Blocks are allocated from its head. A
 * block that loses its last reference goes to its tail, the last block of a request first, so that ends are reused
 * before beginnings. A free block keeps its content until it is allocated from the head. The index maps the hash of a
 * content to the blocks with that content. A block that is found there gains a reference, and leaves the queue from any
 * position in it, which a slot_pool cannot do. Among two blocks with one hash the block that was entered first is
 * found.
 *
 * LMCache's rules (made of buffer_pools.h and objects.h). The cache has its own reference to its entries. The queue of
 * slots has only blocks without references, in the order of their release, the first block of a request first. When the
 * queue is empty, the cache evicts a block that has no other reference: the least recently entered or found one. Blocks
 * found for a request count as found from the last block to the first. Content that the cache already has is not
 * entered again.
 *
 * A hash stands for the tokens of a block and all tokens before it. Equal numbers mean equal tokens from the start to
 * the end of the block. Blocks that are not full have no hash.
 *
 * Receipts (work.h) of an engine with the queue and the index's chains in memory. LMCache's receipts are those of its
 * parts; the index adds class_lookups and nodes_created.
 *
 *     list_length     free blocks at an allocation
 *     nodes_visited   blocks allocated from the head
 *     slots           blocks taken from the queue, from its head or its middle, and blocks put at its tail
 *     class_lookups   looked up hashes
 *     probes          entries of the index that were compared with a hash
 *     nodes_created   entries added to the index
 *     nodes_released  entries removed from the index
 *     metadata_lines  lines of blocks' records: the block's own, its neighbours' where a queue or a chain changes, and
 *                     the head of a chain of the index
 *
 * Not thread safe; one owner at a time. */

enum { TLA_KV_BLOCKS_MAX = 1 << 30, TLA_KV_PLACEHOLDER = 0 };

typedef struct tla_kv_blocks tla_kv_blocks;

typedef enum tla_kv_rules_of { TLA_KV_VLLM, TLA_KV_LMCACHE, TLA_KV_RULES_COUNT } tla_kv_rules_of;

/* Returns the name "vllm", "lmcache"; NULL for an unknown value. */
const char *tla_kv_rules_of_name(tla_kv_rules_of rules);

typedef struct tla_kv_blocks_config {
    uint32_t blocks; /* including the placeholder: 2 .. TLA_KV_BLOCKS_MAX */
    bool index;      /* true: content can be found again; false: blocks are never entered, and never found */
    tla_kv_rules_of rules;
    /* Called when an indexed block is allocated for new content and still has the old content: the last moment to move
     * the old content away. NULL: not called. Must not call back. */
    void (*leaves)(void *context, uint32_t block, uint64_t hash);
    void *context; /* context of `leaves` */
} tla_kv_blocks_config;

/* The blocks of one request, in the order of its tokens; `{0}` is an empty table. Members are read only. */
typedef struct tla_kv_table {
    uint32_t *blocks;
    uint32_t count;
    uint32_t entered; /* number of blocks, from the first, that are in the index */
    uint32_t room;
} tla_kv_table;

typedef struct tla_kv_blocks_stats {
    uint32_t usable;     /* all blocks except the placeholder: free + cached + referenced */
    uint32_t free;       /* without a reference, and without indexed content */
    uint32_t cached;     /* without a reference, with indexed content */
    uint32_t referenced; /* by one request or more */
    uint64_t references; /* total of all requests */
    uint32_t peak;       /* maximum number of referenced blocks at one time */
    uint64_t taken;      /* allocated from the head, since the start */
    uint64_t revived;    /* found in the index and removed from the queue */
    uint64_t shared;     /* found in the index while other requests had a reference */
    uint64_t evicted;    /* entries removed from the index because their blocks were allocated for new content */
} tla_kv_blocks_stats;

/* TLA_INVALID_ARGUMENT for a number of blocks outside its range, TLA_NO_HOST_MEMORY; *blocks is NULL then. */
tla_status tla_kv_blocks_create(const tla_kv_blocks_config *config, tla_kv_blocks **blocks);
void tla_kv_blocks_destroy(tla_kv_blocks *blocks); /* NULL is allowed; tables belong to their owners */

/* Finds the longest run of indexed blocks from the start: found[0 .. return value - 1] have hashes[0], hashes[1], ...
 * Changes only the receipt (may be NULL, here and below). */
uint32_t tla_kv_blocks_find(const tla_kv_blocks *blocks, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work);

/* Returns how many blocks an allocation would take from the queue: the missing blocks, and the found blocks that are in
 * it. An allocation succeeds when at least as many are free or cached. */
uint32_t tla_kv_blocks_needed(const tla_kv_blocks *blocks, const tla_kv_table *table, const uint32_t *found,
                              uint32_t found_count, uint32_t count);

/* Makes the table `count` blocks long; a longer table is unchanged. Found blocks, from a tla_kv_blocks_find directly
 * before, gain a reference; only an empty table may have found blocks. The other blocks are allocated from the head of
 * the queue. All or none: TLA_EXHAUSTED when too few are free or cached, TLA_NO_HOST_MEMORY. TLA_INVALID_ARGUMENT for
 * found blocks with a table that is not empty, or for more found blocks than `count`. */
tla_status tla_kv_blocks_allocate(tla_kv_blocks *blocks, tla_kv_table *table, const uint32_t *found,
                                  uint32_t found_count, uint32_t count, tla_work *work);

/* Enters the table's blocks up to `full` (not its length) in the index: block i has the content hashes[i] now. Entered
 * blocks stay unchanged. TLA_INVALID_ARGUMENT when the table has fewer blocks. With LMCache's rules TLA_NO_HOST_MEMORY
 * is possible; the blocks before the failed one are then entered. */
tla_status tla_kv_blocks_enter(tla_kv_blocks *blocks, tla_kv_table *table, const uint64_t *hashes, uint32_t full,
                               tla_work *work);

/* Drops every reference of the table, and empties it. */
void tla_kv_blocks_release(tla_kv_blocks *blocks, tla_kv_table *table, tla_work *work);

/* Releases the table's own memory; the table must be empty. */
void tla_kv_table_clear(tla_kv_table *table);

/* Returns the number of requests with a reference to a block; 0 for the placeholder. TLA_OUT_OF_RANGE for an unknown
 * block. */
tla_status tla_kv_blocks_references(const tla_kv_blocks *blocks, uint32_t block, uint32_t *references);

tla_kv_blocks_stats tla_kv_blocks_get_stats(const tla_kv_blocks *blocks);

/* --- Layers of several types ---
 *
 * The key-value cache of a model with layers of several types, for example windows of attention, or tokens of pictures
 * that only some layers use (Jenga, arXiv 2503.18292, section 4).
 *
 * A small page has a block of tokens in all layers of one type. Memory is divided into large pages, whose size is the
 * least common multiple of the small page sizes. A large page therefore consists of whole small pages of any type. A
 * type allocates a large page when it needs one, and releases it when none of its small pages is in use. A sequence
 * first takes small pages from large pages that it began itself, so that these end with it. Next it begins a free large
 * page, and last it uses any large page of its type. Tokens that have left a type's window are released block by block.
 *
 * Jenga's caches of prefixes and their evictions are not modelled. Not thread safe; one owner at a time. */

enum { TLA_KV_TYPES_MAX = 8, TLA_KV_STREAMS_MAX = 4, TLA_KV_SMALL_PAGES_MAX = 4096 };

typedef struct tla_kv_layer_type {
    uint64_t layers;      /* 1 .. 2^20 */
    uint64_t token_bytes; /* bytes of a token in one layer, 1 .. 2^20 */
    uint64_t window;      /* number of most recent tokens that are needed; 0: all */
    uint32_t stream;      /* the tokens' stream: text, pictures; in the caller's numbers, below TLA_KV_STREAMS_MAX */
} tla_kv_layer_type;

typedef struct tla_kv_layers_config {
    tla_kv_layer_type types[TLA_KV_TYPES_MAX];
    uint32_t type_count;   /* 1 .. TLA_KV_TYPES_MAX */
    uint32_t block_tokens; /* tokens of a small page, 1 .. 2^16 */
    uint64_t nbytes;       /* memory; a rest smaller than a large page is not used */
    uint32_t sequences;    /* 1 .. 2^32 - 1 */
} tla_kv_layers_config;

/* Tokens of a sequence, by stream. */
typedef struct tla_kv_lengths {
    uint64_t tokens[TLA_KV_STREAMS_MAX];
} tla_kv_lengths;

/* Returns the bytes that the layers need for a sequence's tokens: each type those of its stream in its window. */
uint64_t tla_kv_layers_needed(const tla_kv_layers_config *config, const tla_kv_lengths *lengths);

/* Returns the bytes if every layer keeps every token, as in one pool of blocks for all layers. Token sizes must be
 * equal. */
uint64_t tla_kv_layers_uniform(const tla_kv_layers_config *config, const tla_kv_lengths *lengths);

typedef struct tla_kv_layers_stats {
    uint64_t large_bytes;             /* bytes of a large page */
    uint64_t large_pages, free_large; /* large pages of the memory */
    uint64_t small_pages;             /* in use */
    uint64_t small_bytes;             /* bytes of the small pages in use by sequences */
    uint64_t peak_large;              /* maximum number of large pages in use at one time */
} tla_kv_layers_stats;

typedef struct tla_kv_layers tla_kv_layers;

/* TLA_INVALID_ARGUMENT for a member outside its range, for memory of less than one large page, or of 2^32 large pages
 * and more. The same error reports sizes with more than TLA_KV_SMALL_PAGES_MAX small pages in a large page.
 * TLA_NO_HOST_MEMORY. After an error *made is NULL. */
tla_status tla_kv_layers_create(const tla_kv_layers_config *config, tla_kv_layers **made);
void tla_kv_layers_destroy(tla_kv_layers *layers); /* NULL is allowed */

/* Sets the number of tokens of a sequence, in no stream less than before. The call first releases blocks that have left
 * a window, then allocates the missing blocks, all or none. A sequence that grows by more than a window in one call
 * never has the blocks before the window. TLA_EXHAUSTED (blocks that left the windows may still be released),
 * TLA_INVALID_ARGUMENT for fewer tokens, TLA_OUT_OF_RANGE for an unknown sequence, TLA_NO_HOST_MEMORY.
 *
 * Work: nodes_visited and slots for allocated small pages, slots for released small pages. It counts splits for begun
 * large pages, and merges for released large pages. */
tla_status tla_kv_layers_grow(tla_kv_layers *layers, uint32_t sequence, const tla_kv_lengths *lengths, tla_work *work);

/* Releases all blocks of a sequence, the last block first. TLA_OUT_OF_RANGE. */
tla_status tla_kv_layers_release(tla_kv_layers *layers, uint32_t sequence, tla_work *work);

/* Finds the block with a token, for a type. TLA_UNMAPPED if the type has no such block, TLA_OUT_OF_RANGE. */
tla_status tla_kv_layers_find(const tla_kv_layers *layers, uint32_t sequence, uint32_t type, uint64_t token,
                              uint64_t *offset);

tla_kv_layers_stats tla_kv_layers_get_stats(const tla_kv_layers *layers);

/* --- Ranges mapped on demand ---
 *
 * The key-value cache in virtually contiguous ranges, mapped page by page on demand (vAttention, ASPLOS 2025).
 *
 * Every sequence has a range of virtual addresses in each tensor (K and V of every layer), long enough for the longest
 * request. Kernels therefore see contiguous tensors. Physical memory consists of pages of one size. When a sequence
 * grows past its mapped pages, every tensor receives its next page, all or none. When the sequence ends, its pages are
 * unmapped and return to the tail of the queue of free pages. Pages are allocated in groups of one page for each
 * tensor, since these are always used together; a group has a number. The model omits vAttention's deferred unmapping
 * and mapping ahead (map_ahead of the experiments has the latter).
 *
 * Receipts: for each page nodes_visited and slots, chunks (a range mapped or unmapped) and pte_writes. A released page
 * counts slots, but no nodes_visited. Each release counts one of invalidates. Not thread safe; one owner at a time. */

typedef struct tla_kv_mapped_config {
    uint64_t groups;      /* number of groups of pages: 1 .. 2^32 - 1 */
    uint64_t tensors;     /* pages of a group, 1 .. 2^20 */
    uint64_t page_tokens; /* tokens of a sequence in a page of one tensor, 1 .. 2^32 */
    uint64_t page_ptes;   /* page-table entries of a page, 1 .. 2^32 */
    uint64_t sequences;   /* ranges of virtual addresses, 1 .. 2^32 - 1 */
    uint64_t longest;     /* tokens of a range, 1 .. 2^32 */
} tla_kv_mapped_config;

typedef struct tla_kv_mapped_stats {
    uint64_t groups, free_groups;
    uint64_t mapped_tokens;    /* tokens of live sequences for which pages are mapped */
    uint64_t mapped, unmapped; /* pages, since the start */
    uint64_t refused;          /* requests that failed for lack of pages */
} tla_kv_mapped_stats;

typedef struct tla_kv_mapped tla_kv_mapped;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_mapped_create(const tla_kv_mapped_config *config, tla_kv_mapped **made);
void tla_kv_mapped_destroy(tla_kv_mapped *mapped); /* NULL is allowed */

/* Maps pages until a sequence has enough for so many tokens. TLA_LIMIT for more than the longest range or all pages
 * hold, TLA_EXHAUSTED when fewer groups are free than it needs. TLA_OUT_OF_RANGE for an unknown sequence,
 * TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_kv_mapped_grow(tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens, tla_work *work);

/* Unmaps the pages of a sequence, its last page first. TLA_OUT_OF_RANGE for an unknown sequence. */
tla_status tla_kv_mapped_release(tla_kv_mapped *mapped, uint64_t sequence, tla_work *work);

/* Finds the location of a token of a sequence, in every tensor: the group of its page, and its token number in the
 * page. TLA_UNMAPPED, TLA_OUT_OF_RANGE. */
tla_status tla_kv_mapped_find(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t token, uint64_t *group,
                              uint64_t *at);

/* Returns whether a sequence could have pages for so many tokens now. */
bool tla_kv_mapped_fits(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens);

tla_kv_mapped_stats tla_kv_mapped_get_stats(const tla_kv_mapped *mapped);

/* --- Reserved regions ---
 *
 * A contiguous region of the key-value cache for every request, allocated at its admission and held to its end. Serving
 * systems worked this way before paging (Orca, FasterTransformer; compared in PagedAttention, SOSP '23, figure 2).
 *
 * A rule determines the tokens of a request's region. It is the longest possible request, or the prompt and the next
 * power of two of the output. The third rule is exactly the tokens that it will need, which no real system knows in
 * advance. Regions are allocated from an arena that counts tokens. With buddies the lowest of several blocks of one
 * order is allocated, as a bitmap with a priority encoder finds it. The buddies of arena.h allocate the most recently
 * freed block; the receipt is the same. Not thread safe; one owner at a time. */

typedef enum tla_kv_rule {
    TLA_KV_MAXIMUM,      /* the longest request */
    TLA_KV_POWER_OF_TWO, /* prompt + the least power of two that holds the output; at most the longest request */
    TLA_KV_ORACLE,       /* prompt + output */
    TLA_KV_RULE_COUNT
} tla_kv_rule;

/* "maximum", "power_of_two", "oracle"; NULL for an unknown value. */
const char *tla_kv_rule_name(tla_kv_rule rule);

/* Returns the tokens of a request's region. Prompt and output (1 or more each) are the final lengths, and no request
 * may exceed `longest`. 0 for a request that exceeds it. */
uint64_t tla_kv_rule_tokens(tla_kv_rule rule, uint64_t prompt, uint64_t output, uint64_t longest);

typedef struct tla_kv_reservations_config {
    uint64_t tokens;  /* tokens of the memory, 1 .. 2^63 */
    uint64_t longest; /* the longest request, prompt and output, 1 or more */
    tla_kv_rule rule;
    tla_policy policy; /* the placement of regions */
} tla_kv_reservations_config;

/* A request's region. */
typedef struct tla_kv_region {
    tla_block block; /* as granted: its offset and size in tokens; size 0: no block */
    uint64_t tokens; /* by the rule */
} tla_kv_region;

typedef struct tla_kv_reservations_stats {
    uint64_t tokens;                          /* tokens of the memory */
    uint64_t regions;                         /* live regions */
    uint64_t reserved;                        /* tokens of live regions, by the rule */
    uint64_t granted;                         /* tokens of live regions, as granted: buddies round up */
    uint64_t largest_free;                    /* tokens of the largest free block */
    uint64_t too_long, fragmented, exhausted; /* failed requests since the start, by cause */
} tla_kv_reservations_stats;

typedef struct tla_kv_reservations tla_kv_reservations;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_reservations_create(const tla_kv_reservations_config *config, tla_kv_reservations **made);
void tla_kv_reservations_destroy(tla_kv_reservations *reservations); /* NULL is allowed; regions end with it */

/* Allocates a region for a request with these final lengths. TLA_LIMIT for a request that is longer than the longest or
 * than the memory, and therefore never fits. TLA_EXHAUSTED when fewer tokens are free than it needs, TLA_FRAGMENTED
 * when no free block holds it: it may fit when other requests have ended. TLA_INVALID_ARGUMENT for lengths of 0,
 * TLA_NO_HOST_MEMORY. After an error *region has no block. Work is that of the arena, also for failed requests. */
tla_status tla_kv_reserve(tla_kv_reservations *reservations, uint64_t prompt, uint64_t output, tla_kv_region *region,
                          tla_work *work);

/* Releases a region, which then has no block; a region without a block is unchanged. Errors as tla_arena_free. */
tla_status tla_kv_release(tla_kv_reservations *reservations, tla_kv_region *region, tla_work *work);

tla_kv_reservations_stats tla_kv_reservations_get_stats(const tla_kv_reservations *reservations);

/* --- Chunks ---
 *
 * The size of a chunk of a key-value cache, and the number of chunks that fit: LMCache's get_full_chunk_size and
 * calculate_chunk_budget (seed 003). */

typedef struct tla_kv_shape {
    uint64_t layers;
    uint64_t kv;           /* tensors per layer: 2 for keys and values, 1 for a joint tensor (MLA) */
    uint64_t chunk_tokens; /* LMCache: 256 */
    uint64_t heads;        /* heads of keys and values, on this rank */
    uint64_t head_size;    /* elements; heads * head_size is the hidden dimension */
    uint64_t dtype_bytes;  /* 2 for bf16 */
} tla_kv_shape;

/* Computes the bytes of one chunk, kv * layers * tokens * hidden * dtype, or of one layer of it (`layerwise`).
 * TLA_INVALID_ARGUMENT when a member is 0 or the product exceeds 2^63; *nbytes is then unchanged. */
tla_status tla_kv_chunk_bytes(const tla_kv_shape *shape, bool layerwise, uint64_t *nbytes);

/* Computes how many chunks of chunk_bytes, rounded up to a multiple of `alignment` (a power of two), fit into
 * total_bytes. An asynchronous loader may have at most so many chunks in flight without deadlock. Rounded down, without
 * a margin. TLA_INVALID_ARGUMENT for 0 bytes, more than 2^63, or an alignment that is not a power of two. */
tla_status tla_kv_chunk_budget(uint64_t total_bytes, uint64_t chunk_bytes, uint64_t alignment, uint64_t *chunks);

/* The chunks that concurrent loaders may hold together. A loader takes its whole share before it allocates the first
 * chunk. No two loaders can therefore wait for chunks of each other. */
typedef struct tla_kv_budget {
    uint64_t chunks; /* from tla_kv_chunk_budget */
    uint64_t taken;
} tla_kv_budget;

/* Takes all chunks or none: TLA_BUSY while other loaders hold too many, TLA_LIMIT for more than the budget. */
tla_status tla_kv_budget_take(tla_kv_budget *budget, uint64_t chunks);

/* Returns taken chunks. TLA_INVALID_ARGUMENT, without any change, for more than are taken. */
tla_status tla_kv_budget_give_back(tla_kv_budget *budget, uint64_t chunks);

#ifdef __cplusplus
}
#endif
#endif
