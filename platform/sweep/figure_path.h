/* Figures of a report by their paths: "sim_time_ps", "latency_ps.p99", "kernels[0].dma_ps", "max kernels[].end_ps",
 * "link_kinds[kind=pcie].utilisation_pct". */
#ifndef TLMALLOC_PLATFORM_SWEEP_FIGURE_PATH_H
#define TLMALLOC_PLATFORM_SWEEP_FIGURE_PATH_H

#include "tlmalloc/base/status.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum figure_state {
    FIGURE_FOUND,
    FIGURE_NULL,     /* the report has null, an empty list, or the path ends in ? and nothing is there */
    FIGURE_MISSING,  /* the report has no such key */
    FIGURE_NO_NUMBER /* the value is neither a number nor true or false */
} figure_state;

/* Checks a path: names with dots between them; after a name [N] for an item of a list, [NAME=TEXT] for the first item
 * with this text, or [] for all, which needs a word before the path: min, max, mean, sum or count. A ? at the end: the
 * figure may be missing. TLA_SYNTAX with the found and the expected text. */
tla_status figure_path_check(const char *path, tla_error *error);

/* The figure in a report; true is 1, false is 0. Nulls in a list are passed over. */
figure_state figure_path_find(const char *path, const json_t *report, double *value);

#ifdef __cplusplus
}
#endif
#endif
