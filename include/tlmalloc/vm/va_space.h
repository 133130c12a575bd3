/* Page-aligned virtual address ranges, device-wide (KernBench ADR-0048 D4, VirtualAllocator).
 *
 * First fit by lowest address with coalescing; sizes are rounded up to the page size on allocation and on release. A
 * range as large as one of the larger pages begins on such a page if one is free. It can then be mapped with that page.
 * Sizes are not rounded up to larger pages. */
#ifndef TLMALLOC_VM_VA_SPACE_H
#define TLMALLOC_VM_VA_SPACE_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_va_space tla_va_space;

enum { TLA_VA_LARGER_PAGES = 3 };

typedef struct tla_va_space_config {
    tla_vaddr base;                                  /* multiple of page_size */
    uint64_t nbytes;                                 /* multiple of page_size */
    uint64_t page_size;                              /* power of two */
    uint64_t larger_page_sizes[TLA_VA_LARGER_PAGES]; /* ascending powers of two above page_size; 0 = no more */
} tla_va_space_config;

/* TLA_INVALID_ARGUMENT when a member breaks its rule, TLA_NO_HOST_MEMORY; *space is NULL then. */
tla_status tla_va_space_create(const tla_va_space_config *config, tla_va_space **space);
void tla_va_space_destroy(tla_va_space *space);

/* Allocates a page-aligned range of at least nbytes. Its alignment is the largest of the larger pages that it fills if
 * such a range is free, else the next smaller. Errors as tla_arena_alloc; work counts every search. */
tla_status tla_va_space_alloc(tla_va_space *space, uint64_t nbytes, tla_vaddr *va, tla_work *work);

/* Releases a range; nbytes is rounded up as on allocation. Errors as tla_arena_free; TLA_INVALID_ARGUMENT for an
 * address that is not page-aligned. */
tla_status tla_va_space_free(tla_va_space *space, tla_vaddr va, uint64_t nbytes, tla_work *work);

tla_arena_stats tla_va_space_get_stats(const tla_va_space *space);

/* Writes a readable explanation of a failed allocation, as tla_arena_explain does; `what` names the space in the text.
 */
tla_status tla_va_space_explain(const tla_va_space *space, const char *what, uint64_t nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
