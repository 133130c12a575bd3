/* An address range and its free blocks.
 *
 * The reference policy is first fit by lowest offset with immediate coalescing, at byte granularity. Its placements,
 * failures and node counts are those of ADR-0048 D1: a list of (offset, size), sorted by offset and scanned from the
 * front. An arena holds no bytes; it decides only where blocks lie. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_ARENA_ARENA_H
#define TLMALLOC_ARENA_ARENA_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_arena tla_arena;

/* The policies: which free block serves a request. The list has one line for each policy, with its value and its name.
 * The name is also the name of the policy's file in model/arena and of its table there (tla_NAME). Ties select the
 * lowest offset unless the policy states otherwise.
 *
 * Each policy has its own modelled engine. Its receipt counts the work of that engine (work.h).
 *
 * First, best, next and worst fit, and first fit from the top, keep one list of the free blocks in offset order,
 * nothing else.
 *     nodes_visited   nodes that the walk visits, including the node that it allocates from. The walk starts at the
 *                     front (first), at the roving pointer and wraps around (next), or at the back (top). Worst fit
 *                     visits all nodes; so does best fit, except that an exact fit ends its walk. When nothing fits,
 *                     all nodes count. A walk of tla_arena_reserve starts at the front (top: at the back) and ends at
 *                     the block that holds the range.
 *     insert_nodes    nodes that the ordered insert passes, from the front (top: from the back)
 *     probes          probes of a bisection of the list, the alternative to that insert
 *     nodes_created   by a free that joins no neighbour, and by a block that is cut in the middle
 *     nodes_released  by a block that is allocated whole, and by a free that joins two blocks
 *
 * Buddy keeps one list for each order, last in first out.
 *     nodes_visited   1, the head of a list; 0 when nothing fits
 *     probes          alloc: lists probed, from the order of the request (or of its alignment) upwards. When nothing
 *                     fits, all lists up to the order of the largest block that the range can hold. Free: buddies
 *                     probed
 *     insert_nodes    0
 *
 * TLSF keeps one list for each class, last in first out, and two levels of bitmaps. It finds neighbours by boundary
 * tags.
 *     nodes_visited   1, the head of a list; 0 when nothing fits; tla_arena_reserve as with first fit
 *     probes          alloc: bitmap words read: 1, or 3 when the class's own word is empty; 2 when nothing fits
 *     insert_nodes    0
 *
 * Both kinds of offset bins keep one stack for each bin, two levels of bitmaps, and a node for each region, free or
 * live, with links to its neighbours. A served request counts in allocs, a request that fails does not.
 *     nodes_visited   1, the top of a stack; 0 when nothing fits
 *     probes          alloc: bitmap words read: the word of the bin's group if the group has a region; if that has no
 *                     bin from there on, the word of groups and the word of the next group. 0 without a node
 *     bin_searches    alloc: 1, also when nothing fits; 0 without a node
 *     splits, merges  regions that an alloc leaves free, and free neighbours that a free joins
 *     insert_nodes    0 */
