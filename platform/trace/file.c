/* Reads a trace file whole, plain or gzip. */
#include "trace/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Why reading stopped: a file that ends inside its compressed stream is bad input, an unreadable one is not. */
static tla_status explain_read(const char *path, gzFile file, size_t length, tla_error *error) {
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    switch (code) {
    case Z_ERRNO:
        return tla_error_set(error, TLA_IO, "%s: %s", path, strerror(errno));
    case Z_MEM_ERROR:
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
    case Z_BUF_ERROR:
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: the compressed data end early, after %zu bytes of text: the file is truncated", path,
                             length);
    default:
        return tla_error_set(error, TLA_SYNTAX, "%s: not valid gzip after %zu bytes of text: %s", path, length, text);
    }
}

tla_status trace_read_file(const char *path, char **text, size_t *length, tla_error *error) {
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return tla_error_set(error, TLA_IO, "%s: %s", path, errno ? strerror(errno) : "no host memory to read it");
    gzbuffer(file, 1 << 16);
    size_t room = 0;
    int got = 0;
    do {
        if (room - *length < 1 << 16) {
            room = room ? 2 * room : 1 << 18;
            char *grown = realloc(*text, room);
            if (!grown) {
                gzclose(file);
                return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
            }
            *text = grown;
        }
        got = gzread(file, *text + *length, 1 << 16);
        if (got > 0) *length += (size_t)got;
    } while (got > 0);
    int code = Z_OK;
    gzerror(file, &code);
    tla_status status = got < 0 || code != Z_OK ? explain_read(path, file, *length, error) : TLA_OK;
    gzclose(file);
    if (status == TLA_OK && *length == 0) return tla_error_set(error, TLA_SYNTAX, "%s:1:1: the file is empty", path);
    return status;
}
