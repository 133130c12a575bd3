/* Steps that wait for the memory's manager: a law of steps, and the time of every decision about memory by a table of
 * prices (work.h) and a driver's call. Decisions during the formation of a step precede the step. */
#ifndef TLMALLOC_PLATFORM_SERVING_PRICED_LAW_H
#define TLMALLOC_PLATFORM_SERVING_PRICED_LAW_H

#include "serving/step_law.h"
#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_serving_prices {
    tla_cost_profile command; /* of a decision: its receipt without mappings */
    tla_cost_profile mapping; /* of its ranges, entries and invalidations, where it has any */
    uint64_t driver_alloc_ps,
        driver_free_ps; /* of a driver's call, for each decision that allocates or releases memory */
} tla_serving_prices;

typedef struct tla_priced_law {
    tla_step_law inner; /* its caller's */
    tla_serving_prices prices;
    uint64_t allocation_ps, mapping_ps;         /* decided, and not yet part of a step's time */
    uint64_t all_allocation_ps, all_mapping_ps; /* since the beginning */
    uint64_t commands;                          /* decisions, since the beginning */
} tla_priced_law;

/* The law that stands before `priced->inner`; `priced` must outlive it. Saturates. */
tla_step_law tla_priced_law_of(tla_priced_law *priced);

#ifdef __cplusplus
}
#endif
#endif
