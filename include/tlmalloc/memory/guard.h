/* Guarded memory: is an access inside one live block, by its owner, and of bytes that were written?
 *
 * A guard watches one memory whose blocks a validated arena places. It remembers the last blocks that were freed, so
 * that a use after free can name them, and one bit for each byte: written since its block was allocated. It holds no
 * bytes and knows no clock; times are the caller's picoseconds. */
#ifndef TLMALLOC_MEMORY_GUARD_H
#define TLMALLOC_MEMORY_GUARD_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a module does with what the guard says. */
typedef enum tla_guard_mode { TLA_GUARD_OFF, TLA_GUARD_REPORT, TLA_GUARD_ERROR, TLA_GUARD_MODE_COUNT } tla_guard_mode;

/* Name as in configuration files, "off", "report", "error"; NULL for a value that is none. */
const char *tla_guard_mode_name(tla_guard_mode mode);

/* tla_owner.who of guarded memory: an address space (its context) and an initiator in it. A block belongs to the
 * context that allocated it, and only that may access and free it, but for those who are not held to any: */
#define TLA_WHO_UNKNOWN UINT64_MAX             /* nobody said; owns nothing */
#define TLA_WHO_TRUSTED (UINT64_C(1) << 63)    /* or-ed to a tla_who: hardware that works for every context */
#define TLA_ASID_HARDWARE UINT32_C(0x7fffffff) /* the context of what belongs to no address space: page tables */
static inline uint64_t tla_who(uint32_t asid, uint32_t initiator) { /* asid: at most TLA_ASID_HARDWARE */
    return (uint64_t)asid << 32 | initiator;
}
static inline uint64_t tla_who_context(uint64_t who) { /* the asid; who is not TLA_WHO_UNKNOWN */
    return (who & ~TLA_WHO_TRUSTED) >> 32;
}

typedef struct tla_guard tla_guard;

/* A guard for the memory that `arena` places from offset 0 on; the arena must validate and outlive the guard.
 * `history` is the number of freed blocks that are remembered. TLA_INVALID_ARGUMENT without validation, with a base
 * above 0 or a capacity of 0, TLA_NO_HOST_MEMORY; *guard is NULL then. Host memory: an eighth of what was written. */
tla_status tla_guard_create(const tla_arena *arena, size_t history, tla_guard **guard);
void tla_guard_destroy(tla_guard *guard);

/* Of a block that several contexts may hold (object_store.h): whether `who` is one of them. */
typedef enum tla_sharing {
    TLA_NOT_SHARED, /* it belongs to who allocated it, as every block */
    TLA_SHARED_WITH,
    TLA_SHARED_WITHOUT
} tla_sharing;

typedef struct tla_guard_shares {
    tla_sharing (*of)(void *context, uint64_t offset, uint64_t who); /* offset: where a live block begins */
    void *context;
} tla_guard_shares;

/* Who holds a block is asked there from now on, before its owner is looked at. */
void tla_guard_set_shares(tla_guard *guard, const tla_guard_shares *shares);

/* To be told of every block that the arena has given out, and taken back: whose it was, and who freed it when. */
void tla_guard_allocated(tla_guard *guard, tla_block block);
void tla_guard_freed(tla_guard *guard, tla_block block, tla_owner owner, tla_owner freed_by);

/* One access to [offset, offset + width), width > 0. Its length bytes wrap around at the width (streaming); where
 * there are byte enables (0 = disabled; repeated), the others are not touched. */
typedef struct tla_guard_access {
    bool write;
    uint64_t offset, length, width;
    const uint8_t *enables; /* NULL: all */
    uint64_t enables_length;
    uint64_t who;           /* tla_who, or TLA_WHO_UNKNOWN */
    uint64_t time;          /* ps, for the text */
    uint64_t before, after; /* bytes of the transfer it is a part of, right before and right behind [offset, + width) */
} tla_guard_access;

/* Looks at an access before it is made. TLA_OK, or the first that holds:
 *   TLA_USE_AFTER_FREE   not in a live block, but in one that is remembered as freed
 *   TLA_OUT_OF_BOUNDS    not in a live block, or past the end of the one it begins in; or the transfer that it is a
 *                        part of begins before that block or ends behind it
 *   TLA_NOT_OWNER        the block belongs to another context, and both are known; or others hold it
 *   TLA_NEVER_WRITTEN    a read of bytes that nobody has written since the block was allocated
 * *error (may be NULL) names the access, the block, its owner and when it was allocated and freed; `what` names the
 * memory in it ("HBM"). Adjacent blocks of one context that were allocated with the same tag (tla_owner.tag), which is
 * not 0, are parts of one object and count as one block here. Bytes beyond the arena are not guarded: TLA_OK. O(log n),
 * and O(history) for a free block. */
tla_status tla_guard_look(const tla_guard *guard, const tla_guard_access *access, const char *what, tla_error *error);

/* Whether `by` may free a live block: TLA_NOT_OWNER, and *error (may be NULL) says so, when it belongs to another
 * context; else TLA_OK, also where nothing is live. */
tla_status tla_guard_may_free(const tla_guard *guard, uint64_t offset, tla_owner by, const char *what,
                              tla_error *error);

/* Notes what a write has written, once it has been made: one that was refused, or that went wrong, has written nothing.
 * Reads and bytes beyond the arena change nothing. */
void tla_guard_note(tla_guard *guard, const tla_guard_access *access);

/* Both, where everything that is right is made: looks, and notes when that says TLA_OK. */
tla_status tla_guard_check(tla_guard *guard, const tla_guard_access *access, const char *what, tla_error *error);

/* Notes that a range may be written without the guard's knowledge (a pointer was given away, a debug access): it counts
 * as written, until it is allocated again. */
void tla_guard_trust(tla_guard *guard, tla_block range);

#ifdef __cplusplus
}
#endif
#endif
