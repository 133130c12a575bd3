/* Lists of free blocks for the units and for lockstep, and the searches in several of them at once. */
#include "tlmalloc/stack/units.h"

#include "arena/list_placement.h"

#include <inttypes.h>
#include <stdlib.h>

struct tla_units {
    tla_units_config config;
    uint64_t *used;        /* bytes, by list */
    tla_free_list lists[]; /* by unit; then lockstep's */
};

static const uint64_t largest = (uint64_t)1 << 63;

const char *tla_units_mode_name(tla_units_mode mode) {
    static const char *const names[] = {"single", "lockstep", "range", "common"};
    return (unsigned)mode < TLA_UNITS_MODE_COUNT ? names[mode] : NULL;
}

static tla_free_list *list_of(const tla_units *u, uint32_t unit) {
    return (tla_free_list *)&u->lists[unit == TLA_UNITS_ALL ? u->config.units : unit];
}

tla_status tla_units_create(const tla_units_config *config, tla_units **out) {
    *out = NULL;
    tla_units_config c = *config;
    if (c.alignment == 0) c.alignment = 1;
    const uint64_t mask = c.alignment - 1;
    if (c.units == 0 || c.units == TLA_UNITS_ALL || c.bytes == 0 || c.base > largest || c.bytes > largest - c.base ||
        (c.alignment & mask) || (c.base & mask))
        return TLA_INVALID_ARGUMENT;
    tla_units *u = calloc(1, sizeof *u + ((size_t)c.units + 1) * sizeof u->lists[0]);
    if (!u) return TLA_NO_HOST_MEMORY;
    u->used = calloc((size_t)c.units + 1, sizeof *u->used);
    for (u->config.units = 0; u->used && u->config.units <= c.units; u->config.units++) {
        tla_free_list *list = &u->lists[u->config.units];
        tla_free_join join;
        if (tla_free_list_init(list)) break;
        if (tla_free_list_put(list, (tla_block){c.base, c.bytes}, &join)) {
            tla_free_list_release(list);
            break;
        }
    }
    if (u->config.units <= c.units) {
        while (u->config.units > 0)
            tla_free_list_release(&u->lists[--u->config.units]);
        free(u->used);
        free(u);
        return TLA_NO_HOST_MEMORY;
    }
    u->config = c;
    *out = u;
    return TLA_OK;
}

void tla_units_destroy(tla_units *u) {
    if (!u) return;
    for (size_t i = 0; i <= u->config.units; i++)
        tla_free_list_release(&u->lists[i]);
    free(u->used);
    free(u);
}

/* A list of a request, and the bytes that must be free there. */
typedef struct part {
    tla_free_list *list;
    uint64_t *used;
    uint64_t nbytes;
    bool taken;  /* the buffer is live in this list */
    bool walked; /* by the engine, which passes over the lists of units that hold no buffer */
} part;

/* A request in figures: its parts are those of `units` units, and then lockstep's. */
typedef struct plan {
    const tla_units *u;
    const tla_units_request *request;
    size_t units;
    uint64_t nbytes; /* the largest extent */
} plan;

static uint64_t extent(const plan *p, size_t i) {
    const tla_units_request *r = p->request;
    const uint64_t nbytes = r->mode == TLA_UNITS_COMMON && r->extents ? r->extents[i] : r->nbytes;
    const uint64_t mask = p->u->config.alignment - 1;
    return nbytes > largest ? 0 : (nbytes + mask) & ~mask;
}

static part part_of(const plan *p, size_t i) {
    const tla_units_request *r = p->request;
    const bool own = r->mode == TLA_UNITS_SINGLE || r->mode == TLA_UNITS_COMMON;
    const bool all = i == p->units;
    const uint32_t unit = all ? p->u->config.units : r->mode == TLA_UNITS_LOCKSTEP ? (uint32_t)i : r->units[i];
    uint64_t *const used = &p->u->used[unit];
    const bool taken = own != all;
    return (part){list_of(p->u, unit), used, all ? p->nbytes : extent(p, i), taken, taken || all || *used > 0};
}

static bool make_plan(const tla_units *u, const tla_units_request *r, plan *p) {
    const bool named = r->mode != TLA_UNITS_LOCKSTEP;
    *p = (plan){u, r, named ? r->count : u->config.units, 0};
    if (r->mode > TLA_UNITS_COMMON || r->fill > TLA_TOP_DOWN) return false;
    if (p->units == 0 || (r->mode == TLA_UNITS_SINGLE && p->units != 1)) return false;
    for (size_t i = 0; i < p->units; i++) {
        if (named && (r->units[i] >= u->config.units || (i > 0 && r->units[i] <= r->units[i - 1]))) return false;
        const uint64_t nbytes = extent(p, i);
        if (nbytes == 0) return false;
        if (nbytes > p->nbytes) p->nbytes = nbytes;
    }
    return true;
}

