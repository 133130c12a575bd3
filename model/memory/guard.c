/* Guarded memory: live blocks are the arena's, freed ones a ring, written bytes a sparse map of bits. */
#include "tlmalloc/memory/guard.h"

#include "base/host_array.h"
#include "base/sparse_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BYTES_OF_PAGE = PAGE * 8 }; /* a page of bits stands for so many bytes of the memory */

typedef struct {
    tla_block block;
    tla_owner owner, freed_by;
} freed_block;

struct tla_guard {
    const tla_arena *arena;
    tla_guard_shares shares; /* of = NULL: nothing is shared */
    uint64_t capacity;
    uint8_t *written;    /* a bit for each byte */
    uint64_t bits_bytes; /* of `written` */
    bool *touched;       /* for each page of it: whether a bit may be set, so that clearing commits nothing */
    size_t history, freed_count;
    freed_block freed[]; /* a ring: block i at i % history */
};

const char *tla_guard_mode_name(tla_guard_mode mode) {
    static const char *const names[] = {"off", "report", "error"};
    return (unsigned)mode < TLA_GUARD_MODE_COUNT ? names[mode] : NULL;
}

tla_status tla_guard_create(const tla_arena *arena, size_t history, tla_guard **out) {
    *out = NULL;
    tla_arena_config config = tla_arena_get_config(arena);
    if (!config.validate || config.base != 0 || config.capacity == 0) return TLA_INVALID_ARGUMENT;
    if (history > SIZE_MAX / sizeof(freed_block) / 2) return TLA_NO_HOST_MEMORY;
    tla_guard *guard = calloc(1, sizeof *guard + history * sizeof guard->freed[0]);
    if (!guard) return TLA_NO_HOST_MEMORY;
    guard->arena = arena;
    guard->history = history;
    guard->capacity = config.capacity;
    guard->bits_bytes = config.capacity / 8 + 1;
    guard->touched = host_array_new(guard->bits_bytes / PAGE + 1, sizeof *guard->touched);
    if (!guard->touched || tla_sparse_bytes_create(guard->bits_bytes, &guard->written)) {
        tla_guard_destroy(guard);
        return TLA_NO_HOST_MEMORY;
    }
    *out = guard;
    return TLA_OK;
}

void tla_guard_destroy(tla_guard *guard) {
    if (!guard) return;
    tla_sparse_bytes_destroy(guard->written, guard->bits_bytes);
    free(guard->touched);
    free(guard);
}

/* --- written bytes: a range at a time, a byte of bits at a time --- */

/* The bits of the byte at `first / 8` that belong to [first, end). */
static uint8_t mask_of(uint64_t first, uint64_t end) {
    unsigned low = (unsigned)(first % 8);
    uint8_t mask = (uint8_t)(0xff << low);
    if (end / 8 == first / 8) mask &= (uint8_t)((1u << (end % 8)) - 1);
    return mask;
}

static uint64_t next_byte(uint64_t first, uint64_t end) {
    uint64_t next = first / 8 * 8 + 8;
    return next < end ? next : end;
}

static void set_written(tla_guard *guard, uint64_t first, uint64_t end) {
    for (uint64_t page = first / BYTES_OF_PAGE; first < end && page <= (end - 1) / BYTES_OF_PAGE; page++)
        guard->touched[page] = true;
    for (; first < end && (first % 8 || end - first < 8); first = next_byte(first, end))
        guard->written[first / 8] |= mask_of(first, end);
    if (first >= end) return;
    memset(guard->written + first / 8, 0xff, (size_t)(end / 8 - first / 8));
    if (end % 8) guard->written[end / 8] |= mask_of(end / 8 * 8, end);
}

static void clear_written(tla_guard *guard, uint64_t first, uint64_t end) {
    while (first < end) {
        uint64_t page_end = first / BYTES_OF_PAGE * BYTES_OF_PAGE + BYTES_OF_PAGE;
        if (page_end > end) page_end = end;
        if (guard->touched[first / BYTES_OF_PAGE])
            for (; first < page_end; first = next_byte(first, page_end))
                guard->written[first / 8] &= (uint8_t)~mask_of(first, page_end);
        first = page_end;
    }
}

