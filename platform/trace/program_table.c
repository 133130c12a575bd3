/* Reads programs: a header line that names the columns, then one value a line, in the order in which they are made. Its
 * operands are values of lines above; a view has the bytes of its operands. */
#include "model/base/grow.h"
#include "trace/lifetime_readers.h"

#include <string.h>

typedef enum column { ID, OPERANDS, SIZE, VIEW, FROM, IO, COLUMN_COUNT } column;

static const char *const column_names[COLUMN_COUNT] = {"id", "operands", "size", "view", "from", "io"};

#define SIZE_LARGEST ((uint64_t)1 << 62)

typedef enum view_kind { NO_VIEW, CONCAT, SLICE, RESHAPE, VIEW_COUNT } view_kind;

static const char *const view_names[VIEW_COUNT] = {"", "concat", "slice", "reshape"};
static const char *const io_names[] = {[TLA_PLAN_INNER] = "", [TLA_PLAN_INPUT] = "input", [TLA_PLAN_OUTPUT] = "output"};

typedef struct reader {
    trace_table table;
    int at[COLUMN_COUNT]; /* -1: the table has none */
    lifetime_list *list;
    uint64_t header_line;
    bool *joined; /* for tla_plan_check_view */
} reader;

/* A line, and where its sources begin in the list. */
typedef struct value_row {
    view_kind view;
    tla_plan_io io;
    uint64_t nbytes, from;
    size_t first;
} value_row;

/* The header */

static int find_word(table_field field, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (table_equals(field, words[i])) return i;
    return -1;
}

bool program_table_begins(const char *first, size_t length) {
    const table_field header = lifetimes_header(first, length);
    for (const char *at = header.begin; at < header.end;) {
        const char *comma = memchr(at, ',', (size_t)(header.end - at));
        if (!comma) comma = header.end;
        if (table_equals(lifetimes_unquoted((table_field){at, comma}), column_names[OPERANDS])) return true;
        at = comma + 1;
    }
    return false;
}

