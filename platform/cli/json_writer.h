/* JSON as text: the same bytes whatever version of libjansson the host has. */
#ifndef TLMALLOC_PLATFORM_CLI_JSON_WRITER_H
#define TLMALLOC_PLATFORM_CLI_JSON_WRITER_H

#include "tlmalloc/base/status.h"

#include <jansson.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a report, a line for each of its values, and a final newline. digits: the maximum significant digits of a real
 * number, 1 to 17; 0: 17, from which every reader gets the same number again. out NULL: no effect. TLA_NO_HOST_MEMORY,
 * also for a report that is NULL; write errors stay in the stream. */
tla_status json_write(const json_t *report, int digits, FILE *out, tla_error *error);

/* The text of a value without blanks, from malloc, real numbers with 17 digits; NULL without host memory. */
char *json_compact_text(const json_t *value);

#ifdef __cplusplus
}
#endif
#endif
