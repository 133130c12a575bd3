/* Hands a trace file to the reader of its format. */
#include "trace/builder.h"
#include "trace/file.h"
#include "trace/lifetime_readers.h"
#include "trace/rmm_log.h"

#include <stdlib.h>
#include <string.h>

/* The reader of recordings; NULL: none. */
static trace_recording_reader *read_recording;

void trace_read_recordings_by(trace_recording_reader *reader) {
    read_recording = reader;
}

bool trace_pickle_begins(const char *text, size_t length) {
    return length > 0 && ((unsigned char)text[0] == 0x80 || (text[0] && strchr("(]})", text[0])));
}

/* A pickle or JSON. */
static bool is_recording(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t'))
        i++;
    return trace_pickle_begins(text, length) || (i < length && (text[i] == '{' || text[i] == '['));
}

/* A file that is read whole: its reader goes back and forth in it. */
static tla_status read_whole(trace_file *file, int device, trace_builder *builder, tla_error *error) {
    if (!read_recording)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: found a pickle or JSON, the formats of PyTorch's recordings: %s",
                             trace_file_name(file), TRACE_NO_TORCH);
    char *text = NULL;
    size_t length = 0;
    tla_status status = trace_file_rest(file, &text, &length, error);
    if (!status) status = read_recording(text, length, trace_file_name(file), device, builder, error);
    free(text);
    return status;
}

static tla_status read_format(trace_file *file, int device, trace_builder *builder, tla_error *error) {
    size_t length;
    const char *first = trace_file_peek(file, &length);
    if (is_recording(first, length)) return read_whole(file, device, builder, error);
    if (device != TRACE_FIRST_DEVICE)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: --device needs a recording of PyTorch, because other formats have no devices",
                             trace_file_name(file));
    if (rmm_log_begins(first, length)) return trace_read_rmm_log(file, builder, error);
    return (minimalloc_begins(first, length) ? trace_read_minimalloc : trace_read_csv)(file, builder, error);
}

static tla_status read(trace_file *file, int device, alloc_trace *trace, tla_error *error) {
    trace_builder *builder;
    tla_status status = trace_builder_create(&builder);
    if (status) return tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file));
    status = read_format(file, device, builder, error);
    if (status)
        status = trace_file_blame(file, status, error);
    else
        trace_builder_finish(builder, trace);
    trace_builder_destroy(builder);
    return status;
}

tla_status trace_load(const char *path, alloc_trace *trace, tla_error *error) {
    return trace_load_device(path, TRACE_FIRST_DEVICE, trace, error);
}

tla_status trace_load_device(const char *path, int device, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    trace_file *file;
    tla_status status = trace_file_open(path, &file, error);
    if (!status) status = read(file, device, trace, error);
    trace_file_close(file);
    return status;
}

tla_status trace_parse(const char *text, size_t length, const char *name, alloc_trace *trace, tla_error *error) {
    *trace = (alloc_trace){0};
    trace_file *file;
    tla_status status = trace_file_of_text(text, length, name, &file, error);
    if (!status) status = read(file, TRACE_FIRST_DEVICE, trace, error);
    trace_file_close(file);
    return status;
}

/* Any other format than a table of lifetimes. */
static tla_status read_lifetimes(trace_file *file, int device, lifetime_list *list, tla_error *error) {
    alloc_trace trace = {0};
    tla_status status = read(file, device, &trace, error);
    if (!status) {
        status = lifetimes_of_trace(&trace, list);
        if (status) tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file));
    }
    trace_unload(&trace);
    return status;
}

tla_status lifetimes_load(const char *path, int device, lifetime_list *list, tla_error *error) {
    *list = (lifetime_list){0};
    trace_file *file;
    tla_status status = trace_file_open(path, &file, error);
    size_t length;
    const char *first = status ? NULL : trace_file_peek(file, &length);
    /* A file that is neither a recording nor a trace is treated as a table of buffers, whose reader reports what is
     * missing. */
    const bool has_events =
        !status && (is_recording(first, length) || trace_csv_begins(first, length) || rmm_log_begins(first, length));
    if (!status && device == TRACE_FIRST_DEVICE && !has_events) {
        status = program_table_begins(first, length) ? program_table_read(file, list, error)
                                                     : minimalloc_read(file, true, list, error);
        if (status) status = trace_file_blame(file, status, error);
    } else if (!status) {
        status = read_lifetimes(file, device, list, error);
    }
    trace_file_close(file);
    if (status) lifetimes_clear(list);
    return status;
}
