/* Paths, by Dijkstra's algorithm: over the links backwards from the end of a path, or, where nodes have ranks, forwards
 * from its start. The root of a search is the end of the path that it begins at, the goal is the other one. */
#include "fabric/routes.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t no_link = UINT32_MAX, unknown = UINT32_MAX - 1;

/* How far a node is from the root: routing first. Then latency, then links; with ranks, instead of these, the rank and
 * the number of the node itself. */
typedef struct distance {
    uint64_t routing, latency_ps;
    uint32_t links;
} distance;

typedef struct heap_entry {
    distance far;
    uint32_t node;
} heap_entry;

struct tla_routes {
    uint32_t node_count, link_count;
    const tla_fabric_link *links;
    uint32_t *regions; /* of the nodes */
    uint32_t *ranks;   /* of the nodes */
    bool ranked;       /* one of them is above 0 */
    uint32_t *beside;  /* link numbers grouped by their end towards the root, ascending in each group */
    uint32_t *begin;   /* node_count + 1 indices into `beside` */
    uint32_t **next;   /* next[root][node]: the link towards the root, or unknown; next[root][node_count]: nodes that
                          are known; next[root] NULL until it is needed. With ranks, next[node_count + root] is of
                          paths within the region of the root */
    uint64_t *routing_out; /* of each node the least of a link that leaves it */
    distance *far;         /* scratch of find_paths: not `nowhere` only of nodes that it has seen */
    uint32_t *seen;        /* scratch of find_paths: these nodes */
    heap_entry *heap;      /* scratch of find_paths: each link enters at most one entry, and the destination one */
    size_t seen_count, heap_count;
    uint32_t *twins; /* of each link the one that leads back, or no_link */
    tla_way **ways;  /* by a hash of their ends, linear probing; way_room is a power of two */
    size_t way_count, way_room;
};

static const distance nowhere = {UINT64_MAX, UINT64_MAX, UINT32_MAX};

static bool nearer(const distance *a, const distance *b) {
    if (a->routing != b->routing) return a->routing < b->routing;
    return a->latency_ps != b->latency_ps ? a->latency_ps < b->latency_ps : a->links < b->links;
}

