/* The share of a memory that holds tokens while it serves requests, without time: PagedAttention's question (SOSP '23,
 * figure 2).
 *
 * All requests exist at the beginning. They are admitted in the order of the file until one does not fit. Then a step
 * gives every running request a token, after which complete requests leave, and so on until the last request has been
 * admitted. With memory on demand, if no memory is left for the next token of a request, the request that was admitted
 * last releases its memory, and starts over as the first one that waits. */
#ifndef TLMALLOC_PLATFORM_SERVING_MEMORY_STUDY_H
#define TLMALLOC_PLATFORM_SERVING_MEMORY_STUDY_H

#include "serving/kv_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shares are means over the steps in percent of the memory, counted behind the tokens of a step and before anybody
 * leaves; the four make 100. */
typedef struct tla_memory_study {
    double tokens;   /* that exist */
    double reserved; /* for tokens that will come */
    double internal; /* in what requests have, for tokens that never come */
    double external; /* allocated to no request, and lost by rounding */
    double running;  /* requests, on average */
    uint64_t steps, preemptions;
    uint64_t fragmented, exhausted; /* failed requests, by cause; each once a step */
    uint64_t left_out;              /* requests that are longer than the longest */
    tla_work work;                  /* of all commands; a command is a request's allocation in a step, or its release */
    uint64_t commands;
} tla_memory_study;

/* TLA_LIMIT when a request never fits. TLA_INVALID_ARGUMENT, with a text, when no request is as short as the longest
 * allowed one, or as tla_kv_memory_create. TLA_NO_HOST_MEMORY. *study is all zero then. The number of requests in the
 * configuration is ignored. */
tla_status tla_memory_study_run(const tla_serving_requests *requests, const tla_kv_memory_config *config,
                                tla_memory_study *study, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
