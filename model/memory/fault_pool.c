/* Decides page faults within delegations: which memory a page gets, and who maps it. */
#include "fault_pool.h"

#include <stdlib.h>
#include <string.h>

typedef struct delegation {
    struct delegation *next;
    tla_map_entry range;
    tla_scope scope;
    tla_memory_kind memory;
    uint32_t object;
    uint64_t given_bytes;
    uint8_t *there; /* a bit for each page that is known to be mapped; NULL before the first */
} delegation;

typedef enum fault_stage { ALLOCATES, MAPS, TELLS_MAPPED, UNMAPS, FREES, TELLS_OWED } fault_stage;

struct tla_fault_pool {
    tla_fault_pool_config config;
    delegation *first; /* the last that was delegated */
    size_t count;
    tla_fault_pool_counts counts;
    /* the fault that is being served */
    delegation *of;  /* NULL between faults */
    uint64_t number; /* of its page */
    fault_stage stage;
    bool is_there;     /* a page that somebody else has mapped */
    bool is_forgotten; /* the host does not know the tensor any more */
    tla_command command;
    tla_given_page page;
};

tla_status tla_fault_pool_create(const tla_fault_pool_config *config, tla_fault_pool **pool) {
    *pool = calloc(1, sizeof **pool);
    if (!*pool) return TLA_NO_HOST_MEMORY;
    (*pool)->config = *config;
    return TLA_OK;
}

static void drop(tla_fault_pool *pool, delegation **link) {
    delegation *const ended = *link;
    *link = ended->next;
    pool->count--;
    pool->counts.given_bytes -= ended->given_bytes;
    free(ended->there);
    free(ended);
}

void tla_fault_pool_reset(tla_fault_pool *pool) {
    while (pool->first)
        drop(pool, &pool->first);
}

void tla_fault_pool_destroy(tla_fault_pool *pool) {
    if (!pool) return;
    tla_fault_pool_reset(pool);
    free(pool);
}

tla_fault_pool_counts tla_fault_pool_get_counts(const tla_fault_pool *pool) {
    return pool->counts;
}

/* ---- delegations ---- */

/* Which delegations a command ends. */
typedef bool (*selection)(const tla_map_entry *delegated, const tla_map_entry *entry);

static bool overlap(const tla_map_entry *a, const tla_map_entry *b) {
    return a->asid == b->asid && (a->va.value - b->va.value < b->nbytes || b->va.value - a->va.value < a->nbytes);
}

static bool are_equal(const tla_map_entry *a, const tla_map_entry *b) {
    return a->asid == b->asid && a->va.value == b->va.value && a->nbytes == b->nbytes;
}

static bool selects(const tla_command *command, selection which, const delegation *d) {
    for (uint32_t i = 0; i < command->count; i++)
        if (which(&d->range, &command->entries[i])) return true;
    return false;
}

static void end_delegations(tla_fault_pool *pool, const tla_command *command, selection which) {
    for (delegation **link = &pool->first; *link;)
        if (selects(command, which, *link))
            drop(pool, link);
        else
            link = &(*link)->next;
}

static bool find_memory(const tla_fault_pool *pool, tla_paddr first, tla_memory_kind *memory) {
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        tla_paddr pa = {0};
        *memory = (tla_memory_kind)i;
        if (!tla_pe_memory_address(pool->config.memory, *memory, 0, &pa) && pa.value == first.value) return true;
    }
    return false;
}

