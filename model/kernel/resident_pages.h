/* The resident pages of tensors, by memory, and the choice of the page that leaves a full memory.
 *
 * The owner of this book serves page faults. It adds a page when the page is mapped, and removes the page when it has
 * left. When a memory is full, it searches for a victim: the book names pages whose reference bits the owner reads and
 * clears in the MMUs, and then the victim.
 *
 * - clock: a hand moves over the pages in the order in which they came. A referenced page loses its bit and stays, the
 *   first other page leaves. After a full circle the page under the hand leaves. A new page is the last that the hand
 *   meets.
 * - lru: a search reads the bits of all pages of the memory. The page leaves that no search has found referenced for
 *   the longest time. The order of use is therefore as fine as the searches: pages that were used between the same two
 *   searches keep their order. A new page counts as used.
 *
 * Not thread safe. Internal to model/. */
#ifndef TLMALLOC_MODEL_KERNEL_RESIDENT_PAGES_H
#define TLMALLOC_MODEL_KERNEL_RESIDENT_PAGES_H

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/base/status.h"
#include "tlmalloc/kernel/tensor_shards.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_RESIDENT_PAGES_ASKED_MAX = 64 }; /* pages whose bits are read at a time */

typedef struct tla_resident_pages tla_resident_pages;

/* TLA_INVALID_ARGUMENT for TLA_EVICTION_OFF and unknown values, TLA_NO_HOST_MEMORY; *pages is NULL then. */
tla_status tla_resident_pages_create(tla_eviction policy, tla_resident_pages **pages);
void tla_resident_pages_destroy(tla_resident_pages *pages);

/* Adds a page that is not in the book, by its first address. `memory` is the caller's number of its memory.
 * TLA_NO_HOST_MEMORY: nothing changes. No search is in progress. */
tla_status tla_resident_pages_add(tla_resident_pages *pages, uint32_t memory, tla_vaddr va);

/* Removes all pages that begin in [va, va + nbytes). No search is in progress. */
void tla_resident_pages_remove(tla_resident_pages *pages, tla_vaddr va, uint64_t nbytes);

/* Begins a search for a victim in a memory. */
void tla_resident_pages_search(tla_resident_pages *pages, uint32_t memory);

/* Returns the number of pages in asked[], whose reference bits the caller now reads and clears; 0: the search is
 * over. */
size_t tla_resident_pages_ask(tla_resident_pages *pages, tla_vaddr asked[TLA_RESIDENT_PAGES_ASKED_MAX]);

/* The bits: bit i for asked[i]. */
void tla_resident_pages_answer(tla_resident_pages *pages, uint64_t referenced);

/* Returns the victim of a search that is over. False: the memory has no page. The page stays in the book until it is
 * removed; in the next search it is as if it had been passed over. */
bool tla_resident_pages_victim(tla_resident_pages *pages, tla_vaddr *va);

/* Returns the number of resident pages of all memories. */
size_t tla_resident_pages_count(const tla_resident_pages *pages);

#ifdef __cplusplus
}
#endif
#endif
