/* Laws of steps that name a platform, as serve's --step-time takes them. */
#ifndef TLMALLOC_PLATFORM_CLI_LAW_ARGUMENT_H
#define TLMALLOC_PLATFORM_CLI_LAW_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether a text names such a law: "platform CONFIG + LAW", or "platform CONFIG", where a step takes only the
 * time of the platform. */
bool platform_law_is(const char *text);

/* The LAW of such a text, and its CONFIG, config[0 .. *length); NULL without a CONFIG. */
const char *platform_law_split(const char *text, const char **config, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
