/* A run of a serving engine: arrivals, steps in flight, and when every request got its tokens. */
#ifndef TLMALLOC_PLATFORM_SERVING_SERVE_H
#define TLMALLOC_PLATFORM_SERVING_SERVE_H

#include "serving/step_law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Times of a request, in ns after the first arrival. */
typedef struct tla_served {
    uint64_t queued_ns;    /* taken in by the engine, between two steps */
    uint64_t scheduled_ns; /* first admission */
    uint64_t first_ns, last_ns;
    uint64_t waited_first_ns, waited_ns; /* time in which it waited, from queued_ns on: up to its first token, in all */
    tla_step_time first, all; /* of the steps' time while it did not wait; sums up to the rest, but for rounding */
    uint32_t preemptions;
} tla_served;

/* A step at its processing. */
typedef struct tla_served_step {
    uint64_t end_ns;
    uint64_t prompt_tokens;    /* of the requests whose first token it made */
    uint32_t generated_tokens; /* by this step */
    uint32_t running, waiting; /* after it, its successor formed */
    uint32_t used_blocks, usable_blocks;
} tla_served_step;

/* Observers of a run; each may be NULL. */
typedef struct tla_serve_watch {
    void (*step)(void *context, const tla_served_step *step);
    void (*blocks)(void *context, uint64_t now_ns, const tla_block_decision *decision);
    void *context;
} tla_serve_watch;

typedef struct tla_serve_result {
    tla_served *requests; /* as many as there are, in their order */
    tla_scheduler_stats scheduler;
    tla_kv_blocks_stats blocks;
    tla_host_tier_stats host; /* of the second tier; all 0 without one */
    uint64_t end_ns, generated_tokens;
    double mean_use;                    /* of the usable blocks, over time; 0 .. 1 */
    double mean_internal_fragmentation; /* part of the referenced blocks' room that holds no token, over time */
    double mean_unused_waiting;         /* unused share of the usable blocks, over the time in which requests waited */
} tla_serve_result;

/* Serves all requests. Errors as tla_scheduler_create, and those of the law; TLA_NO_HOST_MEMORY; TLA_LIMIT for a time
 * beyond 2^63 ns. *result is empty then. `done` (may be NULL) counts finished requests for observers. */
tla_status tla_serve(const tla_serving_requests *requests, const tla_scheduler_rules *rules, const tla_step_law *law,
                     const tla_serve_watch *watch, size_t *done, tla_serve_result *result, tla_error *error);

/* Also for an empty one. */
void tla_serve_result_clear(tla_serve_result *result);

#ifdef __cplusplus
}
#endif
#endif
