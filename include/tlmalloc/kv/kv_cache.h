/* Memory of key-value caches as serving systems keep them: paged blocks, pages for layers of several types, ranges that
 * are mapped on demand, regions that are reserved, and how large a chunk is. */
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
 * Blocks of a paged key-value cache, with counts of references and an index of their content.
 *
 * vLLM's rules (V1: vllm/v1/core/block_pool.py and kv_cache_manager.py, 0.19.0 and 0.28.0): block 0 is a placeholder
 * that nobody gets. Free blocks stand in one queue, at first in order: blocks are taken from its head, and a block that
 * loses its last reference goes to its tail, the last block of a request first, so that ends are used up before
 * beginnings. A free block keeps its content until it is taken from the head. The index leads from a content's hash to
 * the blocks that hold it; a block that is found there gets a reference, and leaves the queue from wherever it stands
 * in it, which a slot_pool cannot do. Of two blocks with one hash the one entered first is found.
 *
 * LMCache's rules (buffer_pools.h and objects.h, of which they are made): the cache has a reference of its
 * own to what is found in it. Only blocks to which nobody refers are in the queue of slots, in the order in which they
 * were given back, the first block of a request first; when it is empty, the cache gives up the least recently entered
 * or found block that nobody else refers to. Blocks found for a request count as found from the last one to the first.
 * Content that the cache has already is not entered again.
 *
 * A hash stands for the tokens of a block and all before it: equal number, equal tokens from the beginning to the end
 * of the block. Blocks that are not full have none.
 *
 * Receipts (work.h), of an engine with the queue and the index's chains in memory (LMCache's: what its parts count, and
 * of the index class_lookups and nodes_created):
 *   list_length     free blocks when blocks are taken
 *   nodes_visited   blocks taken from the head
 *   slots           blocks taken from the queue, from its head or its middle, and blocks put at its tail
 *   class_lookups   hashes looked up
 *   probes          entries of the index that were compared with one
 *   nodes_created, nodes_released   entries of the index that came and went
 *   metadata_lines  lines of blocks' records: the block's own, its neighbours' where a queue or a chain changes, and
 *                   the head of a chain of the index
 *
 * Not thread safe; one owner at a time. */

enum { TLA_KV_BLOCKS_MAX = 1 << 30, TLA_KV_PLACEHOLDER = 0 };

typedef struct tla_kv_blocks tla_kv_blocks;

typedef enum tla_kv_rules_of { TLA_KV_VLLM, TLA_KV_LMCACHE, TLA_KV_RULES_COUNT } tla_kv_rules_of;

/* "vllm", "lmcache"; NULL for a value that is none. */
const char *tla_kv_rules_of_name(tla_kv_rules_of rules);

typedef struct tla_kv_blocks_config {
    uint32_t blocks; /* with the placeholder: 2 .. TLA_KV_BLOCKS_MAX */
    bool index;      /* content is found again; false: blocks are never entered, and nothing is found */
    tla_kv_rules_of rules;
    /* Told when a block that can be found is taken for new content, which it does not hold yet: whoever wants to keep
     * what stands there moves it away now. NULL: nobody. Must not call back. */
    void (*leaves)(void *context, uint32_t block, uint64_t hash);
    void *context; /* of `leaves` */
} tla_kv_blocks_config;

/* The blocks of one request, in the order of its tokens; `{0}` is an empty one. Members are for reading. */
typedef struct tla_kv_table {
    uint32_t *blocks;
    uint32_t count;
    uint32_t entered; /* so many of them, from the first, are in the index */
    uint32_t room;
} tla_kv_table;

typedef struct tla_kv_blocks_stats {
    uint32_t usable;     /* all but the placeholder: free + cached + referenced */
    uint32_t free;       /* without a reference, and without content that could be found */
    uint32_t cached;     /* without a reference, with such content */
    uint32_t referenced; /* by one request or more */
    uint64_t references; /* of all requests together */
    uint32_t peak;       /* the most that were referenced at once */
    uint64_t taken;      /* from the head, since the beginning */
    uint64_t revived;    /* found in the index and taken out of the queue */
    uint64_t shared;     /* found in the index while others had a reference */
    uint64_t evicted;    /* entries that left the index, their blocks being taken for new content */
} tla_kv_blocks_stats;

/* TLA_INVALID_ARGUMENT for a number of blocks outside its range, TLA_NO_HOST_MEMORY; *blocks is NULL then. */
tla_status tla_kv_blocks_create(const tla_kv_blocks_config *config, tla_kv_blocks **blocks);
void tla_kv_blocks_destroy(tla_kv_blocks *blocks); /* NULL is allowed; tables are their owners' */

/* The longest run of indexed blocks from the start: found[0 .. return value - 1] hold hashes[0], hashes[1], ... Changes
 * nothing but the receipt (which may be NULL, here and below). */
uint32_t tla_kv_blocks_find(const tla_kv_blocks *blocks, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work);

