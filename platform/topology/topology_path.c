/* A path through a topology, and every term of the time that data take over it. */
#include "model/config/value.h"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/topology/topology.h"
#include "topology/topology_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tla_status no_memory(tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
}

/* The fabric that finds the paths of a platform; NULL without host memory. */
static tla_fabric *make_fabric(const tla_topology *topology) {
    const uint32_t node_count = tla_topology_node_count(topology), link_count = tla_topology_link_count(topology);
    const tla_topology_node *from_nodes = tla_topology_nodes(topology);
    const tla_topology_link *from_links = tla_topology_links(topology);
    tla_fabric_node *nodes = calloc(node_count, sizeof *nodes);
    tla_fabric_link *links = calloc(link_count, sizeof *links);
    tla_fabric *fabric = NULL;
    for (uint32_t i = 0; nodes && links && i < node_count; i++)
        nodes[i] = (tla_fabric_node){from_nodes[i].overhead_ps, from_nodes[i].store_and_forward,
                                     tla_topology_region(&from_nodes[i]), from_nodes[i].rank};
    for (uint32_t i = 0; nodes && links && i < link_count; i++)
        links[i] = (tla_fabric_link){.from = from_links[i].from,
                                     .to = from_links[i].to,
                                     .latency_ps = from_links[i].latency_ps,
                                     .bandwidth_bytes_per_s = from_links[i].bandwidth,
                                     .routing = from_links[i].routing,
                                     .routing_at_end = from_links[i].routing_at_end};
    if (nodes && links) tla_fabric_create(nodes, node_count, links, link_count, 1, &fabric);
    free(nodes);
    free(links);
    return fabric;
}

tla_status topology_path_find(const tla_topology *topology, uint32_t from, uint32_t to, topology_path *path,
                              tla_error *error) {
    *path = (topology_path){.from = from, .to = to};
    tla_fabric *fabric = make_fabric(topology);
    uint64_t latency_ps;
    if (!fabric) return no_memory(error);
    tla_status status = tla_fabric_path(fabric, from, to, &latency_ps, &path->count);
    if (!status) {
        path->links = calloc(path->count + 1, sizeof *path->links);
        if (!path->links) status = TLA_NO_HOST_MEMORY;
    }
    if (!status) status = tla_fabric_path_links(fabric, from, to, path->links);
    tla_fabric_destroy(fabric);
    return status ? tla_error_set(error, status, "%s", tla_status_text(status)) : TLA_OK;
}

void topology_path_clear(topology_path *path) {
    free(path->links);
    *path = (topology_path){0};
}

static tla_status terms_of(const tla_config *config, const tla_topology *topology, const topology_path *path,
                           uint64_t nbytes, tla_path_terms *terms) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    const tla_topology_link *links = tla_topology_links(topology);
    tla_path_hop *hops = calloc(path->count + 1, sizeof *hops);
    if (!hops) return TLA_NO_HOST_MEMORY;
    for (uint32_t i = 0; i <= path->count; i++) {
        const bool last = i == path->count;
        const tla_topology_node *node = &nodes[last ? path->to : links[path->links[i]].from];
        hops[i] = (tla_path_hop){.overhead_ps = node->overhead_ps,
                                 .store_and_forward = node->store_and_forward,
                                 .latency_ps = last ? 0 : links[path->links[i]].latency_ps,
                                 .bandwidth = last ? 0 : links[path->links[i]].bandwidth};
    }
    const tla_status status = config->links.transport == TLA_TRANSPORT_ONCE
                                  ? tla_path_terms_once(hops, path->count + 1, nbytes, terms)
                                  : tla_path_terms_of(hops, path->count + 1, config->topology.flit, nbytes, terms);
    free(hops);
    return status;
}

/* A column of ns; nothing for a 0. */
static void print_ns(FILE *out, uint64_t ps) {
    if (ps)
        fprintf(out, " %10" PRIu64 ".%03" PRIu64, ps / 1000, ps % 1000);
    else
        fprintf(out, " %14s", "-");
}

