/* How long a step of the model takes. */
#ifndef TLMALLOC_PLATFORM_SERVING_STEP_LAW_H
#define TLMALLOC_PLATFORM_SERVING_STEP_LAW_H

#include "serving/scheduler.h"
#include "serving/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of the time of a step. A law without a memory has all of it in compute_ns. */
typedef struct tla_step_time {
    uint64_t allocation_ns, mapping_ns, transfer_ns, compute_ns;
} tla_step_time;

/* A law. `blocks` (NULL: it wants none) hears every decision about blocks when it is made, those of a step before the
 * step itself. */
typedef struct tla_step_law {
    tla_status (*time)(void *context, const tla_step *step, tla_step_time *time, tla_error *error);
    void (*blocks)(void *context, const tla_block_decision *decision);
    void (*destroy)(void *context); /* NULL: nothing to release */
    void *context;
} tla_step_law;

/* Makes the law that a text names: "fixed 10 ms + 100 us/token", or "profile DIR" with the tables of the directory and
 * the settings of the model. TLA_SYNTAX, TLA_IO, TLA_NO_HOST_MEMORY; TLA_UNSUPPORTED for "platform CONFIG". */
tla_status tla_step_law_parse(const char *text, const tla_serving_settings *settings, tla_step_law *law,
                              tla_error *error);

/* Also for one that is all zero. */
void tla_step_law_clear(tla_step_law *law);

#ifdef __cplusplus
}
#endif
#endif