#define TLA_POLICIES(POLICY)                                                                                           \
    /* the lowest block that is large enough, its front (ADR-0048 D1) */                                               \
    POLICY(TLA_FIRST_FIT, first_fit)                                                                                   \
    /* the smallest block that is large enough, its front */                                                           \
    POLICY(TLA_BEST_FIT, best_fit)                                                                                     \
    /* like first fit, but the walk starts where the last allocation ended and wraps around once. A free that joins a  \
     * block around that place moves the place to the front of the block; no other operation moves it */               \
    POLICY(TLA_NEXT_FIT, next_fit)                                                                                     \
    /* the largest block, its front */                                                                                 \
    POLICY(TLA_WORST_FIT, worst_fit)                                                                                   \
    /* the highest block that is large enough, its end (tt-metal's L1) */                                              \
    POLICY(TLA_FIRST_FIT_TOP, first_fit_top)                                                                           \
    /* binary buddies (Knuth, TAOCP 1, 2.5). Sizes are rounded up to powers of two, and the rounded size counts as     \
     * used. The policy takes the most recently freed block of the smallest order that has a block. A range that is    \
     * not a power of two is several blocks */                                                                         \
    POLICY(TLA_BUDDY, buddy)                                                                                           \
    /* two-level segregated fit (Masmano et al., ECRTS 2004), in constant time. Each power of two has 32 classes. The  \
     * policy takes the most recently freed block of the lowest class in which every block is large enough. A request  \
     * can therefore fail although a block of its size is free */                                                      \
    POLICY(TLA_TLSF, tlsf)                                                                                             \
    /* OffsetAllocator (Aaltonen, 2023), in constant time. Each power of two has 8 bins. The policy takes the front of \
     * the region that entered the lowest bin last in which every region is large enough. Its units are 2^k times the  \
     * alignment, so that the range has at most 4,026,531,840 units. It refuses other alignments and given ranges */   \
    POLICY(TLA_OFFSET_BINS, offset_bins)                                                                               \
    /* the same; sizes are rounded up to the size of their bin, and the rounded size counts as used (Mooncake) */      \
    POLICY(TLA_OFFSET_BINS_ROUNDED, offset_bins_rounded)

#define TLA_POLICY_VALUE(value, name) value,
typedef enum tla_policy { TLA_POLICIES(TLA_POLICY_VALUE) TLA_POLICY_COUNT } tla_policy;
#undef TLA_POLICY_VALUE

/* Returns the name of a policy in configuration files and on the command line, as TLA_POLICIES has it ("first_fit");
 * NULL for any other value. */
const char *tla_policy_name(tla_policy policy);

/* Finds the policy with this name. Returns false, and leaves *policy unchanged, for an unknown name. */
bool tla_policy_from_name(const char *name, tla_policy *policy);

/* Returns whether arenas of this policy allocate given ranges (tla_arena_reserve): false for offset bins. */
bool tla_policy_takes_ranges(tla_policy policy);

/* Returns the alignment of an arena of this policy and capacity whose configuration has `alignment` (a power of two):
 * a multiple of it for offset bins of many units, else itself. */
uint64_t tla_policy_unit(tla_policy policy, uint64_t alignment, uint64_t capacity);

typedef struct tla_arena_config {
    uint64_t base;     /* first offset; a multiple of alignment */
    uint64_t capacity; /* bytes; base + capacity must not exceed 2^63 */
    tla_policy policy;
    uint64_t alignment; /* sizes are rounded up to a multiple of it, and offsets are multiples of it; a power of two, 0
                           = 1. LMCache's ALIGN_BYTES. If the capacity is not a multiple, the tail is never allocated.
                           Offset bins raise it to their unit, which tla_arena_get_config returns */
    bool validate;      /* false: frees trust the caller's range (ADR-0048 D2); true: they check it (A2) */
} tla_arena_config;

/* A range of an arena. */
typedef struct tla_block {
    uint64_t offset;
    uint64_t nbytes;
} tla_block;

typedef struct tla_arena_stats {
    uint64_t capacity;     /* bytes */
    uint64_t used;         /* bytes in live blocks, as granted (rounded up) */
    uint64_t peak_used;    /* maximum of `used` over all states between two calls */
    uint64_t free;         /* capacity - used */
    uint64_t largest_free; /* bytes of the largest free block; 0 when nothing is free */
    uint64_t free_blocks;  /* number of free blocks */

    /* As the modelled allocator itself can report them. They differ with offset bins alone: the largest is the size of
     * the highest bin that has a region, and both are 0 while no node is left. */
    uint64_t proven_free, proven_largest;
} tla_arena_stats;

/* Creates an arena whose whole range is one free block (no block for capacity 0; several for buddies). Returns
 * TLA_INVALID_ARGUMENT for an unknown policy, or for a range past 2^63. The same error reports an alignment that is not
 * a power of two, and a base that is not a multiple of it. Returns TLA_NO_HOST_MEMORY without host memory. After an
 * error *arena is NULL. */
