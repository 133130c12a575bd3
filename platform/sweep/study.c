/* The conclusions from the points of a sweep about its keys: effects, interactions, elasticities, the best point. */
#include "study.h"

#include "study_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 200 };

static uint32_t level_at(const study *s, size_t row, size_t factor) {
    return s->levels[row * s->factor_count + factor];
}

/* ---- effects ---- */

/* One round of backfitting: the effect of a level is the mean of its rows beyond the total mean and the other effects.
 * rest: the residual of every row. Returns the largest change of an effect. */
static double fit_factor(const study *s, size_t factor, double *rest, double *effects, double *sums) {
    const study_factor *f = &s->factors[factor];
    double change = 0;
    memset(sums, 0, f->level_count * sizeof *sums);
    for (size_t row = 0; row < s->row_count; row++)
        sums[level_at(s, row, factor)] += rest[row];
    for (size_t level = 0; level < f->level_count; level++) {
        sums[level] /= (double)f->levels[level].points;
        effects[level] += sums[level];
        if (fabs(sums[level]) > change) change = fabs(sums[level]);
    }
    for (size_t row = 0; row < s->row_count; row++)
        rest[row] -= sums[level_at(s, row, factor)];
    return change;
}

static void put_effects(const study *s, size_t factor, const double *effects, bool logarithms) {
    const study_factor *f = &s->factors[factor];
    for (size_t level = 0; level < f->level_count; level++)
        *(logarithms ? &f->levels[level].log_effect : &f->levels[level].effect) = effects[level];
}

static size_t most_levels(const study *s) {
    size_t most = 1;
    for (size_t i = 0; i < s->factor_count; i++)
        if (s->factors[i].level_count > most) most = s->factors[i].level_count;
    return most;
}

/* Fits the model to the goals or to their logarithms; rest is the residual. False without host memory. */
static bool fit(study *s, bool logarithms, double *rest) {
    const size_t most = most_levels(s);
    double *effects = calloc(s->factor_count * most + 1, sizeof *effects), *sums = calloc(most, sizeof *sums);
    double mean = 0, scale = 0;
    if (!effects || !sums) {
        free(effects);
        free(sums);
        return false;
    }
    for (size_t row = 0; row < s->row_count; row++) {
        rest[row] = logarithms ? log(s->goals[row]) : s->goals[row];
        mean += rest[row] / (double)s->row_count;
    }
    for (size_t row = 0; row < s->row_count; row++) {
        rest[row] -= mean;
        if (fabs(rest[row]) > scale) scale = fabs(rest[row]);
    }
    double change = scale;
    for (int round = 0; round < ROUNDS_MAX && change > 1e-12 * scale; round++) {
        change = 0;
        for (size_t factor = 0; factor < s->factor_count; factor++)
            change = fmax(change, fit_factor(s, factor, rest, effects + factor * most, sums));
    }
    for (size_t factor = 0; factor < s->factor_count; factor++)
        put_effects(s, factor, effects + factor * most, logarithms);
    if (!logarithms) s->mean = mean;
    free(effects);
    free(sums);
    return true;
}

static void find_shares(study *s) {
    double total = 0;
    for (size_t row = 0; row < s->row_count; row++)
        total += (s->goals[row] - s->mean) * (s->goals[row] - s->mean);
    s->variance = total / (double)s->row_count;
    s->rest = total > 0;
    for (size_t factor = 0; factor < s->factor_count; factor++) {
        study_factor *f = &s->factors[factor];
        double sum = 0;
        for (size_t level = 0; level < f->level_count; level++)
            sum += (double)f->levels[level].points * f->levels[level].effect * f->levels[level].effect;
        f->share = total > 0 ? sum / total : 0;
        s->rest -= f->share;
    }
}

/* The slope of the logarithmic effects over the logarithms of the key, every point of the same weight. */
static void find_elasticity(study_factor *f) {
    double points = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0;
    f->has_elasticity = f->level_count > 1;
    for (size_t i = 0; i < f->level_count && f->has_elasticity; i++)
        f->has_elasticity = f->levels[i].is_number && f->levels[i].number > 0;
    if (!f->has_elasticity) return;
    for (size_t i = 0; i < f->level_count; i++) {
        const double weight = (double)f->levels[i].points;
        points += weight;
        x_mean += weight * log(f->levels[i].number);
        y_mean += weight * f->levels[i].log_effect;
    }
    x_mean /= points;
    y_mean /= points;
    for (size_t i = 0; i < f->level_count; i++) {
        const double x = log(f->levels[i].number) - x_mean;
        xx += (double)f->levels[i].points * x * x;
        xy += (double)f->levels[i].points * x * (f->levels[i].log_effect - y_mean);
    }
    f->has_elasticity = xx > 0;
    if (f->has_elasticity) f->elasticity = xy / xx;
}

