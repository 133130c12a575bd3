/* Messages flit by flit, or as one item each, in the order in which they arrive at nodes. */
#include "base/saturate.h"
#include "fabric/fabric_state.h"

#include <stdlib.h>

/* ---- messages and flits, which are used again ---- */

enum { LINE = 64, SLAB = 64 }; /* bytes of a cache line; messages or flits in a slab */

struct slab {
    _Alignas(LINE) struct slab *next;
};

/* Memory for SLAB messages or flits of this size, aligned to a cache line; NULL without host memory. */
static void *new_slab(tla_fabric *fabric, size_t size) {
    struct slab *const made = aligned_alloc(LINE, sizeof *made + SLAB * size);
    if (!made) return NULL;
    made->next = fabric->slabs;
    fabric->slabs = made;
    return (char *)made + sizeof *made;
}

static void drop_flit(tla_fabric *fabric, tla_flit *f) {
    if (f == &f->of->first) return; /* goes with its message */
    f->next = fabric->free_flits;
    fabric->free_flits = f;
}

/* Allocates more flits if none is free; NULL without host memory. */
static tla_flit *new_flit(tla_fabric *fabric) {
    tla_flit *f = fabric->free_flits;
    if (!f) {
        tla_flit *const more = f = new_slab(fabric, sizeof *f);
        if (!f) return NULL;
        for (size_t i = 0; i < SLAB; i++)
            more[i].next = i + 1 < SLAB ? &more[i + 1] : NULL;
    }
    fabric->free_flits = f->next;
    return f;
}

/* All flits of a message that has not entered. */
static void drop_flits(tla_fabric *fabric, message *m) {
    for (tla_flit *f = &m->first, *next; f; f = next) {
        next = f->next;
        drop_flit(fabric, f);
    }
}

static void drop_message(tla_fabric *fabric, message *m) {
    m->next = fabric->free_messages;
    fabric->free_messages = m;
}

static bool make_messages(tla_fabric *fabric) {
    message *const more = new_slab(fabric, sizeof *more);
    for (size_t i = 0; more && i < SLAB; i++)
        drop_message(fabric, &more[i]);
    return more;
}

/* With a flit at least; NULL without host memory. */
static message *new_message(tla_fabric *fabric, uint64_t nbytes) {
    if (!fabric->free_messages && !make_messages(fabric)) return NULL;
    message *const m = fabric->free_messages;
    fabric->free_messages = m->next;
    *m = (message){.fabric = fabric, .nbytes = nbytes};
    if (fabric->transport == TLA_TRANSPORT_ONCE) {
        m->first = (tla_flit){.of = m, .number = m->flits_left++};
        return m;
    }
    uint64_t left = nbytes;
    for (tla_flit *f = &m->first;;) {
        *f = (tla_flit){
            .of = m, .nbytes = (uint32_t)(left < fabric->flit ? left : fabric->flit), .number = m->flits_left++};
        left -= f->nbytes;
        if (left == 0) return m;
        if (!(f = f->next = new_flit(fabric))) {
            drop_flits(fabric, m);
            drop_message(fabric, m);
            return NULL;
        }
    }
}

