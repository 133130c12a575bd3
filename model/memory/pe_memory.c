/* The memories of a controller: a stack each, physical addresses out (ADR-0048 D3, D7). */
#include "tlmalloc/memory/pe_memory.h"

#include "base/host_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct served_part {
    tla_stack *stack;
    tla_guard *guard;            /* NULL where nothing is guarded */
    tla_list_in_memory *traffic; /* NULL where the list is not followed */
} served_part;

struct tla_pe_memory {
    tla_pe_memory_config config;
    served_part of[TLA_MEMORY_KIND_COUNT];
    tla_owner owner;
    tla_error refused; /* by the guard; status TLA_OK when the last free was not */
};

static tla_status create_channel(tla_pe_memory *all, tla_memory_kind kind) {
    const tla_pe_memory_config *c = &all->config;
    served_part *m = &all->of[kind];
    const tla_stack_config stack = tla_pe_memory_stack_config(c, kind);
    tla_status status = tla_stack_create(&stack, &m->stack, NULL);
    if (status || !c->guarded || stack.capacity == 0) return status;
    if (!host_array_fits(c->guard_history, 1)) return TLA_NO_HOST_MEMORY;
    return tla_guard_create(tla_stack_live(m->stack), (size_t)c->guard_history, &m->guard);
}

tla_status tla_pe_memory_create(const tla_pe_memory_config *config, tla_pe_memory **out) {
    *out = NULL;
    if (tla_pe_memory_check_config(config, NULL)) return TLA_INVALID_ARGUMENT;
    tla_pe_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return TLA_NO_HOST_MEMORY;
    memory->config = *config;
    tla_status status = TLA_OK;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT && !status; kind++)
        status = create_channel(memory, (tla_memory_kind)kind);
    if (status) {
        tla_pe_memory_destroy(memory);
        return status;
    }
    *out = memory;
    return TLA_OK;
}

void tla_pe_memory_destroy(tla_pe_memory *memory) {
    if (!memory) return;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        tla_list_in_memory_destroy(memory->of[kind].traffic);
        tla_guard_destroy(memory->of[kind].guard);
        tla_stack_destroy(memory->of[kind].stack);
    }
    free(memory);
}

const tla_pe_memory_config *tla_pe_memory_get_config(const tla_pe_memory *memory) {
    return &memory->config;
}

void tla_pe_memory_set_owner(tla_pe_memory *memory, tla_owner owner) {
    memory->owner = owner;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        tla_stack_set_owner(memory->of[kind].stack, owner);
}

tla_stack *tla_pe_memory_stack(tla_pe_memory *memory, tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? memory->of[kind].stack : NULL;
}

tla_arena *tla_pe_memory_arena(tla_pe_memory *memory, tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? tla_stack_arena(memory->of[kind].stack) : NULL;
}

tla_status tla_pe_memory_follow(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nodes, uint64_t cache_entries) {
    tla_list_in_memory *made = NULL;
    if (tla_stack_front(memory->config.of[kind].policy) != TLA_FRONT_NONE) return TLA_UNSUPPORTED;
    if (tla_arena_is_driven(tla_stack_arena(memory->of[kind].stack))) return TLA_UNSUPPORTED;
    tla_status status = tla_list_in_memory_create(tla_stack_arena(memory->of[kind].stack), nodes, cache_entries, &made);
    if (status) return status;
    tla_list_in_memory_destroy(memory->of[kind].traffic);
    memory->of[kind].traffic = made;
    return TLA_OK;
}

