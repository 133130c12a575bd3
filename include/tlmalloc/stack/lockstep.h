/* One decision for N banks: tt-metal's allocator, for tensors striped over slices.
 *
 * A buffer's pages go round the banks; the buffer has the same range in every bank, even in those that get fewer pages
 * or none. So one free list serves all banks, and what a small buffer wastes in the others is reported. DRAM is filled
 * from below, L1 from above. Not thread safe; one owner at a time. */
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
    uint64_t alignment;  /* of pages and offsets; a power of two, 0 = 1 */
    tla_fill fill;
} tla_lockstep_config;

typedef struct tla_lockstep_buffer {
    uint64_t offset;     /* in every bank */
    uint64_t bank_bytes; /* in every bank */
    uint64_t pages;
    uint64_t page_bytes; /* as padded: a multiple of the alignment */
} tla_lockstep_buffer;

/* Of one bank; bytes. */
typedef struct tla_bank_stats {
    uint64_t allocatable; /* the bank */
    uint64_t allocated;   /* ranges that are taken */
    uint64_t free;
    uint64_t largest_free;
    uint64_t occupied; /* pages that are really in this bank: the rest of `allocated` is lockstep's waste */
} tla_bank_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *lockstep is NULL then. */
tla_status tla_lockstep_create(const tla_lockstep_config *config, tla_lockstep **lockstep);

/* NULL is allowed. */
void tla_lockstep_destroy(tla_lockstep *lockstep);

/* Takes a buffer of nbytes in pages of page_bytes (each padded to the alignment; the last may be shorter in use, not in
 * place): page i lies in bank i % banks. The receipt is that of one decision. TLA_INVALID_ARGUMENT for 0 bytes or what
 * exceeds 2^63 a bank; TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_NO_HOST_MEMORY as tla_arena_alloc; nothing is taken then. */
tla_status tla_lockstep_alloc(tla_lockstep *lockstep, uint64_t nbytes, uint64_t page_bytes, tla_lockstep_buffer *buffer,
                              tla_work *work);

/* Says why a buffer was refused, for a person: `what` (the allocator's name in the text), its pages, the bytes that
 * they take in every bank, and what a bank has free. Returns the status; figures of *error (may be NULL) are a bank's.
 */
tla_status tla_lockstep_explain(const tla_lockstep *lockstep, const char *what, uint64_t nbytes, uint64_t page_bytes,
                                tla_error *error);

/* Gives a buffer back. TLA_INVALID_ARGUMENT for one whose members do not fit together; else as tla_arena_free. */
tla_status tla_lockstep_free(tla_lockstep *lockstep, tla_lockstep_buffer buffer, tla_work *work);

/* Where page `page` of a buffer lies. TLA_OUT_OF_RANGE for a page that it does not have. */
tla_status tla_lockstep_page(const tla_lockstep *lockstep, const tla_lockstep_buffer *buffer, uint64_t page,
                             uint32_t *bank, uint64_t *offset);

/* TLA_OUT_OF_RANGE for a bank that there is not. */
tla_status tla_lockstep_get_stats(const tla_lockstep *lockstep, uint32_t bank, tla_bank_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
