/* The memories of a controller: a stack each, physical addresses out (ADR-0048 D3, D7). */
#include "tlmalloc/memory/pe_memory.h"

#include "base/host_array.h"
#include "base/phrase.h"
#include "tlmalloc/memory/address_windows.h"

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

/* A memory as the configuration has it. */
static tla_memory_part part_of(const tla_pe_memory_config *c, tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? c->of[kind] : (tla_memory_part){0};
}

static bool is_sliced(tla_memory_kind kind) {
    return tla_memory_kind_unit(kind) == TLA_UNIT_HBM;
}

/* Where it begins in its unit: slices lie one behind the other. */
static uint64_t first_of(const tla_pe_memory_config *c, tla_memory_kind kind) {
    return tla_memory_kind_first(kind) + (is_sliced(kind) ? c->pe * c->of[kind].bytes : 0);
}

/* Whether the PE's number is in its addresses. */
static bool names_pe(tla_memory_kind kind) {
    return tla_memory_scope_of(kind) == TLA_SCOPE_PE && !is_sliced(kind);
}

uint64_t tla_pe_memory_bytes(const tla_pe_memory_config *config, tla_memory_kind kind) {
    return part_of(config, kind).bytes;
}

uint64_t tla_pe_memory_capacity(const tla_pe_memory_config *config, tla_memory_kind kind) {
    const tla_memory_part part = part_of(config, kind);
    return part.bytes - part.reserved;
}

tla_status tla_pe_memory_address(const tla_pe_memory_config *c, tla_memory_kind kind, uint64_t offset, tla_paddr *pa) {
    if (offset >= part_of(c, kind).bytes) return TLA_INVALID_ARGUMENT;
    if (c->layout == TLA_LAYOUT_PLAIN) {
        pa->value = c->of[kind].base + offset;
        return TLA_OK;
    }
    const bool of_host = tla_memory_scope_of(kind) == TLA_SCOPE_HOST;
    return tla_paddr_encode(&(tla_paddr_fields){.sip = of_host ? 0 : c->sip,
                                                .die = of_host ? TLA_HOST_DIE : c->die,
                                                .unit = tla_memory_kind_unit(kind),
                                                .pe = names_pe(kind) ? c->pe : 0,
                                                .offset = first_of(c, kind) + offset},
                            pa);
}

tla_stack_config tla_pe_memory_stack_config(const tla_pe_memory_config *c, tla_memory_kind kind) {
    const tla_memory_part part = part_of(c, kind);
    return (tla_stack_config){.capacity = part.bytes - part.reserved,
                              .policy = part.policy,
                              .alignment = c->alignment,
                              .validate = c->validate || c->guarded,
                              .sizes = part.front};
}

/* The memories that there are, as windows: where none overlaps another and none goes past 2^64. */
static tla_status check_bases(const tla_pe_memory_config *c, tla_error *error) {
    tla_address_window windows[TLA_MEMORY_KIND_COUNT];
    size_t count = 0;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        const uint64_t bytes = c->of[kind].bytes, base = c->of[kind].base;
        const char *title = tla_memory_kind_title((tla_memory_kind)kind);
        if (bytes == 0) continue;
        if (c->alignment > 1 && base % c->alignment)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " is not a multiple of alignment %" PRIu64, title, base,
                                 c->alignment);
        if (base > UINT64_MAX - (bytes - 1))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " + %" PRIu64 " bytes ends past 2^64", title, base, bytes);
        windows[count++] = (tla_address_window){.base = base, .size = bytes, .target = (uint32_t)kind};
    }
    if (!tla_address_windows_sort(windows, count, TLA_MEMORY_KIND_COUNT)) return TLA_OK;
    size_t second = 1;
    while (windows[second].base - windows[second - 1].base >= windows[second - 1].size)
        second++;
    const tla_address_window *a = &windows[second - 1], *b = &windows[second];
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s at 0x%" PRIx64 " .. 0x%" PRIx64 " and %s at 0x%" PRIx64 " .. 0x%" PRIx64 " overlap",
                         tla_memory_kind_title(a->target), a->base, a->base + (a->size - 1),
                         tla_memory_kind_title(b->target), b->base, b->base + (b->size - 1));
}

static tla_status create_channel(tla_pe_memory *all, tla_memory_kind kind) {
    const tla_pe_memory_config *c = &all->config;
    served_part *m = &all->of[kind];
    const tla_stack_config stack = tla_pe_memory_stack_config(c, kind);
    tla_status status = tla_stack_create(&stack, &m->stack, NULL);
    if (status || !c->guarded || stack.capacity == 0) return status;
    if (!host_array_fits(c->guard_history, 1)) return TLA_NO_HOST_MEMORY;
    return tla_guard_create(tla_stack_live(m->stack), (size_t)c->guard_history, &m->guard);
}

