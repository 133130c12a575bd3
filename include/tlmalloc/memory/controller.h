/* The decisions of a memory controller: commands on its memories, the references, pins and keys of their blocks, and
 * faults by plan. It also decides work that is due without a command. The caller (a module, a host of firmware, a
 * replay) executes the decisions and charges for their receipts.
 *
 * The memories are created with the first command (KernBench ADR-0048 D5). The core has no clock: times are the
 * caller's picoseconds, and ascend. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_MEMORY_CONTROLLER_H
#define TLMALLOC_MEMORY_CONTROLLER_H

#include "tlmalloc/base/work.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/dram/fault_injection.h"
#include "tlmalloc/memory/object_store.h"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/stack/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TLA_CONTROLLER_NO_OWNER UINT32_MAX

/* Creates the engine that walks the free list of a memory with this placement and this number of units of its
 * alignment, for tla_pe_memory_drive. It leaves *engine unchanged if the receipt alone gives the cost of a command.
 * Errors have a text. */
typedef struct tla_engine_maker {
    tla_status (*make)(void *context, tla_policy placement, uint64_t units, tla_engine *engine, tla_error *error);
    void *context;
} tla_engine_maker;

/* How blocks move (controller.move). */
typedef enum tla_move_mode {
    TLA_MOVE_OFF,        /* MOVE, BIND and UNBIND are TLA_UNSUPPORTED */
    TLA_MOVE_STOP,       /* accesses wait while the block is copied */
    TLA_MOVE_CONCURRENT, /* the block is copied before, and accesses wait while its dirty chunks are copied again */
    TLA_MOVE_MODE_COUNT
} tla_move_mode;

/* Name as in configuration files, "off", "stop", "concurrent"; NULL for an unknown value. */
const char *tla_move_mode_name(tla_move_mode mode);

typedef struct tla_move_config {
    tla_move_mode mode;
    uint64_t chunk;  /* bytes that are copied at once, 1 .. UINT32_MAX */
    uint32_t rounds; /* concurrent: how often dirty chunks are copied again before accesses wait */
} tla_move_config;

/* When the controller moves blocks to make a hole (controller.compaction). */
typedef enum tla_compaction_mode {
    TLA_COMPACTION_OFF,
    TLA_COMPACTION_ON_DEMAND,  /* an ALLOC that would fail as TLA_FRAGMENTED waits for the moves that create its hole */
    TLA_COMPACTION_BACKGROUND, /* tla_controller_compact moves blocks while a memory is fragmented */
    TLA_COMPACTION_MODE_COUNT
} tla_compaction_mode;

/* Name as in configuration files, "off", "on_demand", "background"; NULL for an unknown value. */
const char *tla_compaction_mode_name(tla_compaction_mode mode);

/* Sets of blocks, and places of blocks, that a search for moves tries: some milliseconds of the host. */
enum { TLA_COMPACTION_NODES = 20000 };

typedef struct tla_compaction_config {
    tla_compaction_mode mode;
    uint64_t threshold;  /* background: the largest fragmentation that is left alone, in permille, below 1000
                            (tla_arena_fragmentation_permille) */
    const char *planner; /* "exact", "window", "slide" (model/memory/README.md); NULL: exact */
    uint64_t nodes;      /* limit of a search for moves; 0: TLA_COMPACTION_NODES */
} tla_compaction_config;

/* When the controller evicts objects under keys ahead of need (controller.watermark): LMCache's pass. */
typedef struct tla_watermark_config {
    uint32_t permille;    /* of a memory's bytes, 0 .. 1000: a pass is due while so many are used; 0: never */
    uint32_t share;       /* of its objects, in permille, 1 .. 1000: a pass evicts so many, at least one */
    uint64_t interval_ps; /* passes are at multiples of it after the creation or the reset; 1 .. 1000 s */
} tla_watermark_config;

/* The memory that is in two parts (controller.partition): none, or a tla_memory_kind + 1. */
typedef enum tla_divided_memory {
    TLA_DIVIDED_NONE,
    TLA_DIVIDED_HBM = 1 + TLA_HBM,
    TLA_DIVIDED_HOST_MEMORY = 1 + TLA_HOST_MEMORY,
    TLA_DIVIDED_COUNT = 1 + TLA_MEMORY_KIND_COUNT
} tla_divided_memory;

/* Name as in configuration files, "off" or the name of the kind; NULL for an unknown value. */
const char *tla_divided_memory_name(tla_divided_memory memory);

