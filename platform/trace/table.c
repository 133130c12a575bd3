/* A strict reader of comma-separated tables. */
#include "trace/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The next line of the file becomes the table's. */
static tla_status take_line(trace_table *table, bool *more, tla_error *error) {
    tla_status status = trace_file_line(table->file, &table->line.begin, &table->line.end, more, error);
    if (*more) table->line_number = trace_file_line_number(table->file);
    return status;
}

/* Begins with the next line, whatever it is; `expected` is for the error at the end of the file. */
static tla_status take_header(trace_table *table, trace_file *file, const char *expected, tla_error *error) {
    *table = (trace_table){.file = file, .line = {"", ""}};
    table->line.end = table->line.begin;
    table->line_number = trace_file_line_number(file) + 1;
    bool more;
    const tla_status status = take_line(table, &more, error);
    if (status || more) return status;
    return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":1: found the end of the file, expected %s",
                         trace_file_name(file), table->line_number, expected);
}

/* A hint for an error that a truncated file can cause. */
static const char *cut_hint(const trace_table *table) {
    return table->columns && trace_file_is_cut(table->file)
               ? "; the last line has no newline: the file may be truncated"
               : "";
}

static tla_status found(const trace_table *table, table_field field, const char *expected, const char *hint,
                        tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":%td: found '%s', expected %s%s",
                         trace_file_name(table->file), table->line_number, field.begin - table->line.begin + 1,
                         table_show(field.begin, field.end).text, expected, hint);
}

/* The fields of the current line, `most` at most. */
static tla_status split(trace_table *table, int most, int *count, tla_error *error) {
    const table_field line = table->line;
    const char *begin = line.begin;
    *count = 0;
    for (const char *p = line.begin; p <= line.end; p++) {
        if (p < line.end && *p != ',') continue;
        if (*count == most)
            return found(
                table, (table_field){begin, line.end}, "the end of the line",
                memchr(line.begin, '"', (size_t)(line.end - line.begin)) ? "; quoted text cannot contain commas" : "",
                error);
        table->fields[(*count)++] = (table_field){begin, p};
        begin = p + 1;
    }
    return TLA_OK;
}

tla_status table_begin(trace_table *table, trace_file *file, const char *header, tla_error *error) {
    return table_begin_or(table, file, header, "", error);
}

tla_status table_begin_or(trace_table *table, trace_file *file, const char *header, const char *others,
                          tla_error *error) {
    char expected[TABLE_HEADER_MAX + 160];
    snprintf(expected, sizeof expected, "the header line %s%s", header, others);
    tla_status status = take_header(table, file, expected, error);
    snprintf(table->header, sizeof table->header, "%s", header);
    if (status) return status;
    if (table_equals(table->line, header)) return split(table, TABLE_COLUMNS_MAX, &table->columns, error);
    return table_found(table, table->line, expected, error);
}

tla_status table_begin_any(trace_table *table, trace_file *file, tla_error *error) {
    tla_status status = take_header(table, file, "a header line", error);
    if (status) return status;
    const table_field line = table->line;
    if (line.end - line.begin > TABLE_HEADER_MAX)
        return table_found(table, line, "a header line of at most 255 bytes", error);
    memcpy(table->header, line.begin, (size_t)(line.end - line.begin));
    return split(table, TABLE_COLUMNS_MAX, &table->columns, error);
}

static tla_status wrong_columns(const trace_table *table, int count, const char *hint, tla_error *error) {
    char text[TABLE_HEADER_MAX + 128];
    snprintf(text, sizeof text, "found %d column%s, expected %d: %s%s", count, count == 1 ? "" : "s", table->columns,
             table->header, hint);
    return table_fail(table, (table_field){table->line.end, table->line.end}, TLA_SYNTAX, text, error);
}

/* Blank lines end the table when nothing follows them. */
static tla_status take_blanks(trace_table *table, bool *more, tla_error *error) {
    const trace_table first = *table;
    const table_field none = {first.line.begin, first.line.begin};
    tla_status status = TLA_OK;
    while (!status && *more && table->line.begin == table->line.end)
        status = take_line(table, more, error);
    if (status || !*more) return status;
    table->line = none;
    table->line_number = first.line_number;
    return wrong_columns(table, 1, "", error);
}

tla_status table_next(trace_table *table, bool *more, tla_error *error) {
    tla_status status = take_line(table, more, error);
    if (status || !*more) return status;
    const table_field line = table->line;
    if (line.begin == line.end) return take_blanks(table, more, error);
    int count;
    status = split(table, table->columns, &count, error);
    return status || count == table->columns ? status : wrong_columns(table, count, cut_hint(table), error);
}

tla_status table_fail(const trace_table *table, table_field field, tla_status status, const char *text,
                      tla_error *error) {
    return tla_error_set(error, status, "%s:%" PRIu64 ":%td: %s", trace_file_name(table->file), table->line_number,
                         field.begin - table->line.begin + 1, text);
}

tla_status table_found(const trace_table *table, table_field field, const char *expected, tla_error *error) {
    return found(table, field, expected, field.end == table->line.end ? cut_hint(table) : "", error);
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
