/* Decodes what a walk reads and compares it with the table. */
#include "pte_check.h"

#include "base/little_endian.h"

/* A region list is read at the level of the page that it divides. */
static bool is_list(const tla_walk *walk, uint32_t i) {
    return i > 0 && walk->read[i].va_shift == walk->read[i - 1].va_shift;
}

/* The entry leads to the table, or list, that the next read lies in. */
static bool leads_on(const tla_walk *walk, uint32_t i, const tla_pte *pte) {
    uint64_t next = walk->read[i + 1].pa.value;
    if (is_list(walk, i + 1)) return pte->kind == TLA_PTE_REGIONS && pte->pa.value == next;
    uint32_t shift = walk->read[i + 1].va_shift, bits = walk->read[i].va_shift - shift;
    uint64_t index = walk->va.value >> shift & ((UINT64_C(1) << bits) - 1);
    return pte->kind == TLA_PTE_TABLE && pte->pa.value + 8 * index == next;
}

static bool is_found_page(const tla_walk *walk, const tla_pte *pte) {
    return pte->kind == TLA_PTE_PAGE && pte->pa.value == walk->pa.value && pte->flags == walk->flags;
}

static bool list_holds(const tla_walk *walk, uint32_t nbytes, const uint8_t *bytes) {
    if (walk->nbytes == 0) return true; /* nothing was found, and nothing is to be found */
    for (uint32_t at = 0; at + 16 <= nbytes; at += 16) {
        uint64_t span = get_little_endian(bytes + at, 8);
        tla_pte pte;
        if (span >> 32 == walk->nbytes && (uint32_t)span == (walk->va.value & (walk->page_size - 1)) &&
            !tla_pte_decode(get_little_endian(bytes + at + 8, 8), &pte) && is_found_page(walk, &pte))
            return true;
    }
    return false;
}

bool tla_walk_read_matches(const tla_walk *walk, uint32_t i, const uint8_t *bytes) {
    if (is_list(walk, i)) return list_holds(walk, walk->read[i].nbytes, bytes);
    tla_pte pte;
    if (tla_pte_decode(get_little_endian(bytes, 8), &pte)) return false;
    if (i + 1 < walk->reads) return leads_on(walk, i, &pte);
    return walk->nbytes > 0 ? is_found_page(walk, &pte) : pte.kind == TLA_PTE_ABSENT;
}
