/* `tlmalloc check CONFIG`: validates a configuration and prints it resolved; or prints the reference of all keys. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/overrides.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct check_options {
    const char *path;
    overrides set;
    bool reference;
} check_options;

static error_t parse_option(int key, char *text, struct argp_state *state) {
    check_options *options = state->input;
    switch (key) {
    case 's':
        if (!overrides_add(&options->set, text)) argp_failure(state, CLI_FAILED, 0, "no host memory");
        return 0;
    case 'r':
        options->reference = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path) argument_error(state, "found a second argument '%s', expected one CONFIG", text);
        options->path = text;
        return 0;
    case ARGP_KEY_END:
        if (!options->path && !options->reference) argument_error(state, "expected a CONFIG");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"set", 's', "KEY=VALUE", 0, "override a key: path.to.key=value (repeatable)", 0},
    {"reference", 'r', 0, 0, "print the reference of all keys (Markdown) instead", 0},
    {0}};

static const struct argp parser = {
    option_table,
    parse_option,
    "CONFIG\n--reference",
    "Checks a configuration and prints it resolved, defaults included. Findings go to standard error, status 2.",
    0,
    0,
    0};

int tlmalloc_check(int argc, char **argv) {
    check_options options = {0};
    parse_arguments(&parser, argc, argv, &options);
    tla_config config;
    tla_status status = TLA_OK;
    if (options.path || options.set.count) status = overrides_load_to_run(&options.set, options.path, NULL, &config);
    overrides_clear(&options.set);
    if (status) return cli_exit_status(status);
    tla_error error;
    if ((status = output_check_standard(&error))) {
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return cli_exit_status(status);
    }
    status = options.reference ? tla_config_print_reference(stdout) : tla_config_print(&config, stdout);
    return cli_exit_status(status); /* a full standard output is told at the end of every command */
}
