/* The fabric as a graph. Paths are kept as next-hop tables, one for each destination that was ever sent to, filled by
 * Dijkstra's algorithm over the links backwards. */
#include "tlmalloc/timing/fabric.h"

#include "base/saturate.h"
#include "tlmalloc/timing/timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t no_link = UINT32_MAX;

/* How far a node is from the destination: latency first, then links. */
typedef struct distance {
    uint64_t latency_ps;
    uint32_t links;
} distance;

typedef struct heap_entry {
    distance far;
    uint32_t node;
} heap_entry;

typedef struct link_state {
    tla_fabric_link link;
    tla_timeline timeline;
    uint64_t nbytes, busy_ps;
} link_state;

struct tla_fabric {
    uint32_t node_count;
    uint32_t link_count;
    link_state *links;
    uint64_t before_ps;   /* nothing is sent before this time any more */
    uint32_t *into;       /* link numbers grouped by their destination node, ascending in each group */
    uint32_t *into_begin; /* node_count + 1 indices into `into` */
    uint32_t **next;      /* next[to][node]: the link to take; next[to] NULL until it is needed */
    distance *far;        /* scratch of find_paths */
    heap_entry *heap;     /* scratch of find_paths: each link enters at most one entry, and the destination one */
    size_t heap_count;
};

static bool nearer(distance a, distance b) {
    return a.latency_ps != b.latency_ps ? a.latency_ps < b.latency_ps : a.links < b.links;
}

static void heap_push(tla_fabric *fabric, heap_entry entry) {
    size_t i = fabric->heap_count++;
    for (; i > 0 && nearer(entry.far, fabric->heap[(i - 1) / 2].far); i = (i - 1) / 2)
        fabric->heap[i] = fabric->heap[(i - 1) / 2];
    fabric->heap[i] = entry;
}

