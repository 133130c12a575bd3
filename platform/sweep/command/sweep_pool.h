/* A pool of processes that run the points of a sweep, a process for each point. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_POOL_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_POOL_H

#include "sweep/results.h"

enum { SWEEP_JOBS_MAX = 256 };

typedef enum pool_answer {
    POOL_POINT, /* *point is to run */
    POOL_WAIT,  /* none before one that runs has ended */
    POOL_END
} pool_answer;

/* The points to run, and the functions for their results. */
typedef struct pool_work {
    const sweep *s;
    unsigned jobs; /* 1 .. SWEEP_JOBS_MAX */
    pool_answer (*next)(void *context, int64_t *point);
    /* A point has ended. An error stops the pool: what runs is killed. */
    tla_status (*take)(void *context, const sweep_row_result *row, tla_error *error);
    /* Every point that has ended by now has been taken. */
    tla_status (*settle)(void *context, tla_error *error);
    void *context;
} pool_work;

/* Runs all points by forks of this process, which must not have begun a simulation or a thread. The first report must
 * have every figure: TLA_NOT_FOUND for a missing figure, with its number in *figure. TLA_BUSY when a signal from
 * outside (SIGINT, SIGTERM, SIGHUP, SIGQUIT) has ended a worker: the user wants to stop. TLA_IO when no process can be
 * made, TLA_NO_HOST_MEMORY. A worker that is killed by SIGKILL gets a second try: memory may have been short for a
 * moment. */
tla_status pool_run(const pool_work *work, size_t *figure, tla_error *error);

#endif