/* The parts of a memory as they are at the beginning, and after a reset. */
typedef struct tla_controller_partition {
    tla_divided_memory memory; /* without effect on a controller that lacks this memory */
    uint32_t permille;         /* of its bytes that can be allocated: L1, 1 .. 999 */
    uint64_t chunk;            /* as in tla_partition_config, like the others */
    uint32_t prefetches, writes;
} tla_controller_partition;

typedef struct tla_controller_config {
    tla_pe_memory_config memory;
    tla_move_config move;
    tla_compaction_config compaction;   /* needs moves, and placements without a front and without an engine */
    tla_victim_rule object_eviction;    /* which object under a key leaves */
    tla_watermark_config watermark;     /* not with TLA_VICTIM_TENANT_LRU: quotas of tenants are the host's */
    tla_controller_partition partition; /* needs blocks that do not move, and a memory without an owner */
    uint64_t pin_wait_ps; /* a chunk of the front `lazy` waits so long at most until no access is in flight; 0: not */
    tla_free_list_place free_list;
    uint64_t list_reserve;         /* bytes for the nodes of a list in memory */
    uint64_t node_cache;           /* nodes of the HBM's list that the controller keeps */
    tla_engine_maker engine_maker; /* make NULL: no engines */
    uint64_t engine_nodes;         /* as in tla_pe_memory_drive */
    uint32_t owner_port; /* port on which the owner of the HBM slice sends PLACE and FREE; TLA_CONTROLLER_NO_OWNER: no
                            owner */
    tla_fault_injection faults;
} tla_controller_config;

/* Commands on one memory, including failed ones; PLACE is an ALLOC. */
typedef struct tla_controller_counts {
    uint64_t allocs, frees, trims, refs, unrefs, pins, unpins, batches, puts, gets, removes, evicts, binds, unbinds,
        moves;
    uint64_t moved_blocks, moved_bytes;
    uint64_t compactions;                       /* plans of moves that have begun */
    uint64_t compacted_blocks, compacted_bytes; /* moved by them; part of moved_blocks and moved_bytes */
    uint64_t compacted_allocs;                  /* requests that succeeded after waiting for moves */
    uint64_t not_resumed;        /* commands of moves to the MMUs that had to be undone, and could not be */
    uint64_t not_owner;          /* rejected because of the sender's address space */
    uint64_t engine_differences; /* the answer of the engine differs from the core's */
    uint64_t commits;            /* commits of a memory that grows (tla_front_grows) */
    uint64_t pin_wait_ps;        /* for which pins of chunks have waited for accesses (pin_wait_ps) */
    uint64_t passes;             /* over objects under keys, because of the watermark */
    uint64_t nodes_visited, driver_calls;
    uint64_t instructions; /* of the engine's firmware */
} tla_controller_counts;

/* The result of a command, or of due work. Pointers are valid until the next call. */
typedef struct tla_controller_outcome {
    tla_completion completion; /* the completion of a command; the caller adds service_ps */
    tla_work work;             /* the receipt; empty if the owner of the slice has the list */
    tla_engine_work engine;    /* the receipt of the list's engine; work.engine points here */
    tla_memory_kind memory;    /* the memory of the command; the first memory if its address belongs to no memory */
    uint64_t offset;           /* offset of the command's address in that memory, bytes */
    tla_arena_stats arena;     /* statistics of that memory, afterwards */
    const uint8_t *result;     /* bytes that a GET or an ALLOC_BATCH writes to the command area */
    size_t result_length;
    const tla_error *refusal; /* readable text from a controller that validates or guards; NULL: no rejection */
    bool begun; /* a MOVE has begun, or an ALLOC waits for moves: its completion follows (tla_controller_move_next) */
    const tla_error *difference; /* the first wrong answer of this memory's engine; NULL: not in this command */
} tla_controller_outcome;

/* Functions that the controller calls during a call. They must not call the controller. NULL: not called. */
typedef struct tla_controller_watch {
    /* These bytes of a block, as granted, are now free. */
    void (*released)(void *context, tla_memory_kind memory, uint64_t offset, uint64_t nbytes);
    /* A memory has decided a request (tla_stack_set_watch). */
    void (*decided)(void *context, tla_memory_kind memory, const tla_stack_deed *deed);
    void *context;
    /* Whether an initiator has reserved bytes of this range exclusively; asked before a MOVE. */
    bool (*reserved)(void *context, tla_memory_kind memory, uint64_t offset, uint64_t nbytes);
    /* A block is about to move: direct pointers to it end. */
    void (*moves)(void *context, tla_memory_kind memory, uint64_t offset, uint64_t nbytes);
} tla_controller_watch;

typedef struct tla_controller tla_controller;

