/* Reads a trace file into memory and hands it to the reader of its format. */
#include "trace/builder.h"
#include "trace/file.h"

#include <stdlib.h>
#include <string.h>

static tla_status read(const char *text, size_t length, const char *name, int device, trace_builder *builder,
                       tla_error *error);

static tla_status parse(const char *text, size_t length, const char *name, int device, alloc_trace *trace,
                        tla_error *error);

tla_status trace_load(const char *path, alloc_trace *trace, tla_error *error) {
    return trace_load_device(path, TRACE_FIRST_DEVICE, trace, error);
}

tla_status trace_load_device(const char *path, int device, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    char *text = NULL;
    size_t length = 0;
    tla_status status = trace_read_file(path, &text, &length, error);
    if (!status) status = parse(text, length, path, device, trace, error);
    free(text);
    return status;
}

tla_status trace_parse(const char *text, size_t length, const char *name, alloc_trace *trace, tla_error *error) {
    return parse(text, length, name, TRACE_FIRST_DEVICE, trace, error);
}

static tla_status parse(const char *text, size_t length, const char *name, int device, alloc_trace *trace,
                        tla_error *error) {
    *trace = (alloc_trace){0};
    trace_builder *builder;
    tla_status status = trace_builder_create(&builder);
    if (status) return tla_error_set(error, status, "%s: no host memory to read it", name);
    status = read(text, length, name, device, builder, error);
    if (!status) trace_builder_finish(builder, trace);
    trace_builder_destroy(builder);
    return status;
}

/* The PROTO opcode of a pickle, or the beginning of JSON. */
static bool is_torch(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t'))
        i++;
    return length > 0 && ((unsigned char)text[0] == 0x80 || (i < length && text[i] == '{'));
}

static tla_status read(const char *text, size_t length, const char *name, int device, trace_builder *builder,
                       tla_error *error) {
    if (is_torch(text, length)) return trace_read_torch(text, length, name, device, builder, error);
    if (device != TRACE_FIRST_DEVICE)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: found a format without devices, expected a recording of PyTorch", name);
    size_t header = strlen(TRACE_MINIMALLOC_HEADER);
    bool minimalloc = length >= header && memcmp(text, TRACE_MINIMALLOC_HEADER, header) == 0;
    return (minimalloc ? trace_read_minimalloc : trace_read_csv)(text, length, name, builder, error);
}
