/* Figures of a report by their paths. */
#include "figure_path.h"

#include "model/base/phrase.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128 };

typedef enum fold { FOLD_NONE, FOLD_MIN, FOLD_MAX, FOLD_MEAN, FOLD_SUM, FOLD_COUNT } fold;

typedef enum step_kind { STEP_END, STEP_NAME, STEP_ITEM, STEP_ALL, STEP_WHERE } step_kind;

typedef struct step {
    step_kind kind;
    size_t item;
    char name[NAME_MAX_BYTES], text[NAME_MAX_BYTES];
} step;

static fold read_fold(const char **path) {
    static const char *const words[] = {"", "min ", "max ", "mean ", "sum ", "count "};
    for (int word = FOLD_MIN; word <= FOLD_COUNT; word++)
        if (strncmp(*path, words[word], strlen(words[word])) == 0) {
            *path += strlen(words[word]);
            *path += strspn(*path, " ");
            return (fold)word;
        }
    return FOLD_NONE;
}

/* [from, to) without its end in a buffer; false when it is empty or too long. */
static bool cut(const char *from, size_t length, char out[NAME_MAX_BYTES]) {
    if (length == 0 || length >= NAME_MAX_BYTES) return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

/* Reads the next step of a path, which moves on; false if the step is invalid. */
static bool read_step(const char **path, bool first, step *s) {
    const char *at = *path;
    *s = (step){.kind = STEP_END};
    if (!*at || strcmp(at, "?") == 0) return !first;
    if (*at == '[') {
        const char *end = strchr(at, ']');
        if (!end || first) return false;
        const char *equals = memchr(at, '=', (size_t)(end - at));
        char *stop;
        *path = end + 1;
        if (end == at + 1) {
            s->kind = STEP_ALL;
        } else if (equals) {
            s->kind = STEP_WHERE;
            return cut(at + 1, (size_t)(equals - at - 1), s->name) &&
                   cut(equals + 1, (size_t)(end - equals - 1), s->text);
        } else {
            s->kind = STEP_ITEM;
            s->item = strtoul(at + 1, &stop, 10);
            return at[1] >= '0' && at[1] <= '9' && stop == end;
        }
        return true;
    }
    if (!first && *at++ != '.') return false;
    const size_t length = strcspn(at, ".[]?= ");
    s->kind = STEP_NAME;
    *path = at + length;
    return cut(at, length, s->name);
}

tla_status figure_path_check(const char *path, tla_error *error) {
    const char *at = path;
    const fold f = read_fold(&at);
    bool all = false;
    step s;
    bool first = true;
    do {
        if (!read_step(&at, first, &s))
            return tla_error_set(error, TLA_SYNTAX,
                                 "found %s, expected a path into the report, such as sim_time_ps, kernels[0].dma_ps or "
                                 "max kernels[].end_ps",
                                 tla_quote(path).text);
        all |= s.kind == STEP_ALL;
        first = false;
    } while (s.kind != STEP_END);
    if (all && f == FOLD_NONE)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected min, max, mean, sum or count before a path with []",
                             tla_quote(path).text);
    if (!all && f != FOLD_NONE)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected [] after the list to summarize",
                             tla_quote(path).text);
    return TLA_OK;
}

typedef struct folded {
    double least, most, sum, last;
    size_t count;
    bool missing, no_number;
} folded;

static void take(const json_t *value, folded *into) {
    if (json_is_null(value)) return;
    if (!json_is_number(value) && !json_is_boolean(value)) {
        into->no_number = true;
        return;
    }
    const double x = json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value);
    into->least = into->count && into->least < x ? into->least : x;
    into->most = into->count && into->most > x ? into->most : x;
    into->sum += x;
    into->last = x;
    into->count++;
}

static const json_t *find_where(const json_t *list, const step *s) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_object_get(json_array_get(list, i), s->name));
        if (text && strcmp(text, s->text) == 0) return json_array_get(list, i);
    }
    return NULL;
}

/* Depth is that of the path: at most its length. */
static void walk(const json_t *value, const char *path, bool first, folded *into) {
    step s;
    if (!value || !read_step(&path, first, &s)) {
        into->missing = true;
        return;
    }
    switch (s.kind) {
    case STEP_END:
        take(value, into);
        return;
    case STEP_NAME:
        if (json_is_null(value)) return; /* what would lie in it is null */
        walk(json_object_get(value, s.name), path, false, into);
        return;
    case STEP_ITEM:
        walk(json_array_get(value, s.item), path, false, into);
        return;
    case STEP_WHERE:
        walk(find_where(value, &s), path, false, into);
        return;
    case STEP_ALL:
        into->missing |= !json_is_array(value);
        for (size_t i = 0; i < json_array_size(value); i++)
            walk(json_array_get(value, i), path, false, into);
        return;
    }
}

figure_state figure_path_find(const char *path, const json_t *report, double *value) {
    const bool optional = *path && path[strlen(path) - 1] == '?';
    const fold f = read_fold(&path);
    folded all = {0};
    walk(report, path, true, &all);
    if (all.missing) return optional ? FIGURE_NULL : FIGURE_MISSING;
    if (f == FOLD_COUNT) all = (folded){.last = (double)all.count, .count = 1};
    if (all.no_number) return FIGURE_NO_NUMBER;
    if (all.count == 0) return FIGURE_NULL;
    *value = f == FOLD_MIN    ? all.least
             : f == FOLD_MAX  ? all.most
             : f == FOLD_SUM  ? all.sum
             : f == FOLD_MEAN ? all.sum / (double)all.count
                              : all.last;
    return FIGURE_FOUND;
}
