/* One arena stands for all banks. */
#include "tlmalloc/stack/lockstep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tla_lockstep {
    tla_lockstep_config config;
    tla_arena *arena;
    uint64_t occupied[]; /* per bank */
};

static const uint64_t largest = (uint64_t)1 << 63;

tla_status tla_lockstep_create(const tla_lockstep_config *config, tla_lockstep **out) {
    *out = NULL;
    tla_lockstep_config c = *config;
    if (c.alignment == 0) c.alignment = 1;
    if (c.banks == 0 || c.fill > TLA_TOP_DOWN) return TLA_INVALID_ARGUMENT;
    tla_arena_config arena = {.base = c.base,
                              .capacity = c.bank_bytes,
                              .policy = c.fill == TLA_TOP_DOWN ? TLA_FIRST_FIT_TOP : TLA_FIRST_FIT,
                              .alignment = c.alignment};
    tla_lockstep *lockstep = calloc(1, sizeof *lockstep + c.banks * sizeof *lockstep->occupied);
    if (!lockstep) return TLA_NO_HOST_MEMORY;
    lockstep->config = c;
    tla_status status = tla_arena_create(&arena, &lockstep->arena);
    if (status) {
        free(lockstep);
        return status;
    }
    *out = lockstep;
    return TLA_OK;
}

void tla_lockstep_destroy(tla_lockstep *lockstep) {
    if (!lockstep) return;
    tla_arena_destroy(lockstep->arena);
    free(lockstep);
}

/* Adds (or with sign -1, modulo 2^64, takes away) a buffer's pages: the first pages % banks banks have one more. */
static void occupy(tla_lockstep *lockstep, const tla_lockstep_buffer *buffer, uint64_t sign) {
    uint64_t banks = lockstep->config.banks;
    for (uint64_t bank = 0; bank < banks; bank++) {
        uint64_t pages = buffer->pages / banks + (bank < buffer->pages % banks);
        lockstep->occupied[bank] += sign * pages * buffer->page_bytes;
    }
}

/* Bytes in every bank: as many pages as the fullest bank has; 0 when over 2^63. */
static uint64_t bytes_per_bank(const tla_lockstep *lockstep, uint64_t pages, uint64_t page_bytes) {
    uint64_t most = (pages - 1) / lockstep->config.banks + 1;
    return most <= largest / page_bytes ? most * page_bytes : 0;
}

/* The buffer that a request is, without its place. */
static tla_status lay_out(const tla_lockstep *lockstep, uint64_t nbytes, uint64_t page_bytes,
                          tla_lockstep_buffer *buffer) {
    uint64_t mask = lockstep->config.alignment - 1;
    if (nbytes == 0 || page_bytes == 0 || page_bytes > largest) return TLA_INVALID_ARGUMENT;
    *buffer = (tla_lockstep_buffer){.pages = (nbytes - 1) / page_bytes + 1, .page_bytes = (page_bytes + mask) & ~mask};
    buffer->bank_bytes = bytes_per_bank(lockstep, buffer->pages, buffer->page_bytes);
    return buffer->bank_bytes ? TLA_OK : TLA_INVALID_ARGUMENT;
}

tla_status tla_lockstep_explain(const tla_lockstep *lockstep, const char *what, uint64_t nbytes, uint64_t page_bytes,
                                tla_error *error) {
    tla_lockstep_buffer wanted;
    if (lay_out(lockstep, nbytes, page_bytes, &wanted))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: requested %" PRIu64 " bytes in pages of %" PRIu64
                             ": both must be at least 1, and at most 2^63 a bank",
                             what, nbytes, page_bytes);
    char pages[160];
    snprintf(pages, sizeof pages, "%s: %" PRIu64 " pages of %" PRIu64 " bytes around %" PRIu32 " banks: every bank",
             what, wanted.pages, wanted.page_bytes, lockstep->config.banks);
    return tla_arena_explain(lockstep->arena, pages, wanted.bank_bytes, error);
}

tla_status tla_lockstep_alloc(tla_lockstep *lockstep, uint64_t nbytes, uint64_t page_bytes, tla_lockstep_buffer *buffer,
                              tla_work *work) {
    tla_lockstep_buffer made;
    tla_status invalid = lay_out(lockstep, nbytes, page_bytes, &made);
    if (invalid) return invalid;
    tla_block block;
    tla_status status = tla_arena_alloc(lockstep->arena, made.bank_bytes, &block, work);
    if (status) return status;
    made.offset = block.offset;
    occupy(lockstep, &made, 1);
    *buffer = made;
    return TLA_OK;
}

tla_status tla_lockstep_free(tla_lockstep *lockstep, tla_lockstep_buffer buffer, tla_work *work) {
    if (buffer.pages == 0 || buffer.page_bytes == 0 || buffer.page_bytes % lockstep->config.alignment ||
        buffer.bank_bytes != bytes_per_bank(lockstep, buffer.pages, buffer.page_bytes))
        return TLA_INVALID_ARGUMENT;
    tla_status status = tla_arena_free(lockstep->arena, (tla_block){buffer.offset, buffer.bank_bytes}, work);
    if (!status) occupy(lockstep, &buffer, UINT64_MAX);
    return status;
}

tla_status tla_lockstep_page(const tla_lockstep *lockstep, const tla_lockstep_buffer *buffer, uint64_t page,
                             uint32_t *bank, uint64_t *offset) {
    if (page >= buffer->pages) return TLA_OUT_OF_RANGE;
    *bank = (uint32_t)(page % lockstep->config.banks);
    *offset = buffer->offset + page / lockstep->config.banks * buffer->page_bytes;
    return TLA_OK;
}

tla_status tla_lockstep_get_stats(const tla_lockstep *lockstep, uint32_t bank, tla_bank_stats *stats) {
    if (bank >= lockstep->config.banks) return TLA_OUT_OF_RANGE;
    tla_arena_stats arena = tla_arena_get_stats(lockstep->arena);
    *stats = (tla_bank_stats){.allocatable = arena.capacity,
                              .allocated = arena.used,
                              .free = arena.free,
                              .largest_free = arena.largest_free,
                              .occupied = lockstep->occupied[bank]};
    return TLA_OK;
}
