/* `tlmalloc topology CONFIG`: the fabric of a configuration printed, drawn, and walked through. */
#include "topology/topology_output.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"

#include <string.h>

#define BYTES_MAX (UINT64_C(1) << 30) /* every flit of a path is looked at */

typedef struct topology_options {
    const char *config_path, *svg_path, *load_path, *from, *to;
    uint64_t nbytes;
    bool nbytes_given, yaml;
    text_list set;
} topology_options;

static void read_bytes(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    topology_options *o = member;
    o->nbytes_given = true;
    o->nbytes = 0;
    if (strcmp(text, "0") == 0 || strcmp(text, "0 B") == 0) return;
    option_size(state, option, text, &o->nbytes);
    if (o->nbytes > BYTES_MAX) argument_error(state, "--%s: found '%s', expected at most 1 GiB", option->name, text);
}

/* Its value is two words. */
static void read_path(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    topology_options *o = member;
    if (state->next >= state->argc)
        argument_error(state, "--%s: found '%s' alone, expected FROM TO", option->name, text);
    o->from = text;
    o->to = state->argv[((struct argp_state *)state)->next++];
}

static void check_arguments(const struct argp_state *state, const void *read) {
    const topology_options *o = read;
    if (!o->config_path) argument_error(state, "expected a CONFIG");
    if (o->nbytes_given && !o->from) argument_error(state, "--bytes needs --path");
    if (o->load_path && !o->svg_path) argument_error(state, "--load needs --svg");
    if (o->load_path && o->from) argument_error(state, "--load and --path exclude each other");
    if (o->yaml && o->from) argument_error(state, "--yaml and --path exclude each other");
}

#define AT(member) offsetof(topology_options, member)

static const option_row option_table[] = {
    {"path", 'p', "FROM TO", read_path, 0,
     "print each term of the time that a transfer between two nodes takes on an idle fabric"},
    {"bytes", 'b', "SIZE", read_bytes, 0, "size of the data on the path (default 16 KiB; 0: a message without data)"},
    {"svg", 'v', "FILE", option_text, AT(svg_path), "draw the fabric with Graphviz; with --path, draw the path thick"},
    {"load", 'l', "REPORT", option_text, AT(load_path),
     "colour the links of --svg by their load in the run that wrote REPORT"},
    {"yaml", 'y', NULL, option_flag, AT(yaml), "print all nodes and links as a file for system.topology_file instead"},
    {"set", 's', "KEY=VALUE", option_each, AT(set), "override a key: path.to.key=value (repeatable)"},
    {0}};

static const command_line parser = {
    .usage = "CONFIG",
    .description =
        "Prints the nodes and links of a platform's fabric. Examples of node names: sip0.cube0.pe0, "
        "sip0.cube0.hbm_ctrl.pe0, sip0.cube0.r2c5, sip0.cube0.ucie-W.conn0, sip0.pcie_ep, sip0.io_cpu, host.",
    .options = option_table,
    .argument = {"CONFIG", .read = argument_once, .member = AT(config_path)},
    .check = check_arguments,
};

static tla_status find_path(const topology_options *o, const tla_topology *topology, topology_path *path,
                            tla_error *error) {
    if (!o->from) return TLA_OK;
    tla_error why;
    const char *const names[] = {o->from, o->to};
    uint32_t ends[2];
    for (int i = 0; i < 2; i++) {
        ends[i] = tla_topology_find(topology, names[i], &why);
        if (ends[i] == TLA_NO_NODE) return tla_error_set(error, TLA_INVALID_ARGUMENT, "--path: %s", why.text);
    }
    return topology_path_find(topology, ends[0], ends[1], path, error);
}

static tla_status print(const topology_options *o, const tla_config *config, const tla_topology *topology,
                        const topology_path *path, tla_error *error) {
    FILE *const out = output_table();
    if (o->from) return topology_path_print(out, config, topology, path, o->nbytes, error);
    if (o->yaml)
        tla_topology_print(topology, out); /* every command reports a stream with an error at its end */
    else
        topology_print_totals(out, config, topology);
    return TLA_OK;
}

static tla_status show(const topology_options *o, const tla_config *config, const tla_topology *topology,
                       tla_error *error) {
    topology_path path = {0};
    topology_load load = {0};
    FILE *svg = NULL;
    tla_status status = find_path(o, topology, &path, error);
    if (!status && o->load_path) status = topology_load_read(o->load_path, config, topology, &load, error);
    if (!status) status = output_check_standard(error);
    if (!status) status = output_open("--svg", o->svg_path, &svg, error);
    if (!status && svg)
        status = topology_draw(svg, topology, o->from ? &path : NULL, o->load_path ? &load : NULL, error);
    if (!status) status = print(o, config, topology, &path, error);
    if (!status) status = output_commit(error);
    topology_path_clear(&path);
    topology_load_clear(&load);
    return status;
}

int tlmalloc_topology(int argc, char **argv) {
    topology_options o = {.nbytes = 16 * 1024};
    command_line_read(&parser, argc, argv, &o);
    tla_config config;
    tla_topology *topology = NULL;
    tla_error error = {.text = ""};
    tla_status status = overrides_load(&o.set, o.config_path, &config);
    text_list_clear(&o.set);
    if (!status) {
        status = tla_config_topology(&config, &topology, print_finding, NULL);
        if (status == TLA_NO_HOST_MEMORY) tla_error_set(&error, status, "no host memory");
    }
    if (!status) status = show(&o, &config, topology, &error);
    tla_topology_destroy(topology);
    if (*error.text) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
