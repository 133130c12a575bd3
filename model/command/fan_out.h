/* One mapping command for many targets: who gets it, when, what their answers mean together, and who takes it back.
 *
 * Either all targets in its scope execute a MAP, UNMAP, REMAP or PAUSE, or none: when a target rejects it, the others
 * take it back (TLA_OP_TAKE_BACK), or resume (TLA_OP_RESUME). The caller sends the messages: it makes the sent_commands
 * of tla_fan_out_next, records their results, and asks again. One owner at a time. */
#ifndef TLMALLOC_COMMAND_FAN_OUT_H
#define TLMALLOC_COMMAND_FAN_OUT_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_FAN_OUT_TAKE_BACK_TRIES = 16 }; /* for a target that rejects a take-back with TLA_BUSY */

typedef struct tla_fan_out tla_fan_out;

/* TLA_NO_HOST_MEMORY: *fan_out is NULL then. */
tla_status tla_fan_out_create(const tla_command_route *routes, size_t count, tla_fan_out **fan_out);
void tla_fan_out_destroy(tla_fan_out *fan_out);

/* Begins to send the command, with this target, along every route in its scope, all at once at at_ps. A port that still
 * runs an earlier command receives it after the answer to that command. With `gather` the fan-out waits for answers,
 * and takes back a rejected command. Without `gather`, tla_fan_out_settle does the same; every sending begins with
 * it. */
void tla_fan_out_send(tla_fan_out *fan_out, const tla_command *command, tla_target target, uint64_t at_ps, bool gather);

/* Begins to read the answers to commands that were sent without `gather`, from at_ps on. */
void tla_fan_out_settle(tla_fan_out *fan_out, uint64_t at_ps);

/* Returns the number of sent_commands to make next, all at once; 0 when the sending or settling is complete. The caller
 * fills in their second halves before it calls again. */
size_t tla_fan_out_next(tla_fan_out *fan_out, tla_sent_command **sent_commands);

typedef struct tla_fan_out_result {
    tla_status status;      /* of a sending: the first failure; TLA_INVALID_ARGUMENT when no route lies in the scope */
    tla_location failed_at; /* of a sending: where that was */
    uint64_t value;         /* of a sending: the bits that any target has answered as its value */
    uint64_t written_ps;    /* of a sending: all targets have accepted the command */
    uint64_t done_ps;       /* time of the last awaited answer, take-backs included */
} tla_fan_out_result;

/* Returns the result of a complete sending or settling. */
tla_fan_out_result tla_fan_out_get_result(const tla_fan_out *fan_out);

uint64_t tla_fan_out_lost(const tla_fan_out *fan_out);         /* number of posted commands that were rejected */
uint64_t tla_fan_out_not_restored(const tla_fan_out *fan_out); /* targets that could not take a command back */

#ifdef __cplusplus
}
#endif
#endif
