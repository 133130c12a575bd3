/* The methods behind tla_plan: tensors are checked and their sizes rounded up; offsets begin at 0. Internal. */
#ifndef TLMALLOC_PLAN_PLAN_METHODS_H
#define TLMALLOC_PLAN_PLAN_METHODS_H

#include "tlmalloc/lifetime_plan.h"

tla_status tla_plan_fit_first(const tla_lifetime *tensors, size_t n, bool stable_sort, uint64_t *offsets);

/* `first_gap`: TFLite Micro, else OpSizeOrderAssign. */
tla_status tla_plan_by_size(const tla_lifetime *tensors, size_t n, bool first_gap, uint64_t *offsets);

#endif