tla_status tla_arena_create(const tla_arena_config *config, tla_arena **arena);

/* Releases the arena's own memory; NULL is allowed. Live blocks are not an error here: see tla_arena_check_leaks. */
void tla_arena_destroy(tla_arena *arena);

/* Returns the current configuration: the capacity includes growth, and the alignment is never 0. */
tla_arena_config tla_arena_get_config(const tla_arena *arena);

/* Allocates nbytes (1 .. 2^63) from the block that the policy chooses. On success *block is the allocated range; its
 * size is rounded up by the alignment and the policy. The call adds its cost to work (may be NULL).
 *
 * TLA_INVALID_ARGUMENT for 0 bytes (ADR-0048's list handles them by accident) and for more than 2^63. When nothing
 * fits, TLA_EXHAUSTED if fewer than nbytes are free, else TLA_FRAGMENTED; the call then allocates nothing, not even a
 * part. TLA_LIMIT when a limit of nodes is reached (engine.h). A failed search adds its cost to work too. A growing
 * list may call the host's malloc: TLA_NO_HOST_MEMORY leaves work unchanged. */
tla_status tla_arena_alloc(tla_arena *arena, uint64_t nbytes, tla_block *block, tla_work *work);

/* Returns the block size that a request of nbytes receives, rounded up by the alignment and the policy. Returns 0 for a
 * size that no request can have. */
uint64_t tla_arena_granted(const tla_arena *arena, uint64_t nbytes);

/* Like tla_arena_alloc, at an offset that is a multiple of `alignment` and of the arena's own alignment. `alignment` is
 * a power of two; else TLA_INVALID_ARGUMENT. A block fits when the aligned range lies inside it. The skipped bytes in
 * front of the range stay free. Offset bins return TLA_UNSUPPORTED for an alignment above the arena's own. */
tla_status tla_arena_alloc_aligned(tla_arena *arena, uint64_t nbytes, uint64_t alignment, tla_block *block,
                                   tla_work *work);

/* Allocates exactly this range (its size rounded up), whichever range the policy would choose. Errors:
 *
 * - TLA_INVALID_ARGUMENT for 0 bytes or a misaligned offset
 * - TLA_OUT_OF_RANGE when the range is not inside the arena
 * - TLA_OVERLAP when any byte of the range is not free
 * - TLA_UNSUPPORTED when buddies have no such block, and with offset bins
 * - TLA_NO_HOST_MEMORY
 *
 * After an error nothing has changed. */
tla_status tla_arena_reserve(tla_arena *arena, tla_block block, tla_work *work);

/* Releases a block and joins it with free neighbours. The caller passes offset and size (ADR-0048 D2 trusts both); the
 * size is rounded up as it was on allocation. Errors:
 *
 * - TLA_OUT_OF_RANGE when the range is not inside the arena
 * - TLA_INVALID_ARGUMENT for 0 bytes
 * - TLA_NOT_ALLOCATED when any byte of the range is already free (a double free)
 * - with validation, TLA_SIZE_MISMATCH when the range is a live block with another size, or a part of a block
 * - with validation, TLA_OVERLAP when the range touches several live blocks, or free and live bytes
 *
 * After these errors nothing has changed, and tla_arena_last_error has the details. A growing list of free blocks may
 * call the host's malloc. After TLA_NO_HOST_MEMORY the block is still live, and the caller may free it again later. */
tla_status tla_arena_free(tla_arena *arena, tla_block block, tla_work *work);

/* The two kinds of batches that LMCache has had. */
typedef enum tla_batch {
    TLA_BATCH_CONTIGUOUS, /* one block for all items, cut up: item i at offset + i * size (LMCache before 2026-03, seed
                             003) */
    TLA_BATCH_CARVED      /* item by item from as many free blocks as needed (LMCache since PR #2767) */
} tla_batch;