static uint64_t end_of(tla_block block) {
    return block.offset + block.nbytes;
}

/* Finds the lowest address from `from` on, or the highest up to it, that has nbytes free in a list. */
static bool next_in(const part *in, const plan *p, tla_fill fill, uint64_t nbytes, uint64_t *address) {
    const tla_free_list *list = in->list;
    const uint64_t from = *address;
    tla_free_spot spot;
    bool below = tla_free_list_up_to(list, from, &spot);
    if (fill == TLA_BOTTOM_UP) {
        if (below && end_of(spot.block) >= from + nbytes) return true;
        if (!tla_free_list_first_from(list, from, nbytes, &spot)) return false;
        *address = spot.block.offset;
        return true;
    }
    if (below && spot.block.nbytes < nbytes) below = tla_free_list_last_below(list, spot.block.offset, nbytes, &spot);
    if (!below) return false;
    const uint64_t last = (end_of(spot.block) - nbytes) & ~(p->u->config.alignment - 1);
    *address = last < from ? last : from;
    return true;
}

/* Finds the next address at which all lists of a request are free: each list in turn leads past its live bytes, until
 * all agree. `same`: with so many bytes in each of them; 0: with the bytes of the request. */
static bool find(const plan *p, tla_fill fill, uint64_t same, uint64_t *address) {
    for (size_t i = p->units, agreed = 0; agreed <= p->units; i = i == 0 ? p->units : i - 1) {
        const part at = part_of(p, i);
        const uint64_t before = *address;
        if (at.walked && !next_in(&at, p, fill, same ? same : at.nbytes, address)) return false;
        agreed = *address == before ? agreed + 1 : 1;
    }
    return true;
}

typedef struct room {
    uint64_t free, largest;
} room;

/* Adds up the bytes that are free in all lists of a request at once. */
static room room_in_all(const plan *p) {
    const tla_units_config *c = &p->u->config;
    const tla_free_list *lockstep = list_of(p->u, TLA_UNITS_ALL);
    room all = {c->bytes - p->u->used[c->units], tla_free_list_largest(lockstep)};
    bool alone = true;
    for (size_t i = 0; i < p->units; i++)
        alone &= *part_of(p, i).used == 0;
    if (alone) return all;
    all = (room){0, 0};
    for (uint64_t at = c->base; at < c->base + c->bytes && find(p, TLA_BOTTOM_UP, c->alignment, &at);) {
        uint64_t end = c->base + c->bytes;
        for (size_t i = 0; i <= p->units; i++) {
            const part of = part_of(p, i);
            tla_free_spot spot;
            if (of.walked && tla_free_list_up_to(of.list, at, &spot) && end_of(spot.block) < end)
                end = end_of(spot.block);
        }
        all.free += end - at;
        if (end - at > all.largest) all.largest = end - at;
        at = end;
    }
    return all;
}

static tla_status no_fit(const plan *p, room all) {
    return all.free < p->nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED;
}

static tla_status search_in_vain(const plan *p, tla_work *work) {
    for (size_t i = 0; i <= p->units; i++) {
        const part at = part_of(p, i);
        if (at.walked) tla_list_search_in_vain(at.list, 0, work);
    }
    return no_fit(p, room_in_all(p));
}

/* Makes one change of each taken list possible without host memory. */
static tla_status make_room(const plan *p) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i <= p->units && !status; i++) {
        const part at = part_of(p, i);
        if (at.taken) status = tla_free_list_make_room(at.list, 1);
    }
    return status;
}

/* Takes a range that is free in all lists of a request. */
static tla_status take(const plan *p, uint64_t address, tla_work *work) {
    const tla_status status = make_room(p);
    if (status) return status;
    for (size_t i = 0; i <= p->units; i++) {
        const part at = part_of(p, i);
        const uint64_t count = tla_free_list_count(at.list);
        tla_free_spot spot;
        if (!at.walked || !tla_free_list_up_to(at.list, address, &spot)) continue; /* find has seen it */
        const uint64_t visited = p->request->fill == TLA_BOTTOM_UP ? spot.rank + 1 : count - spot.rank;
        if (at.taken) {
            tla_list_take(at.list, &spot, (tla_block){address, at.nbytes}, visited, work);
            *at.used += at.nbytes;
        } else {
            work->nodes_visited += visited;
            work->list_length += count;
        }
    }
    return TLA_OK;
}

tla_status tla_units_alloc(tla_units *u, const tla_units_request *request, uint64_t *address, tla_work *work) {
    tla_work unwanted = {0};
    plan p;
    if (!work) work = &unwanted;
    if (!make_plan(u, request, &p)) return TLA_INVALID_ARGUMENT;
    if (p.nbytes > u->config.bytes) return search_in_vain(&p, work);
    uint64_t at = u->config.base;
    if (request->fill == TLA_TOP_DOWN) at += (u->config.bytes - p.nbytes) & ~(u->config.alignment - 1);
    if (!find(&p, request->fill, 0, &at)) return search_in_vain(&p, work);
    const tla_status status = take(&p, at, work);
    if (!status) *address = at;
    return status;
}

