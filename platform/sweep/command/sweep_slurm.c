/* A sweep as jobs of Slurm: handed in, waited for, merged. */
#include "sweep/command/sweep_slurm.h"

#include "model/base/phrase.h"
#include "sweep/command/slurm_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NO_ANSWERS_MAX = 60 }; /* one after the other: some minutes */

static tla_status path_in_folder(const slurm_work *work, const char *name, char path[PATH_MAX], tla_error *error) {
    if (snprintf(path, PATH_MAX, "%s.tasks/%s", work->results_path, name) < PATH_MAX) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: the name is too long", work->results_path);
}

/* Opens a file of the folder for rewriting; NULL with errno, also for a file that is not regular. */
static FILE *open_own(const char *path) {
    struct stat found;
    const int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return NULL;
    FILE *stream = NULL;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
        errno = EEXIST;
    else if (ftruncate(file, 0) == 0)
        stream = fdopen(file, "w");
    if (!stream) close(file);
    return stream;
}

/* Nothing but regular files is removed. */
static void remove_own(const char *path) {
    struct stat found;
    if (lstat(path, &found) == 0 && S_ISREG(found.st_mode)) unlink(path);
}

static int is_results(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return length > 7 && strcmp(entry->d_name + length - 7, ".sqlite") == 0;
}

tla_status slurm_merge(const slurm_work *work, uint64_t *rows, size_t *in_use, tla_error *error) {
    char folder[PATH_MAX], path[PATH_MAX];
    struct dirent **entries = NULL;
    *rows = *in_use = 0;
    tla_status status = path_in_folder(work, "", folder, error);
    if (status) return status;
    const int count = scandir(folder, &entries, is_results, alphasort);
    if (count < 0 && errno == ENOENT) return TLA_OK; /* no job has been */
    if (count < 0) return tla_error_set(error, TLA_IO, "%s: %s", folder, tla_cannot_read(errno).text);
    for (int i = 0; i < count; i++) {
        uint64_t new_rows = 0;
        bool used = false;
        if (!status) status = path_in_folder(work, entries[i]->d_name, path, error);
        if (!status) status = work->take(work->context, path, &new_rows, &used, error);
        if (!status && !used) remove_own(path);
        *rows += new_rows;
        *in_use += used;
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* ---- a job ---- */

static tla_status write_text(const char *path, const char *text, tla_error *error) {
    FILE *file = open_own(path);
    if (file && fputs(text, file) >= 0 && fclose(file) == 0) return TLA_OK;
    return tla_error_set(error, TLA_IO, "%s: cannot write: %s", path, strerror(errno));
}

static bool read_job(const char *path, char job[32]) {
    FILE *file = fopen(path, "r");
    const bool good = file && fscanf(file, "%31[0-9]", job) == 1;
    if (file) fclose(file);
    return good;
}

static tla_status wait_for(const slurm_work *work, const char *job, tla_error *error) {
    unsigned no_answers = 0, pause_ms = 200;
    slurm_state state;
    tla_status status;
    do {
        usleep(1000 * pause_ms);
        if (pause_ms < 5000) pause_ms += pause_ms / 4;
        status = slurm_look(job, &state, error);
        if (status == TLA_IO && ++no_answers < NO_ANSWERS_MAX) {
            state.running = 1; /* for all that is known */
            continue;
        }
        if (status) return status;
        no_answers = 0;
        work->watch(work->context, state.running, state.waiting);
        if (state.held)
            return tla_error_set(
                error, TLA_BUSY,
                "Slurm does not start job %s (%s): see scontrol show job %s, then wait until it runs, or cancel it",
                job, state.reason, job);
    } while (state.running || state.waiting);
    return TLA_OK;
}

static tla_status hand_in(const slurm_work *work, const point_ranges *missing, char job[32], tla_error *error) {
    char script[PATH_MAX], job_path[PATH_MAX], folder[PATH_MAX];
    tla_status status = path_in_folder(work, "", folder, error);
    if (!status) status = path_in_folder(work, "script.sh", script, error);
    if (!status) status = path_in_folder(work, "job", job_path, error);
    if (status) return status;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return tla_error_set(error, TLA_IO, "%s: cannot create the folder: %s", folder, strerror(errno));
    FILE *out = open_own(script);
    if (!out) return tla_error_set(error, TLA_IO, "%s: cannot write: %s", script, strerror(errno));
    status = slurm_write_script(work, missing, out, error);
    if (fclose(out) != 0 && !status)
        status = tla_error_set(error, TLA_IO, "%s: cannot write: %s", script, strerror(errno));
    if (!status) status = slurm_submit(script, job, error);
    return status ? status : write_text(job_path, job, error);
}

/* Waits for a job and merges its results. */
static tla_status finish(const slurm_work *work, const char *job, uint64_t *rows, tla_error *error) {
    char path[PATH_MAX];
    size_t in_use = 0;
    tla_status status = wait_for(work, job, error);
    if (!status) status = path_in_folder(work, "job", path, error);
    if (!status) remove_own(path);
    /* A node that was lost may still hold its task's file for a moment. */
    for (int tries = 0; !status && tries < 20; tries++) {
        uint64_t more;
        status = slurm_merge(work, &more, &in_use, error);
        *rows += more;
        if (!in_use) break;
        usleep(500000);
    }
    return status;
}

static void remove_folder(const slurm_work *work) {
    char folder[PATH_MAX], path[PATH_MAX];
    tla_error ignored;
    struct dirent **entries = NULL;
    if (path_in_folder(work, "", folder, &ignored)) return;
    const int count = scandir(folder, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *end = strrchr(name, '.');
        const bool own = strcmp(name, "script.sh") == 0 || (end && strcmp(end, ".out") == 0);
        if (own && !path_in_folder(work, name, path, &ignored)) remove_own(path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    rmdir(folder); /* fails if the folder has other files */
}

tla_status slurm_run(const slurm_work *work, tla_error *error) {
    char path[PATH_MAX], job[32];
    uint64_t rows = 0;
    size_t in_use;
    tla_status status = path_in_folder(work, "job", path, error);
    if (!status && read_job(path, job)) status = finish(work, job, &rows, error);
    if (!status) status = slurm_merge(work, &rows, &in_use, error);
    for (bool tried = false; !status; tried = true) {
        point_ranges missing = {0};
        status = work->missing(work->context, &missing, error);
        const uint64_t left = point_ranges_total(&missing);
        if (!status && left && tried && !rows)
            status = tla_error_set(error, TLA_BUSY,
                                   "job %s wrote no row, and %" PRIu64
                                   " points have no row: read the output of its tasks in %s.tasks",
                                   job, left, work->results_path);
        rows = 0;
        if (!status && left) status = hand_in(work, &missing, job, error);
        point_ranges_clear(&missing);
        if (!status && !left) break;
        if (!status) status = finish(work, job, &rows, error);
    }
    if (!status) remove_folder(work);
    return status;
}