/* Checks whether such a controller can be created: TLA_OK, or TLA_INVALID_ARGUMENT, TLA_UNSUPPORTED or
 * TLA_NO_HOST_MEMORY with a text that names the member. */
tla_status tla_controller_check_config(const tla_controller_config *config, tla_error *error);

/* TLA_NO_HOST_MEMORY; *controller is NULL then. If tla_controller_check_config rejects the configuration, every command
 * fails. */
tla_status tla_controller_create(const tla_controller_config *config, tla_controller **controller);

/* NULL is allowed. */
void tla_controller_destroy(tla_controller *controller);

/* Brings the controller back to the state after its creation. Memories that grow do so from at_ps on, and intervals of
 * passes begin there. Counts stay. Before the next command it may be called again, with a later time. */
void tla_controller_reset(tla_controller *controller, uint64_t at_ps);

/* Creates the memories if they do not exist yet. TLA_NO_HOST_MEMORY; the next call tries again. */
tla_status tla_controller_begin(tla_controller *controller);

/* Puts a memory's free list into a recorded state (arena.h); `name` is the controller's, for texts.
 * TLA_UNSUPPORTED for a slice with an owner; else as tla_stack_restore, and TLA_LIMIT where a list in memory is too
 * short for its free blocks. */
tla_status tla_controller_restore(tla_controller *controller, tla_memory_kind memory, const char *name,
                                  const char *text, size_t length, tla_error *error);

/* Executes due work, one item per call. The first function executes the next commit of a memory that grows, or an
 * attempt of `segmented` that fails, due at until_ps at the latest. The second ends pins that hold until before
 * until_ps, for the block where they end first.
 * *at_ps is the time of the work. TLA_NOT_FOUND: no work is due. TLA_NO_HOST_MEMORY, or a block that the memory does
 * not accept back: the work stays due. */
tla_status tla_controller_commit(tla_controller *controller, uint64_t until_ps, uint64_t *at_ps,
                                 tla_controller_outcome *outcome);
tla_status tla_controller_end_pins(tla_controller *controller, uint64_t until_ps, uint64_t *at_ps,
                                   tla_controller_outcome *outcome);

/* The third executes a pass over the objects of a memory that has reached the watermark, due at until_ps at the latest.
 * It evicts a share of them in the order of object_eviction, but none that a pin or another reference holds. The
 * controller compares after each command about the memory, after the end of pins, and after a pass. If a pass evicts
 * nothing, the next one follows only after such a command. A pass due when a command arrives comes before it. */
tla_status tla_controller_evict_ahead(tla_controller *controller, uint64_t until_ps, uint64_t *at_ps,
                                      tla_controller_outcome *outcome);

/* With pin_wait_ps: an access to a memory begins, or ends, at at_ps. Note it before other work of that time or later.
 * tla_controller_is_paced returns whether that is to be noted for a memory: from the creation or the reset on, until
 * the memory has grown. TLA_NO_HOST_MEMORY: nothing has changed. */
bool tla_controller_is_paced(const tla_controller *controller, tla_memory_kind memory);
tla_status tla_controller_begins_access(tla_controller *controller, tla_memory_kind memory, uint64_t at_ps);
void tla_controller_ends_access(tla_controller *controller, tla_memory_kind memory, uint64_t at_ps);

/* Return the time of the next commit, the last time at which the next pins to end hold, and the time of the next pass;
 * false: never. */
bool tla_controller_next_commit(const tla_controller *controller, uint64_t *at_ps);
bool tla_controller_next_timeout(const tla_controller *controller, uint64_t *until_ps);
bool tla_controller_next_pass(const tla_controller *controller, uint64_t *at_ps);

/* --- A memory in two parts ---
 *
 * L1 has the blocks of objects, L2 the others (object_store.h). ALLOC, ALLOC_BATCH, EVICT and PUT are TLA_EXHAUSTED for
 * more bytes than their part has left; total_free and largest_free of a completion are at most these bytes. The
 * watermark is of L1. */

/* Computes the parts of a memory. TLA_NOT_FOUND: no memory of these is divided. TLA_EXHAUSTED also for an L1 without
 * bytes; otherwise as tla_partition_of. */
tla_status tla_controller_parts(const tla_pe_memory_config *memory, const tla_controller_partition *partition,
                                tla_partition *parts);

/* Reads the register of L1, and writes it at at_ps: the bytes of L1 now, 0 without two parts. Errors as
 * tla_object_move_border, with a text, and TLA_NO_HOST_MEMORY; the register then has its old value. */
