/* The common part of the readers of lifetimes. */
#ifndef TLMALLOC_PLATFORM_TRACE_LIFETIME_READERS_H
#define TLMALLOC_PLATFORM_TRACE_LIFETIME_READERS_H

#include "trace/builder.h"
#include "trace/lifetimes.h"
#include "trace/table.h"

/* Whether a file that begins so is a table of MiniMalloc. */
bool minimalloc_begins(const char *first, size_t length);

/* Reads such a table. `lines`: they are kept. After an error the list can only be cleared. */
tla_status minimalloc_read(trace_file *file, bool lines, lifetime_list *list, tla_error *error);

/* The same for the table of a program, whose lines are kept. */
bool program_table_begins(const char *first, size_t length);
tla_status program_table_read(trace_file *file, lifetime_list *list, tla_error *error);

/* The first line that is no comment. */
table_field lifetimes_header(const char *first, size_t length);

/* The text between quotes, as spreadsheets write it; commas and quotes inside it are not read. */
table_field lifetimes_unquoted(table_field field);

bool lifetimes_is_empty(table_field field);

/* As table_begin_any, behind lines of comments, and table_next; the fields are without quotes. */
tla_status lifetimes_begin_table(trace_table *table, trace_file *file, tla_error *error);
tla_status lifetimes_next_line(trace_table *table, bool *more, tla_error *error);

/* TLA_SYNTAX for a bad id, or one that the list has. */
tla_status lifetimes_check_id(const lifetime_list *list, const trace_table *table, table_field id, uint64_t header_line,
                              tla_error *error);

/* Adds a buffer, which may live anywhere and has no alignment. False: no host memory. */
bool lifetimes_add(lifetime_list *list, tla_lifetime buffer, table_field id, const table_field *line);

/* Adds a gap to the last buffer. */
bool lifetimes_add_gap(lifetime_list *list, uint64_t lower, uint64_t upper);

/* The buffer with an id, or SIZE_MAX. */
size_t lifetimes_find(const lifetime_list *list, table_field id);

/* Appends all events to a builder. The error's text has no place. */
tla_status lifetimes_append(const lifetime_list *list, trace_builder *builder, tla_error *error);

/* The lifetimes of a trace. */
tla_status lifetimes_of_trace(const alloc_trace *trace, lifetime_list *list);

#endif