tla_status tla_pe_memory_drive(tla_pe_memory *memory, tla_memory_kind kind, const tla_engine *engine, uint64_t nodes,
                               tla_error *error) {
    tla_arena *arena = tla_stack_arena(memory->of[kind].stack);
    tla_error inner = {.text = ""};
    tla_status status;
    if (!engine && nodes == 0) return TLA_OK;
    if (!arena) {
        char name[64];
        tla_stack_policy_print(memory->config.of[kind].policy, name, sizeof name);
        status = tla_error_set(&inner, TLA_UNSUPPORTED, "front %s keeps its own lists, which no engine supports", name);
    } else if (memory->of[kind].traffic) {
        status =
            tla_error_set(&inner, TLA_UNSUPPORTED, "an engine keeps its own free list and cannot use a list in memory");
    } else {
        status = tla_arena_drive(arena, engine, nodes, &inner);
    }
    return status ? tla_error_set(error, status, "%s: %s", tla_memory_kind_title(kind), inner.text) : TLA_OK;
}

tla_list_in_memory *tla_pe_memory_traffic(tla_pe_memory *memory, tla_memory_kind kind) {
    return memory->of[kind].traffic;
}

/* tla_stack_alloc, and the list follows. */
static tla_status take_followed(served_part *m, const tla_stack_request *request, tla_block *block, tla_work *work) {
    tla_work ignored = {0};
    if (!work) work = &ignored;
    tla_status status = tla_list_in_memory_prepare(m->traffic, NULL);
    if (status) return status;
    const uint64_t before = work->nodes_visited;
    status = tla_stack_alloc(m->stack, request, block, work);
    tla_work walk = {.nodes_visited = work->nodes_visited - before};
    tla_list_in_memory_alloc(m->traffic, status ? NULL : block, &walk);
    return status;
}

/* tla_stack_free, and the list follows. */
static tla_status free_followed(served_part *m, tla_block block, tla_work *work) {
    tla_block granted = {block.offset, tla_stack_granted(m->stack, block)};
    tla_status status = tla_list_in_memory_prepare(m->traffic, &granted);
    if (!status) status = tla_stack_free(m->stack, block, work);
    if (!status) tla_list_in_memory_free(m->traffic, granted);
    return status;
}

static tla_status free_guarded(tla_pe_memory *memory, tla_memory_kind kind, tla_block block, tla_work *work) {
    served_part *m = &memory->of[kind];
    tla_block known = block;
    tla_owner owner = {0};
    tla_status status =
        tla_guard_may_free(m->guard, block.offset, memory->owner, tla_memory_kind_title(kind), &memory->refused);
    if (status) return status;
    tla_arena_find(tla_stack_live(m->stack), block.offset, &known, &owner);
    status = m->traffic ? free_followed(m, block, work) : tla_stack_free(m->stack, block, work);
    if (!status) tla_guard_freed(m->guard, known, owner, memory->owner);
    return status;
}

tla_status tla_pe_memory_take(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                              tla_site *at, tla_work *work) {
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    served_part *m = &memory->of[kind];
    tla_block block;
    const tla_status status =
        m->traffic ? take_followed(m, request, &block, work) : tla_stack_alloc(m->stack, request, &block, work);
    if (status) return status;
    if (m->guard) tla_guard_allocated(m->guard, block);
    *at = tla_pe_memory_site_at(&memory->config, kind, block.offset);
    return TLA_OK;
}

/* Whether the range is in the memory that its first byte is in. */
static bool is_inside(const tla_pe_memory *memory, tla_site at, uint64_t nbytes) {
    if ((unsigned)at.memory >= TLA_MEMORY_KIND_COUNT) return false;
    const uint64_t bytes = memory->config.of[at.memory].bytes;
    return at.offset < bytes && nbytes <= bytes - at.offset;
}

tla_status tla_pe_memory_take_at(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (!is_inside(memory, at, nbytes)) return TLA_OUT_OF_RANGE;
    const served_part *m = &memory->of[at.memory];
    if (m->traffic) return TLA_UNSUPPORTED;
    const tla_block block = {at.offset, nbytes};
    const tla_status status = tla_stack_reserve(m->stack, block, work);
    if (!status && m->guard) tla_guard_allocated(m->guard, (tla_block){at.offset, tla_stack_granted(m->stack, block)});
    return status;
}

tla_status tla_pe_memory_put(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work) {
    if (nbytes > 0 && is_inside(memory, at, nbytes) && memory->of[at.memory].guard) return TLA_UNSUPPORTED;
    return tla_pe_memory_take_at(memory, at, nbytes, work);
}

