/* The line of entries that a read of a walk brings, and the run of pages in it.
 *
 * With a range buffer a walker reads a line: the eight entries of a table, counted from its start, in which the entry
 * lies; a table with fewer entries is one line. From the line of a page's entry it learns which neighbours continue the
 * page, at no further read. */
#ifndef TLMALLOC_MODEL_VM_PTE_LINE_H
#define TLMALLOC_MODEL_VM_PTE_LINE_H

#include "range_buffer.h"

typedef struct pte_line {
    uint64_t pa;
    uint32_t nbytes, before; /* of the line; of its entries before that of the walk */
} pte_line;

/* The line of read i of a walk in addresses of va_bits (64 if 0). A region list is read as it is. */
pte_line pte_line_of(const tla_walk *walk, uint32_t i, uint32_t va_bits);

/* The run of the page that a walk has found: it and its neighbours in the line that are physically adjacent pages of
 * the same size and permissions. bytes: the line as it has been read, which must say so too; NULL: outside any memory.
 */
tla_range pte_line_run(const tla_page_table *table, const tla_walk *walk, uint32_t va_bits, const uint8_t *bytes);

#endif
