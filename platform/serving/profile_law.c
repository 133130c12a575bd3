/* Layers of a step, and what each takes. */
#include "serving/profile_law.h"

#include "serving/profile_tables.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A layer, so many times in a step. curve NULL: attention. */
typedef struct profiled_layer {
    const profile_curve *curve;
    bool by_sequences;
    double times;
} profiled_layer;

typedef struct profile_law {
    profile_curves dense, per_sequence;
    profile_attention attention;
    profile_skew skew;
    bool corrects_skew;
    double alpha_default;
    profiled_layer layers[2 * TLA_SERVING_LAYERS_MAX];
    size_t layer_count;
    double reductions, reduction_us, reduction_us_a_token; /* all-reduces of a step, and what each takes */
} profile_law;

/* ---- a step ---- */

/* The numbers on which the times depend. */
typedef struct step_shape {
    double tokens, sequences;
    profile_attention_point attention; /* kv_decode: the mean */
    double kv_largest, kv_smallest;    /* of the decodes */
} step_shape;

static step_shape shape_of(const tla_step *step) {
    step_shape s = {.tokens = (double)step->tokens, .sequences = (double)step->count};
    uint64_t chunk = 0, prefilled = 0, decodes = 0, decoded = 0, largest = 0, smallest = UINT64_MAX;
    for (size_t i = 0; i < step->count; i++) {
        const tla_step_part *part = &step->parts[i];
        if (part->tokens > 1) {
            chunk += part->tokens;
            prefilled += part->computed;
            continue;
        }
        decodes++;
        decoded += part->computed;
        if (part->computed > largest) largest = part->computed;
        if (part->computed < smallest) smallest = part->computed;
    }
    s.attention = (profile_attention_point){(double)chunk, (double)prefilled, (double)decodes,
                                            decodes ? (double)(decoded / decodes) : 0};
    s.kv_largest = (double)largest;
    s.kv_smallest = (double)smallest;
    return s;
}

static double attention_us(const profile_law *law, const step_shape *s) {
    const double mean_us = profile_attention_at(&law->attention, &s->attention);
    if (!law->corrects_skew || s->attention.decodes < 2 || s->kv_largest <= s->kv_smallest) return mean_us;
    profile_attention_point longest = s->attention;
    longest.kv_decode = s->kv_largest;
    const double more_us = profile_attention_at(&law->attention, &longest) - mean_us;
    if (more_us <= 0) return mean_us;
    const profile_skew_point point = {.prefill_chunk = s->attention.prefill_chunk,
                                      .decodes = s->attention.decodes,
                                      .rate_percent = 100 * (s->attention.kv_decode - s->kv_smallest) /
                                                      (s->kv_largest - s->kv_smallest),
                                      .kv_largest = s->kv_largest,
                                      .kv_prefill = s->attention.kv_prefill};
    return mean_us + profile_skew_at(&law->skew, &point, law->alpha_default) * more_us;
}

static tla_status profile_time(void *context, const tla_step *step, tla_step_time *time, tla_error *error) {
    const profile_law *law = context;
    const step_shape s = shape_of(step);
    double us = law->reductions * (law->reduction_us + s.tokens * law->reduction_us_a_token);
    for (size_t i = 0; i < law->layer_count; i++) {
        const profiled_layer *layer = &law->layers[i];
        us +=
            layer->times * (layer->curve ? profile_curve_at(layer->curve, layer->by_sequences ? s.sequences : s.tokens)
                                         : attention_us(law, &s));
    }
    if (!(us >= 0 && us < 1e15))
        return tla_error_set(error, TLA_LIMIT, "a step of %g tokens takes %g us by the profile, which is out of range",
                             s.tokens, us);
    *time = (tla_step_time){.compute_ns = (uint64_t)llround(us * 1000)};
    return TLA_OK;
}

/* ---- making the law ---- */

static void profile_destroy(void *context) {
    profile_law *law = context;
    profile_curves_clear(&law->dense);
    profile_curves_clear(&law->per_sequence);
    profile_attention_clear(&law->attention);
    profile_skew_clear(&law->skew);
    free(law);
}

