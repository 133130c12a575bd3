/* An address range and its free blocks.
 *
 * The reference policy is first fit by lowest offset with immediate coalescing, byte granular: the placements, the
 * failures and the node counts of ADR-0048 D1's list of (offset, size), sorted by offset and scanned from the front.
 * An arena holds no bytes: it says where they go. Not thread safe; one owner at a time. */
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

/* Which free block a request takes: one line for each policy, with its value and its name. The name is that of its
 * file in model/arena and of its table there (tla_NAME). Ties go to the lowest offset unless the policy says otherwise.
 *
 * Each has its own modelled engine, and its own receipt of what that engine does (work.h):
 * first, best, next and worst fit, first fit from the top: one list of the free blocks in offset order, nothing else.
 *     nodes_visited  nodes that the walk looks at, the one taken included: from the front (first), from the roving
 *                    pointer and around (next), from the back (top), all of them (worst; best, but for a block that
 *                    fits exactly, where the walk ends). All of them when nothing fits. tla_arena_reserve: from the
 *                    front (top: from the back) to the block that holds the range.
 *     insert_nodes   nodes that the ordered insert passes, from the front (top: from the back)
 *     probes         of a bisection of the list instead
 *     nodes_created  of a free that joins nothing, and of a block that is cut in the middle; nodes_released: of a block
 *                    taken whole, and of a free that joins two blocks
 * buddy: a list for every order, last in first out.
 *     nodes_visited  1, the head of a list; 0 when nothing fits
 *     probes         alloc: lists looked at, from the order of the request (or of its alignment) up; all up to the
 *                    order of the largest block that the range can hold when nothing fits. free: buddies looked at
 *     insert_nodes   0
 * TLSF: a list for every class, last in first out, and two levels of bitmaps; neighbours by boundary tags.
 *     nodes_visited  1, the head of a list; 0 when nothing fits; tla_arena_reserve as with first fit
 *     probes         alloc: bitmap words read: 1, or 3 when the class's own word has nothing; 2 when nothing fits
 *     insert_nodes   0 */
#define TLA_POLICIES(POLICY)                                                                                           \
    /* the lowest block that is large enough, its front (ADR-0048 D1) */                                               \
    POLICY(TLA_FIRST_FIT, first_fit)                                                                                   \
    /* the smallest block that is large enough, its front */                                                           \
    POLICY(TLA_BEST_FIT, best_fit)                                                                                     \
    /* as first fit, from where the last allocation ended, once around. A free that joins a block around that place    \
     * moves it to the front of the block; nothing else moves it */                                                    \
    POLICY(TLA_NEXT_FIT, next_fit)                                                                                     \
    /* the largest block, its front */                                                                                 \
    POLICY(TLA_WORST_FIT, worst_fit)                                                                                   \
    /* the highest block that is large enough, its end (tt-metal's L1) */                                              \
    POLICY(TLA_FIRST_FIT_TOP, first_fit_top)                                                                           \
    /* binary buddies (Knuth, TAOCP 1, 2.5): sizes are rounded up to powers of two, and the rounded size counts as     \
     * used. The smallest order that has a block, the one freed last. A range that is not a power of two is several    \
     * blocks */                                                                                                       \
    POLICY(TLA_BUDDY, buddy)                                                                                           \
    /* two-level segregated fit (Masmano et al., ECRTS 2004): constant time. The block freed last in the lowest of 32  \
     * classes per power of two in which every block is large enough, so that a request can fail although a block of   \
     * its size is free */                                                                                             \
    POLICY(TLA_TLSF, tlsf)

#define TLA_POLICY_VALUE(value, name) value,
typedef enum tla_policy { TLA_POLICIES(TLA_POLICY_VALUE) TLA_POLICY_COUNT } tla_policy;
#undef TLA_POLICY_VALUE

/* The name of a policy in configuration files and on the command line, as TLA_POLICIES has it ("first_fit"); NULL for
 * any other value. */
const char *tla_policy_name(tla_policy policy);

/* The policy of a name; false (and *policy untouched) when there is none such. */
bool tla_policy_from_name(const char *name, tla_policy *policy);

