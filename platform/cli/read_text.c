/* A whole file in memory. */
#include "cli/read_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tla_status read_text(const char *path, char **text, size_t *length, tla_error *error) {
    FILE *in = fopen(path, "r");
    if (!in) return tla_error_set(error, TLA_IO, "%s: %s", path, strerror(errno));
    size_t room = 0, got;
    *text = NULL;
    *length = 0;
    do {
        room = room ? 2 * room : 1 << 16;
        char *grown = realloc(*text, room + 1);
        if (!grown) break;
        *text = grown;
        got = fread(*text + *length, 1, room - *length, in);
        *length += got;
    } while (*length == room);
    tla_status status = TLA_OK;
    if (*length == room)
        status = tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
    else if (ferror(in))
        status = tla_error_set(error, TLA_IO, "%s: %s", path, strerror(errno));
    fclose(in);
    if (status) {
        free(*text);
        *text = NULL;
    } else {
        (*text)[*length] = 0;
    }
    return status;
}
