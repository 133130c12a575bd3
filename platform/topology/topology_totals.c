/* Nodes and links of a topology, counted by kind. */
#include "model/config/value.h"
#include "topology/topology_output.h"

#include <inttypes.h>
#include <string.h>

typedef struct node_total {
    uint32_t count;
    uint64_t least_ps, most_ps;
} node_total;

typedef struct link_total {
    uint32_t count;
    uint64_t least, most, sum; /* bandwidths */
    uint64_t shortest_um, longest_um;
} link_total;

static uint64_t lower(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t higher(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* "2 ns", "0 ns .. 2 ns". */
static tla_phrase range(tla_value_type type, uint64_t least, uint64_t most) {
    const tla_phrase low = tla_number_print(type, least), high = tla_number_print(type, most);
    return least == most ? low : tla_phrase_of("%.80s .. %.80s", low.text, high.text);
}

static void print_nodes(FILE *out, const tla_topology *topology) {
    node_total totals[TLA_NODE_KIND_COUNT] = {{0}};
    const uint32_t count = tla_topology_node_count(topology);
    for (uint32_t i = 0; i < count; i++) {
        const tla_topology_node *node = &tla_topology_nodes(topology)[i];
        node_total *t = &totals[node->kind];
        t->least_ps = t->count ? lower(t->least_ps, node->overhead_ps) : node->overhead_ps;
        t->most_ps = higher(t->most_ps, node->overhead_ps);
        t->count++;
    }
    fprintf(out, "%-28s %10s   overhead\n", "nodes", "count");
    for (int kind = 0; kind < TLA_NODE_KIND_COUNT; kind++)
        if (totals[kind].count)
            fprintf(out, "%-28s %10" PRIu32 "   %s\n", tla_node_kind_name((tla_node_kind)kind), totals[kind].count,
                    range(TLA_VALUE_TIME, totals[kind].least_ps, totals[kind].most_ps).text);
    fprintf(out, "%-28s %10" PRIu32 "\n\n", "total", count);
}

static void print_links(FILE *out, const tla_topology *topology) {
    link_total totals[TLA_NODE_KIND_COUNT][TLA_NODE_KIND_COUNT] = {{{0}}};
    const uint32_t count = tla_topology_link_count(topology) / 2;
    for (uint32_t i = 0; i < count; i++) {
        const tla_topology_link *link = &tla_topology_links(topology)[2 * i];
        const tla_node_kind from = tla_topology_nodes(topology)[link->from].kind;
        const tla_node_kind to = tla_topology_nodes(topology)[link->to].kind;
        link_total *t = from < to ? &totals[from][to] : &totals[to][from];
        t->least = t->count ? lower(t->least, link->bandwidth) : link->bandwidth;
        t->most = higher(t->most, link->bandwidth);
        t->shortest_um = t->count ? lower(t->shortest_um, link->length_um) : link->length_um;
        t->longest_um = higher(t->longest_um, link->length_um);
        t->sum += link->bandwidth;
        t->count++;
    }
    fprintf(out, "%-28s %10s   %-26s %-22s %s\n", "links, both ways", "count", "bandwidth", "length",
            "total, one direction");
    for (int from = 0; from < TLA_NODE_KIND_COUNT; from++)
        for (int to = from; to < TLA_NODE_KIND_COUNT; to++) {
            const link_total *t = &totals[from][to];
            if (!t->count) continue;
            const tla_phrase name =
                tla_phrase_of("%s, %s", tla_node_kind_name((tla_node_kind)from), tla_node_kind_name((tla_node_kind)to));
            fprintf(out, "%-28s %10" PRIu32 "   %-26s %-22s %.1f TB/s\n", name.text, t->count,
                    range(TLA_VALUE_BANDWIDTH, t->least, t->most).text,
                    range(TLA_VALUE_LENGTH, t->shortest_um, t->longest_um).text, (double)t->sum / 1e12);
        }
    fprintf(out, "%-28s %10" PRIu32 "\n", "total", count);
}

void topology_print_totals(FILE *out, const tla_config *config, const tla_topology *topology) {
    const tla_system_parameters *s = &config->system;
    const uint32_t cubes = s->cube_mesh_width * s->cube_mesh_height;
    const bool file = strcmp(s->topology_file, "none") != 0;
    fprintf(out, "%" PRIu32 " SIPs x %" PRIu32 " cubes x %" PRIu32 " PEs: %" PRIu32 " PEs; %s%s\n\n", s->sips, cubes,
            s->pes_per_cube, s->sips * cubes * s->pes_per_cube, file ? "nodes and links of " : "paths are ",
            file ? s->topology_file : tla_routing_name(config->topology.routing));
    print_nodes(out, topology);
    print_links(out, topology);
}