/* Allocates n blocks of nbytes each, all or none; blocks[0..n) are in the order of allocation. n = 0 succeeds and does
 * nothing. Errors are those of tla_arena_alloc for a request of n * nbytes; past 2^63 the error is TLA_EXHAUSTED.
 * Offset bins return TLA_UNSUPPORTED for a contiguous batch of several blocks.
 *
 * A contiguous batch costs one search. A carved batch costs one walk with first fit, and one search per item with the
 * other policies. A failed batch costs as much as a failed request: for all bytes if contiguous, for one item if
 * carved. */
tla_status tla_arena_alloc_batch(tla_arena *arena, uint64_t nbytes, size_t n, tla_batch kind, tla_block *blocks,
                                 tla_work *work);

/* Returns whether n allocations of nbytes each, one after the other, would succeed now. */
bool tla_arena_fits(const tla_arena *arena, uint64_t nbytes, size_t n);

/* Releases n blocks, all or none. Sorts blocks[] in place by offset, joins adjacent blocks, and does one list operation
 * per run (LMCache's batched_free; buddies and offset bins release block by block). Errors are those of tla_arena_free;
 * after TLA_NO_HOST_MEMORY, too, all blocks are live. TLA_NOT_ALLOCATED also when two of the blocks overlap. */
tla_status tla_arena_free_batch(tla_arena *arena, tla_block *blocks, size_t n, tla_work *work);

/* Adds nbytes (rounded up) at the end, and joins them with the last block if that is free (LMCache's sbrk).
 * TLA_INVALID_ARGUMENT for 0 bytes, TLA_OUT_OF_RANGE past 2^63, TLA_NO_HOST_MEMORY; after an error nothing has
 * changed. */
tla_status tla_arena_grow(tla_arena *arena, uint64_t nbytes, tla_work *work);

tla_arena_stats tla_arena_get_stats(const tla_arena *arena);

/* External fragmentation in permille: 1000 * (1 - largest / free), rounded down; 0 when nothing is free. */
uint64_t tla_arena_fragmentation_permille(const tla_arena_stats *stats);

/* Copies up to max free blocks, in offset order, starting with the first at or above `from`. Returns the number of
 * copied blocks. */
size_t tla_arena_free_blocks(const tla_arena *arena, uint64_t from, tla_block *blocks, size_t max);

/* Writes a readable explanation of a failed request (ADR-0048 D6): requested bytes, total free, largest free block, and
 * hence fragmentation or exhaustion. If the search needed a larger block than requested, the text includes that size.
 * `what` names the arena in the text ("HBM of sip0.cube0.pe3"). Returns the status. */
tla_status tla_arena_explain(const tla_arena *arena, const char *what, uint64_t nbytes, tla_error *error);

/* The call assumes that these live blocks are freed in this order; each has its requested or its granted size. If a
 * request of nbytes would then succeed, it returns the bytes that those frees release. It returns 0 if the request
 * would still fail, or if the host has no memory to find out. Changes nothing. O(n log n). */
uint64_t tla_arena_serves_after(const tla_arena *arena, const tla_block *returned, size_t count, uint64_t nbytes);

/* The text of the last call on this arena that failed because of its arguments or validation. For a lack of space see
 * tla_arena_explain. status is TLA_OK when no call has failed. */
const tla_error *tla_arena_last_error(const tla_arena *arena);

/* ---- validation (ADR-0048 A2), with config.validate ---- */

/* The owner of a block, in the caller's own numbers. The arena keeps it with each block, so that errors can name it. */
typedef struct tla_owner {
    uint64_t tag;  /* the block's purpose: a tensor, a command */
    uint64_t who;  /* the requester: a core, a process, an initiator */
    uint64_t time; /* the time: picoseconds of the model's time, or another count of the caller's */
} tla_owner;

/* Sets the requester of the following calls on this arena; {0, 0, 0} by default. It becomes the owner of the blocks
 * that they allocate, and errors of frees name it beside the owner. Costs nothing without validation. */
void tla_arena_set_owner(tla_arena *arena, tla_owner owner);

/* Finds the live block that contains an offset, and its owner (may be NULL). TLA_NOT_ALLOCATED when no live block
 * contains the offset, TLA_UNSUPPORTED without validation. O(log n). */
