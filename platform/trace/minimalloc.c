/* Reads MiniMalloc's problems: a header line that names the columns, then one buffer a line. It lives in [lower,
 * upper); begin and start are other names of lower, and end is the last time at which it lives. */
#include "trace/lifetime_readers.h"

#include <string.h>

typedef enum column { ID, LOWER, UPPER, END, SIZE, ALIGNMENT, HINT, GAPS, OFFSET, COLUMN_COUNT } column;

static const struct {
    const char *name;
    column column;
} names[] = {{"id", ID},       {"lower", LOWER}, {"begin", LOWER},  {"start", LOWER},
             {"upper", UPPER}, {"end", END},     {"size", SIZE},    {"alignment", ALIGNMENT},
             {"hint", HINT},   {"gaps", GAPS},   {"offset", OFFSET}};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

/* A table, and where its columns are; -1: it has none. */
typedef struct reader {
    trace_table table;
    int at[COLUMN_COUNT];
    lifetime_list *list;
    uint64_t header_line;
} reader;

static int find_name(table_field field) {
    for (int i = 0; i < NAME_COUNT; i++)
        if (table_equals(field, names[i].name)) return i;
    return -1;
}

bool minimalloc_begins(const char *first, size_t length) {
    const table_field header = lifetimes_header(first, length);
    const char *comma = memchr(header.begin, ',', (size_t)(header.end - header.begin));
    return comma && find_name(lifetimes_unquoted((table_field){header.begin, comma})) >= 0;
}

