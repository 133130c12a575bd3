/* Plans of tensors that are rounded up to one alignment, with a base. */
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
        [TLA_PLAN_GREEDY_AREA] = "greedy_area",
        [TLA_PLAN_GREEDY_LIFETIME] = "greedy_lifetime",
        [TLA_PLAN_GREEDY_CONFLICTS] = "greedy_conflicts",
        [TLA_PLAN_LOWEST_FIRST] = "lowest_first",
        [TLA_PLAN_XNNPACK] = "xnnpack",
        [TLA_PLAN_XNNPACK_REPAIRED] = "xnnpack_repaired",
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

tla_status tla_plan(tla_plan_method method, const tla_lifetime *tensors, size_t n, const tla_plan_options *options,
                    uint64_t *offsets, uint64_t *nbytes) {
    if (options->base > largest_sum) return TLA_INVALID_ARGUMENT;
    tla_lifetime *rounded;
    tla_status status = prepare(tensors, n, options->alignment, &rounded);
    if (status) return status;
    const tla_plan_problem problem = {.tensors = rounded, .n = n};
    uint64_t *planned = malloc((n ? n : 1) * sizeof *planned), height = 0;
    status = planned ? plan_run(method, &problem, options->stable_sort, planned) : TLA_NO_HOST_MEMORY;
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

tla_status tla_plan_peak(const tla_lifetime *tensors, size_t n, uint64_t alignment, uint64_t *nbytes) {
    tla_lifetime *rounded;
    tla_status status = prepare(tensors, n, alignment, &rounded);
    if (status) return status;
    status = tla_plan_bound(&(tla_plan_problem){.tensors = rounded, .n = n}, nbytes, NULL, NULL);
    free(rounded);
    return status;
}
