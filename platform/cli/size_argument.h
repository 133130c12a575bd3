/* A size on the command line. */
#ifndef TLMALLOC_PLATFORM_CLI_SIZE_ARGUMENT_H
#define TLMALLOC_PLATFORM_CLI_SIZE_ARGUMENT_H

#include <argp.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads 1 byte to 2^63 bytes, with a unit as in a configuration or as a bare number of bytes; anything else is a usage
 * error of this option and ends the program. */
uint64_t size_argument(const struct argp_state *state, const char *option, const char *text);

#ifdef __cplusplus
}
#endif
#endif
