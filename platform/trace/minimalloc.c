/* Reads MiniMalloc's problems: the header line id,lower,upper,size, then one buffer a line that lives in [lower,
 * upper). As events: at equal times frees come before allocations, and both in the order of the file. */
#include "trace/builder.h"
#include "trace/table.h"

#include <stdlib.h>
#include <string.h>

enum { ID, LOWER, UPPER, SIZE };
enum { ID_MAX = 255 };

typedef struct buffer_event {
    uint64_t time, nbytes;
    size_t buffer; /* position in the file */
    bool is_free;
} buffer_event;

typedef struct buffer_list {
    buffer_event *events; /* two for each buffer */
    size_t count, room;
    char *names; /* the ids, each with a 0 at its end */
    size_t names_length, names_room;
    size_t *ids; /* where in names, for each buffer */
} buffer_list;

static tla_status read_buffers(trace_table *table, buffer_list *list, tla_error *error);
static tla_status append_events(const buffer_list *list, const char *name, trace_builder *builder, tla_error *error);
static int by_time(const void *a, const void *b);

tla_status trace_read_minimalloc(trace_file *file, trace_builder *builder, tla_error *error) {
    buffer_list list = {.count = 0};
    trace_table table;
    tla_status status = table_begin(&table, file, TRACE_MINIMALLOC_HEADER, error);
    if (!status) status = read_buffers(&table, &list, error);
    if (!status) {
        if (list.count) qsort(list.events, list.count, sizeof *list.events, by_time);
        status = append_events(&list, trace_file_name(file), builder, error);
    }
    if (status)
        free(list.names);
    else
        trace_builder_keep(builder, list.names);
    free(list.events);
    free(list.ids);
    return status;
}

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b) {
    const buffer_event *x = a, *y = b;
    int order = compare(x->time, y->time);
    if (!order) order = compare(!x->is_free, !y->is_free);
    return order ? order : compare(x->buffer, y->buffer);
}

static bool make_room(buffer_list *list) {
    if (list->count + 2 <= list->room) return true;
    size_t room = list->room ? 2 * list->room : 512;
    buffer_event *events = realloc(list->events, room * sizeof *events);
    if (!events) return false;
    list->events = events;
    size_t *ids = realloc(list->ids, room / 2 * sizeof *ids);
    if (!ids) return false;
    list->ids = ids;
    list->room = room;
    return true;
}

/* Keeps the id of the next buffer. */
static bool keep_name(buffer_list *list, table_field id) {
    size_t length = (size_t)(id.end - id.begin);
    while (list->names_length + length + 1 > list->names_room) {
        size_t room = list->names_room ? 2 * list->names_room : 4096;
        char *names = realloc(list->names, room);
        if (!names) return false;
        list->names = names;
        list->names_room = room;
    }
    list->ids[list->count / 2] = list->names_length;
    memcpy(list->names + list->names_length, id.begin, length);
    list->names_length += length;
    list->names[list->names_length++] = 0;
    return true;
}

static tla_status read_buffer(const trace_table *table, buffer_list *list, tla_error *error) {
    const table_field *fields = table->fields;
    uint64_t lower, upper, nbytes;
    if (fields[ID].begin == fields[ID].end) return table_found(table, fields[ID], "an id", error);
    if (fields[ID].end - fields[ID].begin > ID_MAX)
        return table_found(table, fields[ID], "an id of at most 255 bytes", error);
    if (!table_number(fields[LOWER], &lower)) return table_found(table, fields[LOWER], "a time, 0 .. 2^64 - 1", error);
    if (!table_number(fields[UPPER], &upper) || upper <= lower)
        return table_found(table, fields[UPPER], "a time later than lower", error);
    if (!table_number(fields[SIZE], &nbytes) || nbytes == 0 || nbytes > TRACE_MAX_BYTES)
        return table_found(table, fields[SIZE], "a number of bytes, 1 .. 2^63", error);
    if (list->count == TRACE_EVENTS_MAX)
        return table_fail(table, fields[ID], TLA_LIMIT, "found more buffers than can be read, 2^25", error);
    if (!make_room(list) || !keep_name(list, fields[ID]))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", trace_file_name(table->file));
    size_t buffer = list->count / 2;
    list->events[list->count++] = (buffer_event){lower, nbytes, buffer, false};
    list->events[list->count++] = (buffer_event){upper, nbytes, buffer, true};
    return TLA_OK;
}

static tla_status read_buffers(trace_table *table, buffer_list *list, tla_error *error) {
    bool more = true;
    tla_status status = TLA_OK;
    while (!status && more) {
        status = table_next(table, &more, error);
        if (!status && more) status = read_buffer(table, list, error);
    }
    return status;
}

static tla_status append_events(const buffer_list *list, const char *name, trace_builder *builder, tla_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        const buffer_event *e = &list->events[i];
        tla_error inner;
        tla_status status = (e->is_free ? trace_builder_free : trace_builder_alloc)(builder, e->time, e->buffer,
                                                                                    e->nbytes, e->buffer + 2, &inner);
        if (status) return tla_error_set(error, status, "%s: %s", name, inner.text);
        if (!e->is_free) trace_builder_name(builder, list->names + list->ids[e->buffer]);
    }
    return TLA_OK;
}
