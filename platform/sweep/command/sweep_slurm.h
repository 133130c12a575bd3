/* A sweep as jobs of Slurm: an array of tasks, each of which runs a part of the points into a file of its own. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_SLURM_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_SLURM_H

#include "sweep/command/point_ranges.h"
#include "sweep/results.h"

enum { SLURM_TASK_POINTS_MIN = 100, SLURM_TASKS_MAX = 1000, SLURM_OPTIONS_MAX = 32 };

typedef struct slurm_options {
    const char *sbatch[SLURM_OPTIONS_MAX]; /* passed through: "--partition=short" */
    size_t sbatch_count;
    uint64_t task_points; /* 0: by the time that points take */
    unsigned jobs;        /* processes of a task */
} slurm_options;

typedef struct slurm_work {
    const char *sweep_path, *results_path; /* as the command line has them */
    const slurm_options *options;
    double point_seconds; /* mean of those that have run; 0: none has */
    /* The points that have no row, in the order of their numbers. From malloc. */
    tla_status (*missing)(void *context, point_ranges *points, tla_error *error);
    /* Takes the rows of a task's file into the results: how many were new. */
    tla_status (*take)(void *context, const char *path, uint64_t *rows, bool *in_use, tla_error *error);
    /* How many of the tasks run and wait, every now and then. */
    void (*watch)(void *context, size_t running, size_t waiting);
    void *context;
} slurm_work;

/* Writes the script of a job for missing points: at least SLURM_TASK_POINTS_MIN in a task, enough for 100 s in a task,
 * at most SLURM_TASKS_MAX tasks. Remaining points are for another job. TLA_INVALID_ARGUMENT for names that a script
 * cannot have, TLA_IO when it cannot be written. */
tla_status slurm_write_script(const slurm_work *work, const point_ranges *missing, FILE *out, tla_error *error);

/* Takes what tasks have left into the results, and removes their files; those that are being written to stay, and are
 * counted. *rows: how many were new. */
tla_status slurm_merge(const slurm_work *work, uint64_t *rows, size_t *in_use, tla_error *error);

/* Submits jobs, waits for them and merges, until every point has a row; continues a job that an earlier process has
 * submitted. TLA_BUSY without progress: a job brought no row, or is held. Errors as above. */
tla_status slurm_run(const slurm_work *work, tla_error *error);

#endif
