/* "Did you mean": finds the name that is closest to an unknown text. Internal to the core and the command line. */
#ifndef TLMALLOC_MODEL_BASE_SUGGEST_H
#define TLMALLOC_MODEL_BASE_SUGGEST_H

#include "phrase.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A search among names that are tried one by one: the first of the nearest wins. */
typedef struct tla_nearest {
    const char *text;
    size_t length, best; /* fewer edits than `best` are near */
    bool found;
    tla_phrase name; /* the nearest so far, when found */
} tla_nearest;

/* Begins a search for the name nearest to a text, which must live as long as the search. */
tla_nearest tla_nearest_to(const char *text);

/* One name more: the first `length` characters. */
void tla_nearest_try(tla_nearest *nearest, const char *name, size_t length);

/* `, did you mean "NAME"?` with the nearest of the names that name(0), name(1), ... return up to NULL; "" when none is
 * near. */
tla_phrase tla_did_you_mean(const char *text, const char *(*name)(uint64_t index));

/* All names, "a, b, c"; cut where they are too long for a phrase. */
tla_phrase tla_all_names(const char *(*name)(uint64_t index));

/* Returns a hint for the message about a line (from 1) that is not YAML: a tab in its indentation, or "". */
const char *tla_tab_hint(const char *text, size_t length, size_t line);

#ifdef __cplusplus
}
#endif
#endif