/* ---- pairs ---- */

/* Returns the share of the means of a pair's cells in the residual. */
static double pair_share(const study *s, size_t a, size_t b, const double *rest, double *sums, size_t *counts) {
    const size_t width = s->factors[b].level_count, cells = s->factors[a].level_count * width;
    double share = 0;
    memset(sums, 0, cells * sizeof *sums);
    memset(counts, 0, cells * sizeof *counts);
    for (size_t row = 0; row < s->row_count; row++) {
        const size_t cell = level_at(s, row, a) * width + level_at(s, row, b);
        sums[cell] += rest[row];
        counts[cell]++;
    }
    for (size_t cell = 0; cell < cells; cell++)
        if (counts[cell]) share += sums[cell] * sums[cell] / (double)counts[cell];
    return s->variance > 0 ? share / (s->variance * (double)s->row_count) : 0;
}

static int compare_pairs(const void *a, const void *b) {
    const study_pair *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->second > y->second) - (x->second < y->second);
}

static bool find_pairs(study *s, const double *rest) {
    const size_t most = most_levels(s);
    double *sums = calloc(most * most, sizeof *sums);
    size_t *counts = calloc(most * most, sizeof *counts);
    s->pairs = calloc(s->factor_count * s->factor_count / 2 + 1, sizeof *s->pairs);
    const bool good = sums && counts && s->pairs;
    for (size_t a = 0; good && a < s->factor_count; a++)
        for (size_t b = a + 1; b < s->factor_count; b++) {
            const double share = pair_share(s, a, b, rest, sums, counts);
            s->pairs[s->pair_count++] = (study_pair){a, b, share};
            s->rest -= share;
        }
    if (s->pairs) qsort(s->pairs, s->pair_count, sizeof *s->pairs, compare_pairs);
    free(sums);
    free(counts);
    return good;
}

/* ---- the best ---- */

static bool better(const study_goal *goal, double a, double b) {
    return goal->most ? a > b : a < b;
}

/* Returns the best row with the base's level of one factor; SIZE_MAX if no row has it. */
static size_t row_with_base(const study *s, size_t factor) {
    for (size_t other = 0; other < s->factor_count; other++)
        if (s->factors[other].together) return SIZE_MAX;
    for (size_t row = 0; row < s->row_count; row++) {
        bool same = level_at(s, row, factor) == s->factors[factor].base_level;
        for (size_t other = 0; other < s->factor_count && same; other++)
            same = other == factor || level_at(s, row, other) == level_at(s, s->best, other);
        if (same) return row;
    }
    return SIZE_MAX;
}

static bool find_best(study *s) {
    s->returns = calloc(s->factor_count + 1, sizeof *s->returns);
    if (!s->returns) return false;
    for (size_t row = 1; row < s->row_count; row++)
        if (better(&s->goal, s->goals[row], s->goals[s->best])) s->best = row;
    for (size_t factor = 0; factor < s->factor_count; factor++) {
        const size_t row = s->factors[factor].base_level == SIZE_MAX ? SIZE_MAX : row_with_base(s, factor);
        if (row != SIZE_MAX) s->returns[factor] = (study_return){true, s->goals[row]};
    }
    return true;
}

tla_status study_work_out(study *s, tla_error *error) {
    const tla_status status = study_read(s, error);
    if (status) return status;
    double *rest = calloc(s->row_count, sizeof *rest);
    bool good = rest != NULL;
    s->logarithmic = true;
    for (size_t row = 0; row < s->row_count; row++)
        s->logarithmic &= s->goals[row] > 0;
    if (good && s->logarithmic) good = fit(s, true, rest);
    for (size_t factor = 0; factor < s->factor_count && s->logarithmic; factor++)
        find_elasticity(&s->factors[factor]);
    good = good && fit(s, false, rest);
    if (good) find_shares(s);
    good = good && find_pairs(s, rest) && find_best(s);
    free(rest);
    return good ? TLA_OK : study_no_memory(s, error);
}