tla_status tla_fault_pool_delegate(tla_fault_pool *pool, const tla_command *map, tla_work *work) {
    work->metadata_lines += map->count * (pool->count + 1);
    if (pool->of && selects(map, overlap, pool->of)) return TLA_BUSY;
    delegation *made = NULL;
    tla_status status = TLA_OK;
    for (uint32_t i = 0; i < map->count && !status; i++) {
        const tla_map_entry *e = &map->entries[i];
        tla_memory_kind memory = TLA_HBM;
        delegation *d = NULL;
        if (e->nbytes == 0 || e->va.value + (e->nbytes - 1) < e->va.value || e->flags == 0 ||
            !find_memory(pool, e->pa, &memory))
            status = TLA_INVALID_ARGUMENT;
        else if (!(d = calloc(1, sizeof *d)))
            status = TLA_NO_HOST_MEMORY;
        else
            *d = (delegation){
                .next = made, .range = *e, .scope = map->scope, .memory = memory, .object = map->correlation_id};
        if (d) made = d;
    }
    if (!status) end_delegations(pool, map, overlap);
    while (made) {
        delegation *d = made;
        made = d->next;
        if (status) {
            free(d);
            continue;
        }
        d->next = pool->first;
        pool->first = d;
        pool->count++;
    }
    return status;
}

tla_status tla_fault_pool_withdraw(tla_fault_pool *pool, const tla_command *unmap, tla_work *work) {
    work->metadata_lines += unmap->count * pool->count;
    for (uint32_t i = 0; i < unmap->count; i++) {
        const delegation *d = pool->first;
        while (d && !are_equal(&d->range, &unmap->entries[i]))
            d = d->next;
        if (!d) return TLA_NOT_FOUND;
    }
    if (pool->of && selects(unmap, are_equal, pool->of)) return TLA_BUSY;
    end_delegations(pool, unmap, are_equal);
    return TLA_OK;
}

/* ---- faults ---- */

static delegation *find(tla_fault_pool *pool, const tla_page_request *r, tla_work *work) {
    delegation *d = pool->first;
    for (; d; d = d->next) {
        work->metadata_lines++;
        if (d->range.asid == r->asid && r->va.value - d->range.va.value < d->range.nbytes) break;
    }
    return d;
}

static uint64_t number_of(const tla_fault_pool *pool, const delegation *d, const tla_page_request *r) {
    return (r->va.value - d->range.va.value) / pool->config.page_size;
}

/* False without host memory: no page of the tensor is known then. */
static bool has_bits(const tla_fault_pool *pool, delegation *d) {
    if (!d->there) d->there = calloc((size_t)((d->range.nbytes - 1) / pool->config.page_size / 8 + 1), 1);
    return d->there != NULL;
}

static void note_there(delegation *d, uint64_t number) {
    d->there[number / 8] |= (uint8_t)(1u << number % 8);
}

static tla_fault_step end(tla_fault_pool *pool, tla_fault_step step) {
    pool->of = NULL;
    pool->counts.passed_on += step == TLA_FAULT_PASSES_ON;
    return step;
}

/* Builds a command about the page. */
static tla_fault_step send(tla_fault_pool *pool, fault_stage stage) {
    const delegation *d = pool->of;
    const tla_given_page *page = &pool->page;
    tla_command *c = &pool->command;
    memset(c, 0, sizeof *c);
    pool->stage = stage;
    c->target = stage == MAPS || stage == UNMAPS ? TLA_TARGET_VA_MANAGER : TLA_TARGET_MEMORY_CONTROLLER;
    c->correlation_id = d->object;
    if (stage == MAPS || stage == UNMAPS) {
        c->opcode = stage == MAPS ? TLA_OP_MAP : TLA_OP_UNMAP;
        c->scope = d->scope;
        c->count = 1;
        c->entries[0] = (tla_map_entry){page->va, page->pa, page->nbytes, d->range.flags, page->asid};
        return TLA_FAULT_SENDS;
    }
    c->opcode = stage == ALLOCATES ? TLA_OP_ALLOC : TLA_OP_FREE;
    c->memory = d->memory;
    c->object = stage == ALLOCATES ? d->object : 0;
    c->pa = page->pa;
    c->nbytes = page->nbytes;
    return TLA_FAULT_SENDS;
}