static tla_status read_header(reader *r, trace_file *file, tla_error *error) {
    tla_status status = lifetimes_begin_table(&r->table, file, error);
    if (status) return status;
    r->header_line = r->table.line_number;
    for (int i = 0; i < COLUMN_COUNT; i++)
        r->at[i] = -1;
    for (int i = 0; i < r->table.columns; i++) {
        const table_field field = r->table.fields[i];
        const int name = find_name(field);
        if (name < 0)
            return table_found(&r->table, field,
                               "a column: id, lower (begin, start), upper or end, size, alignment, hint, gaps, offset; "
                               "or the header line of a trace, time_ns,op,id,bytes",
                               error);
        int *at = &r->at[names[name].column];
        if (*at >= 0 || (names[name].column == UPPER && r->at[END] >= 0) ||
            (names[name].column == END && r->at[UPPER] >= 0))
            return table_found(&r->table, field, "each column once", error);
        *at = i;
    }
    if (r->at[ID] < 0 || r->at[LOWER] < 0 || (r->at[UPPER] < 0 && r->at[END] < 0) || r->at[SIZE] < 0)
        return table_found(&r->table, r->table.line, "a header line with id, lower, upper and size", error);
    r->list->header = strdup(r->table.header);
    r->list->columns = r->list->offset_column = r->table.columns;
    if (r->at[OFFSET] >= 0) r->list->offset_column = r->at[OFFSET];
    return r->list->header ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* Returns the field of a column; an empty one for a missing column. */
static table_field field_of(const reader *r, column c) {
    static const char none[] = "";
    return r->at[c] < 0 ? (table_field){none, none} : r->table.fields[r->at[c]];
}

static tla_status read_buffer(const reader *r, tla_lifetime *buffer, tla_error *error) {
    const table_field lower = field_of(r, LOWER), upper = field_of(r, UPPER), end = field_of(r, END);
    if (!table_number(lower, &buffer->lower)) return table_found(&r->table, lower, "a time, 0 .. 2^64 - 1", error);
    if (r->at[UPPER] >= 0) {
        if (!table_number(upper, &buffer->upper) || buffer->upper <= buffer->lower)
            return table_found(&r->table, upper, "a time later than lower, at most 2^64 - 1", error);
    } else {
        if (!table_number(end, &buffer->upper) || buffer->upper == UINT64_MAX || buffer->upper < buffer->lower)
            return table_found(&r->table, end, "a time not before the start, below 2^64 - 1", error);
        buffer->upper++;
    }
    const table_field size = field_of(r, SIZE);
    if (!table_number(size, &buffer->nbytes) || buffer->nbytes == 0 || buffer->nbytes > TRACE_MAX_BYTES)
        return table_found(&r->table, size, "a number of bytes, 1 .. 2^63", error);
    return TLA_OK;
}

static tla_status read_place(const reader *r, uint64_t *alignment, uint64_t *offset, tla_error *error) {
    const table_field aligned = field_of(r, ALIGNMENT), fixed = field_of(r, OFFSET);
    const uint64_t nbytes = r->list->buffers[r->list->count - 1].nbytes;
    *alignment = 1;
    *offset = TLA_PLAN_ANYWHERE;
    if (!lifetimes_is_empty(aligned) &&
        (!table_number(aligned, alignment) || *alignment == 0 || (*alignment & (*alignment - 1))))
        return table_found(&r->table, aligned, "an alignment, a power of two", error);
    if (lifetimes_is_empty(fixed)) return TLA_OK;
    if (!table_number(fixed, offset) || *offset > TLA_PLAN_HEIGHT_MAX - nbytes)
        return table_found(&r->table, fixed, "an offset at which the buffer ends by 2^63, or nothing", error);
    if (*offset % *alignment) return table_found(&r->table, fixed, "a multiple of the alignment", error);
    return TLA_OK;
}

/* Hints of the planner are not used; a text that is not a number was not meant as a hint. */
static tla_status read_hint(const reader *r, tla_error *error) {
    table_field hint = field_of(r, HINT);
    uint64_t number;
    if (!lifetimes_is_empty(hint) && *hint.begin == '-') hint.begin++;
    return lifetimes_is_empty(hint) || table_number(hint, &number)
               ? TLA_OK
               : table_found(&r->table, field_of(r, HINT), "a number as hint, or nothing", error);
}

/* 3-5 7-9: times [3, 5) and [7, 9), one after the other. */
static tla_status read_gaps(const reader *r, tla_error *error) {
    const table_field gaps = field_of(r, GAPS);
    const tla_lifetime *buffer = &r->list->buffers[r->list->count - 1];
    uint64_t from = buffer->lower, dead = 0;
    for (const char *p = gaps.begin; p < gaps.end;) {
        table_field gap = {p, p};
        while (gap.end < gaps.end && *gap.end != ' ')
            gap.end++;
        p = gap.end < gaps.end ? gap.end + 1 : gap.end;
        if (lifetimes_is_empty(gap)) continue;
        uint64_t lower, upper;
        const char *dash = memchr(gap.begin, '-', (size_t)(gap.end - gap.begin));
        if (memchr(gap.begin, '@', (size_t)(gap.end - gap.begin)))
            return table_found(&r->table, gap, "a gap LOWER-UPPER, because windows (@) are unsupported", error);
        if (!dash || !table_number((table_field){gap.begin, dash}, &lower) ||
            !table_number((table_field){dash + 1, gap.end}, &upper) || lower >= upper)
            return table_found(&r->table, gap, "a gap LOWER-UPPER, such as 3-5", error);
        if (lower < from || upper > buffer->upper)
            return table_found(&r->table, gap, "gaps in the order of time, inside the lifetime", error);
        dead += upper - lower;
        if (dead == buffer->upper - buffer->lower)
            return table_found(&r->table, gap, "gaps shorter than the buffer's lifetime", error);
        if (!lifetimes_add_gap(r->list, lower, upper)) return TLA_NO_HOST_MEMORY;
        from = upper;
    }
    return TLA_OK;
}

static tla_status read_line(const reader *r, bool lines, tla_error *error) {
    lifetime_list *list = r->list;
    const table_field line = r->table.line;
    tla_lifetime buffer;
    if (memchr(line.begin, 0, (size_t)(line.end - line.begin)))
        return table_found(&r->table, line, "text without zero bytes", error);
    tla_status status = lifetimes_check_id(list, &r->table, field_of(r, ID), r->header_line, error);
    if (!status) status = read_buffer(r, &buffer, error);
    if (!status && list->count == TRACE_EVENTS_MAX / 2)
        status = table_fail(&r->table, field_of(r, ID), TLA_LIMIT, "more buffers than the limit of 2^25", error);
    if (status) return status;
    if (!lifetimes_add(list, buffer, field_of(r, ID), lines ? &r->table.line : NULL)) return TLA_NO_HOST_MEMORY;
    status = read_place(r, &list->alignments[list->count - 1], &list->fixed[list->count - 1], error);
    if (!status) status = read_hint(r, error);
    return status ? status : read_gaps(r, error);
}

tla_status minimalloc_read(trace_file *file, bool lines, lifetime_list *list, tla_error *error) {
    reader r = {.list = list};
    bool more = true;
    tla_status status = read_header(&r, file, error);
    while (!status && more) {
        status = lifetimes_next_line(&r.table, &more, error);
        if (!status && more) status = read_line(&r, lines, error);
    }
    return status == TLA_NO_HOST_MEMORY
               ? tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file))
               : status;
}

tla_status trace_read_minimalloc(trace_file *file, trace_builder *builder, tla_error *error) {
    lifetime_list list = {0};
    tla_error inner;
    tla_status status = minimalloc_read(file, false, &list, error);
    if (!status) {
        status = lifetimes_append(&list, builder, &inner);
        if (status) tla_error_set(error, status, "%s: %s", trace_file_name(file), inner.text);
    }
    if (!status) {
        trace_builder_keep(builder, list.texts);
        list.texts = NULL;
    }
    lifetimes_clear(&list);
    return status;
}