static tla_status read_header(reader *r, trace_file *file, tla_error *error) {
    tla_status status = lifetimes_begin_table(&r->table, file, error);
    if (status) return status;
    r->header_line = r->table.line_number;
    for (int i = 0; i < COLUMN_COUNT; i++)
        r->at[i] = -1;
    for (int i = 0; i < r->table.columns; i++) {
        const table_field field = r->table.fields[i];
        const int name = find_word(field, column_names, COLUMN_COUNT);
        if (name < 0)
            return table_found(&r->table, field, "a column of a program: id, operands, size, view, from, io", error);
        if (r->at[name] >= 0) return table_found(&r->table, field, "each column once", error);
        r->at[name] = i;
    }
    if (r->at[ID] < 0 || r->at[SIZE] < 0)
        return table_found(&r->table, r->table.line, "a header line with id, operands and size", error);
    r->list->first_line = r->header_line + 1;
    r->list->columns = r->list->offset_column = r->table.columns;
    r->list->header = strdup(r->table.header);
    return r->list->header && tla_grow_by_one(&r->list->views, 0, sizeof *r->list->views) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* A line */

static table_field field_of(const reader *r, column c) {
    static const char none[] = "";
    return r->at[c] < 0 ? (table_field){none, none} : r->table.fields[r->at[c]];
}

static tla_status found(const reader *r, column c, const char *expected, tla_error *error) {
    return table_found(&r->table, field_of(r, c), expected, error);
}

static tla_status read_words(const reader *r, value_row *row, tla_error *error) {
    const table_field from = field_of(r, FROM);
    const int view = find_word(field_of(r, VIEW), view_names, VIEW_COUNT);
    const int io = find_word(field_of(r, IO), io_names, TLA_PLAN_OUTPUT + 1);
    if (!table_number(field_of(r, SIZE), &row->nbytes) || row->nbytes == 0 || row->nbytes > SIZE_LARGEST)
        return found(r, SIZE, "a number of bytes, 1 .. 2^62", error);
    if (view < 0) return found(r, VIEW, "concat, slice, reshape, or nothing", error);
    if (io < 0) return found(r, IO, "input, output, or nothing", error);
    if (io == TLA_PLAN_INPUT && view != NO_VIEW) return found(r, VIEW, "no view, because this is an input", error);
    row->view = (view_kind)view;
    row->io = (tla_plan_io)io;
    row->from = 0;
    if (lifetimes_is_empty(from)) return TLA_OK;
    if (view != SLICE) return found(r, FROM, "nothing, because this is no slice", error);
    return table_number(from, &row->from) ? TLA_OK
                                          : found(r, FROM, "the first byte of the slice in its operand", error);
}

static tla_status read_operand(const reader *r, const value_row *row, table_field id, tla_error *error) {
    lifetime_list *list = r->list;
    const size_t source = lifetimes_find(list, id);
    if (row->io == TLA_PLAN_INPUT) return table_found(&r->table, id, "no operands, because this is an input", error);
    if (source == SIZE_MAX) return table_found(&r->table, id, "an id of a line above", error);
    list->buffers[source].upper = list->count + 1;
    if (!tla_grow(&list->sources, &list->source_room, list->source_count + 1, sizeof *list->sources))
        return TLA_NO_HOST_MEMORY;
    list->sources[list->source_count++] = source;
    return TLA_OK;
}

static tla_status read_operands(const reader *r, value_row *row, tla_error *error) {
    const table_field operands = field_of(r, OPERANDS);
    tla_status status = TLA_OK;
    row->first = r->list->source_count;
    for (const char *p = operands.begin; p < operands.end && !status;) {
        table_field id = {p, p};
        while (id.end < operands.end && *id.end != ' ')
            id.end++;
        p = id.end < operands.end ? id.end + 1 : id.end;
        if (!lifetimes_is_empty(id)) status = read_operand(r, row, id, error);
    }
    if (status) return status;
    const size_t count = r->list->source_count - row->first;
    if (row->view == CONCAT && count < 2) return found(r, OPERANDS, "at least two operands of the concat", error);
    if ((row->view == SLICE || row->view == RESHAPE) && count != 1)
        return found(r, OPERANDS, "one operand of the view", error);
    return TLA_OK;
}

static bool add_value(const reader *r, const value_row *row) {
    lifetime_list *list = r->list;
    const size_t index = list->count;
    if (!tla_grow_by_one(&list->views, index, sizeof *list->views) ||
        !tla_grow_by_one(&list->io, index, sizeof *list->io))
        return false;
    const size_t count = row->view == NO_VIEW ? 0 : list->source_count - row->first;
    list->views[index] = (tla_plan_view){row->first, count, row->from};
    list->io[index] = row->io;
    return lifetimes_add(list, (tla_lifetime){index, index + 1, row->nbytes}, field_of(r, ID), &r->table.line);
}

static tla_status check_view(reader *r, const value_row *row, tla_error *error) {
    const lifetime_list *list = r->list;
    const size_t index = list->count - 1;
    const tla_plan_program program = {
        .tensors = list->buffers, .views = list->views, .sources = list->sources, .n = list->count};
    if (!tla_grow_by_one(&r->joined, index, sizeof *r->joined)) return TLA_NO_HOST_MEMORY;
    r->joined[index] = false;
    if (row->view == RESHAPE && row->nbytes != list->buffers[list->sources[row->first]].nbytes)
        return found(r, SIZE, "the size of the operand", error);
    switch (tla_plan_check_view(&program, index, r->joined)) {
    case TLA_VIEW_OUTSIDE:
        return found(r, SIZE, row->view == CONCAT ? "the sum of the operands' sizes" : "a slice inside its operand",
                     error);
    case TLA_VIEW_JOINED:
        return found(r, OPERANDS, "operands that are no slices or concats, each in one concat and once", error);
    default:
        return TLA_OK;
    }
}

static tla_status read_line(reader *r, tla_error *error) {
    const table_field line = r->table.line;
    value_row row;
    if (memchr(line.begin, 0, (size_t)(line.end - line.begin)))
        return table_found(&r->table, line, "text without zero bytes", error);
    tla_status status = lifetimes_check_id(r->list, &r->table, field_of(r, ID), r->header_line, error);
    if (!status && memchr(field_of(r, ID).begin, ' ', (size_t)(field_of(r, ID).end - field_of(r, ID).begin)))
        status = found(r, ID, "an id without spaces", error);
    if (!status && r->list->count == TRACE_EVENTS_MAX / 2)
        status = table_fail(&r->table, field_of(r, ID), TLA_LIMIT, "more values than the limit of 2^25", error);
    if (!status) status = read_words(r, &row, error);
    if (!status) status = read_operands(r, &row, error);
    if (status) return status;
    return add_value(r, &row) ? check_view(r, &row, error) : TLA_NO_HOST_MEMORY;
}

/* A program ends with the return of its outputs. */
static void use_outputs(lifetime_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->io[i] == TLA_PLAN_OUTPUT) list->buffers[i].upper = list->count + 1;
}

tla_status program_table_read(trace_file *file, lifetime_list *list, tla_error *error) {
    reader r = {.list = list};
    bool more = true;
    tla_status status = read_header(&r, file, error);
    while (!status && more) {
        status = lifetimes_next_line(&r.table, &more, error);
        if (!status && more) status = read_line(&r, error);
    }
    if (!status) use_outputs(list);
    free(r.joined);
    return status == TLA_NO_HOST_MEMORY
               ? tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file))
               : status;
}
