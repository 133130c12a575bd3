/* The results of a run of `tlmalloc serve`. */
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_SERVE_H
#define TLMALLOC_PLATFORM_SERVING_COMMAND_SERVE_H

#include "serving/command/platform_attention.h"
#include "serving/command/platform_counts.h"
#include "serving/serve.h"

#include <jansson.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The work of blocks on a platform. */
typedef struct serve_platform {
    bool is_one;                         /* of the law of steps */
    platform_attention_totals attention; /* by DMA; all 0 where a law has its time */
    platform_counts counts;
} serve_platform;

typedef struct serve_report {
    const char *requests_path, *settings_path, *law_text;
    bool skips; /* requests that cannot be served were to be left out */
    const tla_serving_requests *requests;
    const tla_serving_settings *settings;
    const tla_serve_result *result;
    serve_platform platform;
    double wall_s; /* of the host */
} serve_report;

/* The parts of a time of a request, in seconds. */
typedef struct serve_parts {
    double total, queue, allocation, mapping, transfer, compute;
} serve_parts;

/* Mean, and the requests at half and at 99 % of them in order of their total (nearest rank). */
typedef struct serve_summary {
    serve_parts mean, p50, p99;
} serve_summary;

/* Time to the first token, from when the engine took the request in; time of a token after the first (requests with one
 * token have none); from arrival to the last token. */
typedef struct serve_times {
    serve_summary ttft, tpot, latency;
} serve_times;

/* TLA_NO_HOST_MEMORY. */
tla_status serve_times_of(const tla_serving_requests *requests, const tla_served *served, serve_times *times);

json_t *serve_to_json(const serve_report *report, const serve_times *times);
void serve_print(FILE *out, const serve_report *report, const serve_times *times);

/* The tables of README.md; NULL: nothing happens. */
void serve_steps_header(FILE *out);
void serve_steps_row(FILE *out, const tla_served_step *step);
void serve_requests_write(FILE *out, const tla_serving_requests *requests, const tla_served *served);

#ifdef __cplusplus
}
#endif
#endif
