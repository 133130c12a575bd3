/* Virtual addresses: ranges, page tables, TLBs, walkers, and the MMU out of them. */
#ifndef TLMALLOC_TRANSLATION_H
#define TLMALLOC_TRANSLATION_H

#include "tlmalloc/translation/mmu.h"
#include "tlmalloc/translation/mmu_steps.h"
#include "tlmalloc/translation/page_table.h"
#include "tlmalloc/translation/tlb.h"
#include "tlmalloc/translation/va_space.h"
#include "tlmalloc/translation/walker.h"

#endif
