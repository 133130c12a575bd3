/* Page-aligned virtual ranges: an arena whose sizes are whole pages (ADR-0048 D4). */
#include "tlmalloc/vm/va_space.h"

#include <stdlib.h>
#include <string.h>

struct tla_va_space {
    tla_arena *arena;
    uint64_t page_size;
    uint64_t larger_page_sizes[TLA_VA_LARGER_PAGES];
};

tla_status tla_va_space_create(const tla_va_space_config *config, tla_va_space **out) {
    *out = NULL;
    uint64_t page = config->page_size;
    if (page == 0 || (page & (page - 1)) || config->base.value % page || config->nbytes % page)
        return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < TLA_VA_LARGER_PAGES && config->larger_page_sizes[i]; i++) {
        uint64_t smaller = i ? config->larger_page_sizes[i - 1] : page, larger = config->larger_page_sizes[i];
        if (larger <= smaller || (larger & (larger - 1))) return TLA_INVALID_ARGUMENT;
    }
    tla_va_space *space = calloc(1, sizeof *space);
    if (!space) return TLA_NO_HOST_MEMORY;
    space->page_size = page;
    memcpy(space->larger_page_sizes, config->larger_page_sizes, sizeof space->larger_page_sizes);
    tla_arena_config arena = {.base = config->base.value, .capacity = config->nbytes, .policy = TLA_FIRST_FIT};
    tla_status status = tla_arena_create(&arena, &space->arena);
    if (status) {
        free(space);
        return status;
    }
    *out = space;
    return TLA_OK;
}

void tla_va_space_destroy(tla_va_space *space) {
    if (!space) return;
    tla_arena_destroy(space->arena);
    free(space);
}

/* Whole pages; what would round past 2^64 becomes the largest multiple, which no space can hold. */
static uint64_t round_up(const tla_va_space *space, uint64_t nbytes) {
    uint64_t mask = space->page_size - 1;
    return nbytes > UINT64_MAX - mask ? ~mask : (nbytes + mask) & ~mask;
}

static bool does_not_fit(tla_status status) {
    return status == TLA_FRAGMENTED || status == TLA_EXHAUSTED;
}

tla_status tla_va_space_alloc(tla_va_space *space, uint64_t nbytes, tla_vaddr *va, tla_work *work) {
    tla_block block;
    uint64_t rounded = round_up(space, nbytes);
    tla_work before = work ? *work : (tla_work){0};
    tla_status status = TLA_FRAGMENTED;
    for (size_t i = TLA_VA_LARGER_PAGES; i-- > 0 && does_not_fit(status);) {
        uint64_t larger = space->larger_page_sizes[i];
        if (larger && rounded >= larger) status = tla_arena_alloc_aligned(space->arena, rounded, larger, &block, work);
    }
    if (does_not_fit(status)) status = tla_arena_alloc(space->arena, rounded, &block, work);
    if (!status) va->value = block.offset;
    if (status == TLA_NO_HOST_MEMORY && work) *work = before;
    return status;
}

tla_status tla_va_space_free(tla_va_space *space, tla_vaddr va, uint64_t nbytes, tla_work *work) {
    if (va.value % space->page_size) return TLA_INVALID_ARGUMENT;
    return tla_arena_free(space->arena, (tla_block){va.value, round_up(space, nbytes)}, work);
}

tla_arena_stats tla_va_space_get_stats(const tla_va_space *space) {
    return tla_arena_get_stats(space->arena);
}

tla_status tla_va_space_explain(const tla_va_space *space, const char *what, uint64_t nbytes, tla_error *error) {
    return tla_arena_explain(space->arena, what, round_up(space, nbytes), error);
}
