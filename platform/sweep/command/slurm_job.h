/* Slurm's commands: a job is handed in, and waited for. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SLURM_JOB_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SLURM_JOB_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* How the tasks of a job are: those that run or end, those that wait, and why the last one of them waits. */
typedef struct slurm_state {
    size_t running, waiting;
    bool held; /* all of them wait, and Slurm does not start them by itself */
    char reason[64];
} slurm_state;

/* TLA_INVALID_ARGUMENT where there is no Slurm, with a text. */
tla_status slurm_is_there(tla_error *error);

/* Submits a script; `job` receives its number. TLA_INVALID_ARGUMENT with the first line of sbatch when it rejects the
 * script. */
tla_status slurm_submit(const char *script, char job[32], tla_error *error);

/* The tasks of a job that have not ended; none when Slurm knows nothing of it any more. TLA_IO when it does not answer.
 */
tla_status slurm_look(const char *job, slurm_state *state, tla_error *error);

/* A word for the shell: in quotes. False where it does not fit. */
bool slurm_quote(const char *word, char *quoted, size_t room);

#endif