void fabric_destroy_messages(tla_fabric *fabric) {
    for (struct slab *b = fabric->slabs, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* ---- a message at its end ---- */

/* The request of a reading transaction has arrived: its followers may arrive too. */
static void let_followers_come(tla_fabric *fabric, transaction_part *part, uint64_t at_ps) {
    part->request = ASKED;
    part->opened_ps = at_ps;
    message *follower = part->followers;
    part->followers = NULL;
    part->followers_end = &part->followers;
    while (follower) {
        message *const next = follower->next;
        void *const tag = follower->tag;
        const uint64_t there_ps = later(add_saturated(follower->at_ps, part->there_ps), at_ps);
        drop_flits(fabric, follower);
        drop_message(fabric, follower);
        fabric->host.arrived(fabric->host.context, tag, there_ps);
        follower = next;
    }
}

static void end_message(tla_fabric *fabric, message *m) {
    transaction_part *const part = m->request && !m->write ? m->part : NULL;
    const uint64_t at_ps = m->at_ps;
    void *const tag = m->tag;
    if (!m->request || !m->part) group_leave(m->collected);
    drop_message(fabric, m);
    fabric->host.arrived(fabric->host.context, tag, at_ps);
    if (part) let_followers_come(fabric, part, at_ps);
}

uint64_t fabric_drain_ps(const tla_fabric *fabric, const tla_way *way, bool request, uint64_t nbytes) {
    if (fabric->transport != TLA_TRANSPORT_ONCE) return 0;
    return tla_transfer_ps(nbytes, request ? way->narrowest : way->narrowest_back);
}

/* When an item that has reached its end is complete. The end takes the items of a way one after the other, so that
 * neither a short write nor the request of a read overtakes a long write. */
static uint64_t complete_ps(const tla_fabric *fabric, const message *m, uint64_t at_ps) {
    if (fabric->transport != TLA_TRANSPORT_ONCE) return at_ps;
    uint64_t *const before_ps = &m->way->complete_ps[!m->request];
    const uint64_t drain_ps = fabric_drain_ps(fabric, m->way, m->request, m->nbytes);
    return *before_ps = add_saturated(later(*before_ps, at_ps), drain_ps);
}

static void end_flit(tla_fabric *fabric, tla_flit *f, uint64_t at_ps) {
    message *const m = f->of;
    drop_flit(fabric, f);
    m->at_ps = later(m->at_ps, complete_ps(fabric, m, at_ps));
    if (--m->flits_left == 0) end_message(fabric, m);
}

/* ---- past nodes and links ---- */

static bool is_at_end(const tla_flit *f) {
    const message *const m = f->of;
    return f->hop == (m->request ? m->way->links : m->way->links_back);
}

/* When a flit that is at its node leaves it. An item delays no other one: it pays the overhead beside them. */
static uint64_t leave_node(const tla_fabric *fabric, const tla_flit *f, uint64_t at_ps) {
    const message *const m = f->of;
    node_state *const node = &fabric->nodes[f->node];
    if (node->node.overhead_ps == 0) return at_ps;
    if (fabric->transport == TLA_TRANSPORT_ONCE)
        return m->opens || m->nbytes > 0 ? add_saturated(at_ps, node->node.overhead_ps) : at_ps;
    const uint64_t overhead_ps = m->opens && f->number == 0 ? node->node.overhead_ps : 0;
    return add_saturated(tla_timeline_serve(&node->worker, at_ps, overhead_ps), overhead_ps);
}

/* The flit is at its node, and leaves it when its turn has come. */
static void pass(tla_fabric *fabric, tla_flit *f, uint64_t at_ps) {
    message *const m = f->of;
    at_ps = leave_node(fabric, f, at_ps);
    const uint32_t *const links = m->request ? m->way->link : tla_way_back(m->way);
    if (is_at_end(f)) {
        end_flit(fabric, f, at_ps);
        return;
    }
    const uint32_t number = links[f->hop++];
    const tla_fabric_link *link = &fabric->links[number];
    const bool once = fabric->transport == TLA_TRANSPORT_ONCE;
    const uint64_t nbytes = once ? m->nbytes : f->nbytes;
    const uint64_t duration_ps = tla_transfer_ps(nbytes, link->bandwidth_bytes_per_s);
    const uint64_t start_ps = tla_timeline_serve(&fabric->states[number].timeline, at_ps, duration_ps);
    fabric_note_load(fabric, number, &(carriage){m->transfer, nbytes, at_ps, start_ps, duration_ps, f->number == 0});
    at_ps = add_saturated(add_saturated(start_ps, once ? 0 : duration_ps), link->latency_ps);
    f->node = link->to;
    if (is_at_end(f) && fabric->nodes[f->node].node.overhead_ps == 0)
        end_flit(fabric, f, at_ps);
    else
        fabric->host.post(fabric->host.context, at_ps, f->node, (UINT64_C(1) << 32) | number, f);
}

/* ---- nodes that store and forward ---- */

static collector *collector_at(const group *g, uint32_t node, bool requests) {
    collector *c = g->collectors;
    while (c->node != node || c->requests != requests)
        c = c->next;
    return c;
}

static void pass_all(tla_fabric *fabric, collector *c, uint64_t at_ps) {
    tla_flit *f = c->first;
    c->first = NULL;
    c->end = &c->first;
    while (f) {
        tla_flit *const next = f->next; /* what ends with a flit may be all there was of the group */
        f->held = false;
        pass(fabric, f, at_ps);
        f = next;
    }
}

/* Holds the flit until everything that belongs to it has arrived. */
static void collect(tla_fabric *fabric, tla_flit *f, uint64_t at_ps) {
    message *const m = f->of;
    collector *const c = collector_at(m->collected, f->node, m->request);
    if (!f->held) {
        f->held = true;
        f->next = NULL;
        *c->end = f;
        c->end = &f->next;
        c->messages += f->number == (m->nbytes - 1) / fabric->flit;
    }
    if (collector_has_all(m->collected, c)) pass_all(fabric, c, at_ps);
}

/* ---- arrivals ---- */

static void arrive(tla_fabric *fabric, tla_flit *f, uint64_t at_ps) {
    const message *const m = f->of;
    if (!is_at_end(f) && m->collected && m->nbytes > 0 && fabric->nodes[f->node].node.store_and_forward)
        collect(fabric, f, at_ps);
    else
        pass(fabric, f, at_ps);
}

/* All flits of a message enter together. Those of the first one with data have come first at every node behind. */
static void enter(tla_fabric *fabric, message *m, uint64_t at_ps) {
    m->entered = true;
    if (m->nbytes > 0 && m->part) {
        bool *const left = m->request ? &m->part->written : &m->part->answered;
        m->opens = !*left;
        *left = true;
    }
    tla_flit *f = &m->first;
    while (f) {
        tla_flit *const next = f->next; /* the message is gone with its last flit */
        pass(fabric, f, at_ps);
        f = next;
    }
}

void tla_fabric_arrive(tla_flit *flit, uint64_t at_ps) {
    tla_fabric *const fabric = flit->of->fabric;
    if (flit->of->entered)
        arrive(fabric, flit, at_ps);
    else
        enter(fabric, flit->of, at_ps);
}

/* ---- entering ---- */

/* A message of an access, which waits to be sent; NULL without host memory. */
static message *message_of(tla_fabric *fabric, const tla_fabric_access *access, bool request, uint64_t nbytes,
                           void *tag) {
    group *lone = NULL;
    if (!access->part && fabric->collects && nbytes > fabric->flit) {
        lone = group_of_way(fabric, access->way);
        if (!lone) return NULL;
        lone->requests = lone->answers = 1;
    }
    message *m = new_message(fabric, nbytes);
    if (!m) {
        group_leave(lone);
        return NULL;
    }
    m->way = access->way;
    m->request = request;
    m->write = access->write;
    m->opens = !access->part;
    m->part = access->part;
    m->transfer = fabric_transfer_of(fabric, access);
    m->collected = lone ? lone : access->group;
    m->tag = tag;
    return m;
}

static void send(tla_fabric *fabric, message *m, uint32_t input, uint64_t at_ps) {
    const uint32_t node = m->request ? m->way->from : m->way->to;
    for (tla_flit *f = &m->first; f; f = f->next)
        f->node = node;
    fabric->host.post(fabric->host.context, at_ps, node, input, &m->first);
}

tla_status tla_fabric_enter_request(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                    uint32_t input, void *tag) {
    const tla_status status = fabric_join(fabric, access);
    if (status != TLA_OK) return status;
    transaction_part *const part = access->part;
    const bool there = access->from == access->to, follows = part && nbytes == 0 && part->request != UNASKED;
    message *m = NULL;
    if (!there && !(follows && part->request == ASKED)) {
        m = message_of(fabric, access, true, nbytes, tag);
        if (!m) return TLA_NO_HOST_MEMORY;
    }
    transaction_enter(access, at_ps);
    if (there) {
        fabric->host.arrived(fabric->host.context, tag, at_ps);
    } else if (!m) {
        const uint64_t there_ps = later(add_saturated(at_ps, part->there_ps), part->opened_ps);
        fabric->host.arrived(fabric->host.context, tag, there_ps);
    } else if (follows) {
        m->at_ps = at_ps;
        *part->followers_end = m;
        part->followers_end = &m->next;
    } else {
        if (part && nbytes == 0) {
            part->request = ASKING;
            m->opens = true;
        }
        send(fabric, m, input, at_ps);
    }
    return TLA_OK;
}

/* An answer without data: nothing is left to be collected of this access. */
static void forgo_data(tla_fabric *fabric, tla_fabric_access *access, uint64_t at_ps) {
    group *const g = access->group;
    if (!g) return;
    if (!access->write) {
        access->transaction->held -= g->open && g->holds[false];
        g->answers--;
        group_look(fabric, g, at_ps);
    }
    group_leave(g);
}

tla_status tla_fabric_enter_answer(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                   uint32_t input, void *tag) {
    transaction_part *const part = access->part;
    const bool there = access->from == access->to;
    message *m = NULL;
    if (!there) {
        m = message_of(fabric, access, false, nbytes, tag);
        if (!m) return TLA_NO_HOST_MEMORY;
    }
    transaction_leave(access, at_ps);
    if (there) {
        fabric->host.arrived(fabric->host.context, tag, at_ps);
        return TLA_OK;
    }
    if (nbytes > 0 || !part) {
        send(fabric, m, input, at_ps);
        return TLA_OK;
    }
    forgo_data(fabric, access, at_ps);
    m->collected = NULL;
    if (transaction_is_over(access) && !(access->write && access->transaction->posted)) {
        m->opens = true;
        send(fabric, m, input, part->latest_ps);
        return TLA_OK;
    }
    drop_flits(fabric, m);
    drop_message(fabric, m);
    const bool waits = !(access->write && access->transaction->posted);
    fabric->host.arrived(fabric->host.context, tag, waits ? add_saturated(at_ps, part->back_ps) : at_ps);
    return TLA_OK;
}
