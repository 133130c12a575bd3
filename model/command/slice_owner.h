/* Who owns the free list of many HBM slices at once: one decision, which all of them are told (lockstep.h, tt-metal).
 *
 * An ALLOC is done in every slice or in none, and so is a FREE: when a slice refuses what it is told, those that have
 * done it undo it. Messages are the caller's, as in fan_out.h: it makes what tla_slice_owner_next hands out, writes
 * down what became of it, and asks again. One owner at a time. */
#ifndef TLMALLOC_COMMAND_SLICE_OWNER_H
#define TLMALLOC_COMMAND_SLICE_OWNER_H

#include "tlmalloc/command/command.h"
#include "tlmalloc/stack/lockstep.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SLICE_OWNER_UNDO_TRIES = 16 }; /* of a slice that refuses for now (TLA_BUSY) to undo what it did */

typedef struct tla_slice_owner tla_slice_owner;

/* `config`: of the slices, all alike; banks is their number, base 0. TLA_INVALID_ARGUMENT for a value outside its
 * range, TLA_NO_HOST_MEMORY; *owner is NULL then. */
tla_status tla_slice_owner_create(const tla_owned_slice *slices, const tla_lockstep_config *config,
                                  tla_slice_owner **owner);
void tla_slice_owner_destroy(tla_slice_owner *owner);

/* Decides an ALLOC of command->nbytes in every slice, or a FREE of what stands at byte command->pa in every slice.
 * TLA_OK: the slices are to be told. Else the command has failed, nothing has been taken and nobody need be told:
 * TLA_INVALID_ARGUMENT, TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_NO_HOST_MEMORY as tla_lockstep_alloc, TLA_UNSUPPORTED for
 * another memory than HBM, TLA_BAD_COMMAND for another command. */
tla_status tla_slice_owner_decide(tla_slice_owner *owner, const tla_command *command, tla_work *work);

/* Begins to tell them, all at once at at_ps. */
void tla_slice_owner_tell(tla_slice_owner *owner, uint64_t at_ps);

/* What is to be made next, all at once; the caller fills in its second half before it asks again. Returns how many
 * sent_commands there are: 0 when all have been told. */
size_t tla_slice_owner_next(tla_slice_owner *owner, tla_sent_command **sent_commands);

typedef struct tla_slice_owner_result {
    tla_status status;      /* the first refusal, in the order of the slices */
    tla_location failed_at; /* where that was */
    uint64_t offset;        /* of an ALLOC: in every slice */
    tla_work work;          /* of a FREE: on the list, once all slices have given the block back */
    uint64_t done_ps;       /* the last answer */
} tla_slice_owner_result;

/* Of the command that all have been told. */
tla_slice_owner_result tla_slice_owner_get_result(const tla_slice_owner *owner);

/* Of one slice: all have the same. */
tla_bank_stats tla_slice_owner_get_stats(const tla_slice_owner *owner);

/* Slices that could not undo what they did. */
uint64_t tla_slice_owner_not_restored(const tla_slice_owner *owner);

#ifdef __cplusplus
}
#endif
#endif
