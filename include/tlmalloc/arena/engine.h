/* An engine that serves an arena: hardware in RTL, or firmware on a processor.
 *
 * The core decides, and the arena sends the same request to the engine. The engine's answer must equal the core's. The
 * engine's cycles are the operation's price (work.h), and replace the price of the receipt. Cycles of work after the
 * answer delay the next request (.cycles_behind).
 *
 * Only requests that reach the free list are sent to the engine. A front's own blocks and requests that fail before the
 * list is searched do not reach it. Neither does a request for more than the whole capacity; the receipt prices it. */
#ifndef TLMALLOC_ARENA_ENGINE_H
#define TLMALLOC_ARENA_ENGINE_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TLA_RTL_NODES = 1024,     /* nodes in the free list of an engine in RTL as built; a given engine may have fewer */
    TLA_RTL_BUDDIES = 1 << 22 /* maximum number of units that the buddies in RTL are built for */
};
#define TLA_RTL_UNITS ((UINT64_C(1) << 33) - 1) /* units that a list in RTL can count */
#define TLA_RTL_BINS (UINT64_C(15) << 28)       /* units that offset bins in RTL can count: the size of the last bin */

enum {
    TLA_FIRMWARE_NODES = 1024,  /* maximum number of separate free blocks of first fit in firmware, and of free and
                                   live blocks of offset bins */
    TLA_FIRMWARE_BUDDIES = 8192 /* maximum number of units of buddies in firmware */
};
#define TLA_FIRMWARE_UNITS (UINT64_C(1) << 62) /* units that first fit in firmware can count */
#define TLA_FIRMWARE_BINS (UINT64_C(15) << 28) /* units that offset bins in firmware can count */

/* Cycles of an instruction: `instruction` for each instruction, plus the cycles of its class. An access outside the
 * hart's memory may take longer; the owner of the hart charges that time. */
typedef struct tla_riscv_timing {
    uint32_t instruction;
    uint32_t load, store;
    uint32_t taken_branch; /* a taken conditional branch */
    uint32_t jump;         /* JAL, JALR */
    uint32_t multiply, divide;
} tla_riscv_timing;

/* Fills the table with the timing of Ibex: small configuration, memories that answer at once, stall cycles as
 * documented. Ibex is lowRISC's two-stage core; it is 32 bits wide, so the table describes only its class. The cycles:
 * 1; load and store 1; taken branch 2; jump 1; multiply 2; divide 36. */
void tla_riscv_timing_defaults(tla_riscv_timing *timing);

/* Sizes and offsets count units of the arena's alignment; offsets start at the arena's base. */
typedef struct tla_engine_request {
    bool give_back;  /* false: allocate `size` units; true: release `size` units at `offset` */
    uint64_t offset; /* 0 for an allocation */
    uint64_t size;   /* 1 .. capacity; for buddies a power of two */
    bool exact;      /* offset bins, only after a restart and before any release: allocate just `size` units from the
                        only free region, whatever its bin is and although no node is left. An arena in use is taken over
                        so */
} tla_engine_request;

typedef enum tla_engine_status {
    TLA_ENGINE_DONE,
    TLA_ENGINE_NO_BLOCK,  /* no free block serves the allocation */
    TLA_ENGINE_NOT_TAKEN, /* a part of the released range is already free; buddies and offset bins never receive such a
                             request */
    TLA_ENGINE_NO_NODE    /* the released range needs a node, but the list has no node left: the range stays allocated.
                             Offset bins: an allocation without a node */
} tla_engine_status;

typedef struct tla_engine_answer {
    tla_engine_status status;
    uint64_t offset;       /* offset of a successful allocation; meaningless in any other answer */
    uint64_t cycles;       /* cycles of the engine's clock from the request to the answer; at least 1 */
    uint64_t behind;       /* cycles after the answer in which the engine accepts no request */
    uint64_t instructions; /* of firmware, in these cycles; 0 for other engines */
} tla_engine_answer;

