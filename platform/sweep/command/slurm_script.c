/* The script of a sweep's job: a line of points for each task. */
#include "sweep/command/slurm_job.h"
#include "sweep/command/sweep_slurm.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASK_RANGES_MAX = 1000, SCRIPT_BYTES_MAX = 1 << 21 }; /* Slurm rejects scripts of more than 4 MiB */

#define TASK_SECONDS 100 /* a task costs Slurm 0.5 to 2 s: 2 % at most */

static uint64_t points_of_a_task(const slurm_work *work, uint64_t missing) {
    const uint64_t least = (missing + SLURM_TASKS_MAX - 1) / SLURM_TASKS_MAX;
    uint64_t points = work->options->task_points;
    if (!points && work->point_seconds > 0) {
        const double many = TASK_SECONDS / work->point_seconds * work->options->jobs;
        points = many < (double)missing ? (uint64_t)many : missing;
    }
    if (points < SLURM_TASK_POINTS_MIN) points = SLURM_TASK_POINTS_MIN;
    return points > least ? points : least;
}

/* The lines of all tasks, and how many there are. */
static size_t write_lines(const point_ranges *missing, uint64_t task_points, FILE *out) {
    size_t tasks = 0, ranges = 0, bytes = 0;
    uint64_t room = 0;
    for (size_t i = 0; i < missing->count; i++)
        for (uint64_t first = missing->at[i].first; first <= missing->at[i].last;) {
            const bool begins = room == 0 || ranges == TASK_RANGES_MAX;
            if (begins && (tasks == SLURM_TASKS_MAX || bytes > SCRIPT_BYTES_MAX)) return tasks;
            if (begins) {
                if (tasks) fputc('\n', out);
                tasks++;
                ranges = 0;
                room = task_points;
            }
            const uint64_t left = missing->at[i].last - first + 1, count = left < room ? left : room;
            bytes += (size_t)fprintf(out, "%s%" PRIu64, ranges ? "," : "", first);
            if (count > 1) bytes += (size_t)fprintf(out, "-%" PRIu64, first + count - 1);
            ranges++;
            room -= count;
            first += count;
        }
    return tasks;
}

/* Names go into comments for sbatch too, where nothing can be quoted but blanks. */
static bool can_stand(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == '%') return false;
    return true;
}

typedef struct script_words {
    char folder[PATH_MAX], quoted_folder[2 * PATH_MAX];
    char program[2 * PATH_MAX], sweep[2 * PATH_MAX], here[2 * PATH_MAX];
} script_words;

static bool find_words(const slurm_work *work, script_words *w) {
    char path[PATH_MAX], here[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0 || !getcwd(here, sizeof here)) return false;
    path[length] = '\0';
    const bool absolute = *work->results_path == '/';
    return snprintf(w->folder, sizeof w->folder, "%s%s%s.tasks", absolute ? "" : here, absolute ? "" : "/",
                    work->results_path) < (int)sizeof w->folder &&
           slurm_quote(w->folder, w->quoted_folder, sizeof w->quoted_folder) &&
           slurm_quote(path, w->program, sizeof w->program) && slurm_quote(here, w->here, sizeof w->here) &&
           slurm_quote(work->sweep_path, w->sweep, sizeof w->sweep);
}

static void write_head(const slurm_work *work, const script_words *w, size_t tasks, uint64_t points, FILE *out) {
    fprintf(out,
            "#!/bin/sh\n#SBATCH --job-name=tlmalloc-sweep\n#SBATCH --array=1-%zu\n#SBATCH --requeue\n"
            "#SBATCH --open-mode=append\n#SBATCH --output=\"%s/%%A_%%a.out\"\n#SBATCH --cpus-per-task=%u\n",
            tasks, w->folder, work->options->jobs);
    for (size_t i = 0; i < work->options->sbatch_count; i++)
        fprintf(out, "#SBATCH %s\n", work->options->sbatch[i]);
    fprintf(out, "# %" PRIu64 " points per task", points);
    if (work->point_seconds > 0)
        fprintf(out, " of %.3g s each", work->point_seconds);
    else
        fprintf(out, "; their duration is not known yet");
    fprintf(out, ". Each task writes a results file into the folder above, which\n"
                 "# must exist; `tlmalloc sweep --merge' merges the files.\n");
}

tla_status slurm_write_script(const slurm_work *work, const point_ranges *missing, FILE *out, tla_error *error) {
    script_words *w = calloc(1, sizeof *w);
    char *lines = NULL;
    size_t length = 0;
    FILE *memory = w ? open_memstream(&lines, &length) : NULL;
    if (!memory) {
        free(w);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the script of a job");
    }
    const uint64_t points = points_of_a_task(work, point_ranges_total(missing));
    const size_t tasks = write_lines(missing, points, memory);
    tla_status status = fclose(memory) == 0 ? TLA_OK : tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    if (!status &&
        (!find_words(work, w) || !can_stand(w->folder) || !can_stand(work->sweep_path) || !can_stand(w->here)))
        status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                               "--slurm: a file name is too long, or has \", \\, %% or control characters");
    if (!status) {
        write_head(work, w, tasks, points, out);
        fprintf(out,
                "cd %s || exit 1\npoints=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" <<'END'\n%s\nEND\n)\n"
                "exec %s sweep %s -o %s/\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.sqlite\" --resume --jobs %u "
                "--points \"$points\"\n",
                w->here, lines, w->program, w->sweep, w->quoted_folder, work->options->jobs);
        if (fflush(out) != 0) status = tla_error_set(error, TLA_IO, "the script of a job cannot be written");
    }
    free(lines);
    free(w);
    return status;
}
