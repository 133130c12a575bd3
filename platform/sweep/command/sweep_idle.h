/* A sweep's keys that have no effect. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_IDLE_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_IDLE_H

#include "sweep/sweep.h"

/* Warns on stderr of every swept key of the configuration that has an effect at none of the points, of which up to 257
 * are looked at, spread over all of them. What the kernel does is not looked at. */
void sweep_warn_of_idle_keys(const sweep *s);

#endif
