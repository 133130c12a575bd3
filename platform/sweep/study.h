/* The conclusions from the results of a sweep: important keys, their interactions, and the best points. */
#ifndef TLMALLOC_PLATFORM_SWEEP_STUDY_H
#define TLMALLOC_PLATFORM_SWEEP_STUDY_H

#include "results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of a drawn number past so many are taken together in STUDY_BINS groups of as many points. */
enum { STUDY_LEVELS_MAX = 16, STUDY_BINS = 8 };

typedef struct study_level {
    char *text;     /* "4 KiB"; of zipped keys all, with commas; of a group "1 .. 5" */
    bool is_number; /* of the first key */
    double number;  /* in bytes, picoseconds, ...; of a group the mean */
    size_t points;
    double effect;     /* on the goal, over the mean of all points */
    double log_effect; /* on its natural logarithm, where it has one */
} study_level;

/* A key, or keys that are zipped. */
typedef struct study_factor {
    char *name;
    study_level *levels; /* numbers ascending, else in the order of the points */
    size_t level_count;
    bool together;     /* levels are groups of values */
    size_t base_level; /* the base's; SIZE_MAX: none of them */
    double share;      /* of the goal's variance */
    bool has_elasticity;
    double elasticity; /* d ln(goal) / d ln(key), by least squares over the levels */
} study_factor;

typedef struct study_pair {
    size_t first, second; /* factors */
    double share;         /* of the goal's variance, beyond that of both alone */
} study_pair;

typedef struct study_goal {
    size_t figure; /* of those of the sweep */
    bool most;     /* the larger the better */
} study_goal;

/* The goal at the best point, with one factor put back to the base's value. */
typedef struct study_return {
    bool known; /* there is such a point */
    double goal;
} study_return;

typedef struct study {
    sqlite3 *database;
    char *path;
    char **key_names, **figure_names;
    size_t *key_axes;
    size_t key_count, figure_count, factor_count;
    study_factor *factors;
    study_pair *pairs; /* the largest share first */
    size_t pair_count;
    study_goal goal;
    size_t point_count, failed_count; /* of the file; failed: a status that is not 0, or no goal */
    size_t row_count;                 /* the others, which are studied */
    int64_t *points;                  /* their numbers, ascending */
    double *goals;
    uint32_t *levels;            /* row after row, factor_count of each */
    double mean, variance, rest; /* rest: the share that neither factors nor pairs have */
    bool logarithmic;            /* every goal is above 0 */
    bool has_base;
    double base_goal;
    size_t best;           /* a row */
    study_return *returns; /* for each factor */
    int64_t *front;        /* points of the Pareto front, by the first of its figures, the best first */
    size_t front_count;
} study;

/* Opens the results of a sweep, and reads their description. TLA_IO, TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY with a
 * text; *s needs no study_close then. */
tla_status study_open(const char *path, study *s, tla_error *error);
void study_close(study *s);

/* "FIGURE", "min FIGURE" or "max FIGURE" among the names of figures; `where` is for messages. TLA_INVALID_ARGUMENT with
 * a text that names what there is. */
tla_status study_find_goal(const char *where, const char *const *names, size_t count, const char *text,
                           study_goal *goal, tla_error *error);

/* The same among those of a study. */
tla_status study_parse_goal(const study *s, const char *text, study_goal *goal, tla_error *error);

/* Reads the points that have ended well, and computes the rest, for s->goal. The model is a mean and an effect for each
 * level of each factor, by least squares (backfitting: Hastie, Tibshirani 1990; in a full product these are the means
 * of the levels). The share of a pair is that of the means of its cells in the residual. TLA_NOT_FOUND when no point
 * has the goal; TLA_NO_HOST_MEMORY. */
tla_status study_work_out(study *s, tla_error *error);

/* The points that no other is better than in one of these figures without being worse in another, of those that have
 * all of them. Errors as above. */
tla_status study_pareto(study *s, const study_goal *goals, size_t goal_count, tla_error *error);

/* Returns a cell of the file for a point, as text; "" for a missing value. From malloc, NULL without host memory. */
char *study_cell(const study *s, int64_t point, const char *column);

#ifdef __cplusplus
}
#endif
#endif