/* The first byte of [first, end) that was not written; end when all were. */
static uint64_t first_unwritten(const tla_guard *guard, uint64_t first, uint64_t end) {
    for (; first < end; first = next_byte(first, end)) {
        uint8_t missing = mask_of(first, end) & (uint8_t)~guard->written[first / 8];
        if (missing) return first / 8 * 8 + (unsigned)__builtin_ctz(missing);
    }
    return end;
}

/* --- owners --- */

void tla_guard_set_shares(tla_guard *guard, const tla_guard_shares *shares) {
    guard->shares = *shares;
}

/* Whether the block of `owner` that begins at an offset is out of reach for `who`. */
static bool forbidden(const tla_guard *guard, uint64_t offset, uint64_t owner, uint64_t who) {
    if (who == TLA_WHO_UNKNOWN || who & TLA_WHO_TRUSTED) return false;
    const tla_sharing sharing =
        guard->shares.of ? guard->shares.of(guard->shares.context, offset, who) : TLA_NOT_SHARED;
    if (sharing != TLA_NOT_SHARED) return sharing == TLA_SHARED_WITHOUT;
    return owner != TLA_WHO_UNKNOWN && tla_who_context(owner) != tla_who_context(who);
}

/* The next or previous block of the same object, at an offset that touches it. */
static bool find_same_object(const tla_guard *guard, uint64_t offset, tla_owner owner, tla_block *found) {
    tla_owner other = {0};
    return owner.tag != 0 && owner.who != TLA_WHO_UNKNOWN &&
           tla_arena_find(guard->arena, offset, found, &other) == TLA_OK && other.tag == owner.tag &&
           other.who != TLA_WHO_UNKNOWN && tla_who_context(other.who) == tla_who_context(owner.who);
}

/* The block and those of its object that touch it, as far as [first, end) reaches. */
static tla_block object_around(const tla_guard *guard, tla_block block, tla_owner owner, uint64_t first, uint64_t end) {
    tla_block more;
    while (block.offset + block.nbytes < end && find_same_object(guard, block.offset + block.nbytes, owner, &more))
        block.nbytes += more.nbytes;
    while (block.offset > first && find_same_object(guard, block.offset - 1, owner, &more))
        block = (tla_block){more.offset, more.nbytes + block.nbytes};
    return block;
}

/* --- texts --- */

typedef struct {
    char text[64];
} name;

typedef struct {
    char text[200];
} phrase;

static name who_text(uint64_t who) {
    name p;
    const char *trusted = who & TLA_WHO_TRUSTED ? "trusted " : "";
    if (who == TLA_WHO_UNKNOWN)
        snprintf(p.text, sizeof p.text, "an unknown initiator");
    else if (tla_who_context(who) == TLA_ASID_HARDWARE)
        snprintf(p.text, sizeof p.text, "%sinitiator %" PRIu64 " without asid", trusted, who & UINT32_MAX);
    else
        snprintf(p.text, sizeof p.text, "%sinitiator %" PRIu64 " of asid %" PRIu64, trusted, who & UINT32_MAX,
                 tla_who_context(who));
    return p;
}

static phrase block_text(tla_block block, tla_owner owner) {
    phrase p;
    snprintf(p.text, sizeof p.text, "the block of %" PRIu64 " bytes at %" PRIu64 ", allocated by %s at %" PRIu64 " ps",
             block.nbytes, block.offset, who_text(owner.who).text, owner.time);
    return p;
}

static tla_status refuse(const tla_guard_access *access, const char *memory, tla_status status, const char *how,
                         tla_error *error) {
    return tla_error_set(error, status, "%s of %" PRIu64 " bytes at %" PRIu64 " of %s by %s at %" PRIu64 " ps: %s",
                         access->write ? "write" : "read", access->width, access->offset, memory,
                         who_text(access->who).text, access->time, how);
}

/* --- checks --- */

static bool overlap(tla_block a, uint64_t first, uint64_t end) {
    return a.offset < end && first < a.offset + a.nbytes;
}

