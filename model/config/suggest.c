/* "Did you mean": the key or section with the smallest edit distance. */
#include "schema.h"

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

bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *nearest) {
    size_t length = strlen(path);
    if (length > LENGTH_MAX) return false;
    size_t best = least(length, 2 + length / 4); /* near: fewer edits than this */
    bool found = false;
    for (size_t key = 0; key < schema->count; key++) {
        const char *name = schema->keys[key].key;
        for (size_t end = 1; name[end - 1]; end++) {
            if (name[end] && name[end] != '.') continue;                     /* sections, and the whole key */
            if (strncmp(path, name, end) == 0 && path[end] == '.') continue; /* the section it stands in already */
            size_t edits = distance(path, length, name, end);
            if (edits >= best) continue;
            best = edits;
            found = true;
            *nearest = tla_phrase_of("%.*s", (int)end, name);
        }
    }
    return found;
}
