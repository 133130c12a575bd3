/* Checks whether the bytes that a walk reads equal the table's. Internal to the core. */
#ifndef TLMALLOC_MODEL_VM_PTE_CHECK_H
#define TLMALLOC_MODEL_VM_PTE_CHECK_H

#include "tlmalloc/vm/page_table.h"

/* bytes: walk->read[i].nbytes of them, as they stand in memory. */
bool tla_walk_read_matches(const tla_walk *walk, uint32_t i, const uint8_t *bytes);

#endif
