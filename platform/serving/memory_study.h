/* What part of a memory holds tokens while requests are served from it, without time: PagedAttention's question (SOSP
 * '23, figure 2).
 *
 * All requests are there at the beginning. They are admitted in the order of the file until one does not fit; then a
 * step gives every running request a token, after which the ones that have all of theirs leave, and so on until the
 * last request has been admitted. Where memory is taken on demand, and there is none for a request's next token, the
 * one admitted last gives its memory back, and starts over as the first that waits. */
#ifndef TLMALLOC_PLATFORM_SERVING_MEMORY_STUDY_H
#define TLMALLOC_PLATFORM_SERVING_MEMORY_STUDY_H

#include "serving/kv_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shares are means over the steps in percent of the memory, counted behind the tokens of a step and before anybody
 * leaves; the four make 100. */
typedef struct tla_memory_study {
    double tokens;   /* that are there */
    double reserved; /* for tokens that will come */
    double internal; /* in what requests have, for tokens that never come */
    double external; /* in nobody's hands, and what rounding takes */
    double running;  /* requests, on average */
    uint64_t steps, preemptions;
    uint64_t fragmented, exhausted; /* requests that were refused, by cause; each once a step */
    uint64_t left_out;              /* requests that are longer than the longest */
    tla_work work;                  /* of all commands; a command is what a request asks for in a step, or gives back */
    uint64_t commands;
} tla_memory_study;

/* TLA_LIMIT when a request never fits, TLA_INVALID_ARGUMENT when no request is as short as the longest or as
 * tla_kv_memory_create says, with a text; TLA_NO_HOST_MEMORY. *study is all zero then. The number of requests in the
 * configuration is not looked at. */
tla_status tla_memory_study_run(const tla_serving_requests *requests, const tla_kv_memory_config *config,
                                tla_memory_study *study, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