tla_status tla_arena_find(const tla_arena *arena, uint64_t offset, tla_block *block, tla_owner *owner);

/* Returns TLA_LEAK when any block is live. The text has the bytes and, with validation, the number of blocks and the
 * owners of the first ones. Call it before tla_arena_destroy. */
tla_status tla_arena_check_leaks(const tla_arena *arena, tla_error *error);

/* Checks all invariants, O(n). The sum free + used equals the capacity. Free blocks lie inside the arena, in order and
 * disjoint. No two free neighbours are left unjoined (except buddies). With validation, free blocks are disjoint from
 * live blocks. TLA_OVERLAP means that D2's trust in callers was misplaced, or that this library has a defect.
 * TLA_NO_HOST_MEMORY without host memory. */
tla_status tla_arena_check(const tla_arena *arena, tla_error *error);

/* --- Fragmentation ---
 *
 * The fragmentation of an arena's free space, beyond tla_arena_fragmentation_permille. */

/* Free blocks by size: bucket i counts blocks of 2^i .. 2^(i+1) - 1 bytes. */
typedef struct tla_free_histogram {
    uint64_t blocks[64];
    uint64_t nbytes[64];
} tla_free_histogram;

/* Fills *histogram. O(n). */
void tla_arena_histogram(const tla_arena *arena, tla_free_histogram *histogram);

/* Returns Gorman's fragmentation index for a request of nbytes (> 0), in permille, as Linux computes it (mm/vmstat.c).
 * -1000 means that the request would succeed. Otherwise values near 0 indicate a lack of memory, and values near 1000
 * fragmentation: 1000 - (1000 + 1000 * free / nbytes) / free_blocks, not below 0. */
int tla_fragmentation_index(const tla_arena *arena, uint64_t nbytes);

/* Returns Gorman's unusable free space index in permille: the fraction of the free bytes in blocks smaller than nbytes;
 * 0 when nothing is free. O(n). */
unsigned tla_unusable_permille(const tla_arena *arena, uint64_t nbytes);

/* --- Snapshots ---
 *
 * The state of an arena as text, so that a platform can start with an aged heap:
 *
 *     tlmalloc-arena 1
 *     policy first_fit
 *     base 0
 *     capacity 65536
 *     alignment 1
 *     peak 8192
 *     cursor 4096
 *     free 1
 *     8192 57344
 *     live 1
 *     0 8192 7 0 120000
 *     end
 *
 * - The first line has the format and its version. All numbers are decimal; sizes and offsets are bytes.
 * - The cursor is the start of the next search of next fit; 0 for the other policies.
 * - The number after "free" counts the lines that follow. Each is "offset nbytes", in the placement's own order.
 * - The lines of "live" exist only with validation. Each is "offset nbytes tag who time", sorted by offset. */

/* Writes the snapshot and a final 0, as snprintf does: at most room bytes. *length is the length of the whole text
 * without the 0. TLA_LIMIT when the text did not fit (it is cut), TLA_NO_HOST_MEMORY. */
tla_status tla_arena_snapshot(const tla_arena *arena, char *text, size_t room, size_t *length);

/* Reads the configuration of a snapshot. In it, validate is true if the snapshot lists live blocks. TLA_SYNTAX with the
 * line in error (may be NULL). */
tla_status tla_arena_snapshot_config(const char *text, size_t length, tla_arena_config *config, tla_error *error);

/* Replaces the state of an arena with that of a snapshot. The range must be the same (TLA_INVALID_ARGUMENT). The policy
 * may differ; it then takes over the free blocks. The same policy continues exactly as the original arena would have.
 *
 * TLA_SYNTAX for damaged text, with the line, the found text and the expected text. TLA_UNSUPPORTED when the arena
 * validates but the snapshot has no live blocks, or when the snapshot's sizes do not fit the arena's alignment.
 * TLA_NO_HOST_MEMORY. After an error the arena is unchanged. */
tla_status tla_arena_restore(tla_arena *arena, const char *text, size_t length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
