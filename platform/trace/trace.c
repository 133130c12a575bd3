/* Reads a trace file into memory and hands it to the reader of its format. */
#include "trace/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static tla_status read_file(const char *path, char **text, size_t *length, tla_error *error);

tla_status trace_load(const char *path, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    char *text = NULL;
    size_t length = 0;
    tla_status status = read_file(path, &text, &length, error);
    if (!status) status = trace_parse(text, length, path, trace, error);
    free(text);
    return status;
}

tla_status trace_parse(const char *text, size_t length, const char *name, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    trace_builder *builder;
    tla_status status = trace_builder_create(&builder);
    if (status) return tla_error_set(error, status, "%s: no host memory to read it", name);
    status = trace_read_csv(text, length, name, builder, error);
    if (!status) trace_builder_finish(builder, trace);
    trace_builder_destroy(builder);
    return status;
}

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

/* The whole file, decompressed if it is gzip. *text is the caller's to free, also after an error. */
static tla_status read_file(const char *path, char **text, size_t *length, tla_error *error) {
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
