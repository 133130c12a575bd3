/* Lines of page-table entries, and the runs of pages in them. */
#include "pte_line.h"
#include "pte_check.h"

enum { ENTRY_BYTES = 8, LINE_BITS = 3 };

pte_line pte_line_of(const tla_walk *walk, uint32_t i, uint32_t va_bits) {
    const uint64_t pa = walk->read[i].pa.value;
    if (walk->read[i].nbytes != ENTRY_BYTES) return (pte_line){pa, walk->read[i].nbytes, 0};
    const uint32_t shift = walk->read[i].va_shift;
    const uint32_t above = i > 0 ? walk->read[i - 1].va_shift : va_bits ? va_bits : 64;
    const uint32_t entries = UINT32_C(1) << (above - shift < LINE_BITS ? above - shift : LINE_BITS);
    const uint32_t before = ENTRY_BYTES * ((uint32_t)(walk->va.value >> shift) & (entries - 1));
    return (pte_line){pa - before, ENTRY_BYTES * entries, before};
}

/* Whether the page with this va continues that of the walk; entry: what the line says, or NULL. */
static bool continues(const tla_page_table *table, const tla_walk *walk, uint64_t va, const uint8_t *entry) {
    tla_walk other;
    if (tla_page_table_walk(table, walk->asid, (tla_vaddr){va}, &other)) return false;
    return other.nbytes == walk->nbytes && other.page_size == walk->page_size && other.flags == walk->flags &&
           other.pa.value - walk->pa.value == va - walk->va.value &&
           (!entry || tla_walk_read_matches(&other, other.reads - 1, entry));
}

tla_range pte_line_run(const tla_page_table *table, const tla_walk *walk, uint32_t va_bits, const uint8_t *bytes) {
    const pte_line line = pte_line_of(walk, walk->reads - 1, va_bits);
    const uint64_t page = walk->page_size, start = walk->va.value - line.before / ENTRY_BYTES * page;
    uint32_t first = line.before / ENTRY_BYTES, end = first + 1;
    while (first > 0 &&
           continues(table, walk, start + (first - 1) * page, bytes ? bytes + (first - 1) * ENTRY_BYTES : NULL))
        first--;
    while (end < line.nbytes / ENTRY_BYTES &&
           continues(table, walk, start + end * page, bytes ? bytes + end * ENTRY_BYTES : NULL))
        end++;
    const uint64_t va = start + first * page;
    return (tla_range){va, (end - first) * page, walk->pa.value - (walk->va.value - va), walk->asid, walk->flags};
}
