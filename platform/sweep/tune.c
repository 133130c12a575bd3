/* A search for the best point of a product: a Gaussian process selects the next points. */
#include "tune.h"

#include "gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    uint64_t point;
    bool told, good;
    double goal;
} trial;

struct tuner {
    const sweep *s;
    bool most;
    size_t budget, axes;
    uint64_t state; /* SplitMix64 */
    bool (*allowed)(void *context, uint64_t point);
    void *context;
    trial *trials;
    size_t count, first; /* trials; those before the surrogate */
    size_t batch_end;    /* trials that are asked for before all answers are needed */
    bool exhausted;      /* there is no other point */
    gaussian model;
    size_t learned; /* trials that its parameters were chosen by */
    double *scratch;
};

static uint64_t draw(tuner *t) {
    uint64_t x = t->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static size_t draw_below(tuner *t, uint64_t limit) {
    return (size_t)(draw(t) % limit);
}

/* ---- points and their levels ---- */

static void levels_of(const tuner *t, uint64_t point, size_t *levels) {
    for (size_t axis = t->axes; axis-- > 0;) {
        levels[axis] = (size_t)(point % t->s->axis_sizes[axis]);
        point /= t->s->axis_sizes[axis];
    }
}

static uint64_t point_of(const tuner *t, const size_t *levels) {
    uint64_t point = 0;
    for (size_t axis = 0; axis < t->axes; axis++)
        point = point * t->s->axis_sizes[axis] + levels[axis];
    return point;
}

static bool is_number(const char *text) {
    uint64_t number;
    for (tla_value_type type = TLA_VALUE_COUNT; type <= TLA_VALUE_LAST_NUMBER; type++)
        if (tla_number_parse(type, text, &number, NULL) == TLA_OK) return true;
    return false;
}

/* An axis has an order when the values of its first key are numbers. */
static bool is_ordered(const sweep *s, size_t axis) {
    for (size_t i = 0; i < s->factor_count; i++) {
        const sweep_factor *f = &s->factors[i];
        if (f->axis != axis) continue;
        for (size_t value = 0; value < f->value_count; value++)
            if (!is_number(f->values[value])) return false;
        return true;
    }
    return false;
}

static bool is_asked(const tuner *t, uint64_t point) {
    for (size_t i = 0; i < t->count; i++)
        if (t->trials[i].point == point) return true;
    return false;
}

static bool is_free(const tuner *t, uint64_t point) {
    return !is_asked(t, point) && (!t->allowed || t->allowed(t->context, point));
}

/* ---- the beginning ---- */

/* A Latin hypercube over the levels: each axis is a permutation of evenly spread levels. */
static bool begin(tuner *t) {
    size_t *columns = calloc(t->axes * t->first + 1, sizeof *columns);
    if (!columns) return false;
    for (size_t axis = 0; axis < t->axes; axis++) {
        size_t *column = columns + axis * t->first;
        for (size_t i = 0; i < t->first; i++)
            column[i] = i * t->s->axis_sizes[axis] / t->first;
        for (size_t i = t->first; i-- > 1;) {
            const size_t other = draw_below(t, i + 1), kept = column[i];
            column[i] = column[other];
            column[other] = kept;
        }
    }
    for (size_t i = 0; i < t->first; i++) {
        size_t levels[GAUSSIAN_AXES_MAX];
        for (size_t axis = 0; axis < t->axes; axis++)
            levels[axis] = columns[axis * t->first + i];
        const uint64_t point = point_of(t, levels);
        if (is_free(t, point)) t->trials[t->count++] = (trial){.point = point};
    }
    for (size_t tries = 0; t->count < t->first && tries < 64 * t->first; tries++) {
        const uint64_t point = draw(t) % t->s->count;
        if (is_free(t, point)) t->trials[t->count++] = (trial){.point = point};
    }
    free(columns);
    return true;
}

tla_status tune_create(const sweep *s, bool most, size_t budget, uint64_t seed,
                       bool (*allowed)(void *context, uint64_t point), void *context, tuner **made) {
    tuner *t = calloc(1, sizeof *t);
    *made = t;
    if (!t) return TLA_NO_HOST_MEMORY;
    if (budget > s->count) budget = (size_t)s->count;
    if (budget > TUNE_BUDGET_MAX) budget = TUNE_BUDGET_MAX;
    t->s = s;
    t->most = most;
    t->budget = budget;
    t->axes = s->axis_count;
    t->state = seed;
    t->allowed = allowed;
    t->context = context;
    t->first = budget / 4 > t->axes + 2 ? budget / 4 : t->axes + 2 < budget ? t->axes + 2 : budget;
    bool ordered[GAUSSIAN_AXES_MAX];
    for (size_t axis = 0; axis < t->axes; axis++)
        ordered[axis] = is_ordered(s, axis);
    t->trials = calloc(budget + 1, sizeof *t->trials);
    t->scratch = calloc(budget + TUNE_BATCH + 1, sizeof *t->scratch);
    const bool good =
        t->trials && t->scratch && gaussian_create(&t->model, t->axes, ordered, s->axis_sizes, budget + TUNE_BATCH);
    if (good && begin(t)) {
        t->batch_end = 0;
        return TLA_OK;
    }
    tune_free(t);
    *made = NULL;
    return TLA_NO_HOST_MEMORY;
}

void tune_free(tuner *t) {
    if (!t) return;
    free(t->trials);
    free(t->scratch);
    gaussian_free(&t->model);
    free(t);
}

/* ---- known points ---- */

/* The smaller the better; logarithms where all goals are above 0. */
static double value_of(const tuner *t, double goal, bool logarithms) {
    const double value = logarithms ? log(goal) : goal;
    return t->most ? -value : value;
}

/* Gives the model all answers; the least of them. */
static double observe(tuner *t) {
    bool logarithms = true;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < t->count; i++)
        logarithms &= !t->trials[i].good || t->trials[i].goal > 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->trials[i].good) continue;
        const double value = value_of(t, t->trials[i].goal, logarithms);
        least = fmin(least, value);
        most = fmax(most, value);
    }
    gaussian_cut(&t->model, 0);
    for (size_t i = 0; i < t->count; i++) {
        size_t levels[GAUSSIAN_AXES_MAX];
        levels_of(t, t->trials[i].point, levels);
        const bool good = t->trials[i].good;
        gaussian_add(&t->model, levels, good ? value_of(t, t->trials[i].goal, logarithms) : isfinite(most) ? most : 0);
    }
    return isfinite(least) ? least : 0;
}

