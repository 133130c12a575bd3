/* A list of buffers with lifetimes: how it grows, its events, and the table that it is written as. */
#include "trace/lifetime_readers.h"

#include "model/base/fnv.h"
#include "model/base/grow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(lifetime_list *list, bool lines) {
    const size_t count = list->count;
    return tla_grow_by_one(&list->buffers, count, sizeof *list->buffers) &&
           tla_grow_by_one(&list->alignments, count, sizeof *list->alignments) &&
           tla_grow_by_one(&list->fixed, count, sizeof *list->fixed) &&
           tla_grow_by_one(&list->ids, count, sizeof *list->ids) &&
           (!lines || tla_grow_by_one(&list->lines, count, sizeof *list->lines));
}

/* Keeps a text with a 0 at its end; where it is in texts. */
static bool keep_text(lifetime_list *list, table_field text, size_t *at) {
    const size_t length = (size_t)(text.end - text.begin);
    if (!tla_grow(&list->texts, &list->text_room, list->text_length + length + 1, 1)) return false;
    *at = list->text_length;
    memcpy(list->texts + *at, text.begin, length);
    list->texts[*at + length] = 0;
    list->text_length += length + 1;
    return true;
}

/* Ids by hash: open addressing, index + 1, 0 for an empty slot. */

static size_t *find_slot(const lifetime_list *list, const char *id, size_t length) {
    const uint64_t hash = tla_fnv(TLA_FNV_BASIS, id, length);
    for (size_t at = (size_t)(hash ^ hash >> 32);; at++) {
        size_t *slot = &list->slots[at & (list->slot_count - 1)];
        if (*slot == 0) return slot;
        const char *other = lifetimes_id(list, *slot - 1);
        if (strncmp(other, id, length) == 0 && other[length] == 0) return slot;
    }
}

static bool make_slots(lifetime_list *list) {
    if (2 * (list->count + 1) <= list->slot_count) return true;
    const size_t count = list->slot_count ? 2 * list->slot_count : 1024;
    size_t *slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    free(list->slots);
    list->slots = slots;
    list->slot_count = count;
    for (size_t i = 0; i < list->count; i++)
        *find_slot(list, lifetimes_id(list, i), strlen(lifetimes_id(list, i))) = i + 1;
    return true;
}

size_t lifetimes_find(const lifetime_list *list, table_field id) {
    if (!list->slot_count) return SIZE_MAX;
    const size_t found = *find_slot(list, id.begin, (size_t)(id.end - id.begin));
    return found ? found - 1 : SIZE_MAX;
}

bool lifetimes_add(lifetime_list *list, tla_lifetime buffer, table_field id, const table_field *line) {
    if (!make_room(list, line) || !make_slots(list)) return false;
    const size_t index = list->count;
    if (!keep_text(list, id, &list->ids[index]) || (line && !keep_text(list, *line, &list->lines[index]))) return false;
    list->buffers[index] = buffer;
    list->alignments[index] = 1;
    list->fixed[index] = TLA_PLAN_ANYWHERE;
    *find_slot(list, id.begin, (size_t)(id.end - id.begin)) = index + 1;
    list->count++;
    return true;
}

bool lifetimes_add_gap(lifetime_list *list, uint64_t lower, uint64_t upper) {
    if (!tla_grow(&list->gaps, &list->gap_room, list->gap_count + 1, sizeof *list->gaps)) return false;
    list->gaps[list->gap_count++] = (tla_plan_gap){list->count - 1, lower, upper};
    return true;
}

void lifetimes_clear(lifetime_list *list) {
    free(list->buffers);
    free(list->alignments);
    free(list->fixed);
    free(list->gaps);
    free(list->views);
    free(list->sources);
    free(list->io);
    free(list->header);
    free(list->texts);
    free(list->ids);
    free(list->lines);
    free(list->slots);
    *list = (lifetime_list){0};
}

tla_plan_problem lifetimes_problem(const lifetime_list *list) {
    return (tla_plan_problem){list->buffers, list->count, list->alignments, list->fixed, list->gaps, list->gap_count};
}

/* Events */

typedef struct buffer_event {
    uint64_t time;
    size_t buffer;
    bool is_free;
} buffer_event;

