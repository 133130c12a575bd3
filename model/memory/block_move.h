/* One block on its way to another place: what is to be done next, and what follows from its result. Internal to
 * model/memory; controller.h describes the steps. */
#ifndef TLMALLOC_MEMORY_BLOCK_MOVE_H
#define TLMALLOC_MEMORY_BLOCK_MOVE_H

#include "object_block.h"
#include "tlmalloc/memory/controller.h"

enum { TLA_MOVE_TRIES = 16 }; /* of a command that undoes something, where it is rejected for now */

typedef struct tla_block_move tla_block_move;

typedef struct tla_block_move_config {
    tla_object_block *block; /* tla_object_begin_move has begun */
    tla_object_block *other; /* the block whose place it gets for its own (tla_object_begin_exchange); NULL: none */
    tla_move_config how;
    uint32_t correlation_id, request_id, port; /* of the MOVE */
    bool of_compaction;                        /* no command asked for it: the holder is informed */
    uint64_t begun_ps;
} tla_block_move_config;

/* TLA_NO_HOST_MEMORY; *move is NULL then. The caller sets block->to before the first step. */
tla_status tla_block_move_create(const tla_block_move_config *config, tla_block_move **move);
void tla_block_move_destroy(tla_block_move *move);

const tla_block_move_config *tla_block_move_get_config(const tla_block_move *move);

/* Returns the next step. TLA_MOVE_FREES: the caller frees the place that *step names, unless another block has it now,
 * and then continues.
 * TLA_MOVE_ENDS: the last. */
tla_move_step_kind tla_block_move_next(tla_block_move *move, tla_move_step *step);

/* Whether the next step is a copy. */
bool tla_block_move_has_copy(const tla_block_move *move);

void tla_block_move_sent(tla_block_move *move, tla_status status);
void tla_block_move_copied(tla_block_move *move, bool ok);

/* Somebody has written bytes of the block in its old place, from `offset` of the memory on. */
void tla_block_move_wrote(tla_block_move *move, uint64_t offset, uint64_t nbytes);

/* As tla_controller_has_twin; nbytes > 0. */
bool tla_block_move_has_twin(const tla_block_move *move, tla_memory_kind memory, uint64_t offset, uint64_t nbytes,
                             tla_move_step *copy);

/* A reset: undoes what was done. */
void tla_block_move_abandon(tla_block_move *move);

/* The old place. */
tla_site tla_block_move_from(const tla_block_move *move);

/* Whether the block is in its new place, and why not; commands that could not be undone. */
bool tla_block_move_has_moved(const tla_block_move *move);
tla_status tla_block_move_status(const tla_block_move *move);
uint64_t tla_block_move_not_restored(const tla_block_move *move);

#endif
