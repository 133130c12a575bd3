/* The points of a sweep, by their numbers: nothing of them is stored. */
#include "sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *sweep_sample_name(uint64_t sample) {
    static const char *const names[] = {"product", "list", "random", "latin"};
    return sample < sizeof names / sizeof names[0] ? names[sample] : NULL;
}

/* ---- drawn numbers ---- */

/* The finaliser of SplitMix64. */
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* The number of a stream at a place: no state, so that any point can be asked for. */
static uint64_t draw(uint64_t seed, uint64_t stream, uint64_t place) {
    const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);
    return mix(mix(mix(seed + step) + stream * step) + (place + 1) * step);
}

static double unit_of(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

/* Returns the image of `place` in a permutation of 0 .. count - 1 that follows from the seed and the stream. */
static uint64_t permuted(uint64_t seed, uint64_t stream, uint64_t place, uint64_t count) {
    unsigned half = 1;
    while (half < 32 && UINT64_C(1) << 2 * half < count)
        half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = place >> half, right = place & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (draw(seed ^ round << 60, stream + round, right) & mask);
            left = right;
            right = next;
        }
        place = left << half | right;
    } while (place >= count);
    return place;
}

/* 0 <= u < 1 of an axis at a point. */
static double position(const sweep *s, uint64_t point, size_t axis) {
    const double inside = unit_of(draw(s->seed, 2 * axis, point));
    if (s->sample == SWEEP_RANDOM) return inside;
    const uint64_t part = permuted(s->seed, UINT64_C(1) << 32 | 8 * axis, point, s->count);
    return ((double)part + inside) / (double)s->count;
}

static uint64_t drawn_number(const sweep_factor *f, double u) {
    const double low = (double)f->low, high = (double)f->high;
    const double x = f->logarithmic ? exp2(log2(low) + u * (log2(high) - log2(low))) : low + u * (high - low + 1);
    uint64_t number = x >= high ? f->high : x <= low ? f->low : (uint64_t)x;
    if (!f->power_of_two || number == 0) return number;
    const uint64_t below = UINT64_C(1) << (63 - __builtin_clzll(number));
    number = (double)number < (double)below * 1.4142135623730951 ? below : 2 * below; /* the nearer one by ratio */
    return number > f->high ? below : number < f->low ? 2 * below : number;
}

/* ---- values ---- */

size_t sweep_level(const sweep *s, int64_t point, size_t factor) {
    const sweep_factor *f = &s->factors[factor];
    if (point == SWEEP_BASE_POINT || f->ranged) return SIZE_MAX;
    uint64_t rest = (uint64_t)point;
    if (s->sample == SWEEP_LIST) return f->values[rest] ? rest : SIZE_MAX;
    if (s->sample != SWEEP_PRODUCT) return (size_t)(position(s, rest, f->axis) * (double)f->value_count);
    for (size_t axis = s->axis_count; axis-- > f->axis + 1;)
        rest /= s->axis_sizes[axis];
    return rest % s->axis_sizes[f->axis];
}

const char *sweep_setting_value(const sweep *s, const char *name) {
    for (size_t i = 0; i < s->setting_count; i++)
        if (strcmp(s->settings[i].name, name) == 0) return s->settings[i].value;
    return strcmp(name, "input") == 0 ? s->input : NULL;
}

bool sweep_value(const sweep *s, int64_t point, size_t factor, tla_phrase *value) {
    const sweep_factor *f = &s->factors[factor];
    const size_t level = sweep_level(s, point, factor);
    if (level != SIZE_MAX) {
        *value = tla_phrase_of("%s", f->values[level]);
        return true;
    }
    if (point != SWEEP_BASE_POINT && f->ranged) {
        *value = tla_number_print(f->type, drawn_number(f, position(s, (uint64_t)point, f->axis)));
        return true;
    }
    const char *base = sweep_setting_value(s, f->name);
    if (base) *value = tla_phrase_of("%s", base);
    return base != NULL;
}

bool sweep_has_base(const sweep *s) {
    for (size_t i = 0; i < s->factor_count; i++)
        if (s->factors[i].kind != SWEEP_KEY && !sweep_setting_value(s, s->factors[i].name)) return false;
    return true;
}

static bool is_factor(const sweep *s, const char *name) {
    for (size_t i = 0; i < s->factor_count; i++)
        if (strcmp(s->factors[i].name, name) == 0) return true;
    return false;
}

void sweep_each_setting(const sweep *s, int64_t point, sweep_visit visit, void *context) {
    for (size_t i = 0; i < s->setting_count; i++)
        if (!is_factor(s, s->settings[i].name))
            visit(context, s->settings[i].kind, s->settings[i].name, s->settings[i].value);
    if (s->input && !is_factor(s, "input")) visit(context, SWEEP_INPUT, "input", s->input);
    for (size_t i = 0; i < s->factor_count; i++) {
        tla_phrase value;
        if (sweep_value(s, point, i, &value)) visit(context, s->factors[i].kind, s->factors[i].name, value.text);
    }
}

/* ---- configurations and what stands for them ---- */

typedef struct words {
    tla_phrase texts[SWEEP_FACTORS_MAX * 2];
    const char *words[SWEEP_FACTORS_MAX * 2];
    size_t count;
    bool too_many;
} words;

static void add_word(void *context, sweep_kind kind, const char *name, const char *value) {
    words *w = context;
    if (kind != SWEEP_KEY) return;
    w->too_many |= w->count == sizeof w->words / sizeof w->words[0];
    if (w->too_many) return;
    w->texts[w->count] = tla_phrase_of("%s=%s", name, value);
    w->words[w->count] = w->texts[w->count].text;
    w->count++;
}

static void keep_first(void *context, const tla_config_finding *finding) {
    tla_error *error = context;
    if (error && !*error->text) tla_error_set(error, TLA_SYNTAX, "%s", finding->text);
}

bool sweep_has_config(const sweep *s) {
    return s->command->platform != SWEEP_NO_PLATFORM && !s->platform_is_profile;
}

tla_status sweep_config(const sweep *s, int64_t point, tla_config *config, tla_error *error) {
    if (error) *error = (tla_error){0};
    words *w = calloc(1, sizeof *w);
    if (!w) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a point");
    sweep_each_setting(s, point, add_word, w);
    const tla_status status = w->too_many ? tla_error_set(error, TLA_LIMIT, "more keys are set than the limit of %zu",
                                                          sizeof w->words / sizeof w->words[0])
                                          : tla_config_load(s->platform, w->words, w->count, config, keep_first, error);
    free(w);
    return status;
}

typedef struct shown {
    const char *key;
    tla_phrase *value;
    bool found;
} shown;

static void take_shown(void *context, const char *key, const char *text, bool is_number, uint64_t number) {
    (void)is_number;
    (void)number;
    shown *w = context;
    if (strcmp(key, w->key) != 0) return;
    *w->value = tla_phrase_of("%s", text);
    w->found = true;
}

tla_status sweep_shown_value(const sweep *s, int64_t point, size_t factor, tla_phrase *value, bool *has) {
    *has = sweep_value(s, point, factor, value);
    if (*has || s->factors[factor].kind != SWEEP_KEY || !sweep_has_config(s)) return TLA_OK;
    shown w = {.key = s->factors[factor].name, .value = value};
    tla_config config;
    const tla_status status = sweep_config(s, point, &config, NULL);
    if (status == TLA_OK) tla_config_each(&config, take_shown, &w);
    *has = w.found;
    return status == TLA_NO_HOST_MEMORY ? status : TLA_OK;
}
