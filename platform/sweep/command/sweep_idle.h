/* A sweep's keys that have no effect. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_IDLE_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_IDLE_H

#include "sweep/sweep.h"

/* Warns on stderr of every swept key of the configuration without effect at the checked points: up to 257 points,
 * spread over all points. What a kernel in a file does is unknown. */
void sweep_warn_of_idle_keys(const sweep *s);

#endif