static heap_entry heap_pop(tla_fabric *fabric) {
    heap_entry *heap = fabric->heap, top = heap[0], last = heap[--fabric->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < fabric->heap_count; i = child) {
        if (child + 1 < fabric->heap_count && nearer(heap[child + 1].far, heap[child].far)) child++;
        if (!nearer(heap[child].far, last.far)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* Fills next[node] for every node that can reach `to`. A node is settled with its final distance, and the links into
 * it are looked at once; where two links lead on equally well the lower number wins. */
static void find_paths(tla_fabric *fabric, uint32_t to, uint32_t *next) {
    for (uint32_t node = 0; node < fabric->node_count; node++) {
        next[node] = no_link;
        fabric->far[node] = (distance){UINT64_MAX, UINT32_MAX};
    }
    fabric->far[to] = (distance){0, 0};
    fabric->heap_count = 0;
    heap_push(fabric, (heap_entry){{0, 0}, to});
    while (fabric->heap_count > 0) {
        heap_entry settled = heap_pop(fabric);
        if (nearer(fabric->far[settled.node], settled.far)) continue;
        for (uint32_t i = fabric->into_begin[settled.node]; i < fabric->into_begin[settled.node + 1]; i++) {
            uint32_t number = fabric->into[i];
            const tla_fabric_link *link = &fabric->links[number].link;
            distance far = {settled.far.latency_ps + link->latency_ps, settled.far.links + 1};
            if (nearer(far, fabric->far[link->from])) {
                fabric->far[link->from] = far;
                next[link->from] = number;
                heap_push(fabric, (heap_entry){far, link->from});
            } else if (!nearer(fabric->far[link->from], far) && number < next[link->from]) {
                next[link->from] = number;
            }
        }
    }
}

/* *next: the table for `to`. */
static tla_status paths_to(tla_fabric *fabric, uint32_t from, uint32_t to, const uint32_t **next) {
    if (from >= fabric->node_count || to >= fabric->node_count) return TLA_INVALID_ARGUMENT;
    if (!fabric->next[to]) {
        uint32_t *table = malloc(fabric->node_count * sizeof *table);
        if (!table) return TLA_NO_HOST_MEMORY;
        find_paths(fabric, to, table);
        fabric->next[to] = table;
    }
    *next = fabric->next[to];
    return from != to && (*next)[from] == no_link ? TLA_OUT_OF_RANGE : TLA_OK;
}

static tla_status check_links(uint32_t node_count, const tla_fabric_link *links, size_t link_count) {
    uint64_t sum = 0;
    if (link_count >= no_link) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < link_count; i++) {
        if (links[i].from >= node_count || links[i].to >= node_count || links[i].bandwidth_bytes_per_s == 0 ||
            __builtin_add_overflow(sum, links[i].latency_ps, &sum))
            return TLA_INVALID_ARGUMENT;
    }
    return TLA_OK;
}

/* Sorts the link numbers by destination node (counting sort: stable, so ascending in each group). */
static void group_by_destination(tla_fabric *fabric) {
    for (uint32_t i = 0; i < fabric->link_count; i++)
        fabric->into_begin[fabric->links[i].link.to + 1]++;
    for (uint32_t node = 0; node < fabric->node_count; node++)
        fabric->into_begin[node + 1] += fabric->into_begin[node];
    for (uint32_t i = fabric->link_count; i-- > 0;)
        fabric->into[--fabric->into_begin[fabric->links[i].link.to + 1]] = i;
    /* each begin + 1 has moved down to its group's begin: shift the array back by one */
    memmove(fabric->into_begin, fabric->into_begin + 1, fabric->node_count * sizeof *fabric->into_begin);
    fabric->into_begin[fabric->node_count] = fabric->link_count;
}

tla_status tla_fabric_create(uint32_t node_count, const tla_fabric_link *links, size_t link_count, tla_fabric **out) {
    *out = NULL;
    tla_status status = check_links(node_count, links, link_count);
    if (status != TLA_OK) return status;
    tla_fabric *fabric = calloc(1, sizeof *fabric);
    if (!fabric) return TLA_NO_HOST_MEMORY;
    fabric->node_count = node_count;
    fabric->link_count = (uint32_t)link_count;
    size_t nodes = (size_t)node_count + 1;
    fabric->links = calloc(link_count + 1, sizeof *fabric->links);
    fabric->into = calloc(link_count + 1, sizeof *fabric->into);
    fabric->into_begin = calloc(nodes, sizeof *fabric->into_begin);
    fabric->next = calloc(nodes, sizeof *fabric->next);
    fabric->far = calloc(nodes, sizeof *fabric->far);
    fabric->heap = calloc(link_count + 1, sizeof *fabric->heap);
    if (!fabric->links || !fabric->into || !fabric->into_begin || !fabric->next || !fabric->far || !fabric->heap) {
        tla_fabric_destroy(fabric);
        return TLA_NO_HOST_MEMORY;
    }
    for (size_t i = 0; i < link_count; i++)
        fabric->links[i].link = links[i];
    group_by_destination(fabric);
    *out = fabric;
    return TLA_OK;
}

void tla_fabric_destroy(tla_fabric *fabric) {
    if (!fabric) return;
    for (uint32_t node = 0; fabric->next && node < fabric->node_count; node++)
        free(fabric->next[node]);
    free(fabric->next);
    for (uint32_t i = 0; fabric->links && i < fabric->link_count; i++)
        tla_timeline_destroy(&fabric->links[i].timeline);
    free(fabric->links);
    free(fabric->into);
    free(fabric->into_begin);
    free(fabric->far);
    free(fabric->heap);
    free(fabric);
}

/* Occupies a link from start_ps on, when the head enters it. */
static void occupy(link_state *state, tla_fabric_transfer *t, uint64_t start_ps, uint64_t duration_ps) {
    if (t->tail_ps < duration_ps) t->tail_ps = duration_ps;
    state->nbytes += t->nbytes;
    state->busy_ps += duration_ps;
    t->head_ps = add_saturated(start_ps, state->link.latency_ps);
    t->node = state->link.to;
    if (t->node == t->to) t->head_ps = add_saturated(t->head_ps, t->tail_ps);
}

tla_status tla_fabric_begin(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at_ps,
                            tla_fabric_transfer *transfer) {
    const uint32_t *next;
    const tla_status status = paths_to(fabric, from, to, &next);
    if (status != TLA_OK) return status;
    *transfer = (tla_fabric_transfer){.node = from, .to = to, .nbytes = nbytes, .head_ps = at_ps};
    while (nbytes == 0 && transfer->node != to) {
        const tla_fabric_link *link = &fabric->links[next[transfer->node]].link;
        transfer->head_ps = add_saturated(transfer->head_ps, link->latency_ps);
        transfer->node = link->to;
    }
    return TLA_OK;
}

uint32_t tla_fabric_next_link(const tla_fabric *fabric, const tla_fabric_transfer *transfer) {
    return fabric->next[transfer->to][transfer->node];
}

bool tla_fabric_pass(tla_fabric *fabric, tla_fabric_transfer *transfer) {
    link_state *state = &fabric->links[tla_fabric_next_link(fabric, transfer)];
    const uint64_t duration_ps = tla_transfer_ps(transfer->nbytes, state->link.bandwidth_bytes_per_s);
    occupy(state, transfer, tla_timeline_serve(&state->timeline, transfer->head_ps, duration_ps), duration_ps);
    return transfer->node == transfer->to;
}

tla_status tla_fabric_send(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at_ps,
                           uint64_t *arrival_ps) {
    tla_fabric_transfer t;
    const tla_status status = tla_fabric_begin(fabric, from, to, nbytes, at_ps, &t);
    if (status != TLA_OK) return status;
    while (t.node != to) {
        link_state *state = &fabric->links[tla_fabric_next_link(fabric, &t)];
        const uint64_t duration_ps = tla_transfer_ps(nbytes, state->link.bandwidth_bytes_per_s);
        tla_timeline_forget(&state->timeline, fabric->before_ps);
        occupy(state, &t, tla_timeline_reserve(&state->timeline, t.head_ps, duration_ps), duration_ps);
    }
    *arrival_ps = t.head_ps;
    return TLA_OK;
}

void tla_fabric_forget(tla_fabric *fabric, uint64_t before_ps) {
    fabric->before_ps = before_ps;
}

tla_order tla_fabric_order(const tla_fabric *fabric) {
    tla_order sum = {0};
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const tla_order order = tla_timeline_order(&fabric->links[i].timeline);
        tla_order_add(&sum, &order);
    }
    return sum;
}

tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links) {
    const uint32_t *next;
    tla_status status = paths_to(fabric, from, to, &next);
    if (status != TLA_OK) return status;
    *latency_ps = 0;
    *links = 0;
    for (uint32_t node = from; node != to; node = fabric->links[next[node]].link.to) {
        *latency_ps += fabric->links[next[node]].link.latency_ps;
        ++*links;
    }
    return TLA_OK;
}

void tla_fabric_link_load(const tla_fabric *fabric, size_t link, uint64_t *nbytes, uint64_t *busy_ps) {
    bool exists = link < fabric->link_count;
    *nbytes = exists ? fabric->links[link].nbytes : 0;
    *busy_ps = exists ? fabric->links[link].busy_ps : 0;
}