typedef struct tla_arena_config {
    uint64_t base;     /* first offset; a multiple of alignment */
    uint64_t capacity; /* bytes; base + capacity must not exceed 2^63 */
    tla_policy policy;
    uint64_t alignment; /* every size is rounded up to a multiple of it and every offset is one; a power of two, 0 = 1.
                           LMCache's ALIGN_BYTES. A capacity that is no multiple leaves a tail that is never taken */
    bool validate;      /* false trusts what callers say when they free (ADR-0048 D2); true checks it (A2) */
} tla_arena_config;

/* A range of an arena. */
typedef struct tla_block {
    uint64_t offset;
    uint64_t nbytes;
} tla_block;

typedef struct tla_arena_stats {
    uint64_t capacity;     /* bytes */
    uint64_t used;         /* bytes in live blocks, as granted (rounded up) */
    uint64_t peak_used;    /* the largest that `used` has been between two calls */
    uint64_t free;         /* capacity - used */
    uint64_t largest_free; /* bytes of the largest free block; 0 when nothing is free */
    uint64_t free_blocks;  /* number of free blocks */
} tla_arena_stats;

/* Makes an arena whose whole range is one free block (none when the capacity is 0; several for the buddies).
 * TLA_INVALID_ARGUMENT for an unknown policy, a range past 2^63, an alignment that is no power of two or a base that is
 * no multiple of it, TLA_NO_HOST_MEMORY; *arena is NULL then. */
tla_status tla_arena_create(const tla_arena_config *config, tla_arena **arena);

/* Gives back the arena's own memory; NULL is allowed. Live blocks are not an error here: see tla_arena_check_leaks. */
void tla_arena_destroy(tla_arena *arena);

/* The configuration as it is now: capacity grows, alignment is never 0. */
tla_arena_config tla_arena_get_config(const tla_arena *arena);

/* Takes nbytes (1 .. 2^63) from the block that the policy chooses. On success *block is what was taken, its size
 * rounded up as the alignment and the policy do, and work (may be NULL) is added to. TLA_INVALID_ARGUMENT for 0 bytes
 * (what ADR-0048's list does with them is an accident) and for more than 2^63; TLA_EXHAUSTED when fewer than nbytes are
 * free, else TLA_FRAGMENTED, when nothing fits, and then nothing is taken: never a part. A failed search also costs:
 * work is added to then too. May call the host's malloc when the list grows: TLA_NO_HOST_MEMORY, and work is as it was.
 */
tla_status tla_arena_alloc(tla_arena *arena, uint64_t nbytes, tla_block *block, tla_work *work);

/* The size of the block that a request of nbytes is given: rounded up as the alignment and the policy do; 0 for a size
 * that is never served. */
uint64_t tla_arena_granted(const tla_arena *arena, uint64_t nbytes);

/* As tla_arena_alloc, with an offset that is a multiple of `alignment` (a power of two; else TLA_INVALID_ARGUMENT) and
 * of the arena's own. A block fits when the aligned range lies inside it; what is skipped in front of it stays free. */
tla_status tla_arena_alloc_aligned(tla_arena *arena, uint64_t nbytes, uint64_t alignment, tla_block *block,
                                   tla_work *work);

/* Takes exactly this range (its size rounded up), wherever the policy would have gone. TLA_INVALID_ARGUMENT for 0 bytes
 * or an offset off the alignment, TLA_OUT_OF_RANGE, TLA_OVERLAP when any byte of it is not free, TLA_UNSUPPORTED when
 * the buddies have no such block, TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_arena_reserve(tla_arena *arena, tla_block block, tla_work *work);

/* Gives a block back and joins it with free neighbours. The caller says offset and size (ADR-0048 D2 trusts them); the
 * size is rounded up as it was on allocation. TLA_OUT_OF_RANGE when the range is not inside the arena,
 * TLA_INVALID_ARGUMENT for 0 bytes, TLA_NOT_ALLOCATED when any byte of it is free already (a double free); with
 * validation also TLA_SIZE_MISMATCH for a block that is live with another size or a part of one, TLA_OVERLAP for a
 * range that touches several live blocks or free and live bytes. Nothing is changed then, and tla_arena_last_error says
 * more. A list of free blocks that grows may call the host's malloc: TLA_NO_HOST_MEMORY; the block is live then as
 * before, and may be freed again later. */