static int by_time(const void *a, const void *b) {
    const buffer_event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->is_free != y->is_free) return x->is_free ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static size_t list_events(const lifetime_list *list, buffer_event *events) {
    size_t count = 0, gap = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t lower = list->buffers[i].lower;
        for (bool more = true; more;) {
            more = gap < list->gap_count && list->gaps[gap].tensor == i;
            const uint64_t upper = more ? list->gaps[gap].lower : list->buffers[i].upper;
            if (lower < upper) {
                events[count++] = (buffer_event){lower, i, false};
                events[count++] = (buffer_event){upper, i, true};
            }
            if (more) lower = list->gaps[gap++].upper;
        }
    }
    return count;
}

tla_status lifetimes_append(const lifetime_list *list, trace_builder *builder, tla_error *error) {
    buffer_event *events = malloc((2 * (list->count + list->gap_count) + 1) * sizeof *events);
    if (!events) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the events");
    const size_t count = list_events(list, events);
    tla_status status = TLA_OK;
    qsort(events, count, sizeof *events, by_time);
    for (size_t i = 0; i < count && !status; i++) {
        const buffer_event *e = &events[i];
        const uint64_t nbytes = list->buffers[e->buffer].nbytes;
        status = (e->is_free ? trace_builder_free : trace_builder_alloc)(builder, e->time, e->buffer, nbytes,
                                                                         e->buffer + 2, error);
        if (!status && !e->is_free) trace_builder_name(builder, lifetimes_id(list, e->buffer));
    }
    free(events);
    return status;
}

tla_status lifetimes_to_trace(const lifetime_list *list, alloc_trace *trace, tla_error *error) {
    trace_builder *builder;
    *trace = (alloc_trace){0};
    tla_status status = trace_builder_create(&builder);
    if (status) return tla_error_set(error, status, "no host memory for the events");
    status = lifetimes_append(list, builder, error);
    if (!status) trace_builder_finish(builder, trace);
    trace_builder_destroy(builder);
    return status;
}

/* From a trace */

static tla_status add_allocation(lifetime_list *list, size_t index, tla_lifetime buffer) {
    char line[96];
    const int id = snprintf(line, sizeof line, "%zu", index);
    const int length = snprintf(line, sizeof line, "%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64, index, buffer.lower,
                                buffer.upper, buffer.nbytes);
    const table_field whole = {line, line + length};
    return lifetimes_add(list, buffer, (table_field){line, line + id}, &whole) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

tla_status lifetimes_of_trace(const alloc_trace *trace, lifetime_list *list) {
    const size_t n = trace->allocation_count;
    tla_lifetime *buffers = malloc((n + 1) * sizeof *buffers);
    list->header = strdup(TRACE_MINIMALLOC_HEADER);
    list->columns = list->offset_column = 4;
    tla_status status = buffers && list->header ? TLA_OK : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n && !status; i++)
        buffers[i] = (tla_lifetime){0, trace->event_count, trace->allocations[i].nbytes};
    for (size_t i = 0; i < trace->event_count && !status; i++)
        *(trace->events[i].is_free ? &buffers[trace->events[i].allocation].upper
                                   : &buffers[trace->events[i].allocation].lower) = i;
    for (size_t i = 0; i < n && !status; i++)
        status = add_allocation(list, i, buffers[i]);
    free(buffers);
    return status;
}

/* The table */

static void write_line(const lifetime_list *list, const char *line, uint64_t offset, FILE *out) {
    for (int i = 0; i < list->columns; i++) {
        const size_t length = strcspn(line, ",");
        if (i > 0) fputc(',', out);
        if (i == list->offset_column)
            fprintf(out, "%" PRIu64, offset);
        else
            fwrite(line, 1, length, out);
        line += length + (line[length] == ',');
    }
    if (list->offset_column == list->columns) fprintf(out, ",%" PRIu64, offset);
    fputc('\n', out);
}

void lifetimes_write(const lifetime_list *list, const uint64_t *offsets, FILE *out) {
    fprintf(out, "%s%s\n", list->header, list->offset_column == list->columns ? ",offset" : "");
    for (size_t i = 0; i < list->count; i++)
        write_line(list, list->texts + list->lines[i], offsets[i], out);
}