static void heap_push(tla_routes *routes, heap_entry entry) {
    heap_entry *heap = routes->heap;
    size_t i = routes->heap_count++;
    for (; i > 0 && nearer(&entry.far, &heap[(i - 1) / 2].far); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

static heap_entry heap_pop(tla_routes *routes) {
    heap_entry *heap = routes->heap, top = heap[0], last = heap[--routes->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < routes->heap_count; i = child) {
        if (child + 1 < routes->heap_count && nearer(&heap[child + 1].far, &heap[child].far)) child++;
        if (!nearer(&heap[child].far, &last.far)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* The ends of a link towards the root and away from it. */
static uint32_t near_end(const tla_routes *routes, uint32_t link) {
    return routes->ranked ? routes->links[link].from : routes->links[link].to;
}

static uint32_t far_end(const tla_routes *routes, uint32_t link) {
    return routes->ranked ? routes->links[link].to : routes->links[link].from;
}

/* Whether no node that is not settled yet can change the way of the goal: none is on a way that is as short as the one
 * which has been found, or, with ranks, on a shorter one. */
static bool is_found(const tla_routes *routes, uint32_t goal) {
    const uint64_t settled = routes->heap[0].far.routing, found = routes->far[goal].routing;
    return routes->ranked ? settled >= found : settled + routes->routing_out[goal] > found;
}

/* Relaxes the link: its far end may reach the root as cheaply as `far`, by way of the link. */
static void look_at(tla_routes *routes, uint32_t node, const distance *far, uint32_t link, uint32_t *next) {
    distance *const known = &routes->far[node];
    if (nearer(far, known)) {
        if (known->links == nowhere.links) routes->seen[routes->seen_count++] = node;
        *known = *far;
        next[node] = link;
        heap_push(routes, (heap_entry){*far, node});
    } else if (!routes->ranked && !nearer(known, far) && link < next[node]) {
        next[node] = link;
    }
}

/* The distance of a node over a link from a settled node; the root has no link. */
static distance far_by(const tla_routes *routes, uint32_t node, const distance *settled, uint64_t routing,
                       uint64_t latency_ps) {
    routing += settled->routing;
    if (routes->ranked) return (distance){routing, routes->ranks[node], node};
    return (distance){routing, settled->latency_ps + latency_ps, settled->links + 1};
}

/* Fills next[node] for the goal, if a path exists, and all nodes that are nearer to the root; at least for twice as
 * many as are known, so that all questions together cost as much as two searches. A node is settled with its final
 * distance, and the links beside it are looked at once; where two links lead on equally well the lower number wins, or,
 * with ranks, the first that was looked at. home: the region in which links have their routing_at_end; 0: none. */
static void find_paths(tla_routes *routes, uint32_t root, uint32_t goal, uint32_t home, uint32_t *next) {
    uint32_t *const known = &next[routes->node_count];
    const uint64_t enough = UINT64_C(2) * *known;
    bool found = false;
    *known = 0;
    routes->seen_count = routes->heap_count = 0;
    look_at(routes, root, &(distance){0, routes->ranks[root], routes->ranked ? root : 0}, unknown, next);
    while (routes->heap_count > 0 && !((found = found || is_found(routes, goal)) && *known >= enough)) {
        const heap_entry settled = heap_pop(routes);
        if (nearer(&routes->far[settled.node], &settled.far)) continue;
        found |= settled.node == goal;
        ++*known;
        for (uint32_t i = routes->begin[settled.node]; i < routes->begin[settled.node + 1]; i++) {
            const uint32_t number = routes->beside[i], node = far_end(routes, number);
            const tla_fabric_link *link = &routes->links[number];
            const bool at_end = home && routes->regions[link->to] == home;
            const uint64_t routing = at_end ? link->routing_at_end : link->routing;
            const distance far = far_by(routes, node, &settled.far, routing, link->latency_ps);
            look_at(routes, node, &far, number, next);
        }
    }
    if (routes->heap_count == 0) /* all that can be reached are known */
        for (uint32_t node = 0; node < routes->node_count; node++)
            if (next[node] == unknown) next[node] = no_link;
    for (size_t i = 0; i < routes->heap_count; i++) { /* those that have been seen, and may be nearer another way */
        const heap_entry *seen = &routes->heap[i];
        if (seen->node != goal && !nearer(&routes->far[seen->node], &seen->far)) next[seen->node] = unknown;
    }
    for (size_t i = 0; i < routes->seen_count; i++)
        routes->far[routes->seen[i]] = nowhere;
}

/* Sorts the link numbers by their end towards the root (counting sort: stable, so ascending in each group). */
static void group_links(tla_routes *routes) {
    uint32_t *const begin = routes->begin;
    for (uint32_t i = 0; i < routes->link_count; i++)
        begin[near_end(routes, i) + 1]++;
    for (uint32_t node = 0; node < routes->node_count; node++)
        begin[node + 1] += begin[node];
    for (uint32_t i = routes->link_count; i-- > 0;)
        routes->beside[--begin[near_end(routes, i) + 1]] = i;
    /* each begin + 1 has moved down to its group's begin: shift the array back by one */
    memmove(begin, begin + 1, routes->node_count * sizeof *begin);
    begin[routes->node_count] = routes->link_count;
}

/* The n-th link from a node to another has the n-th one back as its twin. */
static void find_twins(tla_routes *routes) {
    for (uint32_t i = 0; i < routes->link_count; i++) {
        const uint32_t near = near_end(routes, i), far = far_end(routes, i);
        uint32_t before = 0; /* links of the same direction with a lower number */
        for (uint32_t k = routes->begin[near]; routes->beside[k] != i; k++)
            before += far_end(routes, routes->beside[k]) == far;
        routes->twins[i] = no_link;
        for (uint32_t k = routes->begin[far]; k < routes->begin[far + 1]; k++)
            if (far_end(routes, routes->beside[k]) == near && before-- == 0) {
                routes->twins[i] = routes->beside[k];
                break;
            }
    }
}

tla_status tla_routes_create(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                             uint32_t link_count, tla_routes **out) {
    tla_routes *routes = *out = calloc(1, sizeof *routes);
    if (!routes) return TLA_NO_HOST_MEMORY;
    const size_t nodes_and_one = (size_t)node_count + 1, all = (size_t)link_count + 1;
    routes->node_count = node_count;
    routes->link_count = link_count;
    routes->links = links;
    routes->regions = calloc(nodes_and_one, sizeof *routes->regions);
    routes->twins = calloc(all, sizeof *routes->twins);
    routes->ranks = calloc(nodes_and_one, sizeof *routes->ranks);
    routes->beside = calloc(all, sizeof *routes->beside);
    routes->begin = calloc(nodes_and_one, sizeof *routes->begin);
    routes->next = calloc(2 * nodes_and_one, sizeof *routes->next);
    routes->routing_out = calloc(nodes_and_one, sizeof *routes->routing_out);
    routes->far = calloc(nodes_and_one, sizeof *routes->far);
    routes->seen = calloc(nodes_and_one, sizeof *routes->seen);
    routes->heap = calloc(all, sizeof *routes->heap);
    if (!routes->regions || !routes->twins || !routes->ranks || !routes->beside || !routes->begin || !routes->next ||
        !routes->routing_out || !routes->far || !routes->seen || !routes->heap) {
        tla_routes_destroy(routes);
        *out = NULL;
        return TLA_NO_HOST_MEMORY;
    }
    for (uint32_t node = 0; node < node_count; node++) {
        routes->regions[node] = nodes[node].region;
        routes->ranks[node] = nodes[node].rank;
        routes->ranked |= nodes[node].rank > 0;
        routes->routing_out[node] = UINT64_MAX;
        routes->far[node] = nowhere;
    }
    for (uint32_t i = 0; i < link_count; i++) {
        uint64_t *const least = &routes->routing_out[links[i].from];
        if (links[i].routing < *least) *least = links[i].routing;
        if (links[i].routing_at_end < *least) *least = links[i].routing_at_end;
    }
    group_links(routes);
    find_twins(routes);
    return TLA_OK;
}

void tla_routes_destroy(tla_routes *routes) {
    if (!routes) return;
    for (size_t i = 0; routes->next && i < 2 * (size_t)routes->node_count; i++)
        free(routes->next[i]);
    free(routes->next);
    for (size_t i = 0; i < routes->way_room; i++)
        free(routes->ways[i]);
    free(routes->ways);
    free(routes->twins);
    free(routes->regions);
    free(routes->ranks);
    free(routes->beside);
    free(routes->begin);
    free(routes->routing_out);
    free(routes->far);
    free(routes->seen);
    free(routes->heap);
    free(routes);
}

tla_status tla_routes_to(tla_routes *routes, uint32_t from, uint32_t to, tla_route *route) {
    if (from >= routes->node_count || to >= routes->node_count) return TLA_INVALID_ARGUMENT;
    const uint32_t root = routes->ranked ? from : to, goal = routes->ranked ? to : from, end = routes->regions[to];
    const bool within = routes->ranked && end && routes->regions[from] == end;
    uint32_t **const place = &routes->next[within ? (size_t)routes->node_count + root : root];
    if (!*place) {
        uint32_t *const table = *place = malloc(((size_t)routes->node_count + 1) * sizeof *table);
        if (!table) return TLA_NO_HOST_MEMORY;
        for (uint32_t node = 0; node < routes->node_count; node++)
            table[node] = unknown;
        table[routes->node_count] = 0;
    }
    uint32_t *const table = *place;
    if (from != to && table[goal] == unknown)
        find_paths(routes, root, goal, within || !routes->ranked ? end : 0, table);
    *route = (tla_route){table, goal, root};
    return from != to && table[goal] == no_link ? TLA_OUT_OF_RANGE : TLA_OK;
}

bool tla_routes_step(const tla_routes *routes, tla_route *route, uint32_t *link) {
    if (route->at == route->root) return false;
    *link = route->next[route->at];
    route->at = near_end(routes, *link);
    return true;
}

uint32_t tla_routes_list(const tla_routes *routes, tla_route route, uint32_t *links) {
    tla_route again = route;
    uint32_t count = 0, link;
    while (tla_routes_step(routes, &route, &link))
        count++;
    for (uint32_t i = 0; links && tla_routes_step(routes, &again, &link); i++)
        links[routes->ranked ? count - 1 - i : i] = link;
    return count;
}

/* Whether answers can go back the way that requests come. */
static bool leads_back(const tla_routes *routes, tla_route route) {
    uint32_t link;
    while (tla_routes_step(routes, &route, &link))
        if (routes->twins[link] == no_link) return false;
    return true;
}

static uint64_t narrowest_of(const tla_routes *routes, const uint32_t *links, uint32_t count) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (routes->links[links[i]].bandwidth_bytes_per_s < least)
            least = routes->links[links[i]].bandwidth_bytes_per_s;
    return least;
}

static tla_status make_way(tla_routes *routes, uint32_t from, uint32_t to, tla_way **made) {
    tla_route there, back;
    tla_status status = tla_routes_to(routes, from, to, &there);
    const bool returns = !status && leads_back(routes, there);
    if (!status && !returns) status = tla_routes_to(routes, to, from, &back);
    if (status) return status;
    const uint32_t count = tla_routes_list(routes, there, NULL);
    const uint32_t count_back = returns ? count : tla_routes_list(routes, back, NULL);
    const size_t nbytes = sizeof(tla_way) + ((size_t)count + count_back) * sizeof(uint32_t);
    const size_t behind = (nbytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    tla_way *way = *made = calloc(1, behind + 2 * sizeof *way->complete_ps);
    if (!way) return TLA_NO_HOST_MEMORY;
    *way = (tla_way){.from = from, .to = to, .links = count, .links_back = count_back};
    way->complete_ps = (uint64_t *)((char *)way + behind);
    tla_routes_list(routes, there, way->link);
    if (!returns)
        tla_routes_list(routes, back, way->link + count);
    else
        for (uint32_t i = 0; i < count; i++)
            way->link[count + i] = routes->twins[way->link[count - 1 - i]];
    way->narrowest = narrowest_of(routes, way->link, count);
    way->narrowest_back = narrowest_of(routes, tla_way_back(way), count_back);
    return TLA_OK;
}

static size_t place_of(const tla_routes *routes, uint32_t from, uint32_t to) {
    const uint64_t hash = ((uint64_t)from << 32 | to) * UINT64_C(0x9E3779B97F4A7C15);
    size_t place = (size_t)(hash >> 32) & (routes->way_room - 1);
    while (routes->ways[place] && (routes->ways[place]->from != from || routes->ways[place]->to != to))
        place = (place + 1) & (routes->way_room - 1);
    return place;
}

static tla_status make_room(tla_routes *routes) {
    if (2 * (routes->way_count + 1) <= routes->way_room) return TLA_OK;
    tla_way **const old = routes->ways;
    const size_t old_room = routes->way_room, room = old_room ? 2 * old_room : 256;
    tla_way **ways = calloc(room, sizeof *ways);
    if (!ways) return TLA_NO_HOST_MEMORY;
    routes->ways = ways;
    routes->way_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i]) ways[place_of(routes, old[i]->from, old[i]->to)] = old[i];
    free(old);
    return TLA_OK;
}

tla_status tla_routes_find(tla_routes *routes, uint32_t from, uint32_t to, const tla_way **way) {
    if (make_room(routes)) return TLA_NO_HOST_MEMORY;
    tla_way **const place = &routes->ways[place_of(routes, from, to)];
    if (!*place) {
        const tla_status status = make_way(routes, from, to, place);
        if (status) return status;
        routes->way_count++;
    }
    *way = *place;
    return TLA_OK;
}
