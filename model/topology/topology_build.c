/* The functions that add the parts of a shape. */
#include "topology/topology_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t tla_topology_wire_ps(uint64_t length_um, uint64_t wire_ps_per_mm) {
    return (length_um * wire_ps_per_mm + 500) / 1000;
}

uint32_t tla_build_node(tla_topology_builder *b, tla_node_kind kind, tla_spot at, uint64_t overhead_ps,
                        const char *format, ...) {
    if (b->status) return TLA_NO_NODE;
    tla_topology_node node = {.kind = kind,
                              .x_um = at.x_um,
                              .y_um = at.y_um,
                              .overhead_ps = overhead_ps,
                              .store_and_forward = kind == TLA_NODE_PCIE_EP};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(node.name, sizeof node.name, format, arguments);
    va_end(arguments);
    b->status = tla_topology_add_node(b->topology, &node, b->error);
    return b->status ? TLA_NO_NODE : tla_topology_node_count(b->topology) - 1;
}

void tla_build_link(tla_topology_builder *b, uint32_t from, uint32_t to, uint64_t length_um, uint64_t routing,
                    uint64_t bandwidth) {
    tla_build_weighed_link(b, from, to, length_um, routing, routing, bandwidth);
}

void tla_build_weighed_link(tla_topology_builder *b, uint32_t from, uint32_t to, uint64_t length_um, uint64_t routing,
                            uint64_t routing_at_end, uint64_t bandwidth) {
    if (b->status) return;
    const tla_topology_link link = {.from = from,
                                    .to = to,
                                    .length_um = length_um,
                                    .routing = routing,
                                    .routing_at_end = routing_at_end,
                                    .latency_ps = tla_topology_wire_ps(length_um, b->shape->wire_ps_per_mm),
                                    .bandwidth = bandwidth};
    b->status = tla_topology_add_link(b->topology, &link, b->error);
}

static int by_name_descending(const void *a, const void *b) {
    return strcmp((*(tla_topology_node *const *)b)->name, (*(tla_topology_node *const *)a)->name);
}

void tla_build_ranks(tla_topology_builder *b) {
    if (b->status) return;
    const uint32_t count = tla_topology_node_count(b->topology);
    tla_topology_node *const nodes = tla_topology_own_nodes(b->topology);
    tla_topology_node **sorted = malloc(count * sizeof *sorted);
    if (!sorted) {
        b->status = tla_error_set(b->error, TLA_NO_HOST_MEMORY, "no host memory");
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &nodes[i];
    qsort(sorted, count, sizeof *sorted, by_name_descending);
    for (uint32_t i = 0; i < count; i++)
        sorted[i]->rank = i + 1;
    free(sorted);
}
