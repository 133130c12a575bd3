/* The commands that the program has. */
#include "cli/commands.h"

#include <string.h>

static const cli_command nothing = {0};
static const cli_command *all = &nothing;

void cli_set_commands(const cli_command *commands) {
    all = commands;
}

const cli_command *cli_commands(void) {
    return all;
}

const cli_command *cli_find_command(const char *name) {
    for (const cli_command *c = all; c->name; c++)
        if (strcmp(name, c->name) == 0) return c;
    return NULL;
}
