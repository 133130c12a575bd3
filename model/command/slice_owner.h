/* The owner of the free lists of many HBM slices: one decision, which it sends to the slices that it is about (units.h,
 * tt-metal).
 *
 * Either each of these slices executes an ALLOC or a FREE, or none: when a slice rejects the command, the others undo
 * it. The caller sends the messages, as in fan_out.h: it makes the sent_commands of tla_slice_owner_next, records their
 * results, and asks again. One owner at a time. */
#ifndef TLMALLOC_COMMAND_SLICE_OWNER_H
#define TLMALLOC_COMMAND_SLICE_OWNER_H

#include "tlmalloc/command/command.h"
#include "tlmalloc/stack/units.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SLICE_OWNER_UNDO_TRIES = 16 }; /* for a slice that rejects an undo with TLA_BUSY */

typedef struct tla_slice_owner tla_slice_owner;

/* `config`: of the slices, all alike; banks is their number, base 0. TLA_INVALID_ARGUMENT for a value outside its
 * range, TLA_NO_HOST_MEMORY; *owner is NULL then. */
tla_status tla_slice_owner_create(const tla_owned_slice *slices, const tla_lockstep_config *config,
                                  tla_slice_owner **owner);
void tla_slice_owner_destroy(tla_slice_owner *owner);

/* Decides an ALLOC of command->nbytes in each slice, or a FREE of the block at byte command->pa of each slice: of every
 * one in lockstep, or of the PEs that the command names (of_units), where extents replace the nbytes. A FREE states the
 * mode, the PEs and the extents of its ALLOC. TLA_OK: call tla_slice_owner_tell. Otherwise the command has failed,
 * nothing has changed, and no slice needs a command: TLA_INVALID_ARGUMENT, TLA_EXHAUSTED, TLA_FRAGMENTED,
 * TLA_NO_HOST_MEMORY as tla_units_alloc, TLA_INVALID_ARGUMENT also for a FREE outside the slices or with a wrong number
 * of PEs, TLA_NOT_FOUND for a PE without a slice here, TLA_UNSUPPORTED for another memory than HBM, TLA_BAD_COMMAND for
 * another command. */
tla_status tla_slice_owner_decide(tla_slice_owner *owner, const tla_command *command, tla_work *work);

/* Begins to send the decision to its slices, at at_ps. */
void tla_slice_owner_tell(tla_slice_owner *owner, uint64_t at_ps);

/* Returns the number of sent_commands to make next, all at once; 0 when all slices have the decision. The caller fills
 * in their second halves before it calls again. */
size_t tla_slice_owner_next(tla_slice_owner *owner, tla_sent_command **sent_commands);

typedef struct tla_slice_owner_result {
    tla_status status;      /* the first failure, in the order of the slices */
    tla_location failed_at; /* where that was */
    uint64_t offset;        /* of an ALLOC: in each of its slices */
    tla_work work;          /* of a FREE: on the list, once all slices have given the block back */
    uint64_t done_ps;       /* the last answer */
} tla_slice_owner_result;

/* Returns the result of a command that all slices have received. */
tla_slice_owner_result tla_slice_owner_get_result(const tla_slice_owner *owner);

/* Returns what a buffer of all slices finds, `occupied` being 0: the bytes that are free in every slice at once. With
 * such buffers only, this is the state of each slice. And what a buffer of this slice alone finds. */
tla_bank_stats tla_slice_owner_get_stats(const tla_slice_owner *owner);
tla_bank_stats tla_slice_owner_get_slice_stats(const tla_slice_owner *owner, uint32_t slice);

/* Returns what another buffer in the slices of the last command finds, in the same mode. */
tla_bank_stats tla_slice_owner_get_room(const tla_slice_owner *owner);

/* Returns the number of slices that could not undo a command. */
uint64_t tla_slice_owner_not_restored(const tla_slice_owner *owner);

#ifdef __cplusplus
}
#endif
#endif
