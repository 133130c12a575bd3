/* The memories of a controller: a stack each, physical addresses out (ADR-0048 D3, D7). */
#include "tlmalloc/memory/pe_memory.h"

#include "base/host_array.h"
#include "tlmalloc/memory/address_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tla_pe_memory {
    tla_pe_memory_config config;
    tla_stack *stacks[TLA_CHANNEL_COUNT];
    tla_guard *guards[TLA_CHANNEL_COUNT];           /* NULL where nothing is guarded */
    tla_list_in_memory *traffic[TLA_CHANNEL_COUNT]; /* NULL where the list is not followed */
    tla_owner owner;
    tla_error refused; /* by the guard; status TLA_OK when the last free was not */
};

/* A channel as the configuration has it. */
typedef struct extent {
    uint64_t first;           /* byte of its unit */
    uint64_t bytes, reserved; /* reserved: at the top, never allocated */
    tla_stack_policy policy;
    tla_front_sizes sizes;
} extent;

static extent extent_of(const tla_pe_memory_config *c, tla_channel channel) {
    switch (channel) {
    case TLA_HBM:
        return (extent){c->pe * c->hbm_slice_bytes, c->hbm_slice_bytes, c->hbm_reserved_bytes, c->hbm_policy,
                        c->hbm_front};
    case TLA_TCM:
        return (extent){0, c->tcm_bytes, c->tcm_reserved_bytes, c->tcm_policy, c->tcm_front};
    case TLA_SRAM:
        return (extent){0, c->sram_bytes, 0, c->sram_policy, c->sram_front};
    case TLA_M_CPU_MEMORY:
        return (extent){TLA_CONTROL_BLOCK_BYTES, c->m_cpu_bytes, 0, c->m_cpu_policy, c->m_cpu_front};
    case TLA_HOST_MEMORY:
        return (extent){0, c->host_bytes, 0, c->host_policy, c->host_front};
    default:
        return (extent){0};
    }
}

uint64_t tla_pe_memory_bytes(const tla_pe_memory_config *config, tla_channel channel) {
    return extent_of(config, channel).bytes;
}

uint64_t tla_pe_memory_capacity(const tla_pe_memory_config *config, tla_channel channel) {
    extent e = extent_of(config, channel);
    return e.bytes - e.reserved;
}

tla_status tla_pe_memory_address(const tla_pe_memory_config *c, tla_channel channel, uint64_t offset, tla_paddr *pa) {
    extent e = extent_of(c, channel);
    if (offset >= e.bytes) return TLA_INVALID_ARGUMENT;
    if (c->layout == TLA_LAYOUT_PLAIN) {
        pa->value = c->base[channel] + offset;
        return TLA_OK;
    }
    const bool of_host = tla_channel_scope_of(channel) == TLA_SCOPE_HOST;
    return tla_paddr_encode(&(tla_paddr_fields){.sip = of_host ? 0 : c->sip,
                                                .die = of_host ? TLA_HOST_DIE : c->die,
                                                .unit = tla_channel_unit(channel),
                                                .pe = channel == TLA_TCM ? c->pe : 0,
                                                .offset = e.first + offset},
                            pa);
}

tla_stack_config tla_pe_memory_stack_config(const tla_pe_memory_config *c, tla_channel channel) {
    const extent e = extent_of(c, channel);
    return (tla_stack_config){.capacity = e.bytes - e.reserved,
                              .policy = e.policy,
                              .alignment = c->alignment,
                              .validate = c->validate || c->guarded,
                              .sizes = e.sizes};
}

