/* A page's data about a run beside its report: the fabric, and the default configuration. */
#ifndef TLMALLOC_PLATFORM_REPORT_REPORT_TOPOLOGY_H
#define TLMALLOC_PLATFORM_REPORT_REPORT_TOPOLOGY_H

#include "tlmalloc/base/status.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* {"nodes": [[name, kind, x_um, y_um], ...], "links": [[from, to], ...]} of the `config` of a report, in the order in
 * which the report numbers them. JSON's null where it cannot be made again: a topology file that is not there, or is
 * another one by now. NULL without host memory. */
json_t *report_topology(const json_t *config);

/* The configuration that is all defaults, as config_to_json. NULL without host memory. */
json_t *report_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