static void print_row(FILE *out, const char *name, uint64_t overhead_ps, uint64_t fill_ps, uint64_t wire_ps) {
    fprintf(out, "%-36s", name);
    print_ns(out, overhead_ps);
    print_ns(out, fill_ps);
    print_ns(out, wire_ps);
}

static void print_nodes(FILE *out, const tla_topology *topology, const topology_path *path, bool collects,
                        uint64_t first_flit) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    for (uint32_t i = 0; i < path->count; i++) {
        const tla_topology_link *link = &tla_topology_links(topology)[path->links[i]];
        print_row(out, nodes[link->from].name, nodes[link->from].overhead_ps,
                  tla_transfer_ps(first_flit, link->bandwidth), link->latency_ps);
        fprintf(out, "   %s, %s%s\n", tla_number_print(TLA_VALUE_BANDWIDTH, link->bandwidth).text,
                tla_number_print(TLA_VALUE_LENGTH, link->length_um).text,
                collects && nodes[link->from].store_and_forward ? "; stores and forwards" : "");
    }
    print_row(out, nodes[path->to].name, nodes[path->to].overhead_ps, 0, 0);
    fputc('\n', out);
}

static void print_sum(FILE *out, const char *name, const char *sign, uint64_t ps) {
    fprintf(out, "%-80s %s", name, sign);
    print_ns(out, ps);
    fputc('\n', out);
}

/* "4 KiB in 16 flits, ": how the data travel. */
static void print_data(FILE *out, uint64_t nbytes, uint64_t flit) {
    const uint64_t flits = flit ? nbytes / flit + (nbytes % flit != 0) : 0;
    if (nbytes == 0)
        fputs("a message without data, ", out);
    else if (flit == 0)
        fprintf(out, "%s as one item, ", tla_number_print(TLA_VALUE_SIZE, nbytes).text);
    else
        fprintf(out, "%s in %" PRIu64 " flit%s, ", tla_number_print(TLA_VALUE_SIZE, nbytes).text, flits,
                flits == 1 ? "" : "s");
}

tla_status topology_path_print(FILE *out, const tla_config *config, const tla_topology *topology,
                               const topology_path *path, uint64_t nbytes, tla_error *error) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    const uint64_t flit = config->links.transport == TLA_TRANSPORT_ONCE ? 0 : config->topology.flit;
    const char *const first = nbytes == 0 ? "the message"
                              : flit == 0 ? "the item, without its bytes"
                                          : "the first flit";
    tla_path_terms terms;
    if (terms_of(config, topology, path, nbytes, &terms)) return no_memory(error);
    fprintf(out, "%s to %s: ", nodes[path->from].name, nodes[path->to].name);
    print_data(out, nbytes, flit);
    fprintf(out, "%" PRIu32 " links, without other traffic\n\n", path->count);
    fprintf(out, "%-36s %14s %14s %14s   link\n", "ns", "overhead", "fill", "wire");
    print_nodes(out, topology, path, flit > 0, nbytes < flit ? nbytes : flit);
    print_row(out, first, terms.overhead_ps, terms.fill_ps, terms.wire_ps);
    fputs("\n\n", out);
    print_sum(out, first, " ", terms.overhead_ps + terms.fill_ps + terms.wire_ps);
    if (terms.collected_ps) print_sum(out, "the other flits, where nodes store and forward", "+", terms.collected_ps);
    if (terms.drain_ps)
        print_sum(out, flit ? "the other flits, after the first at the slowest link" : "the item, on the slowest link",
                  "+", terms.drain_ps);
    if (terms.hidden_ps) print_sum(out, "hidden by the slowest link", "-", terms.hidden_ps);
    print_sum(out, "total", "=", terms.end_ps);
    return TLA_OK;
}
