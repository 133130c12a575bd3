/* Reads a trace file, plain or gzip, in a buffer of fixed size. */
#include "trace/file.h"
#include "model/base/grow.h"

#include "trace/gzip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16 };

struct trace_file {
    char *name;
    gzip_file *file;        /* NULL: a text in memory */
    const char *text, *end; /* its bytes that are not copied yet */
    uint64_t taken;         /* bytes that were read from it so far */
    uint64_t line_number;
    bool ended;          /* nothing is left behind the buffer */
    bool cut;            /* the last line had no end */
    size_t first, count; /* the contents of the buffer */
    char buffer[BUFFER_BYTES];
    char line[TRACE_LINE_MAX]; /* the last one: filling the buffer moves its contents */
};

/* Copies at most `room` bytes that come next; *got is 0 at the end. */
static tla_status take(trace_file *f, char *to, size_t room, size_t *got, tla_error *error) {
    tla_status status = TLA_OK;
    *got = 0;
    if (f->ended) return TLA_OK;
    if (!f->file) {
        size_t left = (size_t)(f->end - f->text);
        *got = left < room ? left : room;
        if (*got) memcpy(to, f->text, *got);
        f->text += *got;
    } else {
        status = gzip_read(f->file, to, room, got, error);
    }
    if (status) return status;
    f->taken += *got;
    f->ended = *got == 0;
    return TLA_OK;
}

/* Makes the buffer hold TRACE_LINE_MAX + 2 bytes, or all that is left. */
static tla_status fill(trace_file *f, tla_error *error) {
    if (f->count > TRACE_LINE_MAX + 1) return TLA_OK;
    if (f->count) memmove(f->buffer, f->buffer + f->first, f->count);
    f->first = 0;
    tla_status status = TLA_OK;
    while (!status && !f->ended && f->count <= TRACE_LINE_MAX + 1) {
        size_t got;
        status = take(f, f->buffer + f->count, BUFFER_BYTES - f->count, &got, error);
        f->count += got;
    }
    return status;
}

static tla_status begin(trace_file *f, tla_error *error) {
    tla_status status = fill(f, error);
    if (!status && f->count >= 3 && memcmp(f->buffer, "\xef\xbb\xbf", 3) == 0) {
        f->first = 3;
        f->count -= 3;
    }
    return status;
}

static tla_status make(const char *name, trace_file **file, tla_error *error) {
    *file = calloc(1, sizeof **file);
    if (*file && ((*file)->name = strdup(name))) return TLA_OK;
    free(*file);
    *file = NULL;
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", name);
}

tla_status trace_file_open(const char *path, trace_file **file, tla_error *error) {
    tla_status status = make(path, file, error);
    if (status) return status;
    trace_file *f = *file;
    status = gzip_open(path, &f->file, error);
    if (!status) status = begin(f, error);
    if (!status && f->taken == 0) status = tla_error_set(error, TLA_SYNTAX, "%s:1:1: the file is empty", path);
    if (status) {
        trace_file_close(f);
        *file = NULL;
    }
    return status;
}

tla_status trace_file_of_text(const char *text, size_t length, const char *name, trace_file **file, tla_error *error) {
    tla_status status = make(name, file, error);
    if (status) return status;
    (*file)->text = text;
    (*file)->end = text + length;
    return begin(*file, error);
}

void trace_file_close(trace_file *f) {
    if (!f) return;
    gzip_close(f->file);
    free(f->name);
    free(f);
}

const char *trace_file_name(const trace_file *f) {
    return f->name;
}

const char *trace_file_peek(const trace_file *f, size_t *length) {
    *length = f->count < TRACE_LINE_MAX ? f->count : TRACE_LINE_MAX;
    return f->buffer + f->first;
}

uint64_t trace_file_line_number(const trace_file *f) {
    return f->line_number;
}

bool trace_file_is_cut(const trace_file *f) {
    return f->cut;
}

tla_status trace_file_line(trace_file *f, const char **begin_of, const char **end_of, bool *more, tla_error *error) {
    *more = f->count > 0;
    if (!*more) return TLA_OK;
    const char *line = f->buffer + f->first;
    const char *newline = memchr(line, '\n', f->count);
    size_t length = newline ? (size_t)(newline - line) : f->count, taken = length + (newline != NULL);
    f->line_number++;
    f->cut = !newline;
    if (length > 0 && line[length - 1] == '\r') length--;
    if (length > TRACE_LINE_MAX)
        return tla_error_set(error, TLA_LIMIT, "%s:%" PRIu64 ":%d: line longer than the limit of %d bytes", f->name,
                             f->line_number, TRACE_LINE_MAX + 1, TRACE_LINE_MAX);
    memcpy(f->line, line, length);
    *begin_of = f->line;
    *end_of = f->line + length;
    f->first += taken;
    f->count -= taken;
    return fill(f, error);
}

tla_status trace_file_rest(trace_file *f, char **text, size_t *length, tla_error *error) {
    size_t room = 0, got;
    *length = 0;
    do {
        if (!tla_grow(text, &room, *length + BUFFER_BYTES, 1))
            return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", f->name);
        if (f->count) {
            got = f->count;
            memcpy(*text + *length, f->buffer + f->first, got);
            f->count = 0;
        } else {
            tla_status status = take(f, *text + *length, BUFFER_BYTES, &got, error);
            if (status) return status;
        }
        *length += got;
        if (*length > TRACE_WHOLE_MAX)
            return tla_error_set(error, TLA_LIMIT, "%s: larger than the limit of %zu bytes", f->name, TRACE_WHOLE_MAX);
    } while (got > 0);
    return TLA_OK;
}

tla_status trace_file_blame(trace_file *f, tla_status status, tla_error *error) {
    const uint64_t most = f->taken + (UINT64_C(256) << 20);
    if (!f->file || status == TLA_IO || status == TLA_NO_HOST_MEMORY) return status;
    size_t got = 1;
    while (got > 0 && f->taken < most) {
        tla_error found;
        tla_status damage = take(f, f->buffer, BUFFER_BYTES, &got, &found);
        if (damage) return tla_error_set(error, damage, "%s", found.text);
    }
    return status;
}
