/* A planning problem as the search sees it: flat arrays, and sizes in units. Internal.
 *
 * The unit is the largest number of bytes of which every offset of a pushed-down plan is a multiple. An offset that is
 * not a multiple of it need not be tried, and heights between two multiples are one problem. */
#ifndef TLMALLOC_PLAN_PLAN_MODEL_H
#define TLMALLOC_PLAN_PLAN_MODEL_H

#include "sections.h"

typedef struct plan_model {
    uint32_t n, section_count;
    uint64_t unit;        /* bytes */
    uint64_t *nbytes;     /* of each tensor, as given */
    uint64_t *sizes;      /* in units, rounded up */
    uint64_t *masks;      /* alignment in units, less 1 */
    uint64_t *fixed;      /* in units; TLA_PLAN_ANYWHERE */
    uint64_t *durations;  /* upper - lower */
    size_t *first_span;   /* n + 1 */
    plan_span *spans;     /* a tensor's in the order of time */
    size_t *first_member; /* section_count + 1 */
    uint32_t *members;    /* of each section, in the order of tensors */
    size_t *first_rival;  /* n + 1 */
    uint32_t *rivals;     /* of each tensor: those that live together with it */
} plan_model;

/* Members of sections, and pairs that live together, of which a model may have so many: it is for problems that can be
 * searched. */
#define PLAN_MODEL_ENTRIES_MAX ((size_t)1 << 26)

/* `sections` are those of the problem. TLA_NO_HOST_MEMORY; TLA_LIMIT for more than PLAN_MODEL_ENTRIES_MAX. *model is
 * empty then. */
tla_status plan_model_create(const tla_plan_problem *problem, const plan_sections *sections, plan_model *model);
void plan_model_clear(plan_model *model);

/* From the first section of a tensor to its last. */
static inline plan_span plan_hull(const plan_model *model, uint32_t tensor) {
    return (plan_span){model->spans[model->first_span[tensor]].from,
                       model->spans[model->first_span[tensor + 1] - 1].to};
}

#endif
