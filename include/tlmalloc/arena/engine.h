/* An engine that stands behind an arena: hardware in RTL, or firmware on a processor.
 *
 * The core decides, and the engine is asked the same: its answer must be the core's, and what it took, in cycles of its
 * clock, is the operation's price (work.h) in place of what the receipt would cost; what it does
 * behind its answer keeps the next request waiting (.cycles_behind). Only what reaches the free list is asked: what a
 * front serves from its own, and what is refused before the list is looked at, is not, nor is a request for more than
 * the whole capacity, which the receipt prices. */
#ifndef TLMALLOC_ARENA_ENGINE_H
#define TLMALLOC_ARENA_ENGINE_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TLA_RTL_NODES = 1024,     /* of the free list of an engine in RTL, as it is built: it may have fewer */
    TLA_RTL_BUDDIES = 1 << 22 /* units that the buddies in RTL are built for, at most */
};
#define TLA_RTL_UNITS ((UINT64_C(1) << 33) - 1) /* that a list in RTL can count */

enum {
    TLA_FIRMWARE_NODES = 1024,  /* free blocks that first fit in firmware keeps apart, at most */
    TLA_FIRMWARE_BUDDIES = 8192 /* units that buddies in firmware have, at most */
};
#define TLA_FIRMWARE_UNITS (UINT64_C(1) << 62) /* that first fit in firmware can count */

/* Cycles of an instruction: `instruction` for each, and what a class of them adds. What an access outside the hart's
 * memory takes beyond that is its owner's affair. */
typedef struct tla_riscv_timing {
    uint32_t instruction;
    uint32_t load, store;
    uint32_t taken_branch; /* a conditional branch that is taken */
    uint32_t jump;         /* JAL, JALR */
    uint32_t multiply, divide;
} tla_riscv_timing;

/* Fills the table with that of Ibex (lowRISC's two-stage core: 32 bits wide, hence only its class), small
 * configuration, memories that answer at once, by the stall cycles of its documentation: 1; load and store 1; taken
 * branch 2; jump 1; multiply 2; divide 36. */
void tla_riscv_timing_defaults(tla_riscv_timing *timing);

/* Sizes and offsets count units of the arena's alignment, offsets from the arena's base on. */
typedef struct tla_engine_request {
    bool give_back;  /* false: take `size` units; true: give back `size` units at `offset` */
    uint64_t offset; /* 0 of a take */
    uint64_t size;   /* 1 .. capacity; of buddies a power of two */
} tla_engine_request;

typedef enum tla_engine_status {
    TLA_ENGINE_DONE,
    TLA_ENGINE_NO_BLOCK,  /* no free block serves the take */
    TLA_ENGINE_NOT_TAKEN, /* some of the range that is given back is free already; buddies are not asked that */
    TLA_ENGINE_NO_NODE    /* the range that is given back needs a node of the list, and there is none: it stays taken */
} tla_engine_status;

typedef struct tla_engine_answer {
    tla_engine_status status;
    uint64_t offset; /* of a take that is done: where; of any other answer without a meaning */
    uint64_t cycles; /* of the engine's clock, from the request to the answer; at least 1 */
    uint64_t behind; /* cycles behind the answer in which the engine takes no request */
} tla_engine_answer;

/* One engine, for one arena. Its maker fills this, and keeps what it needs beside it. */
typedef struct tla_engine {
    const char *name;      /* for messages: "rtl_list_1c"; lives as long as the engine */
    tla_policy policy;     /* whose placements it makes */
    uint64_t capacity_max; /* units, at most */
    uint64_t nodes_max;    /* nodes of the free list that it has, at most; of buddies as many as there may be blocks */
    void *state;           /* the maker's */
    /* From now on `capacity` units, 1 .. capacity_max, are one free block (buddies: as few as can be), and the list has
     * `nodes` nodes, 1 .. nodes_max. Errors are the maker's, with a text. */
    tla_status (*restart)(void *state, uint64_t capacity, uint64_t nodes, tla_error *error);
    /* Serves one request. An engine that does not answer is TLA_TIMEOUT or whatever it is, with a text: it is not asked
     * again before a restart. */
    tla_status (*serve)(void *state, const tla_engine_request *request, tla_engine_answer *answer, tla_error *error);
    void (*destroy)(void *state);
} tla_engine;

/* Puts an engine behind an arena, and limits the nodes of its free list; the arena may be in use. A NULL engine: the
 * core alone, with the limit. `nodes` 0: as many as the engine has, or as are needed. The arena has the engine from
 * then on and destroys it; after a failure it is the caller's, and the arena as it was.
 *
 * With a limit a free, and a block that is cut in the middle, is TLA_LIMIT when the list has no node left for it;
 * nothing has changed then, and the receipt says the walk. A batch of frees is when that could be so.
 *
 * With an engine every alloc and free that reaches the list is asked of it; of a batch each block that is taken, and
 * each run of blocks that touch and are given back. When it answers otherwise than the core, or not at all, that call
 * is TLA_ENGINE_DIFFERS, tla_arena_last_error names the operation and both answers, and the engine is asked no more:
 * every later alloc is TLA_ENGINE_DIFFERS and takes nothing; a free is, too, but is done. A free that the core refuses
 * is refused as ever. TLA_UNSUPPORTED, with a text, are alignments above the arena's own (buddies: above the block's
 * size, as granted), tla_arena_reserve and tla_arena_grow, and of buddies a batch in one block, for its items are no
 * blocks of theirs; a snapshot that is restored goes on with the engine, which takes everything (buddies: unit by unit)
 * and gives back what is free.
 *
 * TLA_UNSUPPORTED: the engine has another policy, fewer units or nodes; a limit for buddies or TLSF; buddies whose base
 * is no multiple of their largest block; an arena that has an engine or a limit already. TLA_LIMIT: the arena has more
 * free blocks than nodes. TLA_NO_HOST_MEMORY; or what the engine says. *error (may be NULL) has a text. */
tla_status tla_arena_drive(tla_arena *arena, const tla_engine *engine, uint64_t nodes, tla_error *error);

/* Whether an arena has an engine or a limit. */
bool tla_arena_is_driven(const tla_arena *arena);

/* What the engine answered otherwise than the core, as the text of a TLA_ENGINE_DIFFERS; NULL: nothing so far. */
const tla_error *tla_arena_difference(const tla_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
