/* The state that the files of a memory controller share. Internal to model/memory. */
#ifndef TLMALLOC_MEMORY_CONTROLLER_STATE_H
#define TLMALLOC_MEMORY_CONTROLLER_STATE_H

#include "block_move.h"
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
    tla_arena_stats beginning[TLA_MEMORY_KIND_COUNT];
    tla_stack_stats untouched[TLA_MEMORY_KIND_COUNT];
    tla_controller_watch watch;
    tla_watched_memory watched[TLA_MEMORY_KIND_COUNT];
    tla_block_move **moves; /* the first is under way */
    size_t move_count, move_room;
    tla_owed_place *owed; /* with room for one more of each move */
    size_t owed_count, owed_room;
    /* of the command that is carried out */
    tla_site sites[TLA_COMMAND_MAX_BLOCKS];          /* where its blocks begin */
    tla_placed_block blocks[TLA_COMMAND_MAX_BLOCKS]; /* that it has made or found */
    uint8_t result[TLA_COMMAND_MAX_BYTES];
};

/* Of a MOVE (controller_moves.c): begins it, or says why not. */
tla_status tla_controller_begin_move(tla_controller *c, const tla_command *command, tla_site at, uint32_t port,
                                     uint64_t who, tla_work *work);

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
