/* The options of a command as a table: how each is shown, read and kept. */
#ifndef TLMALLOC_PLATFORM_CLI_OPTIONS_H
#define TLMALLOC_PLATFORM_CLI_OPTIONS_H

#include "cli/arguments.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct option_row option_row;

/* Reads the text of an option (NULL: it takes none) into *member, or ends the command with a usage error. */
typedef void option_reader(const struct argp_state *state, const option_row *option, const char *text, void *member);

struct option_row {
    const char *name;     /* without "--" */
    int letter;           /* 'o': "-o" is short for it; 0: nothing is */
    const char *value;    /* what help calls its value; NULL: it takes none */
    option_reader *read;  /* NULL: this is no option, but the heading `help` of those behind it */
    size_t member;        /* destination: offset in the options of the command */
    const char *help;     /* for a person */
    uint64_t low, high;   /* option_number: both are good */
    const char *expected; /* option_number: the allowed values in messages, else "1 .. 9"; option_device: other allowed
                             values */
};

enum { OPTION_ROWS_MAX = 31 };

typedef struct command_line {
    const char *usage;         /* arguments, as help shows them: "CONFIG\n--reference" */
    const char *description;   /* for help; the text after a \v follows the options */
    const option_row *options; /* at most OPTION_ROWS_MAX, then {0} */
    option_row argument;       /* name, read and member: for an argument that is not an option */
    void (*check)(const struct argp_state *state, const void *options); /* once all are read; NULL: nothing to check */
} command_line;

/* Reads a command line into the options of the command, which has set the defaults. Bad usage is reported on stderr,
 * and ends the process with CLI_BAD_INPUT. */
void command_line_read(const command_line *line, int argc, char **argv, void *options);

/* Readers; behind each the type of its member. */

option_reader option_flag;   /* bool, true when the option is given */
option_reader option_text;   /* const char *, the text itself */
option_reader option_each;   /* text_list: the texts of an option that may be repeated */
option_reader option_size;   /* uint64_t, 1 .. 2^63 bytes, with a unit as in a configuration or without */
option_reader option_align;  /* likewise, a power of two */
option_reader option_number; /* uint64_t, low .. high */
option_reader option_device; /* int, the number of a device, 0 .. 4095 */
option_reader argument_once; /* const char *, NULL before: an argument that occurs once */

#ifdef __cplusplus
}
#endif
#endif
