/* A strict reader of comma-separated tables. */
#include "trace/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Finds the end of the line at table->next and moves past it. */
static tla_status take_line(trace_table *table, table_field *line, tla_error *error);

tla_status table_begin(trace_table *table, const char *text, size_t length, const char *name, const char *header,
                       tla_error *error) {
    return table_begin_after(table, 0, text, length, name, header, error);
}

tla_status table_begin_after(trace_table *table, uint64_t lines, const char *text, size_t length, const char *name,
                             const char *header, tla_error *error) {
    *table = (trace_table){.name = name, .header = header, .next = text, .end = text + length, .line_number = lines};
    table_field line;
    tla_status status = take_line(table, &line, error);
    if (table_equals(line, header)) return status;
    char expected[64];
    snprintf(expected, sizeof expected, "the header line %s", header);
    return table_found(table, line, expected, error);
}

tla_status table_next(trace_table *table, bool *more, tla_error *error) {
    *more = table->next < table->end;
    if (!*more) return TLA_OK;
    table_field line;
    tla_status status = take_line(table, &line, error);
    if (status) return status;
    int count = 0;
    const char *begin = line.begin;
    for (const char *p = line.begin; p <= line.end; p++) {
        if (p < line.end && *p != ',') continue;
        if (count == TABLE_COLUMNS)
            return table_found(table, (table_field){begin, line.end}, "the end of the line", error);
        table->fields[count++] = (table_field){begin, p};
        begin = p + 1;
    }
    if (count == TABLE_COLUMNS) return TLA_OK;
    char text[96];
    snprintf(text, sizeof text, "found %d column%s, expected %d: %s", count, count == 1 ? "" : "s", TABLE_COLUMNS,
             table->header);
    return table_fail(table, (table_field){line.end, line.end}, TLA_SYNTAX, text, error);
}

static tla_status take_line(trace_table *table, table_field *line, tla_error *error) {
    size_t length = (size_t)(table->end - table->next);
    const char *newline = memchr(table->next, '\n', length);
    *line = (table_field){table->next, newline ? newline : table->end};
    if (newline && line->end > line->begin && line->end[-1] == '\r') line->end--;
    table->line = line->begin;
    table->line_number++;
    table->next = newline ? newline + 1 : table->end;
    if (newline) return TLA_OK;
    return table_fail(table, (table_field){line->end, line->end}, TLA_SYNTAX,
                      "found the end of the file, expected the end of the line: truncated", error);
}

tla_status table_fail(const trace_table *table, table_field field, tla_status status, const char *text,
                      tla_error *error) {
    return tla_error_set(error, status, "%s:%" PRIu64 ":%td: %s", table->name, table->line_number,
                         field.begin - table->line + 1, text);
}

tla_status table_found(const trace_table *table, table_field field, const char *expected, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":%td: found '%s', expected %s", table->name,
                         table->line_number, field.begin - table->line + 1, table_show(field.begin, field.end).text,
                         expected);
}

bool table_number(table_field field, uint64_t *number) {
    uint64_t value = 0;
    if (field.begin == field.end) return false;
    for (const char *p = field.begin; p < field.end; p++) {
        if (*p < '0' || *p > '9') return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *number = value;
    return true;
}

bool table_equals(table_field field, const char *word) {
    size_t length = (size_t)(field.end - field.begin);
    return length == strlen(word) && memcmp(field.begin, word, length) == 0;
}

table_quote table_show(const char *begin, const char *end) {
    table_quote out;
    size_t length = (size_t)(end - begin), n = length < 40 ? length : 40;
    for (size_t i = 0; i < n; i++)
        out.text[i] = begin[i] >= 0x20 && begin[i] < 0x7f ? begin[i] : '?';
    strcpy(out.text + n, length > n ? "..." : "");
    return out;
}