uint64_t tla_controller_get_l1(const tla_controller *controller);
tla_status tla_controller_set_l1(tla_controller *controller, uint64_t l1, uint64_t at_ps, tla_error *error);

/* Returns whether the fault plan rejects a command that arrives at at_ps. Call it once for each command, before
 * tla_controller_execute. */
bool tla_controller_refuses(tla_controller *controller, uint64_t at_ps);

/* Executes a command that arrived at a port, for `who` (tla_who, or TLA_WHO_UNKNOWN). Execute due work first. The
 * completion has the status and all other fields of command.h. Nothing changes with TLA_NO_HOST_MEMORY (the memories
 * cannot be created) and with TLA_BAD_COMMAND. The latter reports a command that is not for a controller, an unknown
 * tla_memory_kind, or more than TLA_COMMAND_MAX_BLOCKS blocks. */
void tla_controller_execute(tla_controller *controller, uint32_t port, uint64_t who, const tla_command *command,
                            uint64_t at_ps, tla_controller_outcome *outcome);

/* --- Moves ---
 *
 * A MOVE allocates a place in the memory that it names, and leads the block there in steps that take time. They follow
 * the protocol that tests/proofs/move_protocol.pml describes: PAUSE at every MMU with a mapping of the block (BIND),
 * copies, REMAP, the FREE of the old place, RESUME. With TLA_MOVE_CONCURRENT the first copies come before the PAUSE.
 * Moves are made one after the other, in the order of their commands. Other commands about a block that moves are
 * TLA_BUSY. If a step fails, the block stays where it was, and the completion has the status of that step:
 * TLA_BUS_ERROR for a copy, otherwise the MMU's.
 *
 * A MOVE that cannot begin is rejected at once:
 *
 * - TLA_UNSUPPORTED: mode off, a free list in memory, from or to a slice with an owner without a place there that the
 *   owner has allocated, or a block under a key that is to leave its memory
 * - TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED: no block begins there; TLA_INVALID_ARGUMENT: the new memory is missing
 * - TLA_BUSY: the block moves, has pins, or has exclusively reserved bytes
 * - TLA_NOT_OWNER: another address space holds the block
 * - TLA_UNMAPPED: no mapping of the block is recorded
 * - the status of a failed ALLOC in the new memory, TLA_NO_HOST_MEMORY
 *
 * The new place may be a block of another controller, which the sender has allocated there (tla_command.to). The block
 * belongs to the sender and to that controller when the MOVE has ended well, without its mappings: send them to its new
 * controller (BIND). Otherwise the sender frees its new block. TLA_INVALID_ARGUMENT for a place of this controller,
 * TLA_UNSUPPORTED for a counted block.
 *
 * In a slice with an owner the new place is a block that the owner has placed there for this MOVE (PLACE), of the same
 * bytes and without mappings. The two blocks exchange their places, the mappings move, and the sender has the old place
 * freed by the owner, when the blocks of all slices have moved. If the MOVE fails, it has the new place freed.
 * TLA_NOT_ALLOCATED: the owner has placed no block there; TLA_SIZE_MISMATCH: of other bytes; TLA_OVERLAP: one with
 * mappings; TLA_BUSY: one that moves; TLA_INVALID_ARGUMENT: the block is there already. */

/* --- Compaction ---
 *
 * The controller itself moves blocks of a memory, with the same steps, in order to make a hole. It moves a block only
 * if MOVE could, and if one address space at most holds it. No command knows of these moves. Their step TLA_MOVE_TELLS
 * therefore informs the holder of the new address, before the old place is free. From this step on commands with either
 * address are TLA_BUSY, and after the move those with the new address are executed. Report the step when the holder
 * sends no more commands with the old address, and when none is outstanding.
 *
 * On demand: an ALLOC without a hole, though enough bytes are free, begins like a MOVE if there is a plan of moves that
 * creates its hole, or if moves are under way. Otherwise it fails at once. Other commands continue meanwhile. If they
 * change the heap so that a move cannot begin, or if a move fails, the controller plans again, up to
 * TLA_COMPACTION_PLANS times for a request; then the ALLOC fails. Requests wait in the order of their commands.
 * ALLOC_BATCH, EVICT and MOVE do not wait. */

enum { TLA_COMPACTION_PLANS = 4 };

