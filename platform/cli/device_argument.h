/* The number of a device on the command line. */
#ifndef TLMALLOC_PLATFORM_CLI_DEVICE_ARGUMENT_H
#define TLMALLOC_PLATFORM_CLI_DEVICE_ARGUMENT_H

#include <argp.h>

/* Reads the value of --device, 0 .. 4095; anything else is a usage error that ends the program. or_else: what the
 * option may be besides, for the message (", or all"; "" for nothing). */
int device_argument(const struct argp_state *state, const char *text, const char *or_else);

#endif
