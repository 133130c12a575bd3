/* The 8-byte page-table entry. */
#include "tlmalloc/vm/page_table.h"

enum { FLAGS_SHIFT = TLA_PADDR_BITS, KIND_SHIFT = TLA_PADDR_BITS + 2 };

tla_status tla_pte_encode(const tla_pte *pte, uint64_t *word) {
    bool page = pte->kind == TLA_PTE_PAGE;
    if ((unsigned)pte->kind > TLA_PTE_REGIONS || pte->pa.value >> TLA_PADDR_BITS ||
        pte->flags > (TLA_READ | TLA_WRITE) || page == (pte->flags == 0) ||
        (pte->kind == TLA_PTE_ABSENT && pte->pa.value != 0))
        return TLA_INVALID_ARGUMENT;
    *word = pte->pa.value | (uint64_t)pte->flags << FLAGS_SHIFT | (uint64_t)pte->kind << KIND_SHIFT;
    return TLA_OK;
}

tla_status tla_pte_decode(uint64_t word, tla_pte *pte) {
    tla_pte read = {.kind = (tla_pte_kind)(word >> KIND_SHIFT & 3),
                    .pa = {word & ((UINT64_C(1) << TLA_PADDR_BITS) - 1)},
                    .flags = (uint32_t)(word >> FLAGS_SHIFT & 3)};
    uint64_t again;
    if (tla_pte_encode(&read, &again) || again != word) return TLA_BAD_COMMAND;
    *pte = read;
    return TLA_OK;
}
