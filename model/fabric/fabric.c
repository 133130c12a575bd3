/* The fabric: its parts, its figures, and messages that are sent in the order of the calls. */
#include "base/saturate.h"
#include "fabric/parts.h"

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
    for (uint32_t i = 0; i < node_count; i++) {
        fabric->nodes[i].node = nodes[i];
        fabric->collects |= nodes[i].store_and_forward;
    }
    if (tla_routes_create(nodes, node_count, fabric->links, fabric->link_count, &fabric->routes)) {
        tla_fabric_destroy(fabric);
        return TLA_NO_HOST_MEMORY;
    }
    *out = fabric;
    return TLA_OK;
}

void tla_fabric_destroy(tla_fabric *fabric) {
    if (!fabric) return;
    for (uint32_t i = 0; fabric->states && i < fabric->link_count; i++)
        tla_timeline_destroy(&fabric->states[i].timeline);
    for (uint32_t i = 0; fabric->nodes && i < fabric->node_count; i++)
        tla_timeline_destroy(&fabric->nodes[i].worker);
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

/* ---- paths ---- */

tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links) {
    const uint32_t *next;
    const tla_status status = tla_routes_to(fabric->routes, from, to, &next);
    if (status != TLA_OK) return status;
    *latency_ps = from == to ? 0 : fabric->nodes[from].node.overhead_ps;
    *links = 0;
    for (uint32_t node = from; node != to; node = fabric->links[next[node]].to) {
        const tla_fabric_link *link = &fabric->links[next[node]];
        *latency_ps += link->latency_ps + fabric->nodes[link->to].node.overhead_ps;
        ++*links;
    }
    return TLA_OK;
}

uint32_t tla_fabric_next_link(tla_fabric *fabric, uint32_t from, uint32_t to) {
    const uint32_t *next;
    if (from == to || tla_routes_to(fabric->routes, from, to, &next)) return TLA_FABRIC_NO_LINK;
    return next[from];
}

/* ---- in the order of the calls ---- */

/* The flits of a message, one behind the other: when the first is there, the last full one, and the last. Alone, no
 * other flit holds the last one up for longer than these do. */
typedef struct train {
    uint64_t first_ps, full_ps, last_ps;
} train;

/* What travels. */
typedef struct parcel {
    uint64_t transfer; /* whose it is; 0: nobody's, and it takes no place from anybody */
    uint64_t nbytes;
    bool opens; /* its first flit pays the overheads */
} parcel;

static train past_node(tla_fabric *fabric, uint32_t node, const parcel *p, bool collect, train t) {
    node_state *state = &fabric->nodes[node];
    if (collect && state->node.store_and_forward) t.first_ps = t.full_ps = t.last_ps;
    if (state->node.overhead_ps == 0) return t;
    const uint64_t overhead_ps = p->opens ? state->node.overhead_ps : 0;
    if (p->transfer) {
        tla_timeline_forget(&state->worker, fabric->before_ps);
        t.first_ps = tla_timeline_reserve(&state->worker, t.first_ps, overhead_ps);
    }
    t.first_ps = add_saturated(t.first_ps, overhead_ps);
    return (train){t.first_ps, later(t.full_ps, t.first_ps), later(t.last_ps, t.first_ps)};
}

static uint64_t take_link(tla_fabric *fabric, uint32_t number, const parcel *p, uint64_t at_ps, uint64_t duration_ps) {
    tla_timeline *const timeline = &fabric->states[number].timeline;
    tla_timeline_forget(timeline, fabric->before_ps);
    const uint64_t start_ps = tla_timeline_reserve(timeline, at_ps, duration_ps);
    fabric_note_load(fabric, number, &(carriage){p->transfer, p->nbytes, at_ps, start_ps, duration_ps, true});
    return start_ps;
}

