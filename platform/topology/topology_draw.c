/* A picture of a topology, by Graphviz: every node stands where it is in millimetres. */
#include "cli/output.h"
#include "topology/topology_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How a kind of node is drawn; width and height in points. */
typedef struct look {
    const char *shape, *colour;
    int width, height;
    bool named; /* the last part of its name stands in it */
} look;

static const look looks[TLA_NODE_KIND_COUNT] = {
    [TLA_NODE_ROUTER] = {"box", "#d9d9d9", 12, 8, true},   [TLA_NODE_PE] = {"box", "#9ecae1", 11, 7, true},
    [TLA_NODE_HBM_CTRL] = {"box", "#a1d99b", 11, 7, true}, [TLA_NODE_M_CPU] = {"box", "#fdae6b", 13, 7, true},
    [TLA_NODE_SRAM] = {"box", "#c7e9c0", 13, 7, true},     [TLA_NODE_CONN] = {"circle", "#bcbddc", 3, 3, false},
    [TLA_NODE_UCIE] = {"box", "#9e9ac8", 16, 8, true},     [TLA_NODE_IO_UCIE] = {"box", "#9e9ac8", 22, 8, true},
    [TLA_NODE_IO_NOC] = {"box", "#d9d9d9", 20, 10, true},  [TLA_NODE_IO_CPU] = {"box", "#fdae6b", 20, 10, true},
    [TLA_NODE_PCIE_EP] = {"box", "#fdd0a2", 24, 10, true}, [TLA_NODE_SWITCH] = {"box", "#fdd0a2", 30, 12, true},
    [TLA_NODE_HOST] = {"box", "#fc9272", 24, 12, true},    [TLA_NODE_HOST_MEMORY] = {"box", "#c7e9c0", 24, 12, true},
};

enum { POINTS_PER_MM = 10 };

/* Micrometres as points, with a digit behind the point whatever the locale is. */
static void print_points(FILE *out, bool negative, uint64_t um) {
    const uint64_t tenths = um * POINTS_PER_MM / 100;
    fprintf(out, "%s%" PRIu64 ".%" PRIu64, negative && tenths ? "-" : "", tenths / 10, tenths % 10);
}

static void print_inches(FILE *out, int points) {
    fprintf(out, "%d.%03d", points / 72, points % 72 * 1000 / 72);
}

static void print_node(FILE *out, const tla_topology_node *node) {
    const look *how = &looks[node->kind];
    const char *last = strrchr(node->name, '.');
    fprintf(out, "\"%s\" [pos=\"", node->name);
    print_points(out, false, node->x_um);
    fputc(',', out);
    print_points(out, true, node->y_um); /* Graphviz counts upwards */
    fprintf(out, "!\", shape=%s, fillcolor=\"%s\", width=", how->shape, how->colour);
    print_inches(out, how->width);
    fputs(", height=", out);
    print_inches(out, how->height);
    fprintf(out, ", label=\"%s\"];\n", !how->named ? "" : last ? last + 1 : node->name);
}

/* The drawing of links with traffic. Each colour but the last covers half of the loads below the previous colour, the
 * first half of the busiest link's. They go from dark to light (of the map "plasma"), so that they differ also without
 * their hue. */
static const char *const colours[] = {"#2c0594", "#7e03a8", "#bd3786", "#e16462", "#fb9f3a", "#f4c92a"};
enum { COLOURS = sizeof colours / sizeof *colours };

/* Widths, by how many flits wait: the first that is reached. */
typedef struct width_class {
    uint64_t from_permille; /* of one flit that waits all the time */
    int width;              /* points */
    const char *says;
} width_class;

static const width_class widths[] = {
    {1000, 5, "1 and more"}, {100, 4, "0.1 to 1"}, {10, 3, "0.01 to 0.1"}, {1, 2, "0.001 to 0.01"}, {0, 1, "less"}};

static const char unused_colour[] = "#d9d9d9";

