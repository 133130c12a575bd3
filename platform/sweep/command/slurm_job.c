/* Slurm's commands, run through a shell. */
#include "sweep/command/slurm_job.h"

#include "model/base/phrase.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool slurm_quote(const char *word, char *quoted, size_t room) {
    size_t length = 0;
    if (room < 3) return false;
    quoted[length++] = '\'';
    for (; *word; word++) {
        if (length + 6 > room) return false;
        if (*word == '\'') {
            memcpy(quoted + length, "'\\''", 4);
            length += 4;
        } else {
            quoted[length++] = *word;
        }
    }
    quoted[length++] = '\'';
    quoted[length] = '\0';
    return true;
}

/* Runs a command, copies the text of both its streams, and returns its exit status; negative when it cannot run. */
static int ask(const char *command, char *answer, size_t room) {
    FILE *said = popen(command, "r");
    if (!said) return -1;
    size_t length = 0;
    char rest[4096];
    while (length + 1 < room) {
        const size_t count = fread(answer + length, 1, room - 1 - length, said);
        if (!count) break;
        length += count;
    }
    answer[length] = '\0';
    while (fread(rest, 1, sizeof rest, said)) /* what does not fit is not needed, but its writer waits */
        ;
    return pclose(said);
}

static void keep_first_line(char *text) {
    text[strcspn(text, "\n")] = '\0';
}

tla_status slurm_is_there(tla_error *error) {
    char answer[256];
    if (ask("command -v sbatch && command -v squeue", answer, sizeof answer) == 0) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "--slurm: sbatch or squeue is missing: install Slurm's commands");
}

tla_status slurm_submit(const char *script, char job[32], tla_error *error) {
    char quoted[2 * PATH_MAX], command[sizeof quoted + 64], answer[1024];
    if (!slurm_quote(script, quoted, sizeof quoted))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "--slurm: the path of the script is too long");
    snprintf(command, sizeof command, "sbatch --parsable %s 2>&1", quoted);
    const int status = ask(command, answer, sizeof answer);
    if (status != 0) {
        keep_first_line(answer);
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "--slurm: sbatch rejected the job: %s",
                             *answer ? answer : "no message");
    }
    /* Warnings may stand before it; a cluster's name behind a semicolon. */
    char *line = strrchr(answer, '\n');
    if (line && !line[1]) *line = '\0', line = strrchr(answer, '\n');
    line = line ? line + 1 : answer;
    const size_t digits = strspn(line, "0123456789");
    if (digits < 1 || digits > 31) return tla_error_set(error, TLA_IO, "--slurm: sbatch printed no job number");
    memcpy(job, line, digits);
    job[digits] = '\0';
    return TLA_OK;
}

static void count_task(slurm_state *state, bool *may_start, char *line) {
    char *reason = strchr(line, ' ');
    if (reason) *reason++ = '\0';
    if (strcmp(line, "PENDING") != 0) {
        state->running++;
        return;
    }
    state->waiting++;
    if (!reason) return;
    snprintf(state->reason, sizeof state->reason, "%s", reason);
    *may_start |= !strstr(reason, "held") && !strstr(reason, "Held") && strcmp(reason, "BadConstraints") != 0 &&
                  strcmp(reason, "DependencyNeverSatisfied") != 0 && strcmp(reason, "PartitionTimeLimit") != 0;
}

tla_status slurm_look(const char *job, slurm_state *state, tla_error *error) {
    enum { ANSWER_BYTES = 1 << 20 };
    char command[128], *answer = malloc(ANSWER_BYTES), *rest = answer;
    bool may_start = false;
    *state = (slurm_state){0};
    if (!answer) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the state of a job");
    snprintf(command, sizeof command, "squeue --noheader --array --jobs=%s --format='%%T %%r' 2>&1", job);
    const int status = ask(command, answer, ANSWER_BYTES);
    tla_status looked = TLA_OK;
    if (status != 0 && !strstr(answer, "Invalid job id")) {
        keep_first_line(answer);
        looked = tla_error_set(error, TLA_IO, "squeue failed: %s", *answer ? answer : "no message");
    }
    for (char *line; status == 0 && (line = strsep(&rest, "\n"));)
        if (*line) count_task(state, &may_start, line);
    state->held = state->waiting && !state->running && !may_start;
    free(answer);
    return looked;
}
