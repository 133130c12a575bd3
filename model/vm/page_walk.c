/* Finding what an address maps to: translations, and the walk that a hardware walker would make. */
#include "radix.h"

static bool find_region(const radix_node *list, uint64_t page_va, uint32_t offset, radix_piece *piece) {
    uint32_t low = 0, high = list->live;
    while (low < high) { /* the last region that begins at or before the offset */
        uint32_t middle = low + (high - low) / 2;
        if (region_offset(list, middle) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || offset - region_offset(list, low - 1) >= region_nbytes(list, low - 1)) return false;
    uint64_t slot = list->slots[2 * (low - 1) + 1];
    *piece = (radix_piece){.va = page_va + region_offset(list, low - 1),
                           .nbytes = region_nbytes(list, low - 1),
                           .pa = slot_pa(slot),
                           .flags = slot_flags(slot),
                           .region = true};
    return true;
}

bool radix_find(const tla_page_table *t, const radix_node *node, uint64_t va, radix_piece *piece) {
    for (unsigned level = node->level;; level++) {
        uint64_t offset = va & (level_span(t, level) - 1);
        uint32_t index = level_index(t, level, va);
        uint64_t slot = node->slots[index];
        switch (slot_kind(slot)) {
        case SLOT_EMPTY:
            return false;
        case SLOT_PAGE:
            *piece = (radix_piece){.va = va - offset,
                                   .nbytes = level_span(t, level),
                                   .pa = slot_pa(slot),
                                   .flags = slot_flags(slot),
                                   .size = slot_size(slot),
                                   .node = node,
                                   .index = index};
            return true;
        case SLOT_LIST:
            return find_region(slot_node(slot), va - offset, (uint32_t)offset, piece);
        default:
            node = slot_node(slot);
        }
    }
}

bool radix_find_first(const tla_page_table *t, const radix_node *node, uint64_t va, uint64_t last, uint64_t *first) {
    for (node = radix_descend(t, node_slot(node, SLOT_NODE), va, last);;) {
        uint64_t mask = level_span(t, node->level) - 1, end = last < (va | mask) ? last : va | mask;
        uint64_t slot = node->slots[level_index(t, node->level, va)];
        if (slot_kind(slot) == SLOT_PAGE) {
            *first = va;
            return true;
        }
        if (slot_kind(slot) == SLOT_NODE && radix_find_first(t, slot_node(slot), va, end, first)) return true;
        if (slot_kind(slot) == SLOT_LIST) {
            const radix_node *list = slot_node(slot);
            for (uint32_t i = 0; i < list->live; i++) {
                uint64_t from = (va & ~mask) + region_offset(list, i), to = from + region_nbytes(list, i) - 1;
                if (from > end || to < va) continue;
                *first = from > va ? from : va;
                return true;
            }
        }
        if (end == last) return false;
        va = end + 1;
    }
}

static bool find(const tla_page_table *t, uint32_t asid, uint64_t va, radix_piece *piece) {
    const radix_entry *entry = &t->entry[asid];
    return entry->node && (va & entry->mask) == entry->prefix && radix_find(t, entry->node, va, piece);
}

/* The piece after *piece, which begins at va: in the slot beside it, or wherever. */
static bool find_next(const tla_page_table *t, uint32_t asid, uint64_t va, radix_piece *piece) {
    if (piece->node && piece->index + 1 < piece->node->words) {
        uint64_t slot = piece->node->slots[piece->index + 1];
        if (slot_kind(slot) == SLOT_PAGE) {
            piece->va = va;
            piece->pa = slot_pa(slot);
            piece->flags = slot_flags(slot);
            piece->size = slot_size(slot);
            piece->index++;
            return true;
        }
    }
    return find(t, asid, va, piece);
}

tla_status tla_page_table_translate_in(const tla_page_table *t, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                       uint32_t access, tla_translation *translation, tla_work *work) {
    if (asid >= t->asids) return TLA_INVALID_ARGUMENT;
    radix_piece piece;
    bool found = find(t, asid, va.value, &piece);
    if (work) work->table_levels += found ? t->depth[piece.size] + piece.region : t->depth[0];
    if (!found) return TLA_UNMAPPED;
    if (access & ~piece.flags) return TLA_PERMISSION;
    uint64_t into = va.value - piece.va;
    tla_translation all = {{piece.pa + into}, piece.nbytes - into, piece.flags};
    while (all.nbytes < nbytes && all.nbytes <= UINT64_MAX - va.value &&
           find_next(t, asid, va.value + all.nbytes, &piece) && piece.pa == all.pa.value + all.nbytes &&
           piece.flags == all.flags)
        all.nbytes += piece.nbytes;
    if (all.nbytes > nbytes) all.nbytes = nbytes;
    *translation = all;
    return TLA_OK;
}

tla_status tla_page_table_translate(const tla_page_table *t, tla_vaddr va, uint64_t nbytes, uint32_t access,
                                    tla_translation *translation, tla_work *work) {
    return tla_page_table_translate_in(t, 0, va, nbytes, access, translation, work);
}

bool tla_page_table_first_mapped(const tla_page_table *t, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                 tla_vaddr *first) {
    if (asid >= t->asids || !t->entry[asid].node) return false;
    const radix_entry *entry = &t->entry[asid];
    const uint64_t begin = entry->prefix, end = begin | ~entry->mask; /* the first and last that may be mapped */
    const uint64_t last = nbytes - 1 > UINT64_MAX - va.value ? UINT64_MAX : va.value + (nbytes - 1);
    if (va.value > end || last < begin) return false;
    return radix_find_first(t, entry->node, va.value > begin ? va.value : begin, last < end ? last : end,
                            &first->value);
}

static void add_read(tla_walk *walk, uint64_t pa, uint32_t nbytes, uint32_t va_shift) {
    walk->read[walk->reads].pa.value = pa;
    walk->read[walk->reads].nbytes = nbytes;
    walk->read[walk->reads++].va_shift = va_shift;
}

/* The reads of a table in a memory: the existing entries. */
static void read_tables(const tla_page_table *t, uint64_t va, tla_walk *walk) {
    uint64_t slot = t->contexts->slots[walk->asid];
    while (slot_kind(slot) == SLOT_NODE) {
        const radix_node *node = slot_node(slot);
        uint32_t index = level_index(t, node->level, va);
        add_read(walk, node->table_pa + UINT64_C(8) * index, 8, t->level[node->level].shift);
        slot = node->slots[index];
    }
    if (slot_kind(slot) == SLOT_LIST)
        add_read(walk, slot_node(slot)->table_pa, 16 * (slot_node(slot)->live + 1), t->level[t->levels - 1].shift);
}

/* For a mapped va, *piece has more details than a walk. */
static tla_status walk_to(const tla_page_table *t, uint32_t asid, tla_vaddr va, tla_walk *walk, radix_piece *piece) {
    if (asid >= t->asids) return TLA_INVALID_ARGUMENT;
    walk->asid = asid; /* `read` stays as it is behind the reads: to clear it would take longer than a walk */
    walk->reads = walk->flags = 0;
    walk->page_size = t->sizes[0];
    walk->va.value = va.value & ~(t->sizes[0] - 1);
    walk->nbytes = walk->pa.value = 0;
    bool found = find(t, asid, va.value, piece);
    if (t->config.memory.alloc) {
        if (t->va_bits == 64 || va.value >> t->va_bits == 0) read_tables(t, va.value, walk);
    } else {
        uint32_t depth = found ? t->depth[piece->size] : t->depth[0];
        while (walk->reads < depth)
            add_read(walk, 0, 8, t->walk_shift[walk->reads]);
        if (found && piece->region) add_read(walk, 0, 16, t->walk_shift[depth - 1]);
    }
    if (!found) return TLA_UNMAPPED;
    walk->flags = piece->flags;
    walk->page_size = t->sizes[piece->size];
    if (piece->region) {
        walk->va.value = piece->va;
        walk->nbytes = piece->nbytes;
    } else { /* one page of a run */
        walk->va.value = va.value & ~(walk->page_size - 1);
        walk->nbytes = walk->page_size;
    }
    walk->pa.value = piece->pa + (walk->va.value - piece->va);
    return TLA_OK;
}

tla_status tla_page_table_walk(const tla_page_table *t, uint32_t asid, tla_vaddr va, tla_walk *walk) {
    radix_piece piece;
    return walk_to(t, asid, va, walk, &piece);
}

tla_status tla_page_table_walk_run(const tla_page_table *t, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                   tla_walk *walk, uint64_t *run) {
    *run = 0;
    radix_piece first = {0}, piece; /* gcc 14 does not see that a walk sets first */
    tla_status status = walk_to(t, asid, va, walk, &first);
    if (status == TLA_INVALID_ARGUMENT) return status;
    tla_vaddr next;
    if (status) {
        bool any = tla_page_table_first_mapped(t, asid, va, nbytes, &next);
        *run = any ? next.value - va.value : nbytes;
        return status;
    }
    piece = first;
    uint64_t into = va.value - piece.va;
    *run = piece.nbytes - into;
    while (!first.region && *run < nbytes && *run <= UINT64_MAX - va.value &&
           find_next(t, asid, va.value + *run, &piece) && !piece.region && piece.size == first.size &&
           piece.flags == first.flags && piece.pa == first.pa + into + *run)
        *run += piece.nbytes;
    if (*run > nbytes) *run = nbytes;
    return TLA_OK;
}

tla_status tla_page_table_root(const tla_page_table *t, uint32_t asid, tla_paddr *pa) {
    if (asid >= t->asids) return TLA_INVALID_ARGUMENT;
    if (!t->config.memory.alloc || t->contexts->slots[asid] == SLOT_EMPTY) return TLA_UNMAPPED;
    pa->value = slot_node(t->contexts->slots[asid])->table_pa;
    return TLA_OK;
}
