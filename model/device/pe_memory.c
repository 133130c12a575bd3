/* One PE's HBM slice and TCM: two arenas, physical addresses out (ADR-0048 D3, D7). */
#include "tlmalloc/allocators/pe_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tla_pe_memory {
    tla_pe_memory_config config;
    tla_arena *arenas[TLA_CHANNEL_COUNT];
    tla_guard *guards[TLA_CHANNEL_COUNT];           /* NULL where nothing is guarded */
    tla_list_in_memory *traffic[TLA_CHANNEL_COUNT]; /* NULL where the list is not followed */
    tla_owner owner;
    tla_error refused; /* by the guard; status TLA_OK when the last free was not */
};

static const char *const channel_names[TLA_CHANNEL_COUNT] = {[TLA_HBM] = "hbm", [TLA_TCM] = "tcm"};
static const char *const channel_titles[TLA_CHANNEL_COUNT] = {[TLA_HBM] = "HBM", [TLA_TCM] = "TCM"};

const char *tla_channel_name(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channel_names[channel] : NULL;
}

static tla_status create_channel(tla_pe_memory *memory, tla_channel channel, uint64_t capacity, tla_policy policy) {
    const tla_pe_memory_config *c = &memory->config;
    tla_arena_config arena = {
        .capacity = capacity, .policy = policy, .alignment = c->alignment, .validate = c->validate || c->guarded};
    tla_status status = tla_arena_create(&arena, &memory->arenas[channel]);
    if (status || !c->guarded || capacity == 0) return status;
    return tla_guard_create(memory->arenas[channel], c->guard_history, &memory->guards[channel]);
}

tla_status tla_pe_memory_check_config(const tla_pe_memory_config *c, tla_error *error) {
    uint64_t slice_max = TLA_HBM_WINDOW_BYTES / (c->pe + UINT64_C(1)); /* slices lie one behind the other */
    const struct {
        const char *member;
        uint64_t value, most;
    } limits[] = {
        {"sip", c->sip, TLA_SIP_COUNT - 1},
        {"die", c->die, TLA_CUBE_DIE_COUNT - 1},
        {"pe", c->pe, TLA_PE_COUNT - 1},
        {"hbm_slice_bytes", c->hbm_slice_bytes, slice_max},
        {"hbm_reserved_bytes", c->hbm_reserved_bytes, c->hbm_slice_bytes},
        {"tcm_bytes", c->tcm_bytes, TLA_SUB_UNIT_BYTES},
        {"tcm_reserved_bytes", c->tcm_reserved_bytes, c->tcm_bytes},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value > limits[i].most)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ", expected 0 .. %" PRIu64,
                                 limits[i].member, limits[i].value, limits[i].most);
    return TLA_OK;
}

tla_status tla_pe_memory_create(const tla_pe_memory_config *config, tla_pe_memory **out) {
    *out = NULL;
    if (tla_pe_memory_check_config(config, NULL)) return TLA_INVALID_ARGUMENT;
    tla_pe_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return TLA_NO_HOST_MEMORY;
    memory->config = *config;
    tla_status status =
        create_channel(memory, TLA_HBM, config->hbm_slice_bytes - config->hbm_reserved_bytes, config->hbm_policy);
    if (!status)
        status = create_channel(memory, TLA_TCM, config->tcm_bytes - config->tcm_reserved_bytes, config->tcm_policy);
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
        tla_arena_destroy(memory->arenas[channel]);
    }
    free(memory);
}

const tla_pe_memory_config *tla_pe_memory_get_config(const tla_pe_memory *memory) {
    return &memory->config;
}

void tla_pe_memory_set_owner(tla_pe_memory *memory, tla_owner owner) {
    memory->owner = owner;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++)
        tla_arena_set_owner(memory->arenas[channel], owner);
}

tla_arena *tla_pe_memory_arena(tla_pe_memory *memory, tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? memory->arenas[channel] : NULL;
}

tla_status tla_pe_memory_follow(tla_pe_memory *memory, tla_channel channel, uint64_t nodes, uint64_t cache_entries) {
    tla_list_in_memory *made = NULL;
    tla_status status = tla_list_in_memory_create(memory->arenas[channel], nodes, cache_entries, &made);
    if (status) return status;
    tla_list_in_memory_destroy(memory->traffic[channel]);
    memory->traffic[channel] = made;
    return TLA_OK;
}

tla_list_in_memory *tla_pe_memory_traffic(tla_pe_memory *memory, tla_channel channel) {
    return memory->traffic[channel];
}

/* tla_arena_alloc, and the list follows. */
static tla_status take(tla_pe_memory *memory, tla_channel channel, uint64_t nbytes, tla_block *block, tla_work *work) {
    tla_list_in_memory *traffic = memory->traffic[channel];
    if (!traffic) return tla_arena_alloc(memory->arenas[channel], nbytes, block, work);
    tla_work ignored = {0};
    if (!work) work = &ignored;
    tla_status status = tla_list_in_memory_prepare(traffic, NULL);
    if (status) return status;
    uint64_t before = work->nodes_visited;
    status = tla_arena_alloc(memory->arenas[channel], nbytes, block, work);
    tla_work walk = {.nodes_visited = work->nodes_visited - before};
    tla_list_in_memory_alloc(traffic, status ? NULL : block, &walk);
    return status;
}

