/* The state that the files of a memory controller share. Internal to model/memory. */
#ifndef TLMALLOC_MEMORY_CONTROLLER_STATE_H
#define TLMALLOC_MEMORY_CONTROLLER_STATE_H

#include "block_move.h"
#include "compaction_plan.h"
#include "tlmalloc/memory/controller.h"

typedef struct tla_watched_memory {
    tla_controller *controller;
    tla_memory_kind memory;
} tla_watched_memory;

/* A place that a move has left, and that could not be freed: the host had no memory. */
typedef struct tla_owed_place {
    tla_site at;
    uint64_t nbytes;
} tla_owed_place;

/* An ALLOC that waits for moves. */
typedef struct tla_waiting_alloc {
    tla_memory_kind memory;
    tla_stack_request request;
    tla_owner owner;
    uint64_t who;
    uint32_t port, correlation_id, request_id;
    uint32_t plans; /* that have been made for it */
} tla_waiting_alloc;

/* A move that is planned: the block is at `from` when its turn comes. */
typedef struct tla_planned_move {
    uint64_t from, to;
    uint64_t nbytes; /* as granted */
} tla_planned_move;

/* The present plan of moves. */
typedef struct tla_compaction {
    tla_memory_kind memory;
    tla_planned_move *moves;
    size_t count, room, next;
    tla_block hole; /* 0 bytes: no plan */
    tla_compaction_plan plan;
    tla_compaction_block *blocks; /* of the heap that is planned for */
    size_t block_count, block_room;
    tla_block *free_ranges;
    size_t free_room;
} tla_compaction;

/* What a memory has to do about the watermark. */
typedef struct tla_pass_state {
    bool is_due;       /* a pass, at the next multiple of the interval */
    uint64_t after_ps; /* the pass comes later than this time */
} tla_pass_state;

/* Accesses to a memory that grows by paced pins. */
typedef struct tla_paced_memory {
    tla_controller *controller;
    bool grows; /* the rest is only kept until it has grown */
    tla_submissions accesses;
} tla_paced_memory;

struct tla_controller {
    tla_controller_config config;
    tla_pe_memory *memory; /* NULL before the first command */
    tla_object_store *objects;
    tla_faults faults;
    uint64_t refused; /* by the fault plan */
    uint64_t origin_ps;
    bool uses_objects;
    tla_memory_kind first; /* of the memories that there are */
    tla_controller_counts counts[TLA_MEMORY_KIND_COUNT];
    tla_pass_state passes[TLA_MEMORY_KIND_COUNT];
    tla_paced_memory paced[TLA_MEMORY_KIND_COUNT];
    tla_arena_stats beginning[TLA_MEMORY_KIND_COUNT];
    tla_stack_stats untouched[TLA_MEMORY_KIND_COUNT];
    tla_controller_watch watch;
    tla_watched_memory watched[TLA_MEMORY_KIND_COUNT];
    tla_block_move **moves; /* the first is under way */
    size_t move_count, move_room;
    tla_owed_place *owed; /* with room for one more of each move */
    size_t owed_count, owed_room;
    tla_compaction compaction;
    tla_waiting_alloc *waiting; /* the first is being served */
    size_t waiting_count, waiting_room;
    bool abandoned;     /* those that wait end with a reset */
    uint64_t changes;   /* of the heaps, since the creation */
    uint64_t looked_at; /* changes when no memory could be improved in the background */
    /* of the command that is carried out */
    tla_site sites[TLA_COMMAND_MAX_BLOCKS];          /* where its blocks begin */
    tla_placed_block blocks[TLA_COMMAND_MAX_BLOCKS]; /* that it has made or found */
    uint8_t result[TLA_COMMAND_MAX_BYTES];
};

/* Of a MOVE (controller_moves.c): begins it, or says why not. */
tla_status tla_controller_begin_move(tla_controller *c, const tla_command *command, tla_site at, uint32_t port,
                                     uint64_t who, uint64_t at_ps, tla_work *work);

/* Begins a move of the block at `at`, for `who`; `place`: its new place, NULL: the memory chooses it. A place without a
 * memory is at another controller. */
tla_status tla_controller_start_move(tla_controller *c, tla_block_move_config config, tla_site at,
                                     tla_memory_kind memory, uint64_t who, const tla_site *place, tla_work *work);

/* ---- compaction (controller_compaction.c) ---- */

tla_status tla_controller_check_compaction(const tla_controller_config *config, tla_error *error);

/* An ALLOC has failed with `status`. TLA_OK: it waits for moves. Otherwise the status that it has. */
tla_status tla_controller_wait(tla_controller *c, tla_status status, const tla_waiting_alloc *alloc, tla_work *work);

/* The next step while no move is under way. */
tla_move_step_kind tla_controller_go_on(tla_controller *c, uint64_t at_ps, tla_move_step *step);

/* A move of compaction has ended. */
void tla_controller_end_planned(tla_controller *c, bool moved);

void tla_controller_drop_plan(tla_controller *c);

/* ---- paced pins (controller_pacer.c) ---- */

/* No access is in flight, and all memories are to grow. */
void tla_controller_pace_anew(tla_controller *c);

/* Paces the memories that are new. */
void tla_controller_pace(tla_controller *c);

/* Decides about pins until then, and counts their waiting. */
void tla_controller_pin(tla_controller *c, tla_memory_kind memory, uint64_t until_ps);

/* A memory has committed. */
void tla_controller_has_grown(tla_controller *c, tla_memory_kind memory);

/* ---- a memory in two parts (controller_partition.c) ---- */

tla_status tla_controller_check_partition(const tla_controller_config *config, tla_error *error);

/* Divides the memory of a new store. */
void tla_controller_divide(tla_controller *c);

/* ---- eviction ahead of need (controller_watermark.c) ---- */

tla_status tla_controller_check_watermark(const tla_controller_config *config, tla_error *error);

/* Bytes or objects of a memory have changed, or what holds them: a pass may be due later than after_ps. */
void tla_controller_compare(tla_controller *c, tla_memory_kind memory, uint64_t after_ps);

/* Tries again to free the places that moves have left. */
void tla_controller_free_owed(tla_controller *c, uint64_t at_ps, tla_work *work);

/* Forgets all moves. */
void tla_controller_drop_moves(tla_controller *c);

static inline bool tla_controller_has(const tla_controller_config *c, int memory) {
    return tla_pe_memory_bytes(&c->memory, (tla_memory_kind)memory) > 0;
}

static inline bool tla_controller_is_owned(const tla_controller_config *c) {
    return c->owner_port != TLA_CONTROLLER_NO_OWNER;
}

#endif
