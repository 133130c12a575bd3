/* The keys of a timing profile. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_TIMING_H
#define TLMALLOC_MODEL_CONFIG_TIMING_H

#include "schema.h"

extern const tla_schema tla_timing_schema;

#endif
