/* A strict reader of comma-separated tables with four columns and a fixed header line. Nothing is skipped, nothing is
 * guessed; lines end in LF or CR LF, the last one too. */
#ifndef TLMALLOC_PLATFORM_TRACE_TABLE_H
#define TLMALLOC_PLATFORM_TRACE_TABLE_H

#include "tlmalloc/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 4 };

typedef struct table_field {
    const char *begin, *end;
} table_field;

typedef struct trace_table {
    const char *name, *header; /* of the file, for messages; the header line without its end */
    const char *next, *end;    /* what has not been read */
    const char *line;          /* the line read last */
    uint64_t line_number;      /* from 1; the header is line 1 */
    table_field fields[TABLE_COLUMNS];
} trace_table;

/* Begins at the header, which must be as given; TLA_SYNTAX. */
tla_status table_begin(trace_table *table, const char *text, size_t length, const char *name, const char *header,
                       tla_error *error);

/* As table_begin for a text that follows this many lines of the same file. */
tla_status table_begin_after(trace_table *table, uint64_t lines, const char *text, size_t length, const char *name,
                             const char *header, tla_error *error);

/* Splits the next line; *more is false at the end. TLA_SYNTAX for another number of columns or a line without an end.
 */
tla_status table_next(trace_table *table, bool *more, tla_error *error);

/* Errors at a field of the current line: "file:line:column: found '...', expected ...", or any text. */
tla_status table_found(const trace_table *table, table_field field, const char *expected, tla_error *error);
tla_status table_fail(const trace_table *table, table_field field, tla_status status, const char *text,
                      tla_error *error);

/* A whole number of digits only; false when it is none or does not fit. */
bool table_number(table_field field, uint64_t *number);

bool table_equals(table_field field, const char *word);

/* Text of a file for a message: at most 40 characters, what is not printable ASCII as '?'. */
typedef struct table_quote {
    char text[44];
} table_quote;
table_quote table_show(const char *begin, const char *end);

#endif
