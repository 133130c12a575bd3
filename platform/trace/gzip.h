/* The bytes of a file, decompressed if it is gzip. As `gzip -d` does: several members one after the other are one text,
 * zeros after the last one are padding, and anything else there is an error. */
#ifndef TLMALLOC_PLATFORM_TRACE_GZIP_H
#define TLMALLOC_PLATFORM_TRACE_GZIP_H

#include "tlmalloc/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gzip_file gzip_file;

/* TLA_IO, TLA_NO_HOST_MEMORY; the text names the file. */
tla_status gzip_open(const char *path, gzip_file **file, tla_error *error);

/* NULL: nothing happens. */
void gzip_close(gzip_file *file);

/* At most `room` bytes that come next; *got is 0 at the end only. TLA_IO; TLA_SYNTAX for a stream that is damaged, cut
 * off, or followed by something else; TLA_LIMIT from GZIP_INSIDE_FREE bytes of text on, where these are more than
 * GZIP_RATIO_MAX times those of the file so far: no recording is, and a small file would take very long. Once it has
 * failed, it fails again. */
enum { GZIP_INSIDE_FREE = 256 << 20, GZIP_RATIO_MAX = 500 };
tla_status gzip_read(gzip_file *file, char *to, size_t room, size_t *got, tla_error *error);

#ifdef __cplusplus
}
#endif

#endif
