/* Command lines: argp, with what an option that does not exist may have meant. */
#ifndef TLMALLOC_PLATFORM_CLI_ARGUMENTS_H
#define TLMALLOC_PLATFORM_CLI_ARGUMENTS_H

#include <argp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As argp_parse for a parser without children. Bad usage is reported on stderr, and ends the process with
 * CLI_BAD_INPUT. */
void parse_arguments(const struct argp *parser, int argc, char **argv, void *input);

/* As argp_error, with escaped quotations. */
void argument_error(const struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
