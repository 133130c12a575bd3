/* The fabric: its parts, its paths, and the duration of a message without other traffic. */
#include "base/saturate.h"
#include "fabric/fabric_state.h"

#include <stdlib.h>
#include <string.h>

/* Whether sums over all nodes and links stay in range. */
static bool add_up(uint64_t *sum, uint64_t added) {
    return !__builtin_add_overflow(*sum, added, sum);
}

static tla_status check(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                        size_t link_count, uint32_t flit) {
    uint64_t time = 0, routing = 0;
    if (link_count >= UINT32_MAX || flit == 0) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < link_count; i++)
        if (links[i].from >= node_count || links[i].to >= node_count || links[i].bandwidth_bytes_per_s == 0 ||
            !add_up(&time, links[i].latency_ps) || !add_up(&routing, links[i].routing) ||
            !add_up(&routing, links[i].routing_at_end))
            return TLA_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < node_count; i++)
        if (!add_up(&time, nodes[i].overhead_ps)) return TLA_INVALID_ARGUMENT;
    return TLA_OK;
}

tla_status tla_fabric_create(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                             size_t link_count, uint32_t flit, tla_fabric **out) {
    *out = NULL;
    const tla_status status = check(nodes, node_count, links, link_count, flit);
    if (status != TLA_OK) return status;
    tla_fabric *fabric = calloc(1, sizeof *fabric);
    if (!fabric) return TLA_NO_HOST_MEMORY;
    fabric->node_count = node_count;
    fabric->link_count = (uint32_t)link_count;
    fabric->flit = flit;
    fabric->links = malloc((link_count + 1) * sizeof *fabric->links);
    fabric->states = calloc(link_count + 1, sizeof *fabric->states);
    fabric->nodes = calloc((size_t)node_count + 1, sizeof *fabric->nodes);
    if (!fabric->links || !fabric->states || !fabric->nodes) {
        tla_fabric_destroy(fabric);
        return TLA_NO_HOST_MEMORY;
    }
    if (link_count) memcpy(fabric->links, links, link_count * sizeof *links);
    for (uint32_t i = 0; i < node_count; i++)
        fabric->nodes[i].node = nodes[i];
    tla_fabric_set_transport(fabric, TLA_TRANSPORT_PER_FLIT);
    if (tla_routes_create(nodes, node_count, fabric->links, fabric->link_count, &fabric->routes)) {
        tla_fabric_destroy(fabric);
        return TLA_NO_HOST_MEMORY;
    }
    *out = fabric;
    return TLA_OK;
}

void tla_fabric_destroy(tla_fabric *fabric) {
    if (!fabric) return;
    fabric_destroy_messages(fabric);
    tla_routes_destroy(fabric->routes);
    free(fabric->links);
    free(fabric->states);
    free(fabric->nodes);
    free(fabric);
}

void tla_fabric_set_host(tla_fabric *fabric, const tla_fabric_host *host) {
    fabric->host = *host;
}

const char *tla_transport_name(tla_transport transport) {
    static const char *const names[] = {"per_flit", "once"};
    return (unsigned)transport < TLA_TRANSPORT_COUNT ? names[transport] : NULL;
}

void tla_fabric_set_transport(tla_fabric *fabric, tla_transport transport) {
    fabric->transport = transport;
    fabric->collects = false;
    for (uint32_t i = 0; i < fabric->node_count; i++)
        fabric->collects |= transport == TLA_TRANSPORT_PER_FLIT && fabric->nodes[i].node.store_and_forward;
}

/* ---- paths ---- */

tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links) {
    tla_route route;
    const tla_status status = tla_routes_to(fabric->routes, from, to, &route);
    if (status != TLA_OK) return status;
    *latency_ps = from == to ? 0 : fabric->nodes[from].node.overhead_ps;
    *links = 0;
    for (uint32_t number; tla_routes_step(fabric->routes, &route, &number); ++*links) {
        const tla_fabric_link *link = &fabric->links[number];
        *latency_ps += link->latency_ps + fabric->nodes[link->to].node.overhead_ps;
    }
    return TLA_OK;
}

tla_status tla_fabric_path_links(tla_fabric *fabric, uint32_t from, uint32_t to, uint32_t *links) {
    tla_route route;
    const tla_status status = tla_routes_to(fabric->routes, from, to, &route);
    if (status == TLA_OK) tla_routes_list(fabric->routes, route, links);
    return status;
}

/* ---- alone ---- */

/* The flits of a message, one after the other: the arrival of the first, of the last full flit, and of the last.
 * Without other traffic, no other flit delays the last flit for longer than these do. */
typedef struct train {
    uint64_t first_ps, full_ps, last_ps;
} train;

/* The first flit pays the overhead, and none overtakes it. `collect`: at a node on the way, which may store all. */
static train past_node(const tla_fabric_node *node, bool collect, train t) {
    if (collect && node->store_and_forward) t.first_ps = t.full_ps = t.last_ps;
    t.first_ps = add_saturated(t.first_ps, node->overhead_ps);
    return (train){t.first_ps, later(t.full_ps, t.first_ps), later(t.last_ps, t.first_ps)};
}

static train past_link(const tla_fabric_link *link, uint32_t flit, uint64_t nbytes, train t) {
    const uint64_t full = nbytes / flit, bandwidth = link->bandwidth_bytes_per_s;
    const uint64_t flit_ps = tla_transfer_ps(flit, bandwidth), rest_ps = tla_transfer_ps(nbytes % flit, bandwidth);
    uint64_t all_ps;
    if (__builtin_mul_overflow(full, flit_ps, &all_ps)) all_ps = UINT64_MAX;
    const uint64_t first_ps = add_saturated(t.first_ps, full ? flit_ps : rest_ps);
    uint64_t full_ps = t.first_ps;
    if (full) full_ps = later(add_saturated(t.first_ps, all_ps), add_saturated(t.full_ps, flit_ps));
    const uint64_t last_ps = rest_ps ? add_saturated(later(full_ps, t.last_ps), rest_ps) : full_ps;
    return (train){add_saturated(first_ps, link->latency_ps), add_saturated(full_ps, link->latency_ps),
                   add_saturated(last_ps, link->latency_ps)};
}

tla_status tla_fabric_alone(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t *duration_ps) {
    const tla_way *way;
    const tla_status status = tla_routes_find(fabric->routes, from, to, &way);
    if (status != TLA_OK) return status;
    *duration_ps = 0;
    if (from == to) return TLA_OK;
    if (fabric->transport == TLA_TRANSPORT_ONCE) {
        uint32_t links;
        tla_fabric_path(fabric, from, to, duration_ps, &links); /* found above */
        *duration_ps = add_saturated(*duration_ps, fabric_drain_ps(fabric, way, true, nbytes));
        return TLA_OK;
    }
    train t = past_node(&fabric->nodes[from].node, false, (train){0});
    for (uint32_t i = 0; i < way->links; i++) {
        const tla_fabric_link *link = &fabric->links[way->link[i]];
        t = past_link(link, fabric->flit, nbytes, t);
        t = past_node(&fabric->nodes[link->to].node, i + 1 < way->links, t);
    }
    *duration_ps = t.last_ps;
    return TLA_OK;
}