/* How many blocks an allocation would take from the queue: those that are wanting, and the found ones that stand in it.
 * An allocation succeeds when so many are free or cached. */
uint32_t tla_kv_blocks_needed(const tla_kv_blocks *blocks, const tla_kv_table *table, const uint32_t *found,
                              uint32_t found_count, uint32_t count);

/* Makes the table `count` blocks long, or leaves it when it is that long already: the found blocks, which
 * tla_kv_blocks_find has just said and only an empty table may have, get a reference, and the rest is taken from the
 * head of the queue. All or nothing: TLA_EXHAUSTED when fewer are free or cached, TLA_NO_HOST_MEMORY,
 * TLA_INVALID_ARGUMENT for found blocks with a table that has some, or more of them than `count`. */
tla_status tla_kv_blocks_allocate(tla_kv_blocks *blocks, tla_kv_table *table, const uint32_t *found,
                                  uint32_t found_count, uint32_t count, tla_work *work);

/* Enters the table's blocks up to `full` (not its length) in the index: block i holds the content hashes[i] now.
 * Those that have been entered stay as they are. TLA_INVALID_ARGUMENT when the table has fewer blocks; by LMCache's
 * rules TLA_NO_HOST_MEMORY, blocks before the one that failed being entered. */
tla_status tla_kv_blocks_enter(tla_kv_blocks *blocks, tla_kv_table *table, const uint64_t *hashes, uint32_t full,
                               tla_work *work);

/* Gives every reference of the table back, and empties it. */
void tla_kv_blocks_release(tla_kv_blocks *blocks, tla_kv_table *table, tla_work *work);

/* Gives back the table's own memory; it must be empty. */
void tla_kv_table_clear(tla_kv_table *table);

/* How many requests have a reference to a block; 0 for the placeholder. TLA_OUT_OF_RANGE for a block that is none. */
tla_status tla_kv_blocks_references(const tla_kv_blocks *blocks, uint32_t block, uint32_t *references);

tla_kv_blocks_stats tla_kv_blocks_get_stats(const tla_kv_blocks *blocks);

/* --- Layers of several types ---
 *
 * Key-value cache of a model whose layers are of several types: windows of attention, tokens of pictures that only some
 * layers see (Jenga, arXiv 2503.18292, section 4).
 *
 * A small page holds a block of tokens in all layers of one type. Memory is cut into large pages, whose size is the
 * least common multiple of the small ones, so that a large page is whole small pages of any type. A type takes a large
 * page when it needs one, and gives it back when none of its small pages is in use. A sequence takes its small pages
 * from large ones that it began itself, so that those end with it; then from a free large page; then wherever its type
 * has one. Tokens that have left a type's window are given back block by block.
 *
 * Jenga's caches of prefixes and what they evict are not here. Not thread safe; one owner at a time. */

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

/* --- Ranges mapped on demand ---
 *
 * Key-value cache in virtually contiguous ranges, mapped page by page on demand (vAttention, ASPLOS 2025).
 *
 * Every sequence has a range of virtual addresses in each tensor (K and V of every layer), long enough for the longest
 * request, so that kernels see contiguous tensors. Physical memory is pages of one size. When a sequence grows past
 * what is mapped, every tensor gets its next page, all of them or none; when it ends, its pages are unmapped and go
 * back to the tail of the queue of free pages. Pages are handed out in groups of one for each tensor, since they come
 * and go together; a group has a number. vAttention's deferred unmapping and mapping ahead are not here (map_ahead of
 * the experiments has the latter).
 *
 * Receipts: of each page nodes_visited and slots (taken; given back slots alone), chunks (a range mapped or unmapped)
 * and pte_writes; of each release one of invalidates. Not thread safe; one owner at a time. */

typedef struct tla_kv_mapped_config {
    uint64_t groups;      /* of pages: 1 .. 2^32 - 1 */
    uint64_t tensors;     /* pages of a group, 1 .. 2^20 */
    uint64_t page_tokens; /* of a sequence in a page of one tensor, 1 .. 2^32 */
    uint64_t page_ptes;   /* entries that a page is in the table, 1 .. 2^32 */
    uint64_t sequences;   /* ranges of virtual addresses, 1 .. 2^32 - 1 */
    uint64_t longest;     /* tokens of a range, 1 .. 2^32 */
} tla_kv_mapped_config;

typedef struct tla_kv_mapped_stats {
    uint64_t groups, free_groups;
    uint64_t mapped_tokens;    /* for which live sequences have pages */
    uint64_t mapped, unmapped; /* pages, since the beginning */
    uint64_t refused;          /* for want of pages */
} tla_kv_mapped_stats;

typedef struct tla_kv_mapped tla_kv_mapped;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_mapped_create(const tla_kv_mapped_config *config, tla_kv_mapped **made);
void tla_kv_mapped_destroy(tla_kv_mapped *mapped); /* NULL is allowed */

