/* Memory for the values of a file that is read as data: allocated piece by piece, with a limit, and released as a
 * whole. */
#ifndef TLMALLOC_PLATFORM_TRACE_VALUE_STORE_H
#define TLMALLOC_PLATFORM_TRACE_VALUE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero but for `most` is an empty one. */
typedef struct value_store {
    struct value_chunk *chunks; /* the newest first */
    uint64_t taken, most;       /* bytes */
    bool too_much;              /* there was no memory because of the limit */
} value_store;

/* Bytes aligned for anything; NULL without host memory, or when more than `most` would be taken. */
void *value_store_take(value_store *store, size_t nbytes);

/* Releases everything; some memory is kept for later values. */
void value_store_reset(value_store *store);
void value_store_clear(value_store *store);

#ifdef __cplusplus
}
#endif
#endif
