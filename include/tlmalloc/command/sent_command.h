/* A command on its way to a control port, and what became of it. Who decides about commands fills in the first half,
 * who moves transactions the second. */
#ifndef TLMALLOC_COMMAND_SENT_COMMAND_H
#define TLMALLOC_COMMAND_SENT_COMMAND_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_sent_command {
    uint64_t port_address;
    const tla_command *command; /* NULL: nothing is written, only the completion of what was posted before is read */
    uint64_t at_ps;             /* when that begins */
    bool gather;                /* the completion is read as soon as the command is written */

    /* Of the completion, or where none is read of the write. TLA_BUS_ERROR: a transaction was refused, or what came
     * back is no completion; TLA_INVALID_ARGUMENT: the command cannot be encoded. */
    tla_status status;
    uint64_t written_ps, answered_ps; /* the latter is the former where no completion is read */
    tla_completion completion;        /* where one was read */
} tla_sent_command;

/* What a sender does when a command is refused for now (its completion says TLA_BUSY): it sends it again, `retries`
 * times at most, each delay_ps after the refusal was known. */
typedef struct tla_retry_policy {
    uint32_t retries;
    uint64_t delay_ps;
} tla_retry_policy;

/* A FREE that is refused in spite of all retries is owed: nothing would free the block any more. Whoever owes it sends
 * it again before its work is told to be done, so many times in vain at most: more than a plan has faults. */
enum { TLA_OWED_TRIES = 16 };

#ifdef __cplusplus
}
#endif
#endif
