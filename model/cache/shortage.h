/* Why one request of an arena, or of a cache in front of one, failed. Internal to the model and the command line. */
#ifndef TLMALLOC_MODEL_CACHE_SHORTAGE_H
#define TLMALLOC_MODEL_CACHE_SHORTAGE_H

#include "tlmalloc/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_shortage {
    TLA_SHORTAGE_EXHAUSTED,  /* all that is free, reserved or held by a front together is too little */
    TLA_SHORTAGE_FRAGMENTED, /* enough is free, in pieces that are too small */
    TLA_SHORTAGE_RESERVED,   /* enough bytes would be free without the reserves for the scheduler or the free list */
    TLA_SHORTAGE_FRONT,      /* enough bytes would be free without the blocks that a cache in front keeps */
    TLA_SHORTAGE_ROUNDED, /* a free block has as many bytes as requested, but not as many as rounding makes of them */
    TLA_SHORTAGE_COUNT
} tla_shortage;

/* "exhausted", "fragmented" (also for TLA_SHORTAGE_ROUNDED), "reserved", "held by a front". */
const char *tla_shortage_name(tla_shortage which);

/* Returns the remedy: one sentence without a full stop. */
const char *tla_shortage_remedy(tla_shortage which);

/* Returns the cause of a failed request of nbytes, from the free bytes in total, the reserved bytes, and the free bytes
 * that a front keeps. */
tla_shortage tla_shortage_of(uint64_t nbytes, uint64_t total_free, uint64_t reserved, uint64_t held_by_front);

/* The end of a text about a failed request: "exhausted; free something first, ...", "exhausted, reserved; ...". status
 * is TLA_EXHAUSTED or TLA_FRAGMENTED. nbytes are the bytes that the request occupies in the stack, largest_free those
 * of the largest free block. trimmed are the bytes that a TRIM releases, if the request is served after it, else 0:
 * only then does the text recommend a TRIM. */
typedef struct tla_shortage_text {
    char text[240];
} tla_shortage_text;
tla_shortage_text tla_shortage_say(tla_status status, uint64_t nbytes, uint64_t total_free, uint64_t largest_free,
                                   uint64_t reserved, uint64_t trimmed);

#ifdef __cplusplus
}
#endif
#endif
