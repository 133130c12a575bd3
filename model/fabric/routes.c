/* Paths, by Dijkstra's algorithm over the links backwards. */
#include "fabric/routes.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t no_link = UINT32_MAX;

/* How far a node is from the destination: routing first, then latency, then links. */
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
    uint32_t *into;       /* link numbers grouped by their destination node, ascending in each group */
    uint32_t *into_begin; /* node_count + 1 indices into `into` */
    uint32_t **next;      /* next[to][node]: the link to take; next[to] NULL until it is needed */
    distance *far;        /* scratch of find_paths */
    heap_entry *heap;     /* scratch of find_paths: each link enters at most one entry, and the destination one */
    size_t heap_count;
};

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

/* Fills next[node] for every node that can reach `to`. A node is settled with its final distance, and the links into
 * it are looked at once; where two links lead on equally well the lower number wins. */
static void find_paths(tla_routes *routes, uint32_t to, uint32_t *next) {
    for (uint32_t node = 0; node < routes->node_count; node++) {
        next[node] = no_link;
        routes->far[node] = (distance){UINT64_MAX, UINT64_MAX, UINT32_MAX};
    }
    routes->far[to] = (distance){0, 0, 0};
    routes->heap_count = 0;
    heap_push(routes, (heap_entry){{0, 0, 0}, to});
    while (routes->heap_count > 0) {
        const heap_entry settled = heap_pop(routes);
        if (nearer(&routes->far[settled.node], &settled.far)) continue;
        for (uint32_t i = routes->into_begin[settled.node]; i < routes->into_begin[settled.node + 1]; i++) {
            const uint32_t number = routes->into[i];
            const tla_fabric_link *link = &routes->links[number];
            const distance far = {settled.far.routing + link->routing, settled.far.latency_ps + link->latency_ps,
                                  settled.far.links + 1};
            if (nearer(&far, &routes->far[link->from])) {
                routes->far[link->from] = far;
                next[link->from] = number;
                heap_push(routes, (heap_entry){far, link->from});
            } else if (!nearer(&routes->far[link->from], &far) && number < next[link->from]) {
                next[link->from] = number;
            }
        }
    }
}

/* Sorts the link numbers by destination node (counting sort: stable, so ascending in each group). */
static void group_by_destination(tla_routes *routes) {
    uint32_t *const begin = routes->into_begin;
    for (uint32_t i = 0; i < routes->link_count; i++)
        begin[routes->links[i].to + 1]++;
    for (uint32_t node = 0; node < routes->node_count; node++)
        begin[node + 1] += begin[node];
    for (uint32_t i = routes->link_count; i-- > 0;)
        routes->into[--begin[routes->links[i].to + 1]] = i;
    /* each begin + 1 has moved down to its group's begin: shift the array back by one */
    memmove(begin, begin + 1, routes->node_count * sizeof *begin);
    begin[routes->node_count] = routes->link_count;
}

tla_status tla_routes_create(uint32_t node_count, const tla_fabric_link *links, uint32_t link_count, tla_routes **out) {
    tla_routes *routes = *out = calloc(1, sizeof *routes);
    if (!routes) return TLA_NO_HOST_MEMORY;
    const size_t nodes = (size_t)node_count + 1, all = (size_t)link_count + 1;
    routes->node_count = node_count;
    routes->link_count = link_count;
    routes->links = links;
    routes->into = calloc(all, sizeof *routes->into);
    routes->into_begin = calloc(nodes, sizeof *routes->into_begin);
    routes->next = calloc(nodes, sizeof *routes->next);
    routes->far = calloc(nodes, sizeof *routes->far);
    routes->heap = calloc(all, sizeof *routes->heap);
    if (!routes->into || !routes->into_begin || !routes->next || !routes->far || !routes->heap) {
        tla_routes_destroy(routes);
        *out = NULL;
        return TLA_NO_HOST_MEMORY;
    }
    group_by_destination(routes);
    return TLA_OK;
}

void tla_routes_destroy(tla_routes *routes) {
    if (!routes) return;
    for (uint32_t node = 0; routes->next && node < routes->node_count; node++)
        free(routes->next[node]);
    free(routes->next);
    free(routes->into);
    free(routes->into_begin);
    free(routes->far);
    free(routes->heap);
    free(routes);
}

tla_status tla_routes_to(tla_routes *routes, uint32_t from, uint32_t to, const uint32_t **next) {
    if (from >= routes->node_count || to >= routes->node_count) return TLA_INVALID_ARGUMENT;
    if (!routes->next[to]) {
        uint32_t *table = malloc(routes->node_count * sizeof *table);
        if (!table) return TLA_NO_HOST_MEMORY;
        find_paths(routes, to, table);
        routes->next[to] = table;
    }
    *next = routes->next[to];
    return from != to && (*next)[from] == no_link ? TLA_OUT_OF_RANGE : TLA_OK;
}

const uint32_t *tla_routes_known(const tla_routes *routes, uint32_t to) {
    return routes->next[to];
}