/* Makes sure that a sequence has pages for so many tokens. TLA_LIMIT for more than the longest or than all pages hold,
 * TLA_EXHAUSTED when fewer groups are free than it needs, TLA_OUT_OF_RANGE for a sequence that is none,
 * TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_kv_mapped_grow(tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens, tla_work *work);

/* Unmaps what a sequence has, its last page first. TLA_OUT_OF_RANGE for one that is none. */
tla_status tla_kv_mapped_release(tla_kv_mapped *mapped, uint64_t sequence, tla_work *work);

/* Where a token of a sequence lies, in every tensor: the group of its page, and which token of the page it is.
 * TLA_UNMAPPED, TLA_OUT_OF_RANGE. */
tla_status tla_kv_mapped_find(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t token, uint64_t *group,
                              uint64_t *at);

/* Whether a sequence could have pages for so many tokens now. */
bool tla_kv_mapped_fits(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens);

tla_kv_mapped_stats tla_kv_mapped_get_stats(const tla_kv_mapped *mapped);

/* --- Reserved regions ---
 *
 * A contiguous piece of key-value cache for every request, taken when it is admitted and held to its end: what serving
 * systems did before paging (Orca, FasterTransformer; compared in PagedAttention, SOSP '23, figure 2).
 *
 * A rule says how many tokens a request's region has: the longest that any may become; prompt and the next power of two
 * of what it will make; or exactly what it will need, which nobody knows ahead. Regions come from an arena that counts
 * tokens. With buddies the lowest of several blocks of one order is taken, as a bitmap with a priority encoder finds
 * it, where those of arena.h take the one freed last; the receipt is theirs. Not thread safe; one owner at a time. */

typedef enum tla_kv_rule {
    TLA_KV_MAXIMUM,      /* the longest request */
    TLA_KV_POWER_OF_TWO, /* prompt + the least power of two that holds the output, the longest request at most */
    TLA_KV_ORACLE,       /* prompt + output */
    TLA_KV_RULE_COUNT
} tla_kv_rule;

/* "maximum", "power_of_two", "oracle"; NULL for a value that is none. */
const char *tla_kv_rule_name(tla_kv_rule rule);

/* Tokens of a request's region: prompt and output (1 or more each) are what it will have in the end, `longest` what no
 * request exceeds. 0 for a request that does. */
uint64_t tla_kv_rule_tokens(tla_kv_rule rule, uint64_t prompt, uint64_t output, uint64_t longest);

typedef struct tla_kv_reservations_config {
    uint64_t tokens;  /* of the memory, 1 .. 2^63 */
    uint64_t longest; /* the longest request, prompt and output, 1 or more */
    tla_kv_rule rule;
    tla_policy policy; /* where a region goes */
} tla_kv_reservations_config;

/* A request's region. */
typedef struct tla_kv_region {
    tla_block block; /* as granted: its offset and size in tokens; a size of 0: none */
    uint64_t tokens; /* as the rule says */
} tla_kv_region;

typedef struct tla_kv_reservations_stats {
    uint64_t tokens;                          /* of the memory */
    uint64_t regions;                         /* live ones */
    uint64_t reserved;                        /* tokens of live regions, by the rule */
    uint64_t granted;                         /* tokens of them as granted: buddies round up */
    uint64_t largest_free;                    /* tokens of the largest free block */
    uint64_t too_long, fragmented, exhausted; /* refused, since the beginning, by cause */
} tla_kv_reservations_stats;

typedef struct tla_kv_reservations tla_kv_reservations;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_reservations_create(const tla_kv_reservations_config *config, tla_kv_reservations **made);
void tla_kv_reservations_destroy(tla_kv_reservations *reservations); /* NULL is allowed; regions end with it */

/* A region for a request that will have so many tokens in the end. TLA_LIMIT for one that is longer than the longest or
 * than the memory, which never fits; TLA_EXHAUSTED when fewer tokens are free than it needs, TLA_FRAGMENTED when none
 * of the free blocks holds it: it may fit when others have ended. TLA_INVALID_ARGUMENT for lengths of 0,
 * TLA_NO_HOST_MEMORY. *region has no block then. Work is that of the arena, of refused ones too. */
tla_status tla_kv_reserve(tla_kv_reservations *reservations, uint64_t prompt, uint64_t output, tla_kv_region *region,
                          tla_work *work);

/* Gives a region back, which has no block then; nothing happens to one that has none. Errors as tla_arena_free. */
tla_status tla_kv_release(tla_kv_reservations *reservations, tla_kv_region *region, tla_work *work);

tla_kv_reservations_stats tla_kv_reservations_get_stats(const tla_kv_reservations *reservations);

/* --- Chunks ---
 *
 * How large a chunk of a key-value cache is, and how many fit: LMCache's get_full_chunk_size and calculate_chunk_budget
 * (seed 003). */

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
