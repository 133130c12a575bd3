/* One decision for N banks: tt-metal's allocator, for tensors striped over slices.
 *
 * A buffer's pages are distributed round-robin over the banks. The buffer occupies the same range in every bank, even
 * in banks that receive fewer pages or no page. One free list therefore serves all banks. Statistics report the space
 * that a small buffer wastes in the other banks. DRAM is filled from below, L1 from above. Not thread safe; one owner
 * at a time. */
#ifndef TLMALLOC_STACK_LOCKSTEP_H
#define TLMALLOC_STACK_LOCKSTEP_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_lockstep tla_lockstep;

typedef enum tla_fill {
    TLA_BOTTOM_UP, /* lowest offset first: DRAM */
    TLA_TOP_DOWN   /* highest first: L1, where circular buffers grow from below */
} tla_fill;

typedef struct tla_lockstep_config {
    uint32_t banks;      /* at least 1 */
    uint64_t base;       /* first offset in every bank; a multiple of alignment */
    uint64_t bank_bytes; /* bytes of every bank; base + bank_bytes at most 2^63 */
    uint64_t alignment;  /* alignment of pages and offsets; a power of two, 0 = 1 */
    tla_fill fill;
} tla_lockstep_config;

typedef struct tla_lockstep_buffer {
    uint64_t offset;     /* in every bank */
    uint64_t bank_bytes; /* in every bank */
    uint64_t pages;
    uint64_t page_bytes; /* padded to a multiple of the alignment */
} tla_lockstep_buffer;

/* Statistics of one bank, in bytes. */
typedef struct tla_bank_stats {
    uint64_t allocatable; /* the whole bank */
    uint64_t allocated;   /* allocated ranges */
    uint64_t free;
    uint64_t largest_free;
    uint64_t occupied; /* pages that really lie in this bank; the rest of `allocated` is lockstep's waste */
} tla_bank_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; after an error *lockstep is NULL. */
tla_status tla_lockstep_create(const tla_lockstep_config *config, tla_lockstep **lockstep);

/* NULL is allowed. */
void tla_lockstep_destroy(tla_lockstep *lockstep);

/* Allocates a buffer of nbytes in pages of page_bytes. Each page is padded to the alignment; the last page may hold
 * fewer bytes but occupies the same space. Page i lies in bank i % banks. The receipt is that of one decision.
 * TLA_INVALID_ARGUMENT for 0 bytes or more than 2^63 bytes per bank; TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_NO_HOST_MEMORY
 * as tla_arena_alloc. After an error nothing is allocated. */
tla_status tla_lockstep_alloc(tla_lockstep *lockstep, uint64_t nbytes, uint64_t page_bytes, tla_lockstep_buffer *buffer,
                              tla_work *work);

/* Writes a readable explanation of a failed buffer. It has `what` (the allocator's name in the text), the buffer's
 * pages, its bytes in every bank, and the free bytes of a bank. Returns the status; the figures of *error (may be NULL)
 * are those of a bank. */
tla_status tla_lockstep_explain(const tla_lockstep *lockstep, const char *what, uint64_t nbytes, uint64_t page_bytes,
                                tla_error *error);

/* Releases a buffer. TLA_INVALID_ARGUMENT for a buffer with inconsistent members; else as tla_arena_free. */
tla_status tla_lockstep_free(tla_lockstep *lockstep, tla_lockstep_buffer buffer, tla_work *work);

/* Finds the bank and offset of page `page` of a buffer. TLA_OUT_OF_RANGE for a page that the buffer does not have. */
tla_status tla_lockstep_page(const tla_lockstep *lockstep, const tla_lockstep_buffer *buffer, uint64_t page,
                             uint32_t *bank, uint64_t *offset);

/* TLA_OUT_OF_RANGE for a bank that does not exist. */
tla_status tla_lockstep_get_stats(const tla_lockstep *lockstep, uint32_t bank, tla_bank_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
