/* The time of a step from measured times of the model's layers. */
#ifndef TLMALLOC_PLATFORM_SERVING_PROFILE_LAW_H
#define TLMALLOC_PLATFORM_SERVING_PROFILE_LAW_H

#include "serving/step_law.h"

/* Reads dense.csv, per_sequence.csv, attention.csv and, where the settings want its correction, skew_fit.csv of a
 * directory. TLA_INVALID_ARGUMENT for settings that a profile needs and that are not there, and for a layer without
 * rows; TLA_SYNTAX with file, line and column; TLA_IO, TLA_NO_HOST_MEMORY. */
tla_status profile_law_load(const char *directory, const tla_serving_settings *settings, tla_step_law *law,
                            tla_error *error);

#endif