/* tla_arena_free, and the list follows. */
static tla_status give_back(tla_pe_memory *memory, tla_channel channel, tla_block block, tla_work *work) {
    tla_arena *arena = memory->arenas[channel];
    tla_list_in_memory *traffic = memory->traffic[channel];
    if (!traffic) return tla_arena_free(arena, block, work);
    tla_block granted = {block.offset, tla_arena_granted(arena, block.nbytes)};
    tla_status status = tla_list_in_memory_prepare(traffic, &granted);
    if (!status) status = tla_arena_free(arena, block, work);
    if (!status) tla_list_in_memory_free(traffic, granted);
    return status;
}

tla_status tla_pe_memory_alloc(tla_pe_memory *memory, tla_channel channel, uint64_t nbytes, tla_paddr *pa,
                               tla_work *work) {
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    const tla_pe_memory_config *c = &memory->config;
    tla_block block;
    tla_status status = take(memory, channel, nbytes, &block, work);
    if (status) return status;
    if (memory->guards[channel]) tla_guard_allocated(memory->guards[channel], block);
    if (channel == TLA_HBM) return tla_paddr_pe_hbm(c->sip, c->die, c->pe, block.offset, c->hbm_slice_bytes, pa);
    return tla_paddr_pe_tcm(c->sip, c->die, c->pe, block.offset, pa);
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
        status = tla_guard_may_free(guard, offset, memory->owner, channel_titles[channel], &memory->refused);
        if (status) return status;
        tla_arena_find(memory->arenas[channel], offset, &block, &owner);
    }
    status = give_back(memory, channel, (tla_block){offset, nbytes}, work);
    if (guard && !status) tla_guard_freed(guard, block, owner, memory->owner);
    return status;
}

const tla_error *tla_pe_memory_last_error(const tla_pe_memory *memory, tla_channel channel) {
    return memory->refused.status ? &memory->refused : tla_arena_last_error(memory->arenas[channel]);
}

tla_status tla_pe_memory_locate(const tla_pe_memory_config *c, tla_paddr pa, uint64_t nbytes, tla_channel *channel,
                                uint64_t *offset) {
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    if (status) return status;
    if (f.sip != c->sip || f.die != c->die) return TLA_OUT_OF_RANGE;
    uint64_t first, size;
    if (f.unit == TLA_UNIT_HBM) {
        first = c->pe * c->hbm_slice_bytes;
        size = c->hbm_slice_bytes;
    } else if (f.unit == TLA_UNIT_TCM && f.pe == c->pe) {
        first = 0;
        size = c->tcm_bytes;
    } else {
        return TLA_OUT_OF_RANGE;
    }
    if (f.offset < first || f.offset - first >= size || nbytes > size - (f.offset - first)) return TLA_OUT_OF_RANGE;
    *channel = f.unit == TLA_UNIT_HBM ? TLA_HBM : TLA_TCM;
    *offset = f.offset - first;
    return TLA_OK;
}

uint64_t tla_pe_memory_granted(const tla_pe_memory *memory, tla_channel channel, uint64_t nbytes) {
    return tla_arena_granted(memory->arenas[channel], nbytes);
}

tla_status tla_pe_memory_look(const tla_pe_memory *memory, tla_channel channel, const tla_guard_access *access,
                              tla_error *error) {
    if (!memory->guards[channel]) return TLA_OK;
    return tla_guard_look(memory->guards[channel], access, channel_titles[channel], error);
}

void tla_pe_memory_note(tla_pe_memory *memory, tla_channel channel, const tla_guard_access *access) {
    if (memory->guards[channel]) tla_guard_note(memory->guards[channel], access);
}

void tla_pe_memory_trust(tla_pe_memory *memory, tla_channel channel, tla_block range) {
    if (memory->guards[channel]) tla_guard_trust(memory->guards[channel], range);
}

tla_status tla_pe_memory_find(const tla_pe_memory *memory, tla_channel channel, uint64_t offset, tla_block *block,
                              tla_owner *owner) {
    return tla_arena_find(memory->arenas[channel], offset, block, owner);
}

tla_arena_stats tla_pe_memory_get_stats(const tla_pe_memory *memory, tla_channel channel) {
    return tla_arena_get_stats(memory->arenas[channel]);
}

tla_status tla_pe_memory_explain(const tla_pe_memory *memory, tla_channel channel, uint64_t nbytes, tla_error *error) {
    const tla_pe_memory_config *c = &memory->config;
    char what[80];
    snprintf(what, sizeof what, "%s of sip%" PRIu32 ".cube%" PRIu32 ".pe%" PRIu32, channel_titles[channel], c->sip,
             c->die, c->pe);
    return tla_arena_explain(memory->arenas[channel], what, nbytes, error);
}
