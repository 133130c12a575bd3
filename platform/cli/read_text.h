/* A text file in memory. */
#ifndef TLMALLOC_PLATFORM_CLI_READ_TEXT_H
#define TLMALLOC_PLATFORM_CLI_READ_TEXT_H

#include "tlmalloc/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest snapshot of an arena that is read. */
#define ARENA_SNAPSHOT_BYTES_MAX ((size_t)256 << 20)

/* Reads a whole file of at most `limit` bytes, without the additions of an editor or a mail program: a byte-order mark,
 * carriage returns before newlines, blank lines at the end. The last line ends in a newline. *text is the caller's to
 * free: *length bytes and a final 0. TLA_IO, TLA_LIMIT, TLA_NO_HOST_MEMORY with a text that names the file. */
tla_status read_text(const char *path, size_t limit, char **text, size_t *length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
