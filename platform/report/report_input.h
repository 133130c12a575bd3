/* The reports that `tlmalloc report` shows: what commands write with --json. */
#ifndef TLMALLOC_PLATFORM_REPORT_REPORT_INPUT_H
#define TLMALLOC_PLATFORM_REPORT_REPORT_INPUT_H

#include "tlmalloc/base/status.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a report of any command. *kind is the command that wrote it ("run", "replay --compare"); *report is the
 * caller's to release, NULL on failure. TLA_SYNTAX with the file for text that is not JSON or not a report, and for a
 * report of `run` of another version; TLA_IO, TLA_LIMIT, TLA_NO_HOST_MEMORY as read_text. */
tla_status report_input_read(const char *path, const char **kind, json_t **report, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