/* ---- where to look next ---- */

typedef struct choice {
    uint64_t point;
    double merit;
    bool found;
} choice;

/* Looks at a candidate: by the improvement that is expected, or by the value itself. */
static void look(tuner *t, uint64_t point, double least, bool greedy, choice *best) {
    size_t levels[GAUSSIAN_AXES_MAX];
    double mean, deviation;
    if (is_asked(t, point)) return;
    levels_of(t, point, levels);
    gaussian_predict(&t->model, levels, t->scratch, &mean, &deviation);
    const double merit = greedy ? -mean : gaussian_improvement(least, mean, deviation);
    if (best->found && merit <= best->merit) return;
    if (t->allowed && !t->allowed(t->context, point)) return;
    *best = (choice){point, merit, true};
}

/* Candidates: all points of a small product; of a large one as many at random, and those that differ from one of the
 * best in one axis. */
static choice choose(tuner *t, double least, bool greedy) {
    choice best = {0};
    if (t->s->count <= TUNE_CANDIDATES) {
        for (uint64_t point = 0; point < t->s->count; point++)
            look(t, point, least, greedy, &best);
        return best;
    }
    for (int i = 0; i < TUNE_CANDIDATES; i++)
        look(t, draw(t) % t->s->count, least, greedy, &best);
    uint64_t centre = 0;
    double goal = 0;
    if (!tune_best(t, &centre, &goal)) return best;
    size_t levels[GAUSSIAN_AXES_MAX];
    levels_of(t, centre, levels);
    for (size_t axis = 0; axis < t->axes; axis++) {
        const size_t kept = levels[axis];
        for (levels[axis] = 0; levels[axis] < t->s->axis_sizes[axis]; levels[axis]++)
            look(t, point_of(t, levels), least, greedy, &best);
        levels[axis] = kept;
    }
    return best;
}

/* Adds a batch of trials; each uses the expectations of the earlier trials of the batch as their answers. */
static void go_on(tuner *t) {
    const size_t known = t->count, room = t->budget - t->count;
    const double least = observe(t);
    if (4 * t->count >= 5 * t->learned) { /* the parameters change less and less */
        gaussian_learn(&t->model, t->learned ? 1 : 2);
        t->learned = t->count;
    } else {
        gaussian_fit(&t->model);
    }
    for (size_t i = 0; i < TUNE_BATCH && i < room; i++) {
        const bool greedy = t->count + (t->budget + 4) / 5 > t->budget;
        const choice next = choose(t, least, greedy);
        if (!next.found) {
            t->exhausted = t->count == known;
            return;
        }
        size_t levels[GAUSSIAN_AXES_MAX];
        double mean, deviation;
        levels_of(t, next.point, levels);
        gaussian_predict(&t->model, levels, t->scratch, &mean, &deviation);
        t->trials[t->count++] = (trial){.point = next.point};
        gaussian_add(&t->model, levels, mean);
        gaussian_fit(&t->model);
    }
}

/* ---- the interface ---- */

tune_answer tune_ask(tuner *t, uint64_t *point) {
    if (t->batch_end == t->count) {
        for (size_t i = 0; i < t->count; i++)
            if (!t->trials[i].told) return TUNE_WAIT;
        if (t->count >= t->budget || t->exhausted) return TUNE_END;
        go_on(t);
        if (t->batch_end == t->count) return TUNE_END;
    }
    *point = t->trials[t->batch_end++].point;
    return TUNE_POINT;
}

void tune_tell(tuner *t, uint64_t point, bool good, double goal) {
    for (size_t i = 0; i < t->count; i++)
        if (t->trials[i].point == point) {
            t->trials[i].told = true;
            t->trials[i].good = good && isfinite(goal);
            t->trials[i].goal = goal;
        }
}

bool tune_best(const tuner *t, uint64_t *point, double *goal) {
    bool found = false;
    for (size_t i = 0; i < t->count; i++) {
        const trial *tried = &t->trials[i];
        if (!tried->told || !tried->good) continue;
        if (found && (t->most ? tried->goal <= *goal : tried->goal >= *goal)) continue;
        *point = tried->point;
        *goal = tried->goal;
        found = true;
    }
    return found;
}

size_t tune_asked(const tuner *t) {
    return t->count;
}
