/* The options and the results of `tlmalloc plan`. */
#ifndef TLMALLOC_PLATFORM_PLAN_PLAN_H
#define TLMALLOC_PLATFORM_PLAN_PLAN_H

#include "tlmalloc/plan/plan.h"
#include "trace/lifetimes.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plan_verdict {
    PLAN_FOUND,
    PLAN_IMPOSSIBLE, /* proved */
    PLAN_NOT_FOUND,  /* by the method, or in the time */
} plan_verdict;

typedef struct plan_request {
    const char *trace_path;
    uint64_t capacity; /* 0: none */
    bool minimize, best, exact;
    tla_plan_method method; /* without best and exact */
    double limit_s;
    /* Of programs: */
    tla_address_mode mode;
    bool literal;
    uint64_t alignment;
    uint64_t io_start; /* of TLA_ADDRESS_IO_ALONE; 0: inputs and outputs stay */
} plan_request;

/* The heights of the dynamic policies, which serve the same lifetimes one by one. */
enum { PLAN_DYNAMIC_POLICIES = 2 };

typedef struct plan_result {
    tla_plan_problem problem;
    plan_verdict verdict;
    uint64_t bound;        /* of what lives at once; UINT64_MAX: more than 2^63 */
    size_t *bound_buffers; /* that make it */
    size_t bound_count;
    size_t clash[2];                         /* fixed buffers that overlap; else equal */
    uint64_t proved;                         /* the proven least height: the bound, or the result of the search */
    uint64_t *offsets;                       /* of the lowest plan */
    bool planned;                            /* a plan exists, possibly above the capacity */
    uint64_t height;                         /* its */
    const char *method;                      /* whose it is */
    uint64_t heights[TLA_PLAN_METHOD_COUNT]; /* of those that were tried; else UINT64_MAX */
    uint64_t dynamic[PLAN_DYNAMIC_POLICIES]; /* UINT64_MAX: not played */
    uint64_t nodes;
    double wall_s;
} plan_result;

/* "first_fit", "best_fit". */
const char *plan_dynamic_policy(int index);

/* Plans the buffers of a list. Every plan has passed the checker. TLA_UNSUPPORTED for a method that cannot plan the
 * problem, TLA_NO_HOST_MEMORY; *result is to be cleared in any case. */
tla_status plan_find(const plan_request *request, const lifetime_list *list, plan_result *result, tla_error *error);
void plan_result_clear(plan_result *result);

/* The report for a person, and as JSON (a new reference; NULL without host memory). */
void plan_print(FILE *out, const plan_request *request, const lifetime_list *list, const plan_result *result);
json_t *plan_to_json(const plan_request *request, const lifetime_list *list, const plan_result *result);

/* Why there is no plan: one line. */
void plan_print_refusal(FILE *out, const plan_request *request, const lifetime_list *list, const plan_result *result);

#ifdef __cplusplus
}
#endif
#endif
