/* The commands of `tlmalloc`. Each parses its own arguments (argv[0] is "tlmalloc COMMAND", for messages) and returns
 * the exit status: 0 success, 1 a failure (a check of the run, a file that cannot be read or written), 2 bad input
 * (usage, configuration, trace); `plan` has one more. */
#ifndef TLMALLOC_PLATFORM_CLI_COMMANDS_H
#define TLMALLOC_PLATFORM_CLI_COMMANDS_H

#include "tlmalloc/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_BAD_INPUT = 2 };

/* The exit status for a failure that stops a command. */
static inline int cli_exit_status(tla_status status) {
    switch (status) {
    case TLA_OK:
        return CLI_OK;
    case TLA_IO:
    case TLA_NO_HOST_MEMORY:
    case TLA_LEAK:
    case TLA_WRONG_RESULT:
    case TLA_BUS_ERROR:
        return CLI_FAILED;
    default:
        return CLI_BAD_INPUT;
    }
}

/* A command of the program. */
typedef struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: this build has it not */
    const char *summary;               /* a line for `tlmalloc --help` */
    const char *missing;               /* where run is NULL: "this build has no serving; configure with ..." */
} cli_command;

/* Sets the commands of the program, including those that this build lacks; the last has no name. They must live
 * forever. main/ calls it before a command runs, so that the callers of commands depend on none. */
void cli_set_commands(const cli_command *commands);
const cli_command *cli_commands(void);

/* Returns NULL for an unknown name. */
const cli_command *cli_find_command(const char *name);

int tlmalloc_run(int argc, char **argv);
int tlmalloc_replay(int argc, char **argv);
int tlmalloc_explain(int argc, char **argv);
int tlmalloc_age(int argc, char **argv);
int tlmalloc_check(int argc, char **argv);
int tlmalloc_reproduce(int argc, char **argv);
int tlmalloc_traffic(int argc, char **argv);
int tlmalloc_topology(int argc, char **argv);
int tlmalloc_plan(int argc, char **argv);
int tlmalloc_probe(int argc, char **argv);
int tlmalloc_sweep(int argc, char **argv);
int tlmalloc_study(int argc, char **argv);
int tlmalloc_serve(int argc, char **argv);
int tlmalloc_report(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