/* part / whole in permille; exact enough for classes. */
static uint64_t permille(uint64_t part, uint64_t whole) {
    return part > UINT64_MAX / 1000 ? part / (whole / 1000 + 1) : part * 1000 / whole;
}

static uint64_t higher(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static double percent(uint64_t part, uint64_t whole) {
    return 100 * (double)part / (double)whole;
}

/* Returns the load of the busier direction; link is the number of the link in one direction. */
static tla_fabric_load load_of(const topology_load *load, uint32_t link) {
    const tla_fabric_load *there = &load->links[link], *back = &load->links[link + 1];
    return (tla_fabric_load){.messages = there->messages + back->messages,
                             .busy_ps = higher(there->busy_ps, back->busy_ps),
                             .waited_ps = higher(there->waited_ps, back->waited_ps)};
}

static uint64_t busiest_ps(const tla_topology *topology, const topology_load *load) {
    uint64_t most_ps = 0;
    for (uint32_t i = 0; i < tla_topology_link_count(topology); i++)
        most_ps = higher(most_ps, load->links[i].busy_ps);
    return most_ps;
}

/* Prints the tooltip of a link. */
static void print_direction(FILE *out, const tla_topology *topology, const topology_load *load, uint32_t number) {
    const tla_topology_link *link = &tla_topology_links(topology)[number];
    const tla_fabric_load *l = &load->links[number];
    fprintf(out, "%s to %s: %" PRIu64 " bytes, %" PRIu64 " messages, busy %.3g %%, waited for %.6g ns",
            tla_topology_nodes(topology)[link->from].name, tla_topology_nodes(topology)[link->to].name, l->nbytes,
            l->messages, percent(l->busy_ps, load->run_ps), (double)l->waited_ps / 1000);
}

static void print_load(FILE *out, const tla_topology *topology, const topology_load *load, uint32_t number,
                       uint64_t most_ps) {
    const tla_fabric_load l = load_of(load, number);
    if (l.messages == 0) {
        fprintf(out, " [color=\"%s\"]", unused_colour);
        return;
    }
    size_t colour = 0;
    for (uint64_t from_ps = most_ps / 2; colour + 1 < COLOURS && l.busy_ps < from_ps; from_ps /= 2)
        colour++;
    const width_class *width = widths;
    while (permille(l.waited_ps, load->run_ps) < width->from_permille)
        width++;
    fprintf(out, " [color=\"%s\", penwidth=%d, tooltip=\"", colours[colour], width->width);
    print_direction(out, topology, load, number);
    fputs("\\n", out);
    print_direction(out, topology, load, number + 1);
    fputs("\"]", out);
}

static void print_sample(FILE *out, const char *colour, int height, const char *says) {
    fprintf(out,
            "<tr><td><table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"0\"><tr><td bgcolor=\"%s\" "
            "width=\"24\" height=\"%d\" fixedsize=\"true\"></td></tr></table></td><td align=\"left\">%s</td></tr>",
            colour, height, says);
}

/* A node without a border below the picture, at its left. */
static void print_legend(FILE *out, const tla_topology *topology, const topology_load *load) {
    enum { FONT = 8, WIDTH = 170, HEIGHT = 210 };
    uint64_t left_um = UINT64_MAX, bottom_um = 0;
    for (uint32_t i = 0; i < tla_topology_node_count(topology); i++) {
        const tla_topology_node *node = &tla_topology_nodes(topology)[i];
        left_um = node->x_um < left_um ? node->x_um : left_um;
        bottom_um = node->y_um > bottom_um ? node->y_um : bottom_um;
    }
    fputs("legend [pos=\"", out);
    print_points(out, false, left_um + WIDTH / 2 * 1000 / POINTS_PER_MM);
    fputc(',', out);
    print_points(out, true, bottom_um + (20 + HEIGHT / 2) * 1000 / POINTS_PER_MM);
    fprintf(out,
            "!\", shape=plain, style=\"\", fixedsize=false, fontsize=%d, label=<<table border=\"0\" "
            "cellborder=\"0\" cellspacing=\"1\"><tr><td colspan=\"2\" align=\"left\">Load: busy, of %" PRIu64
            ".%03" PRIu64 " us</td></tr>",
            FONT, load->run_ps / 1000000, load->run_ps / 1000 % 1000);
    double most = percent(busiest_ps(topology, load), load->run_ps);
    for (size_t i = 0; i < COLOURS; i++, most /= 2) {
        char says[64];
        if (i + 1 < COLOURS)
            snprintf(says, sizeof says, "%.3g %% to %.3g %%", most / 2, most);
        else
            snprintf(says, sizeof says, "less");
        print_sample(out, colours[i], 4, says);
    }
    print_sample(out, unused_colour, 1, "no traffic");
    fputs("<tr><td colspan=\"2\" align=\"left\">Waiting: flits in the queue, on average</td></tr>", out);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        print_sample(out, "#737373", widths[i].width, widths[i].says);
    fputs("<tr><td colspan=\"2\" align=\"left\">(the larger of both directions)</td></tr></table>>];\n", out);
}

static void print_graph(FILE *out, const tla_topology *topology, const topology_path *path, const bool *taken,
                        const topology_load *load) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    const uint64_t most_ps = load ? busiest_ps(topology, load) : 0;
    fputs("graph topology {\n"
          "graph [splines=line, outputorder=edgesfirst];\n"
          "node [style=filled, fixedsize=true, penwidth=0.3, fontname=\"Helvetica\", fontsize=3.5];\n"
          "edge [penwidth=0.5, color=\"#737373\"];\n",
          out);
    for (uint32_t i = 0; i < tla_topology_node_count(topology); i++)
        print_node(out, &nodes[i]);
    for (uint32_t i = 0; i < tla_topology_link_count(topology); i += 2) {
        const tla_topology_link *link = &tla_topology_links(topology)[i];
        fprintf(out, "\"%s\" -- \"%s\"%s", nodes[link->from].name, nodes[link->to].name,
                path && taken[i / 2] ? " [penwidth=2.5, color=\"#cb181d\"]" : "");
        if (load) print_load(out, topology, load, i, most_ps);
        fputs(";\n", out);
    }
    if (load) print_legend(out, topology, load);
    fputs("}\n", out);
}

