/* The commands that can be swept. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_COMMANDS_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_COMMANDS_H

#include "sweep/sweep.h"

/* The last has no name. */
extern const sweep_command sweep_commands[];

#endif