/* [first, end) does not lie in a live block; `from`, a live one that it begins in, may be NULL. */
static tla_status refuse_place(const tla_guard *guard, const tla_guard_access *access, uint64_t first, uint64_t end,
                               const tla_block *from, tla_owner owner, const char *memory, tla_error *error) {
    char how[320];
    if (from) {
        snprintf(how, sizeof how, "%" PRIu64 " bytes past the end of %s", end - (from->offset + from->nbytes),
                 block_text(*from, owner).text);
        return refuse(access, memory, TLA_OUT_OF_BOUNDS, how, error);
    }
    for (size_t i = guard->freed_count; i > 0 && guard->freed_count - i < guard->history; i--) {
        const freed_block *freed = &guard->freed[(i - 1) % guard->history];
        if (!overlap(freed->block, first, end)) continue;
        snprintf(how, sizeof how, "%s was freed by %s at %" PRIu64 " ps", block_text(freed->block, freed->owner).text,
                 who_text(freed->freed_by.who).text, freed->freed_by.time);
        return refuse(access, memory, TLA_USE_AFTER_FREE, how, error);
    }
    return refuse(access, memory, TLA_OUT_OF_BOUNDS, "no block is allocated there", error);
}

static bool enabled(const tla_guard_access *access, uint64_t i) {
    return !access->enables || access->enables[i % access->enables_length] != 0;
}

/* A caller may name any range: a range past 2^64 ends there, where no block lies. */
static uint64_t end_of(uint64_t first, uint64_t nbytes) {
    return nbytes > UINT64_MAX - first ? UINT64_MAX : first + nbytes;
}

/* The range of the memory that the access touches; empty when all its bytes are disabled. */
static void touched_range(const tla_guard_access *access, uint64_t *first, uint64_t *end) {
    *first = access->offset;
    *end = end_of(access->offset, access->width);
    if (!access->enables) return;
    uint64_t low = access->width, high = 0;
    for (uint64_t i = 0; i < access->length; i++) {
        uint64_t at = i % access->width;
        if (!enabled(access, i)) continue;
        low = at < low ? at : low;
        high = at + 1 > high ? at + 1 : high;
    }
    *first = end_of(access->offset, low < high ? low : 0);
    *end = end_of(access->offset, high);
}

/* The range of the whole transfer. */
static void transfer_range(const tla_guard_access *access, uint64_t *first, uint64_t *end) {
    *first = access->before < access->offset ? access->offset - access->before : 0;
    *end = end_of(end_of(access->offset, access->width), access->after);
}

/* Returns the first byte in [first, end), touched by a read, that was never written; UINT64_MAX if all were written. */
static uint64_t first_missing(const tla_guard *guard, const tla_guard_access *access, uint64_t first, uint64_t end) {
    if (access->write) return UINT64_MAX;
    if (!access->enables) {
        uint64_t missing = first_unwritten(guard, first, end);
        return missing < end ? missing : UINT64_MAX;
    }
    for (uint64_t i = 0; i < access->length; i++) {
        uint64_t at = access->offset + i % access->width;
        if (enabled(access, i) && first_unwritten(guard, at, at + 1) == at) return at;
    }
    return UINT64_MAX;
}

void tla_guard_note(tla_guard *guard, const tla_guard_access *access) {
    uint64_t first = access->offset, end = end_of(first, access->width);
    if (!access->write || first >= guard->capacity) return;
    if (end > guard->capacity) end = guard->capacity;
    if (!access->enables) {
        set_written(guard, first, end);
        return;
    }
    for (uint64_t i = 0; i < access->length; i++) {
        uint64_t at = first + i % access->width;
        if (enabled(access, i) && at < end) set_written(guard, at, at + 1);
    }
}