tla_status tla_pe_memory_trim(tla_pe_memory *memory, tla_memory_kind kind, uint64_t *given_back, tla_work *work) {
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    return tla_stack_trim(memory->of[kind].stack, given_back, work);
}

tla_status tla_pe_memory_give_back(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (!is_inside(memory, at, nbytes)) return TLA_OUT_OF_RANGE;
    served_part *m = &memory->of[at.memory];
    const tla_block block = {at.offset, nbytes};
    memory->refused.status = TLA_OK;
    if (m->guard) return free_guarded(memory, at.memory, block, work);
    return m->traffic ? free_followed(m, block, work) : tla_stack_free(m->stack, block, work);
}

tla_status tla_pe_memory_alloc(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                               tla_work *work) {
    tla_site at;
    const tla_status status = tla_pe_memory_take(memory, kind, &(tla_stack_request){.nbytes = nbytes}, &at, work);
    if (!status) *pa = at.pa;
    return status;
}

tla_status tla_pe_memory_free(tla_pe_memory *memory, tla_paddr pa, uint64_t nbytes, tla_work *work) {
    return tla_pe_memory_give_back(memory, tla_pe_memory_find_site(&memory->config, pa), nbytes, work);
}

/* Where the list is followed: every block has a walk of its own. */
static tla_status take_batch_followed(served_part *m, const tla_stack_request *request, size_t n, tla_batch batch,
                                      tla_block *blocks, tla_work *work) {
    tla_list_in_memory *traffic = m->traffic;
    if (batch == TLA_BATCH_CONTIGUOUS) return TLA_UNSUPPORTED;
    tla_status status = tla_list_in_memory_prepare_batch(traffic, n, false);
    if (status) return status;
    if (!tla_arena_fits(tla_stack_arena(m->stack), request->nbytes, n)) {
        tla_work search = {0};
        status = tla_stack_alloc_batch(m->stack, request, n, batch, blocks, &search);
        tla_list_in_memory_alloc(traffic, NULL, &search);
        work->nodes_visited += search.nodes_visited;
        work->list_length += search.list_length;
        return status;
    }
    size_t taken = 0;
    while (taken < n && !(status = take_followed(m, request, &blocks[taken], work)))
        taken++;
    while (status && taken > 0) /* the host has no memory */
        free_followed(m, (tla_block){blocks[--taken].offset, request->nbytes}, work);
    return status;
}

tla_status tla_pe_memory_request_batch(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                                       size_t n, tla_batch batch, tla_block *blocks, tla_work *work) {
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    tla_work ignored = {0};
    if (!work) work = &ignored;
    served_part *m = &memory->of[kind];
    tla_status status = m->traffic ? take_batch_followed(m, request, n, batch, blocks, work)
                                   : tla_stack_alloc_batch(m->stack, request, n, batch, blocks, work);
    for (size_t i = 0; i < n && !status && m->guard; i++)
        tla_guard_allocated(m->guard, blocks[i]);
    return status;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Asks for the owners of the blocks before the release. */
static tla_status free_guarded_batch(tla_pe_memory *memory, tla_memory_kind kind, tla_block *blocks, size_t n,
                                     size_t *freed, tla_work *work) {
    tla_guard *guard = memory->of[kind].guard;
    struct {
        tla_block block;
        tla_owner owner;
    } *known = calloc(n + 1, sizeof *known);
    tla_status status = known ? TLA_OK : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n && !status; i++) {
        status =
            tla_guard_may_free(guard, blocks[i].offset, memory->owner, tla_memory_kind_title(kind), &memory->refused);
        if (!status)
            tla_arena_find(tla_stack_live(memory->of[kind].stack), blocks[i].offset, &known[i].block, &known[i].owner);
    }
    if (!status) status = tla_stack_free_batch(memory->of[kind].stack, blocks, n, freed, work);
    for (size_t i = 0; i < *freed; i++)
        tla_guard_freed(guard, known[i].block, known[i].owner, memory->owner);
    free(known);
    return status;
}