/* The memories that there are, as windows: where none overlaps another and none goes past 2^64. */
static tla_status check_bases(const tla_pe_memory_config *c, tla_error *error) {
    tla_address_window windows[TLA_CHANNEL_COUNT];
    size_t count = 0;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++) {
        const uint64_t bytes = extent_of(c, (tla_channel)channel).bytes, base = c->base[channel];
        const char *title = tla_channel_title((tla_channel)channel);
        if (bytes == 0) continue;
        if (c->alignment > 1 && base % c->alignment)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " is not a multiple of alignment %" PRIu64, title, base,
                                 c->alignment);
        if (base > UINT64_MAX - (bytes - 1))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " + %" PRIu64 " bytes goes past 2^64", title, base, bytes);
        windows[count++] = (tla_address_window){.base = base, .size = bytes, .target = (uint32_t)channel};
    }
    if (!tla_address_windows_sort(windows, count, TLA_CHANNEL_COUNT)) return TLA_OK;
    size_t second = 1;
    while (windows[second].base - windows[second - 1].base >= windows[second - 1].size)
        second++;
    const tla_address_window *a = &windows[second - 1], *b = &windows[second];
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s at 0x%" PRIx64 " .. 0x%" PRIx64 " and %s at 0x%" PRIx64 " .. 0x%" PRIx64 " overlap",
                         tla_channel_title(a->target), a->base, a->base + (a->size - 1), tla_channel_title(b->target),
                         b->base, b->base + (b->size - 1));
}

static tla_status create_channel(tla_pe_memory *memory, tla_channel channel) {
    const tla_pe_memory_config *c = &memory->config;
    const tla_stack_config stack = tla_pe_memory_stack_config(c, channel);
    tla_status status = tla_stack_create(&stack, &memory->stacks[channel], NULL);
    if (status || !c->guarded || stack.capacity == 0) return status;
    if (!host_array_fits(c->guard_history, 1)) return TLA_NO_HOST_MEMORY;
    return tla_guard_create(tla_stack_live(memory->stacks[channel]), (size_t)c->guard_history,
                            &memory->guards[channel]);
}

tla_status tla_pe_memory_check_config(const tla_pe_memory_config *c, tla_error *error) {
    const bool plain = c->layout == TLA_LAYOUT_PLAIN;
    const uint64_t most = TLA_HOST_MEMORY_BYTES;                              /* of a plain memory */
    const uint64_t slice_most = TLA_HBM_WINDOW_BYTES / (c->pe + UINT64_C(1)); /* slices lie one behind the other */
    const struct {
        const char *member;
        uint64_t value, most;
    } limits[] = {
        {"sip", c->sip, TLA_SIP_COUNT - 1},
        {"die", c->die, TLA_CUBE_DIE_COUNT - 1},
        {"pe", c->pe, TLA_PE_COUNT - 1},
        {"hbm_slice_bytes", c->hbm_slice_bytes, plain ? most : slice_most},
        {"hbm_reserved_bytes", c->hbm_reserved_bytes, c->hbm_slice_bytes},
        {"tcm_bytes", c->tcm_bytes, plain ? most : TLA_SUB_UNIT_BYTES},
        {"tcm_reserved_bytes", c->tcm_reserved_bytes, c->tcm_bytes},
        {"sram_bytes", c->sram_bytes, plain ? most : TLA_SUB_UNIT_BYTES},
        {"m_cpu_bytes", c->m_cpu_bytes, plain ? most : TLA_M_CPU_MEMORY_BYTES},
        {"host_bytes", c->host_bytes, TLA_HOST_MEMORY_BYTES},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value > limits[i].most)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ", expected 0 .. %" PRIu64,
                                 limits[i].member, limits[i].value, limits[i].most);
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++) {
        const tla_stack_config stack = tla_pe_memory_stack_config(c, (tla_channel)channel);
        tla_error why;
        if (tla_stack_check_config(&stack, &why))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: %s", tla_channel_title((tla_channel)channel),
                                 why.text);
    }
    return plain ? check_bases(c, error) : TLA_OK;
}