static tla_status read_tables(const char *directory, profile_law *law, tla_error *error) {
    char path[PATH_MAX];
    const char *const files[] = {"dense.csv", "per_sequence.csv", "attention.csv", "skew_fit.csv"};
    tla_status status = TLA_OK;
    for (int i = 0; i < 4 && !status; i++) {
        if (snprintf(path, sizeof path, "%s/%s", directory, files[i]) >= (int)sizeof path)
            return tla_error_set(error, TLA_IO, "%s: the name is too long", directory);
        if (i == 0) status = profile_curves_read(path, "tokens", &law->dense, error);
        if (i == 1) status = profile_curves_read(path, "sequences", &law->per_sequence, error);
        if (i == 2) status = profile_attention_read(path, &law->attention, error);
        if (i == 3 && law->corrects_skew) status = profile_skew_read(path, &law->skew, error);
    }
    return status;
}

/* Adds the layers of a list; one that is in neither table is missing. */
static tla_status add_layers(const char *directory, const char *key, const tla_serving_layers *list, double times,
                             profile_law *law, tla_error *error) {
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->names[i];
        const profile_curve *dense = profile_curves_find(&law->dense, name);
        const profile_curve *other = profile_curves_find(&law->per_sequence, name);
        if (!dense && !other && strcmp(name, "attention") != 0)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s: layer %s has no row in dense.csv or per_sequence.csv, but the settings name it in %s", directory,
                name, key);
        law->layers[law->layer_count++] = (profiled_layer){dense ? dense : other, !dense, times};
    }
    return TLA_OK;
}

static tla_status needs(const char *key, tla_error *error) {
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "a profile needs %s: add it to the settings", key);
}

static tla_status set_reductions(const tla_serving_settings *settings, profile_law *law, tla_error *error) {
    law->reductions = (double)settings->reductions_a_layer * settings->layers;
    law->reduction_us = settings->reduction_us;
    if (law->reductions == 0) return TLA_OK;
    if (!settings->has_reduction_time)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "allreduce.per_layer is %" PRIu32
                             " but an all-reduce has no time: set allreduce.bandwidth_gb_s, allreduce.latency_us or "
                             "both (allreduce.latency_us=0 for all-reduces that take no time)",
                             settings->reductions_a_layer);
    if (settings->reduction_gb_s == 0) return TLA_OK;
    if (settings->hidden == 0) return needs("hidden for the bytes of an all-reduce", error);
    if (settings->dtype_bytes == 0)
        return needs("a dtype of bfloat16, float16 or float32 for the bytes of an all-reduce", error);
    law->reduction_us_a_token = (double)settings->hidden * settings->dtype_bytes / (1000 * settings->reduction_gb_s);
    return TLA_OK;
}

static tla_status make(const char *directory, const tla_serving_settings *settings, profile_law *law,
                       tla_error *error) {
    law->corrects_skew = settings->skew_correction;
    law->alpha_default = settings->skew_alpha_default;
    if (settings->layers == 0) return needs("layers", error);
    if (settings->layer_sequence.count == 0) return needs("layer_sequence", error);
    tla_status status = set_reductions(settings, law, error);
    if (!status) status = read_tables(directory, law, error);
    if (!status) status = add_layers(directory, "once", &settings->once, 1, law, error);
    if (!status)
        status = add_layers(directory, "layer_sequence", &settings->layer_sequence, settings->layers, law, error);
    return status;
}

tla_status profile_law_load(const char *directory, const tla_serving_settings *settings, tla_step_law *law,
                            tla_error *error) {
    profile_law *made = calloc(1, sizeof *made);
    if (!made) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the profile");
    const tla_status status = make(directory, settings, made, error);
    if (status)
        profile_destroy(made);
    else
        *law = (tla_step_law){.time = profile_time, .destroy = profile_destroy, .context = made};
    return status;
}