typedef enum tla_move_step_kind {
    TLA_MOVE_WAITS,  /* nothing: no move, or a result has to be reported first */
    TLA_MOVE_SENDS,  /* send `command` to the MMUs in its scope, and report its status; no other step comes before that
                      */
    TLA_MOVE_COPIES, /* read nbytes at `from`, write them at `to`, and report; more copies may follow before that */
    TLA_MOVE_FREES,  /* a place has been freed, or left to the owner of the slice: charge for `outcome` */
    TLA_MOVE_ENDS,   /* answer the command at `port` with outcome.completion. ALLOC: charge for `outcome` before */
    TLA_MOVE_TAKES,  /* compaction has planned, or has taken a place for the next move: charge for `outcome` */
    TLA_MOVE_TELLS   /* compaction: inform the holder that the block at `from` is at `to`, and report as for SENDS; the
                        status has no effect */
} tla_move_step_kind;

typedef struct tla_move_step {
    const tla_command *command; /* without ids and target; valid until its report */
    tla_site from, to;          /* the pa is that of the whole block; a place of another controller has no memory
                                   (TLA_MEMORY_KIND_COUNT), and its offset is a physical address */
    uint64_t nbytes;
    bool stopped; /* accesses to the block wait */
    bool moved;   /* FREES: the block is at `to` now and not at `from`, and the other members are about the move */
    bool of_compaction;
    bool exchanged;    /* a block of the slice's owner was at `to`, and is at `from` now */
    uint64_t begun_ps; /* when the new place was taken */
    uint32_t port;
    tla_controller_outcome outcome;
} tla_move_step;

/* Returns the next step of the present move. */
tla_move_step_kind tla_controller_move_next(tla_controller *controller, uint64_t at_ps, tla_move_step *step);

/* Whether the next step is a copy, also while others are under way. */
bool tla_controller_has_copy(const tla_controller *controller);

/* Report the status of a sent command, and the end of one copy (false: a memory answered with an error). */
void tla_controller_move_sent(tla_controller *controller, tla_status status);
void tla_controller_move_copied(tla_controller *controller, bool ok);

/* Reports that an access or a debug access has written these bytes of a memory. Without a move it has no effect. */
void tla_controller_wrote(tla_controller *controller, tla_memory_kind memory, uint64_t offset, uint64_t nbytes);

/* Whether bytes that a debug access has written have to be copied at once from *copy->from to *copy->to: they are in
 * one place of a block, while some MMUs lead to that place and some to its other one. */
bool tla_controller_has_twin(const tla_controller *controller, tla_memory_kind memory, uint64_t offset, uint64_t nbytes,
                             tla_move_step *copy);

/* Ends all moves with TLA_RESET, before tla_controller_reset: call tla_controller_move_next until it returns
 * TLA_MOVE_WAITS without an outstanding report. */
void tla_controller_abandon_moves(tla_controller *controller);

/* Begins the next move of compaction in the background, of *nbytes, at most `allowed`; charge for *outcome, and then
 * execute steps until TLA_MOVE_WAITS. Call it again until it returns an error. TLA_NOT_FOUND: nothing is due, because
 * another mode is set, moves are under way, or no memory is fragmented above the threshold, or none of them can be
 * improved and no command has been executed since. TLA_LIMIT: the move has *nbytes, more than `allowed`.
 * TLA_NO_HOST_MEMORY. With an error no move has begun, but *outcome may have a receipt of planning. */
tla_status tla_controller_compact(tla_controller *controller, uint64_t at_ps, uint64_t allowed, uint64_t *nbytes,
                                  tla_controller_outcome *outcome);

/* Whether a block moves from or to this memory. */
bool tla_controller_is_moving(const tla_controller *controller, tla_memory_kind memory);

/* Figures of a memory; before the first command those of an unused memory. */
tla_stack_stats tla_controller_get_stats(const tla_controller *controller, tla_memory_kind memory);
tla_object_stats tla_controller_get_objects(const tla_controller *controller, tla_memory_kind memory);
tla_controller_counts tla_controller_get_counts(const tla_controller *controller, tla_memory_kind memory);

/* Commands that the fault plan has rejected. */
uint64_t tla_controller_get_refused(const tla_controller *controller);

/* Whether a command has counted references or pins, or stored blocks under keys. */
bool tla_controller_uses_objects(const tla_controller *controller);

/* Returns whether all blocks allocated since the creation, or since tla_controller_restore, have been freed and merged.
 * Blocks that a front keeps until a TRIM do not count. */
bool tla_controller_is_as_at_the_beginning(const tla_controller *controller, tla_memory_kind memory);

/* The memories, for checks of accesses (guard, lists in memory); NULL before the first command. */
tla_pe_memory *tla_controller_memory(tla_controller *controller);

/* Sets the functions to call. Call it before the first command. */
void tla_controller_set_watch(tla_controller *controller, tla_controller_watch watch);

#ifdef __cplusplus
}
#endif
#endif