tla_status tla_pe_memory_create(const tla_pe_memory_config *config, tla_pe_memory **out) {
    *out = NULL;
    if (tla_pe_memory_check_config(config, NULL)) return TLA_INVALID_ARGUMENT;
    tla_pe_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return TLA_NO_HOST_MEMORY;
    memory->config = *config;
    tla_status status = TLA_OK;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT && !status; channel++)
        status = create_channel(memory, (tla_channel)channel);
    if (status) {
        tla_pe_memory_destroy(memory);
        return status;
    }
    *out = memory;
    return TLA_OK;
}

void tla_pe_memory_destroy(tla_pe_memory *memory) {
    if (!memory) return;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++) {
        tla_list_in_memory_destroy(memory->traffic[channel]);
        tla_guard_destroy(memory->guards[channel]);
        tla_stack_destroy(memory->stacks[channel]);
    }
    free(memory);
}

const tla_pe_memory_config *tla_pe_memory_get_config(const tla_pe_memory *memory) {
    return &memory->config;
}

void tla_pe_memory_set_owner(tla_pe_memory *memory, tla_owner owner) {
    memory->owner = owner;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++)
        tla_stack_set_owner(memory->stacks[channel], owner);
}

tla_stack *tla_pe_memory_stack(tla_pe_memory *memory, tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? memory->stacks[channel] : NULL;
}

tla_arena *tla_pe_memory_arena(tla_pe_memory *memory, tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? tla_stack_arena(memory->stacks[channel]) : NULL;
}

tla_status tla_pe_memory_follow(tla_pe_memory *memory, tla_channel channel, uint64_t nodes, uint64_t cache_entries) {
    tla_list_in_memory *made = NULL;
    if (tla_stack_front(extent_of(&memory->config, channel).policy) != TLA_FRONT_NONE) return TLA_UNSUPPORTED;
    if (tla_arena_is_driven(tla_stack_arena(memory->stacks[channel]))) return TLA_UNSUPPORTED;
    tla_status status =
        tla_list_in_memory_create(tla_stack_arena(memory->stacks[channel]), nodes, cache_entries, &made);
    if (status) return status;
    tla_list_in_memory_destroy(memory->traffic[channel]);
    memory->traffic[channel] = made;
    return TLA_OK;
}

tla_status tla_pe_memory_drive(tla_pe_memory *memory, tla_channel channel, const tla_engine *engine, uint64_t nodes,
                               tla_error *error) {
    tla_arena *arena = tla_stack_arena(memory->stacks[channel]);
    tla_error inner = {.text = ""};
    tla_status status;
    if (!engine && nodes == 0) return TLA_OK;
    if (!arena) {
        char name[64];
        tla_stack_policy_print(extent_of(&memory->config, channel).policy, name, sizeof name);
        status =
            tla_error_set(&inner, TLA_UNSUPPORTED, "front %s keeps its own lists, behind which no engine stands", name);
    } else if (memory->traffic[channel]) {
        status = tla_error_set(&inner, TLA_UNSUPPORTED, "the free list lies in memory, an engine has its own");
    } else {
        status = tla_arena_drive(arena, engine, nodes, &inner);
    }
    return status ? tla_error_set(error, status, "%s: %s", tla_channel_title(channel), inner.text) : TLA_OK;
}

tla_list_in_memory *tla_pe_memory_traffic(tla_pe_memory *memory, tla_channel channel) {
    return memory->traffic[channel];
}

/* tla_stack_alloc, and the list follows. */
static tla_status take(tla_pe_memory *memory, tla_channel channel, const tla_stack_request *request, tla_block *block,
                       tla_work *work) {
    tla_list_in_memory *traffic = memory->traffic[channel];
    if (!traffic) return tla_stack_alloc(memory->stacks[channel], request, block, work);
    tla_work ignored = {0};
    if (!work) work = &ignored;
    tla_status status = tla_list_in_memory_prepare(traffic, NULL);
    if (status) return status;
    uint64_t before = work->nodes_visited;
    status = tla_stack_alloc(memory->stacks[channel], request, block, work);
    tla_work walk = {.nodes_visited = work->nodes_visited - before};
    tla_list_in_memory_alloc(traffic, status ? NULL : block, &walk);
    return status;
}