static tla_status check_place(const plan *p, uint64_t address) {
    const tla_units_config *c = &p->u->config;
    if (address & (c->alignment - 1)) return TLA_INVALID_ARGUMENT;
    const bool inside = address >= c->base && address < c->base + c->bytes && p->nbytes <= c->base + c->bytes - address;
    return inside ? TLA_OK : TLA_OUT_OF_RANGE;
}

tla_status tla_units_reserve(tla_units *u, const tla_units_request *request, uint64_t address, tla_work *work) {
    tla_work unwanted = {0};
    plan p;
    if (!make_plan(u, request, &p)) return TLA_INVALID_ARGUMENT;
    const tla_status status = check_place(&p, address);
    if (status) return status;
    uint64_t free_from = address;
    if (!find(&p, TLA_BOTTOM_UP, 0, &free_from) || free_from != address) return TLA_OVERLAP;
    return take(&p, address, work ? work : &unwanted);
}

/* Gives a range back to a list, into which the engine inserts it in the direction of its searches. */
static tla_status give_back(const part *to, tla_fill fill, uint64_t address, tla_work *work) {
    const uint64_t count = tla_free_list_count(to->list), before = work->insert_nodes;
    tla_free_join join;
    const tla_status status = tla_list_put(to->list, (tla_block){address, to->nbytes}, &join, work);
    if (status) return status;
    if (fill == TLA_TOP_DOWN) work->insert_nodes = before + count - join.rank;
    *to->used -= to->nbytes;
    return TLA_OK;
}

tla_status tla_units_free(tla_units *u, const tla_units_request *request, uint64_t address, tla_work *work) {
    tla_work unwanted = {0};
    plan p;
    if (!make_plan(u, request, &p)) return TLA_INVALID_ARGUMENT;
    tla_status status = check_place(&p, address);
    if (status) return status;
    for (size_t i = 0; i <= p.units; i++) {
        const part at = part_of(&p, i);
        if (at.taken && tla_free_list_touches(at.list, (tla_block){address, at.nbytes})) return TLA_NOT_ALLOCATED;
    }
    status = make_room(&p);
    for (size_t i = 0; i <= p.units && !status; i++) {
        const part at = part_of(&p, i);
        if (at.taken) status = give_back(&at, request->fill, address, work ? work : &unwanted);
    }
    return status;
}

tla_status tla_units_get_room(const tla_units *u, const tla_units_request *request, uint64_t *free,
                              uint64_t *largest_free) {
    plan p;
    if (!make_plan(u, request, &p)) return TLA_INVALID_ARGUMENT;
    const room all = room_in_all(&p);
    *free = all.free;
    *largest_free = all.largest;
    return TLA_OK;
}

tla_status tla_units_get_stats(const tla_units *u, uint32_t unit, tla_units_stats *stats) {
    if (unit >= u->config.units && unit != TLA_UNITS_ALL) return TLA_OUT_OF_RANGE;
    const tla_free_list *list = list_of(u, unit);
    const uint64_t used = u->used[unit == TLA_UNITS_ALL ? u->config.units : unit];
    *stats = (tla_units_stats){.used = used,
                               .free = u->config.bytes - used,
                               .largest_free = tla_free_list_largest(list),
                               .free_blocks = tla_free_list_count(list)};
    return TLA_OK;
}

tla_status tla_units_explain(const tla_units *u, const char *what, const tla_units_request *request, tla_error *error) {
    static const char *const names[] = {"one unit", "lockstep", "range lockstep", "a common address"};
    plan p;
    if (!make_plan(u, request, &p))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: a request has 1 to 2^63 bytes, and names units below %" PRIu32 " in ascending order",
                             what, u->config.units);
    const room all = room_in_all(&p);
    tla_units_stats lockstep = {0};
    tla_units_get_stats(u, TLA_UNITS_ALL, &lockstep);
    const tla_status status =
        tla_error_set(error, no_fit(&p, all),
                      "%s overflow: requested %" PRIu64 " bytes for %s in %zu of %" PRIu32 " units, %" PRIu64
                      " free in all of these at once, largest such range %" PRIu64
                      "; lockstep's list alone has %" PRIu64 " free, largest block %" PRIu64 ": %s",
                      what, p.nbytes, names[request->mode], p.units, u->config.units, all.free, all.largest,
                      lockstep.free, lockstep.largest_free, all.free < p.nbytes ? "exhausted" : "fragmented");
    if (!error) return status;
    error->requested = p.nbytes;
    error->total_free = all.free;
    error->largest_free = all.largest;
    return status;
}
