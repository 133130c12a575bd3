/* `tlmalloc explain FILE`: questions about a recording of PyTorch, and about an arena. */
#ifndef TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_H
#define TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum explain_when { EXPLAIN_DEFAULT, EXPLAIN_OOM, EXPLAIN_PEAK, EXPLAIN_ENTRY } explain_when;

/* Settings that are compared, at most; half of them are the user's. */
enum { EXPLAIN_SETTINGS_MAX = 32 };

/* A question about a recording. */
typedef struct explain_question {
    const char *path;
    int device; /* -1: the first that recorded something */
    explain_when when;
    uint64_t entry, capacity;    /* entry: of EXPLAIN_ENTRY; capacity 0: the recording's */
    bool second_search;          /* in these plays a request that fails is searched once more */
    bool compare;                /* play the program under other settings, also when memory was not out */
    const char *version;         /* of PyTorch; NULL: not given */
    const char *const *settings; /* of the user's */
    size_t settings_count;
} explain_question;

/* Prints the answer, draws the map and writes JSON (NULL: not wanted), and commits the outputs. */
typedef tla_status explain_recording(const explain_question *question, FILE *map, FILE *json, tla_error *error);

/* Sets the explainer of recordings. NULL, as without a call: recordings are TLA_UNSUPPORTED, and the error names the
 * option with which the program must be built. */
void explain_recordings_by(explain_recording *explainer);

/* Explains why an arena's snapshot (arena.h) would fail a request, or that it would serve it; JSON if wanted.
 * TLA_SYNTAX for a damaged snapshot. */
tla_status explain_arena(const char *path, uint64_t nbytes, FILE *table, FILE *json, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
