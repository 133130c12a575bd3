/* Arguments, rounding, and the choice of a method. */
#include "tlmalloc/lifetime_plan.h"

#include "plan_methods.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t largest_sum = (uint64_t)1 << 62;

const char *tla_plan_method_name(tla_plan_method method) {
    static const char *const names[TLA_PLAN_METHOD_COUNT] = {
        [TLA_PLAN_STACK] = "stack",
        [TLA_PLAN_FIT_FIRST] = "fit_first",
        [TLA_PLAN_SIZE_ORDER] = "size_order",
        [TLA_PLAN_TFLM_GREEDY] = "tflm_greedy",
    };
    return (unsigned)method < TLA_PLAN_METHOD_COUNT ? names[method] : NULL;
}

/* A copy with sizes rounded up; the caller frees it. */
static tla_status prepare(const tla_lifetime *tensors, size_t n, uint64_t alignment, tla_lifetime **copy) {
    if (alignment == 0) alignment = 1;
    if ((alignment & (alignment - 1)) || alignment > largest_sum) return TLA_INVALID_ARGUMENT;
    uint64_t sum = 0;
    *copy = malloc((n ? n : 1) * sizeof **copy);
    if (!*copy) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n; i++) {
        tla_lifetime tensor = tensors[i];
        bool good = tensor.lower < tensor.upper && tensor.nbytes > 0 && tensor.nbytes <= largest_sum;
        tensor.nbytes = (tensor.nbytes + alignment - 1) & ~(alignment - 1);
        if (!good || tensor.nbytes > largest_sum - sum) {
            free(*copy);
            return TLA_INVALID_ARGUMENT;
        }
        sum += tensor.nbytes;
        (*copy)[i] = tensor;
    }
    return TLA_OK;
}

static void stack(const tla_lifetime *tensors, size_t n, uint64_t *offsets) {
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = end;
        end += tensors[i].nbytes;
    }
}

static tla_status run(tla_plan_method method, const tla_lifetime *tensors, size_t n, bool stable_sort,
                      uint64_t *offsets) {
    switch (method) {
    case TLA_PLAN_STACK:
        stack(tensors, n, offsets);
        return TLA_OK;
    case TLA_PLAN_FIT_FIRST:
        return tla_plan_fit_first(tensors, n, stable_sort, offsets);
    case TLA_PLAN_SIZE_ORDER:
    case TLA_PLAN_TFLM_GREEDY:
        return tla_plan_by_size(tensors, n, method == TLA_PLAN_TFLM_GREEDY, offsets);
    default:
        return TLA_INVALID_ARGUMENT;
    }
}

tla_status tla_plan(tla_plan_method method, const tla_lifetime *tensors, size_t n, const tla_plan_options *options,
                    uint64_t *offsets, uint64_t *nbytes) {
    if (options->base > largest_sum) return TLA_INVALID_ARGUMENT;
    tla_lifetime *rounded;
    tla_status status = prepare(tensors, n, options->alignment, &rounded);
    if (status) return status;
    uint64_t *planned = malloc((n ? n : 1) * sizeof *planned), height = 0;
    status = planned ? run(method, rounded, n, options->stable_sort, planned) : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        if (planned[i] + rounded[i].nbytes > height) height = planned[i] + rounded[i].nbytes;
        offsets[i] = options->base + planned[i];
    }
    if (!status) *nbytes = height;
    free(planned);
    free(rounded);
    return status;
}

tla_status tla_plan_smaller(const tla_lifetime *tensors, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *nbytes, tla_plan_method *method) {
    uint64_t *other = malloc((n ? n : 1) * sizeof *other), size_order;
    if (!other) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_plan(TLA_PLAN_SIZE_ORDER, tensors, n, options, other, &size_order);
    if (!status) status = tla_plan(TLA_PLAN_FIT_FIRST, tensors, n, options, offsets, nbytes);
    if (!status) {
        bool smaller = size_order < *nbytes;
        if (smaller) {
            memcpy(offsets, other, n * sizeof *other);
            *nbytes = size_order;
        }
        if (method) *method = smaller ? TLA_PLAN_SIZE_ORDER : TLA_PLAN_FIT_FIRST;
    }
    free(other);
    return status;
}

tla_status tla_plan_weights(const uint64_t *nbytes, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *end) {
    uint64_t alignment = options->alignment ? options->alignment : 1, sum = 0;
    if ((alignment & (alignment - 1)) || alignment > largest_sum || options->base > largest_sum ||
        options->base % alignment)
        return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < n; i++) {
        if (nbytes[i] == 0 || nbytes[i] > largest_sum - sum) return TLA_INVALID_ARGUMENT;
        sum += (nbytes[i] + alignment - 1) & ~(alignment - 1);
        if (sum > largest_sum) return TLA_INVALID_ARGUMENT;
    }
    *end = options->base;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = *end;
        *end += (nbytes[i] + alignment - 1) & ~(alignment - 1);
    }
    return TLA_OK;
}

typedef struct load_event {
    uint64_t time, nbytes;
    bool begins;
} load_event;

/* At equal times what ends goes before what begins. */
static int by_time(const void *a, const void *b) {
    const load_event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (int)x->begins - (int)y->begins;
}

tla_status tla_plan_peak(const tla_lifetime *tensors, size_t n, uint64_t alignment, uint64_t *nbytes) {
    tla_lifetime *rounded;
    tla_status status = prepare(tensors, n, alignment, &rounded);
    if (status) return status;
    load_event *events = malloc((n ? 2 * n : 1) * sizeof *events);
    if (!events) {
        free(rounded);
        return TLA_NO_HOST_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        events[2 * i] = (load_event){rounded[i].lower, rounded[i].nbytes, true};
        events[2 * i + 1] = (load_event){rounded[i].upper, rounded[i].nbytes, false};
    }
    qsort(events, 2 * n, sizeof *events, by_time);
    uint64_t load = 0, peak = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        load = events[i].begins ? load + events[i].nbytes : load - events[i].nbytes;
        if (load > peak) peak = load;
    }
    *nbytes = peak;
    free(events);
    free(rounded);
    return TLA_OK;
}

tla_status tla_plan_check(const tla_lifetime *tensors, const uint64_t *offsets, size_t n, size_t *first,
                          size_t *second) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            const tla_lifetime *a = &tensors[i], *b = &tensors[k];
            if (a->upper <= b->lower || b->upper <= a->lower) continue;
            if (offsets[i] < offsets[k] ? offsets[k] - offsets[i] >= a->nbytes : offsets[i] - offsets[k] >= b->nbytes)
                continue;
            if (first) *first = i;
            if (second) *second = k;
            return TLA_OVERLAP;
        }
    }
    return TLA_OK;
}
