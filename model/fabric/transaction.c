/* Related messages: the parts of a transaction, and the groups that nodes with store and forward collect. */
#include "tlmalloc/fabric/fabric.h"

#include "base/saturate.h"
#include "fabric/fabric_state.h"

#include <stdlib.h>

/* ---- groups ---- */

/* One for every node on a way that collects. */
static tla_status add_collectors(const tla_fabric *fabric, group *g, const uint32_t *links, uint32_t count,
                                 bool requests) {
    for (uint32_t i = 0; i + 1 < count; i++) {
        const uint32_t node = fabric->links[links[i]].to;
        if (!fabric->nodes[node].node.store_and_forward) continue;
        collector *c = calloc(1, sizeof *c);
        if (!c) return TLA_NO_HOST_MEMORY;
        *c = (collector){.next = g->collectors, .node = node, .requests = requests, .end = &c->first};
        g->collectors = c;
        g->holds[requests] = true;
    }
    return TLA_OK;
}

group *group_of_way(const tla_fabric *fabric, const tla_way *way) {
    group *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->users = 1;
    if (add_collectors(fabric, g, way->link, way->links, true) ||
        add_collectors(fabric, g, tla_way_back(way), way->links_back, false)) {
        group_leave(g);
        return NULL;
    }
    return g;
}

void group_leave(group *g) {
    if (!g || --g->users > 0) return;
    for (collector *c = g->collectors, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(g);
}

bool collector_has_all(const group *g, const collector *c) {
    return !g->open && c->first && c->messages == (c->requests ? g->requests : g->answers);
}

void group_look(tla_fabric *fabric, group *g, uint64_t at_ps) {
    for (collector *c = g->collectors; c; c = c->next) {
        if (c->leaves || !collector_has_all(g, c)) continue;
        c->leaves = true;
        fabric->host.post(fabric->host.context, at_ps, c->node, UINT64_MAX, c->first);
    }
}

/* Nothing more joins the groups of a transaction that are being collected. */
static void close_groups(tla_transaction *t, uint64_t at_ps) {
    t->held = 0;
    for (transaction_part *part = t->parts; part; part = part->next) {
        group *const g = part->collecting;
        if (!g) continue;
        part->collecting = NULL;
        g->open = false;
        group_look(t->fabric, g, at_ps);
        group_leave(g);
    }
}

/* ---- transactions ---- */

tla_status tla_transaction_create(uint64_t window, bool posted, tla_transaction **transaction) {
    *transaction = NULL;
    if (window == 0) return TLA_INVALID_ARGUMENT;
    tla_transaction *t = *transaction = calloc(1, sizeof *t);
    if (!t) return TLA_NO_HOST_MEMORY;
    t->window = t->limit = window;
    t->posted = posted;
    return TLA_OK;
}

void tla_transaction_destroy(tla_transaction *t) {
    if (!t) return;
    for (transaction_part *part = t->parts, *next; part; part = next) {
        next = part->next;
        group_leave(part->collecting);
        free(part);
    }
    free(t);
}

static bool is_complete(const tla_transaction *t) {
    return (t->ended && t->entered >= t->issued) || t->held >= t->limit;
}

void tla_transaction_issue(tla_transaction *t, bool last) {
    t->issued++;
    t->ended |= last;
    t->limit = t->window;
}

void tla_transaction_wait(tla_transaction *t, uint64_t under_way, uint64_t at_ps) {
    if (under_way == 0) return; /* it does not wait for this one */
    t->limit = under_way;
    if (is_complete(t)) close_groups(t, at_ps);
}

void tla_transaction_lose(tla_transaction *t, uint64_t at_ps) {
    t->issued--;
    if (is_complete(t)) close_groups(t, at_ps);
}

void tla_transaction_end(tla_transaction *t, uint64_t at_ps) {
    t->ended = true;
    if (is_complete(t)) close_groups(t, at_ps);
}

/* Latency of links alone. */
static uint64_t wire_ps(const tla_fabric *fabric, const uint32_t *links, uint32_t count) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += fabric->links[links[i]].latency_ps;
    return sum;
}

uint64_t fabric_transfer_of(tla_fabric *fabric, const tla_fabric_access *access) {
    tla_transaction *const t = access->transaction;
    if (!t) return ++fabric->transfers;
    if (!t->transfer) t->transfer = ++fabric->transfers;
    return t->transfer;
}

/* The part of a target, moved to the front; NULL without host memory. */
static transaction_part *part_of(tla_fabric *fabric, const tla_fabric_access *access) {
    tla_transaction *const t = access->transaction;
    transaction_part **place = &t->parts;
    while (*place && (*place)->target != access->target)
        place = &(*place)->next;
    transaction_part *part = *place;
    if (part) {
        *place = part->next;
    } else {
        part = calloc(1, sizeof *part);
        if (!part) return NULL;
        part->target = access->target;
        part->there_ps = wire_ps(fabric, access->way->link, access->way->links);
        part->back_ps = wire_ps(fabric, tla_way_back(access->way), access->way->links_back);
        part->followers_end = &part->followers;
    }
    part->next = t->parts;
    t->parts = part;
    return part;
}

tla_status fabric_join(tla_fabric *fabric, tla_fabric_access *access) {
    access->part = NULL;
    access->group = NULL;
    const tla_status status = tla_routes_find(fabric->routes, access->from, access->to, &access->way);
    tla_transaction *const t = access->transaction;
    if (t && t->fabric && t->fabric != fabric) access->transaction = NULL; /* it has come through another one */
    if (status || !access->transaction) return status;
    t->fabric = fabric;
    if (access->from == access->to) return TLA_OK;
    transaction_part *const part = part_of(fabric, access);
    if (!part) return TLA_NO_HOST_MEMORY;
    if (fabric->collects && !part->collecting) {
        if (!(part->collecting = group_of_way(fabric, access->way))) return TLA_NO_HOST_MEMORY;
        part->collecting->open = true;
    }
    access->part = part;
    access->group = part->collecting;
    return TLA_OK;
}

void transaction_enter(tla_fabric_access *access, uint64_t at_ps) {
    tla_transaction *const t = access->transaction;
    if (!t) return;
    t->entered++;
    if (access->part) access->part->under_way++;
    if (access->group) {
        t->held += access->group->holds[access->write];
        access->group->users++;
        access->group->requests += access->write;
        access->group->answers += !access->write;
    }
    if (is_complete(t)) close_groups(t, at_ps);
}

void transaction_leave(tla_fabric_access *access, uint64_t at_ps) {
    if (!access->part) return;
    access->part->under_way--;
    access->part->latest_ps = later(access->part->latest_ps, at_ps);
}

bool transaction_is_over(const tla_fabric_access *access) {
    return access->part->under_way == 0 && access->transaction->ended;
}
