/* `tlmalloc check CONFIG`: validates a configuration and prints it resolved; or prints the reference of all keys. */
#include "cli/check_energy.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct check_options {
    const char *path;
    text_list set;
    bool reference;
} check_options;

static void check_arguments(const struct argp_state *state, const void *read) {
    const check_options *options = read;
    if (!options->path && !options->reference) argument_error(state, "expected a CONFIG");
    if (options->reference && (options->path || options->set.count))
        argument_error(state, "--reference excludes CONFIG and --set");
}

static const option_row option_table[] = {{"set", 's', "KEY=VALUE", option_each, offsetof(check_options, set),
                                           "override a key: path.to.key=value (repeatable)"},
                                          {"reference", 'r', NULL, option_flag, offsetof(check_options, reference),
                                           "print the reference of all keys (Markdown) instead"},
                                          {0}};

static const command_line parser = {
    .usage = "CONFIG\n--reference",
    .description = "Checks a configuration and prints it resolved, with its defaults. Errors go to standard error, "
                   "with exit status 2.",
    .options = option_table,
    .argument = {"CONFIG", .read = argument_once, .member = offsetof(check_options, path)},
    .check = check_arguments,
};

int tlmalloc_check(int argc, char **argv) {
    check_options options = {0};
    command_line_read(&parser, argc, argv, &options);
    tla_config config;
    tla_status status = TLA_OK;
    if (options.path || options.set.count) status = overrides_load_to_run(&options.set, options.path, NULL, &config);
    text_list_clear(&options.set);
    if (status) return cli_exit_status(status);
    tla_error error;
    if ((status = output_check_standard(&error))) {
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return cli_exit_status(status);
    }
    status = options.reference ? tla_config_print_reference(stdout) : tla_config_print(&config, stdout);
    if (!status && !options.reference) check_print_energies(stdout, &config);
    return cli_exit_status(status); /* every command reports a full standard output at its end */
}
