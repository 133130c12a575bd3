/* A Gaussian process over the points of a product: the expectation for a point that was not run, and its uncertainty.
 * */
#ifndef TLMALLOC_PLATFORM_SWEEP_GAUSSIAN_H
#define TLMALLOC_PLATFORM_SWEEP_GAUSSIAN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GAUSSIAN_AXES_MAX = 64 };

/* Covariance of two points, a level of each axis: the mean over the axes of each axis's own covariance, and the product
 * of all, weighted by `joint`. An axis has exp(-d^2 / (2 length^2)), where its levels lie evenly on 0 .. 1; for names
 * without an order, exp(-1 / length) where they differ. */
typedef struct gaussian {
    size_t axes, count, room;
    bool ordered[GAUSSIAN_AXES_MAX];
    size_t sizes[GAUSSIAN_AXES_MAX]; /* levels */
    double *says[GAUSSIAN_AXES_MAX]; /* covariances of an axis by the distance of levels */
    double lengths[GAUSSIAN_AXES_MAX];
    double joint, noise;
    double mean, deviation; /* of the observations */
    size_t *points;         /* count rows of levels */
    double *values;         /* as observed */
    double *factor;         /* the lower Cholesky factor, row after row */
    double *weights;        /* the inverse covariance times the values, scaled */
} gaussian;

/* False without host memory. `room`: of observations. */
bool gaussian_create(gaussian *g, size_t axes, const bool *ordered, const size_t *sizes, size_t room);
void gaussian_free(gaussian *g);

/* Observes a value at a point; at most `room`. */
void gaussian_add(gaussian *g, const size_t *point, double value);

/* Takes back all observations past `count`. */
void gaussian_cut(gaussian *g, size_t count);

/* Factors the covariance; must be called after observations have changed and before gaussian_predict. */
void gaussian_fit(gaussian *g);

/* Chooses lengths, joint and noise for the largest marginal likelihood, axis by axis over a grid, `rounds` times, and
 * fits (Rasmussen, Williams: Gaussian Processes for Machine Learning, 2006, algorithm 2.1 and 5.4). */
void gaussian_learn(gaussian *g, int rounds);

/* Computes the expectation for a point, and its standard deviation; scratch: `count` numbers. */
void gaussian_predict(const gaussian *g, const size_t *point, double *scratch, double *mean, double *deviation);

/* By how much a normal value is expected to be below `least`. */
double gaussian_improvement(double least, double mean, double deviation);

#ifdef __cplusplus
}
#endif
#endif