/* tla_stack_free, and the list follows. */
static tla_status give_back(tla_pe_memory *memory, tla_channel channel, tla_block block, tla_work *work) {
    tla_stack *stack = memory->stacks[channel];
    tla_list_in_memory *traffic = memory->traffic[channel];
    if (!traffic) return tla_stack_free(stack, block, work);
    tla_block granted = {block.offset, tla_stack_granted(stack, block)};
    tla_status status = tla_list_in_memory_prepare(traffic, &granted);
    if (!status) status = tla_stack_free(stack, block, work);
    if (!status) tla_list_in_memory_free(traffic, granted);
    return status;
}

tla_status tla_pe_memory_request(tla_pe_memory *memory, tla_channel channel, const tla_stack_request *request,
                                 tla_paddr *pa, tla_work *work) {
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    tla_block block;
    tla_status status = take(memory, channel, request, &block, work);
    if (status) return status;
    if (memory->guards[channel]) tla_guard_allocated(memory->guards[channel], block);
    return tla_pe_memory_address(&memory->config, channel, block.offset, pa);
}

tla_status tla_pe_memory_alloc(tla_pe_memory *memory, tla_channel channel, uint64_t nbytes, tla_paddr *pa,
                               tla_work *work) {
    return tla_pe_memory_request(memory, channel, &(tla_stack_request){.nbytes = nbytes}, pa, work);
}

tla_status tla_pe_memory_place(tla_pe_memory *memory, tla_paddr pa, uint64_t nbytes, tla_work *work) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    tla_channel channel;
    uint64_t offset;
    const tla_status status = tla_pe_memory_locate(&memory->config, pa, nbytes, &channel, &offset);
    if (status) return status;
    if (memory->guards[channel] || memory->traffic[channel]) return TLA_UNSUPPORTED;
    return tla_stack_reserve(memory->stacks[channel], (tla_block){offset, nbytes}, work);
}

tla_status tla_pe_memory_trim(tla_pe_memory *memory, tla_channel channel, uint64_t *given_back, tla_work *work) {
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    return tla_stack_trim(memory->stacks[channel], given_back, work);
}

tla_status tla_pe_memory_free(tla_pe_memory *memory, tla_paddr pa, uint64_t nbytes, tla_work *work) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    tla_channel channel;
    uint64_t offset;
    tla_status status = tla_pe_memory_locate(&memory->config, pa, nbytes, &channel, &offset);
    if (status) return status;
    tla_guard *guard = memory->guards[channel];
    tla_block block = {offset, nbytes};
    tla_owner owner = {0};
    memory->refused.status = TLA_OK;
    if (guard) {
        status = tla_guard_may_free(guard, offset, memory->owner, tla_channel_title(channel), &memory->refused);
        if (status) return status;
        tla_arena_find(tla_stack_live(memory->stacks[channel]), offset, &block, &owner);
    }
    status = give_back(memory, channel, (tla_block){offset, nbytes}, work);
    if (guard && !status) tla_guard_freed(guard, block, owner, memory->owner);
    return status;
}

