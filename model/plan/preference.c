/* The order in which a search tries tensors. */
#include "preference.h"

static int descending(uint64_t a, uint64_t b) {
    return (a < b) - (a > b);
}

static int by_width(const plan_model *model, uint32_t a, uint32_t b) {
    return descending(model->durations[a], model->durations[b]);
}

/* Areas can pass 64 bits; as floating point numbers they are a rule like any other, and the same everywhere. */
static int by_area(const plan_model *model, uint32_t a, uint32_t b) {
    const double x = (double)model->durations[a] * (double)model->sizes[a];
    const double y = (double)model->durations[b] * (double)model->sizes[b];
    return (x < y) - (x > y);
}

static bool precedes(plan_preference preference, uint32_t a, uint32_t b) {
    const plan_model *model = preference.model;
    int total = descending(preference.totals[a], preference.totals[b]), order = 0;
    switch (preference.order) {
    case PLAN_WIDTH_AREA_TOTAL:
        order = by_width(model, a, b);
        if (!order) order = by_area(model, a, b);
        if (!order) order = total;
        break;
    case PLAN_TOTAL_AREA_WIDTH:
        order = total ? total : by_area(model, a, b);
        if (!order) order = by_width(model, a, b);
        break;
    default:
        order = total ? total : by_width(model, a, b);
        if (!order) order = by_area(model, a, b);
    }
    return order ? order < 0 : a < b;
}

/* Heap sort: no recursion and no memory, and the order is total, so that it need not be stable. */
static void sift(plan_preference preference, uint32_t *tensors, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && precedes(preference, tensors[child], tensors[child + 1])) child++;
        if (!precedes(preference, tensors[at], tensors[child])) return;
        uint32_t moved = tensors[at];
        tensors[at] = tensors[child];
        tensors[child] = moved;
    }
}

void plan_preference_sort(plan_preference preference, uint32_t *tensors, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sift(preference, tensors, i, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t largest = tensors[0];
        tensors[0] = tensors[end];
        tensors[end] = largest;
        sift(preference, tensors, 0, end);
    }
}