static tla_fault_step tell(tla_fault_pool *pool, fault_stage stage) {
    pool->stage = stage;
    pool->page.mapped = stage == TELLS_MAPPED;
    return TLA_FAULT_TELLS;
}

tla_fault_step tla_fault_pool_begin(tla_fault_pool *pool, const tla_page_request *r, tla_work *work) {
    delegation *d = find(pool, r, work);
    if (!d || r->again || !has_bits(pool, d)) return end(pool, TLA_FAULT_PASSES_ON);
    work->metadata_lines++;
    const uint64_t number = number_of(pool, d, r), offset = number * pool->config.page_size,
                   left = d->range.nbytes - offset;
    const uint64_t nbytes = left < pool->config.page_size ? left : pool->config.page_size;
    if (d->there[number / 8] >> number % 8 & 1) {
        pool->counts.known++;
        return TLA_FAULT_IS_SERVED;
    }
    if (pool->config.limit > 0 && nbytes > pool->config.limit - pool->counts.given_bytes) {
        pool->counts.exhausted++;
        return end(pool, TLA_FAULT_PASSES_ON);
    }
    pool->of = d;
    pool->number = number;
    pool->is_there = pool->is_forgotten = false;
    pool->page = (tla_given_page){.va = {d->range.va.value + offset}, .nbytes = nbytes, .asid = r->asid};
    return send(pool, ALLOCATES);
}

/* Nobody would free further pages of the tensor. */
static tla_fault_step forget(tla_fault_pool *pool) {
    delegation **link = &pool->first;
    while (*link != pool->of)
        link = &(*link)->next;
    drop(pool, link);
    return end(pool, TLA_FAULT_FAILS);
}

/* The page is not mapped, and its block is no concern of this controller any more. */
static tla_fault_step give_up(tla_fault_pool *pool) {
    if (pool->is_forgotten) return forget(pool);
    if (!pool->is_there) return end(pool, TLA_FAULT_PASSES_ON);
    pool->counts.collisions++;
    note_there(pool->of, pool->number);
    return end(pool, TLA_FAULT_IS_SERVED);
}

/* The host has the page in its tables. */
static tla_fault_step give(tla_fault_pool *pool) {
    note_there(pool->of, pool->number);
    pool->of->given_bytes += pool->page.nbytes;
    pool->counts.given_bytes += pool->page.nbytes;
    pool->counts.pages++;
    return end(pool, TLA_FAULT_IS_SERVED);
}

tla_fault_step tla_fault_pool_report(tla_fault_pool *pool, tla_status status, uint64_t value) {
    switch (pool->stage) {
    case ALLOCATES:
        if (status) return end(pool, TLA_FAULT_PASSES_ON); /* the host states the cause */
        pool->page.pa.value = value;
        return send(pool, MAPS);
    case MAPS:
        pool->is_there = status == TLA_OVERLAP;
        return status ? send(pool, FREES) : tell(pool, TELLS_MAPPED);
    case TELLS_MAPPED:
        return status ? send(pool, UNMAPS) : give(pool);
    case UNMAPS:
        pool->is_forgotten = true;
        return status ? forget(pool) : send(pool, FREES); /* a mapped page stays allocated */
    case FREES: /* rejected by a fault plan, or for lack of a node of the list */
        return status == TLA_BUSY || status == TLA_LIMIT ? tell(pool, TELLS_OWED) : give_up(pool);
    case TELLS_OWED:
        break;
    }
    return give_up(pool);
}

const tla_command *tla_fault_pool_command(const tla_fault_pool *pool) {
    return &pool->command;
}

const tla_given_page *tla_fault_pool_page(const tla_fault_pool *pool) {
    return &pool->page;
}

void tla_fault_pool_served_by_host(tla_fault_pool *pool, const tla_page_request *request) {
    tla_work unpriced = {0};
    delegation *d = find(pool, request, &unpriced);
    if (d && has_bits(pool, d)) note_there(d, number_of(pool, d, request));
}
