/* A trace file in memory. */
#ifndef TLMALLOC_PLATFORM_TRACE_FILE_H
#define TLMALLOC_PLATFORM_TRACE_FILE_H

#include "tlmalloc/status.h"

#include <stddef.h>

/* The whole file, decompressed if it is gzip. *text and *length must be NULL and 0; *text is the caller's to free, also
 * after an error. TLA_IO, TLA_SYNTAX for broken gzip or an empty file, TLA_NO_HOST_MEMORY; the text names the file. */
tla_status trace_read_file(const char *path, char **text, size_t *length, tla_error *error);

#endif