/* Runs Graphviz on the graph; it reads a file by its descriptor and writes to a pipe. */
static tla_status run_graphviz(FILE *graph, FILE *svg, tla_error *error) {
    char command[64];
    fflush(graph);
    rewind(graph);
    snprintf(command, sizeof command, "neato -n2 -Tsvg /dev/fd/%d", fileno(graph));
    FILE *const drawn = ferror(graph) ? NULL : popen(command, "r");
    char bytes[4096];
    for (size_t count; drawn && (count = fread(bytes, 1, sizeof bytes, drawn)) > 0;)
        fwrite(bytes, 1, count, svg);
    if (drawn && pclose(drawn) == 0) return TLA_OK;
    return tla_error_set(error, TLA_IO, "--svg: Graphviz failed: see its messages above");
}

tla_status topology_draw(FILE *svg, const tla_topology *topology, const topology_path *path, const topology_load *load,
                         tla_error *error) {
    if (system("command -v neato >/dev/null 2>&1") != 0)
        return tla_error_set(error, TLA_IO, "--svg: neato is missing: install Graphviz (the package graphviz)");
    bool *taken = calloc(tla_topology_link_count(topology) / 2 + 1, sizeof *taken);
    FILE *const graph = taken ? tmpfile() : NULL;
    tla_status status = TLA_OK;
    if (!taken) status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    if (taken && !graph) status = tla_error_set(error, TLA_IO, "--svg: cannot create a temporary file");
    for (uint32_t i = 0; !status && path && i < path->count; i++)
        taken[path->links[i] / 2] = true;
    if (!status) print_graph(graph, topology, path, taken, load);
    if (!status) status = run_graphviz(graph, svg, error);
    if (graph) fclose(graph);
    free(taken);
    return status;
}
