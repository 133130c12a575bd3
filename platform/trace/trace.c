/* Reads a trace file into memory and hands it to the reader of its format. */
#include "trace/builder.h"
#include "trace/file.h"

#include <stdlib.h>
#include <string.h>

typedef tla_status (*trace_reader)(const char *text, size_t length, const char *name, trace_builder *builder,
                                   tla_error *error);

static trace_reader choose_reader(const char *text, size_t length);

tla_status trace_load(const char *path, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    char *text = NULL;
    size_t length = 0;
    tla_status status = trace_read_file(path, &text, &length, error);
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
