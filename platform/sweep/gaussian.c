/* A Gaussian process over the points of a product. */
#include "gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gaussian_create(gaussian *g, size_t axes, const bool *ordered, const size_t *sizes, size_t room) {
    *g = (gaussian){.axes = axes, .room = room, .joint = 0.5, .noise = 1e-4};
    bool good = true;
    for (size_t i = 0; i < axes; i++) {
        g->ordered[i] = ordered[i];
        g->sizes[i] = sizes[i];
        g->lengths[i] = 0.7;
        g->says[i] = calloc(sizes[i] + 1, sizeof *g->says[i]);
        good &= g->says[i] != NULL;
    }
    g->points = calloc(room * axes + 1, sizeof *g->points);
    g->values = calloc(room + 1, sizeof *g->values);
    g->factor = calloc(room * room + 1, sizeof *g->factor);
    g->weights = calloc(room + 1, sizeof *g->weights);
    if (good && g->points && g->values && g->factor && g->weights) return true;
    gaussian_free(g);
    return false;
}

void gaussian_free(gaussian *g) {
    for (size_t i = 0; i < g->axes; i++)
        free(g->says[i]);
    free(g->points);
    free(g->values);
    free(g->factor);
    free(g->weights);
    *g = (gaussian){0};
}

void gaussian_add(gaussian *g, const size_t *point, double value) {
    memcpy(g->points + g->count * g->axes, point, g->axes * sizeof *point);
    g->values[g->count++] = value;
}

void gaussian_cut(gaussian *g, size_t count) {
    g->count = count;
}

/* Tabulates the covariances of the axes, for their present lengths. */
static void tabulate(gaussian *g) {
    for (size_t i = 0; i < g->axes; i++)
        for (size_t apart = 0; apart < g->sizes[i]; apart++) {
            const double x = g->sizes[i] > 1 ? (double)apart / (double)(g->sizes[i] - 1) : 0;
            const double exponent = g->ordered[i] ? x * x / (2 * g->lengths[i] * g->lengths[i]) : 1 / g->lengths[i];
            g->says[i][apart] = apart ? exp(-exponent) : 1;
        }
}

static double covariance(const gaussian *g, const size_t *a, const size_t *b) {
    double sum = 0, product = 1;
    for (size_t i = 0; i < g->axes; i++) {
        const double said = g->says[i][a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]];
        sum += said;
        product *= said;
    }
    return (1 - g->joint) * sum / (double)g->axes + g->joint * product;
}

void gaussian_fit(gaussian *g) {
    const size_t n = g->count;
    double square = 0;
    tabulate(g);
    g->mean = 0;
    for (size_t i = 0; i < n; i++)
        g->mean += g->values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (g->values[i] - g->mean) * (g->values[i] - g->mean);
    g->deviation = square > 0 ? sqrt(square / (double)n) : 1;
    for (size_t i = 0; i < n; i++) {
        double *row = g->factor + i * g->room;
        for (size_t k = 0; k <= i; k++) {
            const double *other = g->factor + k * g->room;
            double sum = covariance(g, g->points + i * g->axes, g->points + k * g->axes) + (i == k ? g->noise : 0);
            for (size_t j = 0; j < k; j++)
                sum -= row[j] * other[j];
            row[k] = i == k ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / other[k];
        }
    }
    for (size_t i = 0; i < n; i++) {
        double sum = (g->values[i] - g->mean) / g->deviation;
        for (size_t j = 0; j < i; j++)
            sum -= g->factor[i * g->room + j] * g->weights[j];
        g->weights[i] = sum / g->factor[i * g->room + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            g->weights[i] -= g->factor[j * g->room + i] * g->weights[j];
        g->weights[i] /= g->factor[i * g->room + i];
    }
}

/* The logarithm of the marginal likelihood, without what does not depend on the parameters. */
static double likelihood(gaussian *g) {
    double sum = 0;
    gaussian_fit(g);
    for (size_t i = 0; i < g->count; i++)
        sum -= 0.5 * (g->values[i] - g->mean) / g->deviation * g->weights[i] + log(g->factor[i * g->room + i]);
    return sum;
}

/* Tries the values of a grid for one parameter and keeps the best. */
static double try_grid(gaussian *g, double *parameter, const double *grid, size_t count, double best) {
    double kept = *parameter;
    for (size_t i = 0; i < count; i++) {
        *parameter = grid[i];
        const double found = grid[i] == kept ? best : likelihood(g);
        if (found > best + 1e-9) {
            best = found;
            kept = grid[i];
        }
    }
    *parameter = kept;
    return best;
}

void gaussian_learn(gaussian *g, int rounds) {
    static const double lengths[] = {0.1, 0.2, 0.4, 0.7, 1.2, 2.5, 6, 20}, joints[] = {0.1, 0.3, 0.5, 0.8, 0.95},
                        noises[] = {1e-6, 1e-4, 1e-2};
    double best = likelihood(g);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < g->axes; i++)
            best = try_grid(g, &g->lengths[i], lengths, sizeof lengths / sizeof *lengths, best);
        best = try_grid(g, &g->joint, joints, sizeof joints / sizeof *joints, best);
        best = try_grid(g, &g->noise, noises, sizeof noises / sizeof *noises, best);
    }
    gaussian_fit(g);
}

void gaussian_predict(const gaussian *g, const size_t *point, double *scratch, double *mean, double *deviation) {
    double expected = 0, variance = 1;
    for (size_t i = 0; i < g->count; i++) {
        const double k = covariance(g, point, g->points + i * g->axes);
        double sum = k;
        for (size_t j = 0; j < i; j++)
            sum -= g->factor[i * g->room + j] * scratch[j];
        scratch[i] = sum / g->factor[i * g->room + i];
        variance -= scratch[i] * scratch[i];
        expected += k * g->weights[i];
    }
    *mean = g->mean + g->deviation * expected;
    *deviation = g->deviation * sqrt(variance > 0 ? variance : 0);
}

double gaussian_improvement(double least, double mean, double deviation) {
    if (deviation <= 0) return least > mean ? least - mean : 0;
    const double z = (least - mean) / deviation;
    return (least - mean) * 0.5 * erfc(-z * 0.7071067811865476) + deviation * 0.3989422804014327 * exp(-0.5 * z * z);
}