static tla_status check_number(const char *what, uint64_t value, uint64_t most, tla_error *error) {
    if (value <= most) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ": must be 0 .. %" PRIu64, what, value, most);
}

static tla_status check_size(const tla_pe_memory_config *c, tla_memory_kind kind, tla_error *error) {
    const tla_memory_part *part = &c->of[kind];
    const uint64_t there = tla_memory_kind_bytes_max(kind);
    const uint64_t most = c->layout == TLA_LAYOUT_PLAIN ? TLA_HOST_MEMORY_BYTES
                          : is_sliced(kind)             ? there / (c->pe + UINT64_C(1))
                                                        : there;
    const tla_phrase bytes = tla_phrase_of("%s: bytes", tla_memory_kind_title(kind));
    const tla_phrase reserved = tla_phrase_of("%s: reserved", tla_memory_kind_title(kind));
    const tla_status status = check_number(bytes.text, part->bytes, most, error);
    if (status || part->reserved <= part->bytes) return status;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ": must be at most its bytes, %" PRIu64,
                         reserved.text, part->reserved, part->bytes);
}

tla_status tla_pe_memory_check_config(const tla_pe_memory_config *c, tla_error *error) {
    tla_status status = check_number("sip", c->sip, TLA_SIP_COUNT - 1, error);
    if (!status) status = check_number("die", c->die, TLA_CUBE_DIE_COUNT - 1, error);
    if (!status) status = check_number("pe", c->pe, TLA_PE_COUNT - 1, error);
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT && !status; kind++)
        status = check_size(c, (tla_memory_kind)kind, error);
    if (status) return status;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        const tla_stack_config stack = tla_pe_memory_stack_config(c, (tla_memory_kind)kind);
        tla_error why;
        if (tla_stack_check_config(&stack, &why))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: %s", tla_memory_kind_title((tla_memory_kind)kind),
                                 why.text);
    }
    return c->layout == TLA_LAYOUT_PLAIN ? check_bases(c, error) : TLA_OK;
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
    if (tla_stack_front(part_of(&memory->config, kind).policy) != TLA_FRONT_NONE) return TLA_UNSUPPORTED;
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
        tla_stack_policy_print(part_of(&memory->config, kind).policy, name, sizeof name);
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

static tla_status locate_plain(const tla_pe_memory_config *c, uint64_t address, uint64_t nbytes, tla_memory_kind *kind,
                               uint64_t *offset) {
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const uint64_t bytes = c->of[i].bytes, into = address - c->of[i].base;
        if (into >= bytes || nbytes > bytes - into) continue;
        *kind = (tla_memory_kind)i;
        *offset = into;
        return TLA_OK;
    }
    return TLA_OUT_OF_RANGE;
}

tla_status tla_pe_memory_locate(const tla_pe_memory_config *c, tla_paddr pa, uint64_t nbytes, tla_memory_kind *kind,
                                uint64_t *offset) {
    if (c->layout == TLA_LAYOUT_PLAIN) return locate_plain(c, pa.value, nbytes, kind, offset);
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    tla_memory_kind found = TLA_HBM;
    if (!status) status = tla_memory_kind_of_fields(&f, &found);
    if (status) return status;
    if (tla_memory_scope_of(found) != TLA_SCOPE_HOST && (f.sip != c->sip || f.die != c->die)) return TLA_OUT_OF_RANGE;
    if (names_pe(found) && f.pe != c->pe) return TLA_OUT_OF_RANGE;
    const uint64_t bytes = c->of[found].bytes, first = first_of(c, found);
    if (f.offset < first || f.offset - first >= bytes || nbytes > bytes - (f.offset - first)) return TLA_OUT_OF_RANGE;
    *kind = found;
    *offset = f.offset - first;
    return TLA_OK;
}

tla_site tla_pe_memory_find_site(const tla_pe_memory_config *config, tla_paddr pa) {
    tla_site at = {.pa = pa, .memory = TLA_MEMORY_KIND_COUNT};
    tla_pe_memory_locate(config, pa, 1, &at.memory, &at.offset);
    return at;
}

tla_site tla_pe_memory_site_at(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset) {
    tla_site at = {.memory = TLA_MEMORY_KIND_COUNT};
    if (!tla_pe_memory_address(config, kind, offset, &at.pa)) {
        at.memory = kind;
        at.offset = offset;
    }
    return at;
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
