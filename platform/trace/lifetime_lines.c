/* The lines of tables with lifetimes: comments before the header, fields in quotes or without, ids. */
#include "trace/lifetime_readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_MAX = 255 };

bool lifetimes_is_empty(table_field field) {
    return field.begin == field.end;
}

table_field lifetimes_unquoted(table_field field) {
    const bool quoted = field.end - field.begin >= 2 && field.begin[0] == '"' && field.end[-1] == '"';
    return quoted ? (table_field){field.begin + 1, field.end - 1} : field;
}

table_field lifetimes_header(const char *first, size_t length) {
    const char *at = first, *const last = first + length;
    while (at < last && *at == '#') {
        at = memchr(at, '\n', (size_t)(last - at));
        at = at ? at + 1 : last;
    }
    const char *end = at;
    while (end < last && *end != '\n' && *end != '\r')
        end++;
    return (table_field){at, end};
}

static void remove_quotes(trace_table *table) {
    for (int i = 0; i < table->columns; i++)
        table->fields[i] = lifetimes_unquoted(table->fields[i]);
}

tla_status lifetimes_begin_table(trace_table *table, trace_file *file, tla_error *error) {
    tla_status status = table_begin_any(table, file, error);
    while (!status && table->line.begin < table->line.end && *table->line.begin == '#')
        status = table_begin_any(table, file, error);
    if (!status) remove_quotes(table);
    return status;
}

tla_status lifetimes_next_line(trace_table *table, bool *more, tla_error *error) {
    const tla_status status = table_next(table, more, error);
    if (!status && *more) remove_quotes(table);
    return status;
}

tla_status lifetimes_check_id(const lifetime_list *list, const trace_table *table, table_field id, uint64_t header_line,
                              tla_error *error) {
    if (lifetimes_is_empty(id)) return table_found(table, id, "an id", error);
    if (id.end - id.begin > ID_MAX) return table_found(table, id, "an id of at most 255 bytes", error);
    if (memchr(id.begin, '"', (size_t)(id.end - id.begin)))
        return table_found(table, id, "an id in quotes or without any", error);
    const size_t first = lifetimes_find(list, id);
    if (first == SIZE_MAX) return TLA_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "another id than in line %" PRIu64, first + 1 + header_line);
    return table_found(table, id, expected, error);
}
