/* Guarded memory: the check that an access lies inside one live block, is by its owner, and reads only written bytes.
 *
 * A guard watches one memory whose blocks a validated arena places. It remembers the most recently freed blocks, so
 * that a use after free can name them. It also has one bit for each byte: written since its block was allocated. It
 * holds no bytes and has no clock; times are the caller's picoseconds. */
#ifndef TLMALLOC_MEMORY_GUARD_H
#define TLMALLOC_MEMORY_GUARD_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reaction of a module to the findings of the guard. */
typedef enum tla_guard_mode { TLA_GUARD_OFF, TLA_GUARD_REPORT, TLA_GUARD_ERROR, TLA_GUARD_MODE_COUNT } tla_guard_mode;

/* Name as in configuration files, "off", "report", "error"; NULL for an unknown value. */
const char *tla_guard_mode_name(tla_guard_mode mode);

/* tla_owner.who of guarded memory: an address space (its context) and an initiator in it. A block belongs to the
 * context that allocated it, and only that context may access and free it. The following requesters are not restricted
 * to a context: */
#define TLA_WHO_UNKNOWN UINT64_MAX             /* requester not stated; owns nothing */
#define TLA_WHO_TRUSTED (UINT64_C(1) << 63)    /* or-ed to a tla_who: hardware that works for every context */
#define TLA_ASID_HARDWARE UINT32_C(0x7fffffff) /* the context of data outside any address space: page tables */
static inline uint64_t tla_who(uint32_t asid, uint32_t initiator) { /* asid: at most TLA_ASID_HARDWARE */
    return (uint64_t)asid << 32 | initiator;
}
static inline uint64_t tla_who_context(uint64_t who) { /* the asid; the argument must not be TLA_WHO_UNKNOWN */
    return (who & ~TLA_WHO_TRUSTED) >> 32;
}

typedef struct tla_guard tla_guard;

/* Creates a guard for the memory that `arena` places, starting at offset 0; the arena must validate and outlive the
 * guard. `history` is the number of freed blocks that the guard remembers. TLA_INVALID_ARGUMENT without validation,
 * with a base above 0 or a capacity of 0, TLA_NO_HOST_MEMORY; *guard is NULL then. Host memory: an eighth of the
 * written bytes. */
tla_status tla_guard_create(const tla_arena *arena, size_t history, tla_guard **guard);
void tla_guard_destroy(tla_guard *guard);

/* Whether `who` is among the contexts that hold a block (object_store.h). */
typedef enum tla_sharing {
    TLA_NOT_SHARED, /* it belongs to its allocating context, like every block */
    TLA_SHARED_WITH,
    TLA_SHARED_WITHOUT
} tla_sharing;

typedef struct tla_guard_shares {
    tla_sharing (*of)(void *context, uint64_t offset, uint64_t who); /* offset: start of a live block */
    void *context;
} tla_guard_shares;

/* Sets the source of a block's holders, which the guard queries before it checks the owner. */
void tla_guard_set_shares(tla_guard *guard, const tla_guard_shares *shares);

/* Call these for every block that the arena has allocated, and released, with its owner, and the owner and time of the
 * free. */
void tla_guard_allocated(tla_guard *guard, tla_block block);
void tla_guard_freed(tla_guard *guard, tla_block block, tla_owner owner, tla_owner freed_by);

/* One access to [offset, offset + width), width > 0. Its length bytes wrap around at the width (streaming). With byte
 * enables (0 = disabled; repeated), disabled bytes are not touched. */
typedef struct tla_guard_access {
    bool write;
    uint64_t offset, length, width;
    const uint8_t *enables; /* NULL: all */
    uint64_t enables_length;
    uint64_t who;           /* tla_who, or TLA_WHO_UNKNOWN */
    uint64_t time;          /* ps, for the text */
    uint64_t before, after; /* bytes of the access's transfer directly before and after [offset, + width) */
} tla_guard_access;

/* Checks an access before it is executed. Returns TLA_OK, or the first error that applies:
 *
 * - TLA_USE_AFTER_FREE: not in a live block, but in a block that is remembered as freed
 * - TLA_OUT_OF_BOUNDS: not in a live block, or past the end of the block in which it begins; or its transfer begins
 *   before that block or ends after it
 * - TLA_NOT_OWNER: the block belongs to another context, and both are known; or other contexts hold it
 * - TLA_NEVER_WRITTEN: a read of bytes that were not written since the block was allocated
 *
 * The text of *error (may be NULL) names the access, the block, its owner and the times of its allocation and free.
 * `what` names the memory in it ("HBM"). Adjacent blocks of one context with the same tag other than 0 (tla_owner.tag)
 * are parts of one object, and count as one block here. Bytes beyond the arena are not guarded: TLA_OK. O(log n), and
 * O(history) for a free block. */
tla_status tla_guard_look(const tla_guard *guard, const tla_guard_access *access, const char *what, tla_error *error);

/* Returns whether `by` may free a live block. TLA_NOT_OWNER, with a text in *error (may be NULL), when it belongs to
 * another context; else TLA_OK, also if no block is live there. */
tla_status tla_guard_may_free(const tla_guard *guard, uint64_t offset, tla_owner by, const char *what,
                              tla_error *error);

/* Notes the bytes of a write after its execution. A rejected or failed write has written nothing. Reads and bytes
 * beyond the arena change nothing. */
void tla_guard_note(tla_guard *guard, const tla_guard_access *access);

/* Does both, where every valid access is executed: checks the access, and notes it after TLA_OK. */
tla_status tla_guard_check(tla_guard *guard, const tla_guard_access *access, const char *what, tla_error *error);

/* The bytes of a block have been copied to an offset of a guarded memory, the same or another: those bytes there count
 * as written that were written here. */
void tla_guard_copied(const tla_guard *from, tla_block block, tla_guard *to, uint64_t offset);

/* Notes that a range may be written without the guard's knowledge (a granted pointer, a debug access). It counts as
 * written until it is allocated again. */
void tla_guard_trust(tla_guard *guard, tla_block range);

#ifdef __cplusplus
}
#endif
#endif