tla_status tla_pe_memory_free_batch(tla_pe_memory *memory, tla_memory_kind kind, tla_block *blocks, size_t n,
                                    size_t *freed, tla_work *work) {
    *freed = 0;
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    memory->refused.status = TLA_OK;
    if (n > 0) qsort(blocks, n, sizeof *blocks, by_offset);
    if (!memory->of[kind].traffic)
        return memory->of[kind].guard ? free_guarded_batch(memory, kind, blocks, n, freed, work)
                                      : tla_stack_free_batch(memory->of[kind].stack, blocks, n, freed, work);
    tla_status status = tla_list_in_memory_prepare_batch(memory->of[kind].traffic, n, true);
    for (; *freed < n && !status; *freed += !status)
        status = tla_pe_memory_give_back(memory, (tla_site){.memory = kind, .offset = blocks[*freed].offset},
                                         blocks[*freed].nbytes, work);
    return status;
}

const tla_error *tla_pe_memory_last_error(const tla_pe_memory *memory, tla_memory_kind kind) {
    return memory->refused.status ? &memory->refused : tla_stack_last_error(memory->of[kind].stack);
}

uint64_t tla_pe_memory_granted(const tla_pe_memory *memory, tla_memory_kind kind, tla_block block) {
    return tla_stack_granted(memory->of[kind].stack, block);
}

tla_status tla_pe_memory_look(const tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access,
                              tla_error *error) {
    if (!memory->of[kind].guard) return TLA_OK;
    return tla_guard_look(memory->of[kind].guard, access, tla_memory_kind_title(kind), error);
}

void tla_pe_memory_note(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access) {
    if (memory->of[kind].guard) tla_guard_note(memory->of[kind].guard, access);
}

void tla_pe_memory_trust(tla_pe_memory *memory, tla_memory_kind kind, tla_block range) {
    if (memory->of[kind].guard) tla_guard_trust(memory->of[kind].guard, range);
}

void tla_pe_memory_copied(tla_pe_memory *memory, tla_site from, uint64_t nbytes, tla_site to) {
    const tla_guard *const guard = memory->of[from.memory].guard;
    if (guard) tla_guard_copied(guard, (tla_block){from.offset, nbytes}, memory->of[to.memory].guard, to.offset);
}

void tla_pe_memory_set_shares(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_shares *shares) {
    if (memory->of[kind].guard) tla_guard_set_shares(memory->of[kind].guard, shares);
}

tla_status tla_pe_memory_find(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t offset, tla_block *block,
                              tla_owner *owner) {
    const tla_arena *live = tla_stack_live(memory->of[kind].stack);
    return live ? tla_arena_find(live, offset, block, owner) : TLA_UNSUPPORTED;
}

tla_arena_stats tla_pe_memory_get_stats(const tla_pe_memory *memory, tla_memory_kind kind) {
    return tla_stack_get_stats(memory->of[kind].stack).memory;
}

tla_status tla_pe_memory_explain(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_error *error) {
    const tla_pe_memory_config *c = &memory->config;
    char what[80];
    const int length = snprintf(what, sizeof what, "%s", tla_memory_kind_title(kind));
    char *const place = what + length;
    const size_t room = sizeof what - (size_t)length;
    if (c->layout == TLA_LAYOUT_PLAIN)
        *place = '\0'; /* in a platform of its own */
    else if (tla_memory_scope_of(kind) == TLA_SCOPE_PE)
        snprintf(place, room, " of sip%" PRIu32 ".cube%" PRIu32 ".pe%" PRIu32, c->sip, c->die, c->pe);
    else if (tla_memory_scope_of(kind) == TLA_SCOPE_CUBE)
        snprintf(place, room, " of sip%" PRIu32 ".cube%" PRIu32, c->sip, c->die);
    return tla_stack_explain(memory->of[kind].stack, what, &(tla_stack_request){.nbytes = nbytes}, error);
}