/* Where the list is followed: every block has a walk of its own. */
static tla_status take_followed(tla_pe_memory *memory, tla_channel channel, const tla_stack_request *request, size_t n,
                                tla_batch batch, tla_block *blocks, tla_work *work) {
    tla_list_in_memory *traffic = memory->traffic[channel];
    if (batch == TLA_BATCH_CONTIGUOUS) return TLA_UNSUPPORTED;
    tla_status status = tla_list_in_memory_prepare_batch(traffic, n, false);
    if (status) return status;
    if (!tla_arena_fits(tla_stack_arena(memory->stacks[channel]), request->nbytes, n)) {
        tla_work search = {0};
        status = tla_stack_alloc_batch(memory->stacks[channel], request, n, batch, blocks, &search);
        tla_list_in_memory_alloc(traffic, NULL, &search);
        work->nodes_visited += search.nodes_visited;
        work->list_length += search.list_length;
        return status;
    }
    size_t taken = 0;
    while (taken < n && !(status = take(memory, channel, request, &blocks[taken], work)))
        taken++;
    while (status && taken > 0) /* the host has no memory */
        give_back(memory, channel, (tla_block){blocks[--taken].offset, request->nbytes}, work);
    return status;
}

tla_status tla_pe_memory_request_batch(tla_pe_memory *memory, tla_channel channel, const tla_stack_request *request,
                                       size_t n, tla_batch batch, tla_block *blocks, tla_work *work) {
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    tla_work ignored = {0};
    if (!work) work = &ignored;
    tla_status status = memory->traffic[channel]
                            ? take_followed(memory, channel, request, n, batch, blocks, work)
                            : tla_stack_alloc_batch(memory->stacks[channel], request, n, batch, blocks, work);
    for (size_t i = 0; i < n && !status && memory->guards[channel]; i++)
        tla_guard_allocated(memory->guards[channel], blocks[i]);
    return status;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whose the blocks were is asked before they go. */
static tla_status free_guarded_batch(tla_pe_memory *memory, tla_channel channel, tla_block *blocks, size_t n,
                                     size_t *freed, tla_work *work) {
    tla_guard *guard = memory->guards[channel];
    struct {
        tla_block block;
        tla_owner owner;
    } *known = calloc(n + 1, sizeof *known);
    tla_status status = known ? TLA_OK : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n && !status; i++) {
        status =
            tla_guard_may_free(guard, blocks[i].offset, memory->owner, tla_channel_title(channel), &memory->refused);
        if (!status)
            tla_arena_find(tla_stack_live(memory->stacks[channel]), blocks[i].offset, &known[i].block, &known[i].owner);
    }
    if (!status) status = tla_stack_free_batch(memory->stacks[channel], blocks, n, freed, work);
    for (size_t i = 0; i < *freed; i++)
        tla_guard_freed(guard, known[i].block, known[i].owner, memory->owner);
    free(known);
    return status;
}

tla_status tla_pe_memory_free_batch(tla_pe_memory *memory, tla_channel channel, tla_block *blocks, size_t n,
                                    size_t *freed, tla_work *work) {
    *freed = 0;
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    memory->refused.status = TLA_OK;
    if (n > 0) qsort(blocks, n, sizeof *blocks, by_offset);
    if (!memory->traffic[channel])
        return memory->guards[channel] ? free_guarded_batch(memory, channel, blocks, n, freed, work)
                                       : tla_stack_free_batch(memory->stacks[channel], blocks, n, freed, work);
    tla_status status = tla_list_in_memory_prepare_batch(memory->traffic[channel], n, true);
    for (; *freed < n && !status; *freed += !status) {
        tla_paddr pa;
        status = tla_pe_memory_address(&memory->config, channel, blocks[*freed].offset, &pa);
        if (!status) status = tla_pe_memory_free(memory, pa, blocks[*freed].nbytes, work);
    }
    return status;
}

const tla_error *tla_pe_memory_last_error(const tla_pe_memory *memory, tla_channel channel) {
    return memory->refused.status ? &memory->refused : tla_stack_last_error(memory->stacks[channel]);
}

static tla_status locate_plain(const tla_pe_memory_config *c, uint64_t address, uint64_t nbytes, tla_channel *channel,
                               uint64_t *offset) {
    for (int i = 0; i < TLA_CHANNEL_COUNT; i++) {
        const uint64_t bytes = extent_of(c, (tla_channel)i).bytes, into = address - c->base[i];
        if (into >= bytes || nbytes > bytes - into) continue;
        *channel = (tla_channel)i;
        *offset = into;
        return TLA_OK;
    }
    return TLA_OUT_OF_RANGE;
}

