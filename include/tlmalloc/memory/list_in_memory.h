/* A free list that is kept in memory: which of its nodes an operation reads and writes, and what stands in them.
 *
 * Every free block has a node, a record of TLA_LIST_NODE_BYTES at slot * TLA_LIST_NODE_BYTES of a reserved range. A
 * block keeps its slot as long as it is on the list; a new one takes the slot that was given up last, or a fresh one.
 * The engine keeps the slot of the first node in a register. An allocation walks the nodes that its receipt counts; a
 * free, which cannot search by halves in a linked list, walks to the first node behind its place. A cache of nodes in
 * front is fully associative, least recently used first out, and written through.
 *
 * This structure follows the list; it places nothing. It keeps its own list in an array: O(blocks) a change, which is
 * what the walk costs anyway. */
#ifndef TLMALLOC_MEMORY_LIST_IN_MEMORY_H
#define TLMALLOC_MEMORY_LIST_IN_MEMORY_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a controller keeps its free lists. */
typedef enum tla_free_list_place {
    TLA_LIST_REGISTERS, /* nodes cost what the prices of the receipt say */
    TLA_LIST_SRAM,      /* and a fixed time for each access */
    TLA_LIST_HBM,       /* and the time of real accesses, of the HBM's list */
    TLA_LIST_PLACE_COUNT
} tla_free_list_place;

/* Name as in configuration files, "registers", "sram", "hbm"; NULL for a value that is none. */
const char *tla_free_list_place_name(tla_free_list_place place);

/* A node, little-endian: bytes 0-5 offset, 6-11 size, 12-15 slot of the next node, TLA_LIST_END behind the last. */
enum { TLA_LIST_NODE_BYTES = 16 };
#define TLA_LIST_END UINT32_MAX

typedef struct tla_list_in_memory tla_list_in_memory;

/* One access to a node. */
typedef struct tla_list_access {
    uint32_t slot;
    bool write;
    bool hit;                            /* a read that the cache serves */
    uint8_t record[TLA_LIST_NODE_BYTES]; /* what is written, or what a read finds in memory */
} tla_list_access;

/* Follows an arena whose base is 0, from the free blocks that it has now; their writes are the first accesses that are
 * handed out. `nodes` (2 .. 2^31) slots are reserved, `cache_entries` nodes are cached (0: none). TLA_UNSUPPORTED for a
 * policy that does not walk a list from the front (first, best, next and worst fit do), TLA_INVALID_ARGUMENT, TLA_LIMIT
 * when the arena has more free blocks than there are slots, TLA_NO_HOST_MEMORY; *traffic is NULL then. */
tla_status tla_list_in_memory_create(const tla_arena *arena, uint64_t nodes, uint64_t cache_entries,
                                     tla_list_in_memory **traffic);
void tla_list_in_memory_destroy(tla_list_in_memory *traffic);

/* To be called before an operation of the arena: a free of `freed`, an allocation when that is NULL. TLA_LIMIT for a
 * free that would need a node when none is left, TLA_NO_HOST_MEMORY: the operation must not be done then. */
tla_status tla_list_in_memory_prepare(tla_list_in_memory *traffic, const tla_block *freed);

/* The same for n operations that come one after the other. TLA_LIMIT when n frees could need more nodes than are left.
 */
tla_status tla_list_in_memory_prepare_batch(tla_list_in_memory *traffic, size_t n, bool frees);

/* Follows an operation that the arena has done, and appends its accesses. `block` is what was taken or given back, as
 * granted, NULL when nothing fitted; `work` the receipt of this operation alone. */
void tla_list_in_memory_alloc(tla_list_in_memory *traffic, const tla_block *block, const tla_work *work);
void tla_list_in_memory_free(tla_list_in_memory *traffic, tla_block block);

/* The accesses since the last call of tla_list_in_memory_clear, in order; *count of them. */
const tla_list_access *tla_list_in_memory_accesses(const tla_list_in_memory *traffic, size_t *count);
void tla_list_in_memory_clear(tla_list_in_memory *traffic);

/* The slot of the first node, TLA_LIST_END when nothing is free. */
uint32_t tla_list_in_memory_head(const tla_list_in_memory *traffic);

#ifdef __cplusplus
}
#endif
#endif
