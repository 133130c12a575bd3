/* A whole file in memory. */
#ifndef TLMALLOC_PLATFORM_CLI_READ_TEXT_H
#define TLMALLOC_PLATFORM_CLI_READ_TEXT_H

#include "tlmalloc/status.h"

#include <stddef.h>

/* *text is the caller's to free; *length bytes and a final 0. TLA_IO, TLA_NO_HOST_MEMORY with a text. */
tla_status read_text(const char *path, char **text, size_t *length, tla_error *error);

#endif
