/* Reads a trace file into memory and hands it to the reader of its format. */
#include "trace/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef tla_status (*trace_reader)(const char *text, size_t length, const char *name, trace_builder *builder,
                                   tla_error *error);

static tla_status read_file(const char *path, char **text, size_t *length, tla_error *error);
static trace_reader choose_reader(const char *text, size_t length);

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
    status = choose_reader(text, length)(text, length, name, builder, error);
    if (!status) trace_builder_finish(builder, trace);
    trace_builder_destroy(builder);
    return status;
}

static trace_reader choose_reader(const char *text, size_t length) {
    if (length > 0 && (unsigned char)text[0] == 0x80) return trace_read_torch; /* the PROTO opcode of a pickle */
    size_t header = strlen(TRACE_MINIMALLOC_HEADER);
    return length >= header && memcmp(text, TRACE_MINIMALLOC_HEADER, header) == 0 ? trace_read_minimalloc
                                                                                  : trace_read_csv;
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
