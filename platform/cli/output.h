/* An output file that is there whole or not at all: written under a temporary name beside it, renamed when complete. */
#ifndef TLMALLOC_PLATFORM_CLI_OUTPUT_H
#define TLMALLOC_PLATFORM_CLI_OUTPUT_H

#include "tlmalloc/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct output {
    FILE *stream; /* NULL: not open */
    char *path, *temporary;
} output;

/* Opens; what is at `path` stays until output_commit. Something that is no regular file (a terminal, a pipe) is written
 * in place. TLA_IO or TLA_NO_HOST_MEMORY, and *out is not open then. */
tla_status output_open(output *out, const char *path, tla_error *error);

/* Finishes the file and puts it in its place. On TLA_IO nothing has changed at `path`. Not open: nothing happens. */
tla_status output_commit(output *out, tla_error *error);

/* Removes what was written. Not open, or committed: nothing happens. */
void output_discard(output *out);

#ifdef __cplusplus
}
#endif
#endif