/* The transfer that an access is part of does not lie in the block that the access lies in. */
static tla_status refuse_transfer(const tla_guard_access *access, tla_block block, tla_owner owner, const char *memory,
                                  tla_error *error) {
    char how[420];
    uint64_t first, end;
    transfer_range(access, &first, &end);
    bool behind = end > block.offset + block.nbytes;
    snprintf(how, sizeof how, "part of a transfer of %" PRIu64 " bytes at %" PRIu64 " that %s %" PRIu64 " bytes %s %s",
             end - first, first, behind ? "ends" : "begins",
             behind ? end - (block.offset + block.nbytes) : block.offset - first, behind ? "past the end of" : "before",
             block_text(block, owner).text);
    return refuse(access, memory, TLA_OUT_OF_BOUNDS, how, error);
}

tla_status tla_guard_look(const tla_guard *guard, const tla_guard_access *access, const char *memory,
                          tla_error *error) {
    uint64_t first, end;
    touched_range(access, &first, &end);
    if (first >= end || first >= guard->capacity) return TLA_OK;
    tla_block block;
    tla_owner owner = {0};
    bool live = tla_arena_find(guard->arena, first, &block, &owner) == TLA_OK;
    const uint64_t begins = live ? block.offset : first;
    uint64_t transfer_first, transfer_end;
    transfer_range(access, &transfer_first, &transfer_end);
    if (live && (transfer_first < block.offset || transfer_end - block.offset > block.nbytes))
        block = object_around(guard, block, owner, transfer_first, transfer_end);
    if (!live || end - block.offset > block.nbytes)
        return refuse_place(guard, access, first, end, live ? &block : NULL, owner, memory, error);
    uint64_t missing = first_missing(guard, access, first, end);
    char how[320];
    bool whole = access->before == 0 && access->after == 0;
    if (!whole && (transfer_first < block.offset || transfer_end > block.offset + block.nbytes))
        return refuse_transfer(access, block, owner, memory, error);
    if (forbidden(guard, begins, owner.who, access->who)) {
        snprintf(how, sizeof how, "the initiator does not own %s", block_text(block, owner).text);
        return refuse(access, memory, TLA_NOT_OWNER, how, error);
    }
    if (missing == UINT64_MAX) return TLA_OK;
    snprintf(how, sizeof how, "byte %" PRIu64 " was never written in %s", missing, block_text(block, owner).text);
    return refuse(access, memory, TLA_NEVER_WRITTEN, how, error);
}

tla_status tla_guard_check(tla_guard *guard, const tla_guard_access *access, const char *memory, tla_error *error) {
    tla_status status = tla_guard_look(guard, access, memory, error);
    if (!status) tla_guard_note(guard, access);
    return status;
}

tla_status tla_guard_may_free(const tla_guard *guard, uint64_t offset, tla_owner by, const char *memory,
                              tla_error *error) {
    tla_block block;
    tla_owner owner = {0};
    if (tla_arena_find(guard->arena, offset, &block, &owner) || !forbidden(guard, block.offset, owner.who, by.who))
        return TLA_OK;
    return tla_error_set(error, TLA_NOT_OWNER,
                         "free of %" PRIu64 " of %s by %s at %" PRIu64 " ps: the initiator does not own %s", offset,
                         memory, who_text(by.who).text, by.time, block_text(block, owner).text);
}

void tla_guard_allocated(tla_guard *guard, tla_block block) {
    clear_written(guard, block.offset, block.offset + block.nbytes);
}

void tla_guard_freed(tla_guard *guard, tla_block block, tla_owner owner, tla_owner freed_by) {
    if (guard->history == 0) return;
    guard->freed[guard->freed_count++ % guard->history] = (freed_block){block, owner, freed_by};
}

void tla_guard_copied(const tla_guard *from, tla_block block, tla_guard *to, uint64_t offset) {
    const uint64_t end = block.offset + block.nbytes;
    for (uint64_t at = block.offset; at < end;) {
        const uint64_t written_end = first_unwritten(from, at, end);
        set_written(to, offset + (at - block.offset), offset + (written_end - block.offset));
        for (at = written_end; at < end && first_unwritten(from, at, at + 1) == at;)
            at++;
    }
}

void tla_guard_trust(tla_guard *guard, tla_block range) {
    if (range.offset >= guard->capacity) return;
    uint64_t room = guard->capacity - range.offset;
    set_written(guard, range.offset, range.offset + (range.nbytes < room ? range.nbytes : room));
}