tla_status tla_pe_memory_locate(const tla_pe_memory_config *c, tla_paddr pa, uint64_t nbytes, tla_channel *channel,
                                uint64_t *offset) {
    if (c->layout == TLA_LAYOUT_PLAIN) return locate_plain(c, pa.value, nbytes, channel, offset);
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    tla_channel found = TLA_HBM;
    if (!status) status = tla_channel_of_fields(&f, &found);
    if (status) return status;
    if (tla_channel_scope_of(found) != TLA_SCOPE_HOST && (f.sip != c->sip || f.die != c->die)) return TLA_OUT_OF_RANGE;
    if (found == TLA_TCM && f.pe != c->pe) return TLA_OUT_OF_RANGE;
    extent e = extent_of(c, found);
    if (f.offset < e.first || f.offset - e.first >= e.bytes || nbytes > e.bytes - (f.offset - e.first))
        return TLA_OUT_OF_RANGE;
    *channel = found;
    *offset = f.offset - e.first;
    return TLA_OK;
}

uint64_t tla_pe_memory_granted(const tla_pe_memory *memory, tla_channel channel, tla_block block) {
    return tla_stack_granted(memory->stacks[channel], block);
}

tla_status tla_pe_memory_look(const tla_pe_memory *memory, tla_channel channel, const tla_guard_access *access,
                              tla_error *error) {
    if (!memory->guards[channel]) return TLA_OK;
    return tla_guard_look(memory->guards[channel], access, tla_channel_title(channel), error);
}

void tla_pe_memory_note(tla_pe_memory *memory, tla_channel channel, const tla_guard_access *access) {
    if (memory->guards[channel]) tla_guard_note(memory->guards[channel], access);
}

void tla_pe_memory_trust(tla_pe_memory *memory, tla_channel channel, tla_block range) {
    if (memory->guards[channel]) tla_guard_trust(memory->guards[channel], range);
}

void tla_pe_memory_set_shares(tla_pe_memory *memory, tla_channel channel, const tla_guard_shares *shares) {
    if (memory->guards[channel]) tla_guard_set_shares(memory->guards[channel], shares);
}

tla_status tla_pe_memory_find(const tla_pe_memory *memory, tla_channel channel, uint64_t offset, tla_block *block,
                              tla_owner *owner) {
    const tla_arena *live = tla_stack_live(memory->stacks[channel]);
    return live ? tla_arena_find(live, offset, block, owner) : TLA_UNSUPPORTED;
}

tla_arena_stats tla_pe_memory_get_stats(const tla_pe_memory *memory, tla_channel channel) {
    return tla_stack_get_stats(memory->stacks[channel]).memory;
}

tla_status tla_pe_memory_explain(const tla_pe_memory *memory, tla_channel channel, uint64_t nbytes, tla_error *error) {
    const tla_pe_memory_config *c = &memory->config;
    char what[80];
    const int length = snprintf(what, sizeof what, "%s", tla_channel_title(channel));
    char *const place = what + length;
    const size_t room = sizeof what - (size_t)length;
    if (c->layout == TLA_LAYOUT_PLAIN)
        *place = '\0'; /* in a platform of its own */
    else if (tla_channel_scope_of(channel) == TLA_SCOPE_PE)
        snprintf(place, room, " of sip%" PRIu32 ".cube%" PRIu32 ".pe%" PRIu32, c->sip, c->die, c->pe);
    else if (tla_channel_scope_of(channel) == TLA_SCOPE_CUBE)
        snprintf(place, room, " of sip%" PRIu32 ".cube%" PRIu32, c->sip, c->die);
    return tla_stack_explain(memory->stacks[channel], what, &(tla_stack_request){.nbytes = nbytes}, error);
}
