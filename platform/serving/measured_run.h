/* Measurements of a serving engine, and the deviation of a simulated run from them. Two tables, plain or gzip:
 *
 *   until_s,prompt_tokens,generated_tokens,running,waiting,kv_cache_pct    a row for each second: its counts, and the
 * state after its last step id,queued_s,scheduled_s,first_token_s,last_token_s                     a row for each
 * request, in the trace's order
 */
#ifndef TLMALLOC_PLATFORM_SERVING_MEASURED_RUN_H
#define TLMALLOC_PLATFORM_SERVING_MEASURED_RUN_H

#include "serving/serve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_measured_second {
    double until_s, generated_tokens, running, waiting, kv_cache_pct;
} tla_measured_second;

typedef struct tla_measured_request {
    uint64_t id;
    double queued_s, first_token_s;
} tla_measured_request;

typedef struct tla_measured_run {
    tla_measured_second *seconds; /* in the order of their ends, at least one */
    tla_measured_request *requests;
    size_t second_count, request_count;
} tla_measured_run;

/* TLA_SYNTAX with file, line and column, TLA_IO, TLA_NO_HOST_MEMORY; *run is empty then. */
tla_status tla_measured_run_read(const char *seconds_path, const char *requests_path, tla_measured_run *run,
                                 tla_error *error);

/* Also for an empty one. */
void tla_measured_run_clear(tla_measured_run *run);

/* Deviations, without their sign. Use is in points of the cache; work is equal when as many tokens have been generated,
 * which does not depend on how long steps take, from the second that ends at 5 s on. */
typedef struct tla_measured_deviation {
    double equal_work_median, equal_work_mean;
    double use, running, waiting; /* means over all seconds, at the same time */
    double ttft_median_s;         /* of a request's time to its first token */
} tla_measured_deviation;

/* Compares a run: the row that ends at t covers the steps before t - shift_s. TLA_INVALID_ARGUMENT, with a text, for
 * other requests than the measured ones and for a run without steps; TLA_NO_HOST_MEMORY. */
tla_status tla_measured_run_compare(const tla_measured_run *run, double shift_s, const tla_served_step *steps,
                                    size_t step_count, const tla_serving_requests *requests, const tla_served *served,
                                    tla_measured_deviation *deviation, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
