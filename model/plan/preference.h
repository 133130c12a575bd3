/* Which tensor a search tries first of those that could lie at the same offset. */
#ifndef TLMALLOC_MODEL_PLAN_PREFERENCE_H
#define TLMALLOC_MODEL_PLAN_PREFERENCE_H

#include "plan_model.h"

/* The criteria for tensors that would lie at the same offset, the larger first: width (duration), area (duration x
 * size), total (the most bytes in one of its sections), one after the other. */
typedef enum plan_preorder {
    PLAN_WIDTH_AREA_TOTAL,
    PLAN_TOTAL_AREA_WIDTH,
    PLAN_TOTAL_WIDTH_AREA,
    PLAN_PREORDER_COUNT
} plan_preorder;

typedef struct plan_preference {
    const plan_model *model;
    plan_preorder order;
    const uint64_t *totals; /* of each tensor: the unplaced bytes in its fullest section */
} plan_preference;

/* Sorts tensors, the preferred ones first. The order is total: it does not depend on the given order. */
void plan_preference_sort(plan_preference preference, uint32_t *tensors, size_t count);

#endif
