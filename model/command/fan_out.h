/* One mapping command for many targets: who gets it, when, what their answers mean together, and who takes it back.
 *
 * A MAP, UNMAP, REMAP or PAUSE is done by all targets in its scope or by none: when one refuses it, those that did it
 * are sent TAKE_BACK or, after a PAUSE, RESUME. Messages are the caller's: it makes what tla_fan_out_next hands out,
 * writes down what became of it, and asks again. One owner at a time. */
#ifndef TLMALLOC_COMMAND_FAN_OUT_H
#define TLMALLOC_COMMAND_FAN_OUT_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_FAN_OUT_TAKE_BACK_TRIES = 16 }; /* of a target that refuses for now (TLA_BUSY) to take a command back */

typedef struct tla_fan_out tla_fan_out;

/* TLA_NO_HOST_MEMORY: *fan_out is NULL then. */
tla_status tla_fan_out_create(const tla_command_route *routes, size_t count, tla_fan_out **fan_out);
void tla_fan_out_destroy(tla_fan_out *fan_out);

/* Begins to send the command, its target replaced, along every route in its scope, all at once at at_ps; a port that
 * still runs the command before gets it when that has been answered. With `gather` answers are waited for, and a
 * refused command is taken back. Without, the same is done by tla_fan_out_settle, with which every sending begins.
 */
void tla_fan_out_send(tla_fan_out *fan_out, const tla_command *command, tla_target target, uint64_t at_ps, bool gather);

/* Begins to read the answers to what was sent without `gather`, from at_ps on. */
void tla_fan_out_settle(tla_fan_out *fan_out, uint64_t at_ps);

/* What is to be made next, all at once; the caller fills in its second half before it asks again. Returns how many
 * sent_commands there are: 0 when what was begun is over. */
size_t tla_fan_out_next(tla_fan_out *fan_out, tla_sent_command **sent_commands);

typedef struct tla_fan_out_result {
    tla_status status;      /* of a sending: the first failure; TLA_INVALID_ARGUMENT when no route lies in the scope */
    tla_location failed_at; /* of a sending: where that was */
    uint64_t written_ps;    /* of a sending: all targets have accepted the command */
    uint64_t done_ps;       /* all that was waited for has been answered, also what was taken back */
} tla_fan_out_result;

/* Of what is over. */
tla_fan_out_result tla_fan_out_get_result(const tla_fan_out *fan_out);

uint64_t tla_fan_out_lost(const tla_fan_out *fan_out);         /* refusals of what had been posted */
uint64_t tla_fan_out_not_restored(const tla_fan_out *fan_out); /* targets that could not take a command back */

#ifdef __cplusplus
}
#endif
#endif
