/* "Did you mean": the name with the smallest edit distance. */
#include "suggest.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH_MAX = 64 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1. Both at most
 * LENGTH_MAX long. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t d[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t i = 0; i <= a_length; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= b_length; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= a_length; i++)
        for (size_t j = 1; j <= b_length; j++) {
            size_t substitution = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(substitution, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a_length][b_length];
}

tla_nearest tla_nearest_to(const char *text) {
    size_t length = strlen(text);
    return (tla_nearest){
        .text = text, .length = length, .best = length > LENGTH_MAX ? 0 : least(length, 2 + length / 4)};
}

void tla_nearest_try(tla_nearest *nearest, const char *name, size_t length) {
    if (nearest->best == 0 || length > LENGTH_MAX) return;
    size_t edits = distance(nearest->text, nearest->length, name, length);
    if (edits >= nearest->best) return;
    nearest->best = edits;
    nearest->found = true;
    nearest->name = tla_phrase_of("%.*s", (int)length, name);
}

tla_phrase tla_did_you_mean(const char *text, const char *(*name)(uint64_t index)) {
    tla_nearest nearest = tla_nearest_to(text);
    for (uint64_t i = 0; name(i); i++)
        tla_nearest_try(&nearest, name(i), strlen(name(i)));
    return nearest.found ? tla_phrase_of(", did you mean \"%s\"?", nearest.name.text) : (tla_phrase){""};
}

tla_phrase tla_all_names(const char *(*name)(uint64_t index)) {
    tla_phrase all = {""};
    size_t used = 0;
    for (uint64_t i = 0; name(i) && used < sizeof all.text; i++)
        used += (size_t)snprintf(all.text + used, sizeof all.text - used, "%s%s", i ? ", " : "", name(i));
    return all;
}

const char *tla_tab_hint(const char *text, size_t length, size_t line) {
    const char *at = text, *end = text + length;
    for (size_t i = 1; i < line && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    for (; at && at < end && (*at == ' ' || *at == '\t'); at++)
        if (*at == '\t') return ": found a tab in the indentation, did you mean spaces?";
    return "";
}
