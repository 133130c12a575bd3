/* Plans of programs, whose values may share bytes (tlmalloc/plan/views.h). */
#ifndef TLMALLOC_PLATFORM_PLAN_PLAN_PROGRAM_H
#define TLMALLOC_PLATFORM_PLAN_PLAN_PROGRAM_H

#include "plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A report has so many pairs of values that destroy each other, and the number of all. */
enum { PLAN_FAULTS_SHOWN = 10 };

/* The values of a program, and those among them that are planned. */
typedef struct plan_program {
    const lifetime_list *list; /* all values */
    tla_plan_program program;  /* theirs */
    lifetime_list planned;
    size_t *values;      /* of the planned buffers: indices in the list */
    uint64_t *addresses; /* of all values */
    tla_plan_regions regions;
    tla_plan_fault faults[PLAN_FAULTS_SHOWN]; /* the first pairs of values that destroy each other */
    size_t fault_count;                       /* of all pairs */
} plan_program;

/* Finds what is to be planned of a list with views, which stays the caller's. TLA_INVALID_ARGUMENT for sizes that the
 * mode does not support, TLA_NO_HOST_MEMORY; *made is to be cleared in any case. */
tla_status plan_program_reduce(const plan_request *request, const lifetime_list *list, plan_program *made,
                               tla_error *error);

/* Completes the addresses from the plan, and checks them. TLA_UNSUPPORTED for a program whose inputs and outputs cannot
 * lie where the mode puts them, TLA_NO_HOST_MEMORY. */
tla_status plan_program_complete(const plan_request *request, const plan_result *result, plan_program *made,
                                 tla_error *error);
void plan_program_clear(plan_program *made);

/* The part of the report, for a person and as JSON; `found`: a plan, with addresses. */
void plan_program_print(FILE *out, const plan_program *made, bool found);
json_t *plan_program_to_json(const plan_program *made, bool found);

#ifdef __cplusplus
}
#endif
#endif
