/* A trace file, plain or gzip, read line by line in a fixed buffer; or a text in memory that stands for one. A
 * byte-order mark at its beginning is no part of it. */
#ifndef TLMALLOC_PLATFORM_TRACE_FILE_H
#define TLMALLOC_PLATFORM_TRACE_FILE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line, without its end, and the largest file that is read whole. */
enum { TRACE_LINE_MAX = 4096 };
#define TRACE_WHOLE_MAX ((size_t)1 << 30)

typedef struct trace_file trace_file;

/* Opens a file, decompressed if it is gzip. TLA_IO, TLA_NO_HOST_MEMORY, TLA_SYNTAX for an empty file or a gzip file
 * with a damaged beginning; the text names the file. */
tla_status trace_file_open(const char *path, trace_file **file, tla_error *error);

/* A text that stays the caller's; `name` stands for the file in messages. TLA_NO_HOST_MEMORY. */
tla_status trace_file_of_text(const char *text, size_t length, const char *name, trace_file **file, tla_error *error);

/* NULL: nothing happens. */
void trace_file_close(trace_file *file);

const char *trace_file_name(const trace_file *file);

/* Returns the first unread bytes, 4096 or as many as exist, without reading them. */
const char *trace_file_peek(const trace_file *file, size_t *length);

/* The next line [*begin, *end) without LF or CR LF, valid until the next call; *more is false at the end. The last line
 * need not end. TLA_LIMIT for a line that is too long, with its place; else as trace_file_open. */
tla_status trace_file_line(trace_file *file, const char **begin, const char **end, bool *more, tla_error *error);

/* The number of the line read last, from 1. */
uint64_t trace_file_line_number(const trace_file *file);

/* Whether the line read last is the last of the file and has no newline: the file may be truncated. */
bool trace_file_is_cut(const trace_file *file);

/* All that has not been read; *text is the caller's to free, also after an error, and must be NULL before. TLA_LIMIT
 * for more than TRACE_WHOLE_MAX; else as trace_file_open. */
tla_status trace_file_rest(trace_file *file, char **text, size_t *length, tla_error *error);

/* A text that makes no sense may be a damaged gzip file, which shows at its end only: reads on, 256 MiB of text at
 * most, and replaces `status` and *error when it is. */
tla_status trace_file_blame(trace_file *file, tla_status status, tla_error *error);

#endif