tla_status tla_arena_free(tla_arena *arena, tla_block block, tla_work *work);

/* The two batches that LMCache has had. */
typedef enum tla_batch {
    TLA_BATCH_CONTIGUOUS, /* one block for all, cut up: item i at offset + i * size (LMCache before 2026-03, seed 003)
                           */
    TLA_BATCH_CARVED      /* item by item from as many free blocks as it takes (LMCache since PR #2767) */
} tla_batch;

/* Takes n blocks of nbytes each, all or none; blocks[0..n) in the order in which they were taken. n = 0 succeeds and
 * does nothing. Errors as tla_arena_alloc, where n * nbytes are what is asked for; past 2^63 that is TLA_EXHAUSTED. A
 * contiguous batch costs one search; a carved one costs one walk with first fit, and one search an item with the other
 * policies. A batch that is refused costs what a refused request costs: of all bytes if contiguous, of one item if
 * carved. */
tla_status tla_arena_alloc_batch(tla_arena *arena, uint64_t nbytes, size_t n, tla_batch kind, tla_block *blocks,
                                 tla_work *work);

/* Whether n blocks of nbytes each could be taken one after the other now. */
bool tla_arena_fits(const tla_arena *arena, uint64_t nbytes, size_t n);

/* Gives n blocks back, all or none: sorts blocks[] in place by offset, joins what touches, and does one list operation
 * a run (LMCache's batched_free; the buddies go block by block). Errors as tla_arena_free (TLA_NO_HOST_MEMORY, too: all
 * blocks are live then), and TLA_NOT_ALLOCATED when two of them overlap. */
tla_status tla_arena_free_batch(tla_arena *arena, tla_block *blocks, size_t n, tla_work *work);

/* Adds nbytes (rounded up) at the end, joined with the last block when that is free (LMCache's sbrk).
 * TLA_INVALID_ARGUMENT for 0 bytes, TLA_OUT_OF_RANGE past 2^63, TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_arena_grow(tla_arena *arena, uint64_t nbytes, tla_work *work);

tla_arena_stats tla_arena_get_stats(const tla_arena *arena);

/* External fragmentation in permille: 1000 * (1 - largest / free), rounded down; 0 when nothing is free. */
uint64_t tla_arena_fragmentation_permille(const tla_arena_stats *stats);

/* Copies up to max free blocks, in offset order, beginning with the first at or above `from`; returns how many. */
size_t tla_arena_free_blocks(const tla_arena *arena, uint64_t from, tla_block *blocks, size_t max);

/* Says why a request failed, for a person (ADR-0048 D6): requested, total free, largest free block, and so whether it
 * is fragmentation or exhaustion; and the size of block that was looked for, where that is more than requested. `what`
 * names the arena in the text ("HBM of sip0.cube0.pe3"). Returns the status. */
tla_status tla_arena_explain(const tla_arena *arena, const char *what, uint64_t nbytes, tla_error *error);

/* Bytes that come back with these live blocks of the arena (each as asked for or as granted), if a request of nbytes is
 * served after they were freed in this order; 0 if it is not, and where the host has no memory to find out. Nothing is
 * changed. O(n log n). */
uint64_t tla_arena_serves_after(const tla_arena *arena, const tla_block *returned, size_t count, uint64_t nbytes);

/* The text of the last call on this arena that was refused for its arguments or by validation (not for lack of space:
 * tla_arena_explain). status is TLA_OK when there was none. */
const tla_error *tla_arena_last_error(const tla_arena *arena);

/* ---- validation (ADR-0048 A2), with config.validate ---- */

/* Who asks, in the caller's own numbers; kept with each block, so that an error can name it. */
typedef struct tla_owner {
    uint64_t tag;  /* what the block is for: a tensor, a command */
    uint64_t who;  /* the requester: a core, a process, an initiator */
    uint64_t time; /* when: picoseconds of the model's time, or whatever the caller counts */
} tla_owner;