/* One engine, for one arena. Its maker fills this structure, and keeps its own data beside it. */
typedef struct tla_engine {
    const char *name;      /* for messages: "rtl_list_1c"; must live as long as the engine */
    tla_policy policy;     /* the policy of its placements */
    uint64_t capacity_max; /* maximum number of units */
    uint64_t nodes_max; /* maximum number of nodes in the free list (offset bins: and of live blocks); for buddies the
                           maximum number of blocks */
    void *state;        /* the maker's own data */
    /* Makes `capacity` units, 1 .. capacity_max, one free block (buddies: as few blocks as possible), and gives the
     * list `nodes` nodes, 1 .. nodes_max. Errors are the maker's, with a text. */
    tla_status (*restart)(void *state, uint64_t capacity, uint64_t nodes, tla_error *error);
    /* Serves one request. An engine that does not answer returns TLA_TIMEOUT or another error, with a text. It then
     * receives no request before a restart. */
    tla_status (*serve)(void *state, const tla_engine_request *request, tla_engine_answer *answer, tla_error *error);
    void (*destroy)(void *state);
} tla_engine;

/* Attaches an engine to an arena, and limits the nodes of its free list; the arena may be in use. With a NULL engine
 * the core serves alone, with the limit. `nodes` 0: as many as the engine has, or as many as needed. The arena then
 * owns the engine and destroys it. After a failure the caller still owns the engine, and the arena is unchanged.
 *
 * With a limit, a free or a cut in the middle of a block returns TLA_LIMIT when it needs a node and none is left.
 * Nothing has changed then, but the receipt still counts the walk. A batch of frees fails as a whole if it might run
 * out of nodes.
 *
 * Offset bins have a node for each region, free or live. With a limit, an alloc, or a growth that needs a node, returns
 * TLA_LIMIT while no node is left; tla_arena_last_error has the text. Offset bins that do not round never use one of
 * the nodes, as in their source. After a snapshot without live blocks, each range between two free blocks counts as one
 * live block.
 *
 * With an engine, the arena sends every alloc and free that reaches the list to the engine. A batch sends each
 * allocated block, and each run of adjacent released blocks. If the engine's answer differs from the core's, or is
 * missing, the call returns TLA_ENGINE_DIFFERS. The text of tla_arena_last_error then names the operation and both
 * answers, and the engine receives no more requests. Every later alloc returns TLA_ENGINE_DIFFERS and allocates
 * nothing. A later free returns the same error, but releases its block. A free that the core rejects is rejected as
 * before.
 *
 * TLA_UNSUPPORTED, with a text, for alignments above the arena's own (buddies: above the block's size, as granted), for
 * tla_arena_reserve and tla_arena_grow. Buddies also fail a contiguous batch with it, because the items are not buddy
 * blocks. After a restored snapshot the engine stays attached: it allocates everything (buddies: unit by unit) and
 * releases the free ranges.
 *
 * Errors of this call; *error (may be NULL) has a text:
 *
 * - TLA_UNSUPPORTED: the engine has another policy, or too few units or nodes
 * - TLA_UNSUPPORTED: a limit for buddies or TLSF, or buddies whose base is not a multiple of their largest block
 * - TLA_UNSUPPORTED: the arena already has an engine or a limit
 * - TLA_UNSUPPORTED: an engine for offset bins whose live blocks have unknown sizes: without validation, and more than
 *   one between two free blocks
 * - TLA_LIMIT: the arena has more free blocks (offset bins: free and live blocks) than nodes
 * - TLA_NO_HOST_MEMORY, or the engine's own error */
tla_status tla_arena_drive(tla_arena *arena, const tla_engine *engine, uint64_t nodes, tla_error *error);

/* Returns whether an arena has an engine or a limit. */
bool tla_arena_is_driven(const tla_arena *arena);

/* Returns the text of the first TLA_ENGINE_DIFFERS: how the engine's answer differs from the core's. NULL: no
 * difference so far. */
const tla_error *tla_arena_difference(const tla_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
