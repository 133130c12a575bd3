/* A text file in memory. */
#include "cli/read_text.h"
#include "model/base/grow.h"
#include "model/base/phrase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one byte more, and the final newline and 0. */
static tla_status read_all(const char *path, size_t limit, FILE *in, char **text, size_t *length, tla_error *error) {
    enum { STEP = 1 << 16, BEHIND = 2 };
    size_t room = 0, got;
    do {
        if (!tla_grow(text, &room, *length + STEP + BEHIND, 1))
            return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
        got = fread(*text + *length, 1, room - BEHIND - *length, in);
        *length += got;
        if (*length > limit)
            return tla_error_set(error, TLA_LIMIT, "%s: larger than the limit of %zu bytes", path, limit);
    } while (*length == room - BEHIND);
    return ferror(in) ? tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text) : TLA_OK;
}

/* Normalizes in place; there is room for a newline and a 0. */
static size_t tidy(char *text, size_t length) {
    size_t from = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, to = 0;
    for (; from < length; from++)
        if (text[from] != '\r' || (from + 1 < length && text[from + 1] != '\n')) text[to++] = text[from];
    while (to > 0 && text[to - 1] == '\n')
        to--;
    if (to > 0) text[to++] = '\n';
    text[to] = 0;
    return to;
}

tla_status read_text(const char *path, size_t limit, char **text, size_t *length, tla_error *error) {
    *text = NULL;
    *length = 0;
    FILE *in = fopen(path, "r");
    if (!in) return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    tla_status status = read_all(path, limit, in, text, length, error);
    fclose(in);
    if (status) {
        free(*text);
        *text = NULL;
        *length = 0;
    } else {
        *length = tidy(*text, *length);
    }
    return status;
}