/* Who the following calls on this arena are made for; {0, 0, 0} until then. Costs nothing without validation. */
void tla_arena_set_owner(tla_arena *arena, tla_owner owner);

/* The live block that contains an offset and its owner (may be NULL). TLA_NOT_ALLOCATED when there is none,
 * TLA_UNSUPPORTED without validation. O(log n). */
tla_status tla_arena_find(const tla_arena *arena, uint64_t offset, tla_block *block, tla_owner *owner);

/* TLA_LEAK when anything is live: bytes and, with validation, how many blocks and the owners of the first. To be called
 * before tla_arena_destroy. */
tla_status tla_arena_check_leaks(const tla_arena *arena, tla_error *error);

/* Looks at everything, O(n): free + used = capacity, free blocks inside, in order, disjoint, no two neighbours left
 * apart (the buddies excepted), and with validation disjoint from the live ones. TLA_OVERLAP says that the trust of D2
 * was misplaced, or that this library has a defect; TLA_NO_HOST_MEMORY. */
tla_status tla_arena_check(const tla_arena *arena, tla_error *error);

/* --- Fragmentation ---
 *
 * How broken up the free space of an arena is, beyond tla_arena_fragmentation_permille. */

/* Free blocks by size: bucket i holds those of 2^i .. 2^(i+1) - 1 bytes. */
typedef struct tla_free_histogram {
    uint64_t blocks[64];
    uint64_t nbytes[64];
} tla_free_histogram;

/* Fills *histogram. O(n). */
void tla_arena_histogram(const tla_arena *arena, tla_free_histogram *histogram);

/* Gorman's fragmentation index for a request of nbytes (> 0), in permille, as Linux computes it (mm/vmstat.c): -1000
 * when the request would succeed; otherwise towards 0 it fails for lack of memory, towards 1000 because of
 * fragmentation: 1000 - (1000 + 1000 * free / nbytes) / free_blocks, not below 0. */
int tla_fragmentation_index(const tla_arena *arena, uint64_t nbytes);

/* Gorman's unusable free space index in permille: the share of the free bytes that lies in blocks smaller than nbytes;
 * 0 when nothing is free. O(n). */
unsigned tla_unusable_permille(const tla_arena *arena, uint64_t nbytes);

/* --- Snapshots ---
 *
 * The state of an arena as text, so that a platform can start with an aged heap.
 *
 *     tlmalloc-arena 1          format and its version
 *     policy first_fit
 *     base 0                    bytes, decimal, as all numbers
 *     capacity 65536
 *     alignment 1
 *     peak 8192
 *     cursor 4096               where the next search of next fit begins; 0 for the others
 *     free 1                    how many lines follow: offset nbytes, in the order in which the placement keeps them
 *     8192 57344
 *     live 1                    only with validation: offset nbytes tag who time, by offset
 *     0 8192 7 0 120000
 *     end */

/* Writes the snapshot and a final 0, as snprintf does: at most room bytes, and *length is the length of the whole text
 * without the 0. TLA_LIMIT when it did not fit (the text is cut then), TLA_NO_HOST_MEMORY. */
tla_status tla_arena_snapshot(const tla_arena *arena, char *text, size_t room, size_t *length);

/* The configuration that a snapshot was taken with; validate says whether it lists live blocks. TLA_SYNTAX with the
 * line in error (may be NULL). */
tla_status tla_arena_snapshot_config(const char *text, size_t length, tla_arena_config *config, tla_error *error);

/* Replaces the state of an arena with a snapshot's. The range must be the same (TLA_INVALID_ARGUMENT); the policy may
 * be another, which then takes over the free blocks. The same policy continues exactly as the original would have.
 * TLA_SYNTAX for damaged text, with line, what was found and what was expected; TLA_UNSUPPORTED when the arena
 * validates and the snapshot has no live blocks, or when the snapshot's sizes are off the arena's alignment;
 * TLA_NO_HOST_MEMORY. The arena is as it was then. */
tla_status tla_arena_restore(tla_arena *arena, const char *text, size_t length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
