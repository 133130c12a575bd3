/* The timing profiles of configs/timing as the build found them, so that a name leads to one wherever a program runs.
 * Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_TIMING_PROFILES_H
#define TLMALLOC_MODEL_CONFIG_TIMING_PROFILES_H

#include <stddef.h>

typedef struct tla_timing_profile {
    const char *name; /* NULL: the end of the list */
    const unsigned char *text;
    size_t length;
} tla_timing_profile;

extern const tla_timing_profile tla_timing_profiles[];

#endif
