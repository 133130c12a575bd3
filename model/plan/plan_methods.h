/* The methods behind tla_plan and tla_plan_place. Problems are checked; offsets begin at 0. Internal. */
#ifndef TLMALLOC_PLAN_PLAN_METHODS_H
#define TLMALLOC_PLAN_PLAN_METHODS_H

#include "sections.h"

/* Lifetimes and sizes alone. */
tla_status plan_fit_first(const tla_lifetime *tensors, size_t n, bool stable_sort, uint64_t *offsets);

/* TLA_PLAN_SIZE_ORDER and the greedy methods. TLA_EXHAUSTED past TLA_PLAN_HEIGHT_MAX. */
tla_status plan_greedy(const tla_plan_problem *problem, const plan_sections *sections, tla_plan_method method,
                       uint64_t *offsets);

/* Without fixed offsets. TLA_EXHAUSTED past TLA_PLAN_HEIGHT_MAX. */
tla_status plan_lowest_first(const tla_plan_problem *problem, const plan_sections *sections, uint64_t *offsets);

/* Any method. Errors as tla_plan_place; offsets may have been written to then. */
tla_status plan_run(tla_plan_method method, const tla_plan_problem *problem, bool stable_sort, uint64_t *offsets);

#endif
