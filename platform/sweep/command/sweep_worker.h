/* The process that runs one point of a sweep. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_WORKER_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_WORKER_H

#include "sweep/figure_path.h"
#include "sweep/sweep.h"

/* The results of a worker, in memory that it shares with the pool. */
typedef struct sweep_outcome {
    char configuration[17]; /* "" : there is no such configuration */
    bool reported;          /* the command wrote a report; otherwise the figures are undefined */
    figure_state states[SWEEP_FIGURES_MAX];
    double figures[SWEEP_FIGURES_MAX];
} sweep_outcome;

/* Where a worker writes; descriptors of files without a name. */
typedef struct sweep_streams {
    int report, messages, experiment;
} sweep_streams;

/* Runs the command of a point in a process that was forked for it, and ends the process with the command's exit
 * status. */
_Noreturn void sweep_work(const sweep *s, int64_t point, const sweep_streams *streams, sweep_outcome *outcome);

#endif
