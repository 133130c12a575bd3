/* Virtual addresses: ranges, page tables, TLBs, walkers, and the MMU out of them. */
#ifndef TLMALLOC_TRANSLATION_H
#define TLMALLOC_TRANSLATION_H

#include "tlmalloc/vm/mmu.h"
#include "tlmalloc/vm/mmu_steps.h"
#include "tlmalloc/vm/page_table.h"
#include "tlmalloc/vm/tlb.h"
#include "tlmalloc/vm/va_space.h"
#include "tlmalloc/vm/walker.h"

#endif