static train past_link(tla_fabric *fabric, uint32_t number, const parcel *p, train t) {
    const uint64_t nbytes = p->nbytes;
    const tla_fabric_link *link = &fabric->links[number];
    const uint64_t full = nbytes / fabric->flit, bandwidth = link->bandwidth_bytes_per_s;
    const uint64_t flit_ps = tla_transfer_ps(fabric->flit, bandwidth);
    const uint64_t rest_ps = tla_transfer_ps(nbytes % fabric->flit, bandwidth);
    uint64_t all_ps = UINT64_MAX;
    if (__builtin_mul_overflow(full, flit_ps, &all_ps)) all_ps = UINT64_MAX;
    uint64_t start_ps = t.first_ps;
    if (p->transfer) start_ps = take_link(fabric, number, p, t.first_ps, add_saturated(all_ps, rest_ps));
    const uint64_t first_ps = add_saturated(start_ps, full ? flit_ps : rest_ps);
    uint64_t full_ps = start_ps;
    if (full) full_ps = later(add_saturated(start_ps, all_ps), add_saturated(t.full_ps, flit_ps));
    const uint64_t last_ps = rest_ps ? add_saturated(later(full_ps, t.last_ps), rest_ps) : full_ps;
    return (train){add_saturated(first_ps, link->latency_ps), add_saturated(full_ps, link->latency_ps),
                   add_saturated(last_ps, link->latency_ps)};
}

/* From a node over links; when the last flit is there. */
static uint64_t travel(tla_fabric *fabric, uint32_t from, const uint32_t *links, uint32_t count, const parcel *p,
                       uint64_t at_ps) {
    train t = past_node(fabric, from, p, false, (train){at_ps, at_ps, at_ps});
    for (uint32_t i = 0; i < count; i++) {
        t = past_link(fabric, links[i], p, t);
        t = past_node(fabric, fabric->links[links[i]].to, p, i + 1 < count, t);
    }
    return t.last_ps;
}

static uint64_t send(tla_fabric *fabric, const tla_fabric_access *access, bool back, uint64_t nbytes, bool opens,
                     uint64_t at_ps) {
    const tla_way *const way = access->way;
    const parcel p = {fabric_transfer_of(fabric, access), nbytes, opens};
    return back ? travel(fabric, way->to, tla_way_back(way), way->links_back, &p, at_ps)
                : travel(fabric, way->from, way->link, way->links, &p, at_ps);
}

tla_status tla_fabric_alone(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t *duration_ps) {
    const tla_way *way;
    const tla_status status = tla_routes_find(fabric->routes, from, to, &way);
    if (status == TLA_OK)
        *duration_ps = from == to ? 0 : travel(fabric, from, way->link, way->links, &(parcel){0, nbytes, true}, 0);
    return status;
}

tla_status tla_fabric_send_request(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                   uint64_t *arrival_ps) {
    const tla_status status = fabric_join(fabric, access, false);
    if (status != TLA_OK) return status;
    transaction_enter(access, at_ps);
    transaction_part *part = access->part;
    *arrival_ps = at_ps;
    if (access->from == access->to) return TLA_OK;
    const bool first = !part || (nbytes ? !part->written : part->request == UNASKED);
    if (first || nbytes)
        *arrival_ps = send(fabric, access, false, nbytes, first, at_ps);
    else
        *arrival_ps = later(add_saturated(at_ps, part->there_ps), part->opened_ps);
    if (!part) return TLA_OK;
    if (nbytes) part->written = true;
    if (part->request == UNASKED) part->opened_ps = *arrival_ps;
    part->request = ASKED;
    return TLA_OK;
}

tla_status tla_fabric_send_answer(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                  uint64_t *arrival_ps) {
    transaction_part *const part = access->part;
    *arrival_ps = at_ps;
    transaction_leave(access, at_ps);
    if (access->from == access->to) return TLA_OK;
    if (nbytes || !part) {
        *arrival_ps = send(fabric, access, true, nbytes, !part || !part->answered, at_ps);
        if (part) part->answered = true;
    } else if (access->write && access->transaction->posted) {
        *arrival_ps = at_ps;
    } else if (transaction_is_over(access)) {
        *arrival_ps = send(fabric, access, true, 0, true, part->latest_ps);
    } else {
        *arrival_ps = add_saturated(at_ps, part->back_ps);
    }
    return TLA_OK;
}

/* ---- figures ---- */

void tla_fabric_forget(tla_fabric *fabric, uint64_t before_ps) {
    fabric->before_ps = before_ps;
}

tla_order tla_fabric_order(const tla_fabric *fabric) {
    tla_order sum = {0};
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const tla_order order = tla_timeline_order(&fabric->states[i].timeline);
        tla_order_add(&sum, &order);
    }
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const tla_order order = tla_timeline_order(&fabric->nodes[i].worker);
        tla_order_add(&sum, &order);
    }
    return sum;
}
