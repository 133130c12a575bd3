/* Time cut into sections: the sets of tensors that live together, without those that are contained in a neighbour. A
 * tensor lives in consecutive sections, with gaps in several spans of them. Internal. */
#ifndef TLMALLOC_PLAN_SECTIONS_H
#define TLMALLOC_PLAN_SECTIONS_H

#include "tlmalloc/plan/plan.h"

/* Consecutive sections [from, to), never none. */
typedef struct plan_span {
    uint32_t from, to;
} plan_span;

typedef struct plan_sections {
    uint32_t count;
    size_t *first_span; /* n + 1: where a tensor's spans begin, which are in the order of time */
    plan_span *spans;
    uint64_t granule;       /* bytes: the least alignment, which all offsets are a multiple of */
    uint64_t *loads;        /* of each section: sizes, rounded up to granules, and summed up */
    uint64_t bound;         /* bytes: no plan takes less */
    uint32_t bound_section; /* a section whose tensors make the bound; PLAN_NO_SECTION: one at a fixed offset does */
} plan_sections;

#define PLAN_NO_SECTION UINT32_MAX

/* TLA_INVALID_ARGUMENT as for tla_plan_problem, TLA_EXHAUSTED where tensors of more than TLA_PLAN_HEIGHT_MAX live
 * together, TLA_NO_HOST_MEMORY; *sections is empty then. O(n log n), memory for n. */
tla_status plan_sections_create(const tla_plan_problem *problem, plan_sections *sections);
void plan_sections_clear(plan_sections *sections);

/* From the first section of a tensor to its last, gaps included. */
static inline plan_span plan_hull_of(const plan_sections *sections, size_t tensor) {
    return (plan_span){sections->spans[sections->first_span[tensor]].from,
                       sections->spans[sections->first_span[tensor + 1] - 1].to};
}

#endif
