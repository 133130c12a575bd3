/* Blocks of a paged key-value cache, with counts of references and an index of their content.
 *
 * vLLM's rules (V1: vllm/v1/core/block_pool.py and kv_cache_manager.py, 0.19.0 and 0.28.0): block 0 is a placeholder
 * that nobody gets. Free blocks stand in one queue, at first in order: blocks are taken from its head, and a block that
 * loses its last reference goes to its tail, the last block of a request first, so that ends are used up before
 * beginnings. A free block keeps its content until it is taken from the head. The index leads from a content's hash to
 * the blocks that hold it; a block that is found there gets a reference, and leaves the queue from wherever it stands
 * in it, which a slot_pool cannot do. Of two blocks with one hash the one entered first is found.
 *
 * LMCache's rules (slot_pool.h, mem_object.h and hot_cache.h, of which they are made): the cache has a reference of its
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
#ifndef TLMALLOC_KV_KV_BLOCKS_H
#define TLMALLOC_KV_KV_BLOCKS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
