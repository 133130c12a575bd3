/* Key-value cache in virtually contiguous ranges, mapped page by page on demand (vAttention, ASPLOS 2025).
 *
 * Every sequence has a range of virtual addresses in each tensor (K and V of every layer), long enough for the longest
 * request, so that kernels see contiguous tensors. Physical memory is pages of one size. When a sequence grows past
 * what is mapped, every tensor gets its next page, all of them or none; when it ends, its pages are unmapped and go
 * back to the tail of the queue of free pages. Pages are handed out in groups of one for each tensor, since they come
 * and go together; a group has a number. vAttention's deferred unmapping and mapping ahead are not here (map_ahead of
 * the experiments has the latter).
 *
 * Receipts: of each page nodes_visited and slots (taken; given back slots alone), chunks (a range mapped or unmapped)
 * and pte_writes; of each release one of invalidates. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_KV_KV_MAPPED_H
#define TLMALLOC_KV_KV_MAPPED_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_kv_mapped_config {
    uint64_t groups;      /* of pages: 1 .. 2^32 - 1 */
    uint64_t tensors;     /* pages of a group, 1 .. 2^20 */
    uint64_t page_tokens; /* of a sequence in a page of one tensor, 1 .. 2^32 */
    uint64_t page_ptes;   /* entries that a page is in the table, 1 .. 2^32 */
    uint64_t sequences;   /* ranges of virtual addresses, 1 .. 2^32 - 1 */
    uint64_t longest;     /* tokens of a range, 1 .. 2^32 */
} tla_kv_mapped_config;

typedef struct tla_kv_mapped_stats {
    uint64_t groups, free_groups;
    uint64_t mapped_tokens;    /* for which live sequences have pages */
    uint64_t mapped, unmapped; /* pages, since the beginning */
    uint64_t refused;          /* for want of pages */
} tla_kv_mapped_stats;

typedef struct tla_kv_mapped tla_kv_mapped;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_mapped_create(const tla_kv_mapped_config *config, tla_kv_mapped **made);
void tla_kv_mapped_destroy(tla_kv_mapped *mapped); /* NULL is allowed */

/* Makes sure that a sequence has pages for so many tokens. TLA_LIMIT for more than the longest or than all pages hold,
 * TLA_EXHAUSTED when fewer groups are free than it needs, TLA_OUT_OF_RANGE for a sequence that is none,
 * TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_kv_mapped_grow(tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens, tla_work *work);

/* Unmaps what a sequence has, its last page first. TLA_OUT_OF_RANGE for one that is none. */
tla_status tla_kv_mapped_release(tla_kv_mapped *mapped, uint64_t sequence, tla_work *work);

/* Where a token of a sequence lies, in every tensor: the group of its page, and which token of the page it is.
 * TLA_UNMAPPED, TLA_OUT_OF_RANGE. */
tla_status tla_kv_mapped_find(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t token, uint64_t *group,
                              uint64_t *at);

/* Whether a sequence could have pages for so many tokens now. */
bool tla_kv_mapped_fits(const tla_kv_mapped *mapped, uint64_t sequence, uint64_t tokens);

tla_kv_mapped_stats tla_kv_mapped_get_stats(const tla_kv_mapped *mapped);

#ifdef __cplusplus
}
#endif
#endif
