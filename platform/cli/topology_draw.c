/* A picture of a topology, by Graphviz: every node stands where it is in millimetres. */
#include "cli/output.h"
#include "cli/topology.h"

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
    [TLA_NODE_HOST] = {"box", "#fc9272", 24, 12, true},
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

static void print_graph(FILE *out, const tla_topology *topology, const topology_path *path, const bool *taken) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    fputs("graph topology {\n"
          "graph [splines=line, outputorder=edgesfirst];\n"
          "node [style=filled, fixedsize=true, penwidth=0.3, fontname=\"Helvetica\", fontsize=3.5];\n"
          "edge [penwidth=0.5, color=\"#737373\"];\n",
          out);
    for (uint32_t i = 0; i < tla_topology_node_count(topology); i++)
        print_node(out, &nodes[i]);
    for (uint32_t i = 0; i < tla_topology_link_count(topology); i += 2) {
        const tla_topology_link *link = &tla_topology_links(topology)[i];
        fprintf(out, "\"%s\" -- \"%s\"%s;\n", nodes[link->from].name, nodes[link->to].name,
                path && taken[i / 2] ? " [penwidth=2.5, color=\"#cb181d\"]" : "");
    }
    fputs("}\n", out);
}

/* What Graphviz makes of the graph; it reads a file by its descriptor and writes to a pipe. */
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
    return tla_error_set(error, TLA_IO, "--svg: Graphviz failed");
}

tla_status topology_draw(FILE *svg, const tla_topology *topology, const topology_path *path, tla_error *error) {
    if (system("command -v neato >/dev/null 2>&1") != 0)
        return tla_error_set(error, TLA_IO, "--svg: found no neato, expected Graphviz (the package graphviz)");
    bool *taken = calloc(tla_topology_link_count(topology) / 2 + 1, sizeof *taken);
    FILE *const graph = taken ? tmpfile() : NULL;
    tla_status status = TLA_OK;
    if (!taken) status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    if (taken && !graph) status = tla_error_set(error, TLA_IO, "--svg: no temporary file");
    for (uint32_t i = 0; !status && path && i < path->count; i++)
        taken[path->links[i] / 2] = true;
    if (!status) print_graph(graph, topology, path, taken);
    if (!status) status = run_graphviz(graph, svg, error);
    if (graph) fclose(graph);
    free(taken);
    return status;
}
