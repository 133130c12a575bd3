/* A strict reader of comma-separated tables with a header line. Nothing is skipped, nothing is guessed, but for blank
 * lines at the end; lines end in LF or CR LF, the last one need not end. */
#ifndef TLMALLOC_PLATFORM_TRACE_TABLE_H
#define TLMALLOC_PLATFORM_TRACE_TABLE_H

#include "trace/file.h"

enum { TABLE_COLUMNS_MAX = 16, TABLE_HEADER_MAX = 255 };

typedef struct table_field {
    const char *begin, *end;
} table_field;

typedef struct trace_table {
    trace_file *file;
    char header[TABLE_HEADER_MAX + 1]; /* its first line */
    int columns;
    table_field line;     /* the line read last */
    uint64_t line_number; /* from 1, in the file */
    table_field fields[TABLE_COLUMNS_MAX];
} trace_table;

/* Begins at the next line of the file, which must be the header; TLA_SYNTAX, and the errors of trace_file_line. */
tla_status table_begin(trace_table *table, trace_file *file, const char *header, tla_error *error);

/* The same; `others` is added to the message about another first line: " or ...". */
tla_status table_begin_or(trace_table *table, trace_file *file, const char *header, const char *others,
                          tla_error *error);

/* The same with whatever columns the next line names, which are the fields then. */
tla_status table_begin_any(trace_table *table, trace_file *file, tla_error *error);

/* Splits the next line, whose fields are valid until the next call; *more is false at the end. TLA_SYNTAX for another
 * number of columns, and the errors of trace_file_line. */
tla_status table_next(trace_table *table, bool *more, tla_error *error);

/* Errors at a field of the current line: "file:line:column: found '...', expected ...", or any text. */
tla_status table_found(const trace_table *table, table_field field, const char *expected, tla_error *error);
tla_status table_fail(const trace_table *table, table_field field, tla_status status, const char *text,
                      tla_error *error);

/* A whole number of digits only; false when it is none or does not fit. */
bool table_number(table_field field, uint64_t *number);

bool table_equals(table_field field, const char *word);

/* Text of a file for a message: at most 40 characters, with '?' for characters other than printable ASCII. */
typedef struct table_quote {
    char text[44];
} table_quote;
table_quote table_show(const char *begin, const char *end);

#endif
