/* A search for the best point of a product that runs few of its points. */
#ifndef TLMALLOC_PLATFORM_SWEEP_TUNE_H
#define TLMALLOC_PLATFORM_SWEEP_TUNE_H

#include "sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points that are requested before the answers to all of them are needed, independent of the number of jobs, so that a
 * search does not depend on it; the largest budget of a search; the candidates for each point. */
enum { TUNE_BATCH = 4, TUNE_BUDGET_MAX = 500, TUNE_CANDIDATES = 4000 };

typedef struct tuner tuner;

typedef enum tune_answer { TUNE_POINT, TUNE_WAIT, TUNE_END } tune_answer;

/* A search over a sweep whose sample is a product; the sweep must live as long. `most`: larger values are better.
 * `budget`: points to run, at most TUNE_BUDGET_MAX. A point is requested only if `allowed` returns true (NULL: any).
 * The search begins with a Latin hypercube of a quarter of the budget. It continues where a Gaussian process expects
 * the largest improvement (Jones, Schonlau, Welch: Efficient Global Optimization, 1998); in a batch the later points
 * use the expectations of the earlier points as their answers. The last fifth of the budget goes to the points with the
 * best expected values. The goal's logarithm is used if all values are above 0; a failed point counts as the worst so
 * far. TLA_NO_HOST_MEMORY. */
tla_status tune_create(const sweep *s, bool most, size_t budget, uint64_t seed,
                       bool (*allowed)(void *context, uint64_t point), void *context, tuner **made);
void tune_free(tuner *t);

/* The next point to run; TUNE_WAIT: after an answer that is still due. */
tune_answer tune_ask(tuner *t, uint64_t *point);

/* The answer to a point that was asked for. */
void tune_tell(tuner *t, uint64_t point, bool good, double goal);

/* The best point so far; false: none was good. How many have been asked for. */
bool tune_best(const tuner *t, uint64_t *point, double *goal);
size_t tune_asked(const tuner *t);

#ifdef __cplusplus
}
#endif
#endif
