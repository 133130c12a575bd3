/* The resolved configuration as JSON, for reports. */
#ifndef TLMALLOC_PLATFORM_CLI_CONFIG_JSON_H
#define TLMALLOC_PLATFORM_CLI_CONFIG_JSON_H

#include "tlmalloc/config.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Objects within objects, as the keys have dots: {"hbm": {"capacity_per_cube": "48 GiB", ...}, ...}. Quantities are
 * text with their unit, as YAML writes them; counts are numbers. NULL without host memory. */
json_t *config_to_json(const tla_config *config);

/* A text from outside, such as a path: bytes that are no UTF-8, which JSON cannot hold, as \xNN. */
json_t *json_from_text(const char *text);

/* A number of the core; past 2^63 - 1, which jansson's integers cannot hold, as a real number. */
json_t *json_from_u64(uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
