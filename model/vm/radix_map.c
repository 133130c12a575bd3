/* Mapping, unmapping and rewriting a range in the radix tree: pages where they fit, regions at the ends. */
#include "radix.h"

#include <string.h>

static bool in_memory(const tla_page_table *t) {
    return t->config.memory.alloc != NULL;
}

/* The largest page size that a slot of `span` bytes can hold for this pa: larger pages need an aligned pa. */
static uint32_t best_size(const tla_page_table *t, uint64_t pa, uint64_t span) {
    uint32_t size = t->size_count - 1;
    while (size > 0 && (t->sizes[size] > span || pa % t->sizes[size]))
        size--;
    return size;
}

static void count_pages(tla_page_table *t, uint32_t size, uint64_t span, bool added) {
    uint64_t pages = span / t->sizes[size], sign = added ? 1 : UINT64_MAX; /* modulo 2^64 */
    t->stats.pages += sign * pages;
    t->stats.pages_of_size[size] += sign * pages;
    t->stats.mapped_bytes += sign * span;
    *(added ? &t->written : &t->cleared) += pages;
}

/* ---- region lists ---- */

/* The list of a slot, made in this batch and with room for one region more, linked in already. */
static tla_status writable_list(tla_page_table *t, radix_node *node, uint32_t index, radix_node **out) {
    uint64_t slot = node->slots[index];
    radix_node *old = slot_kind(slot) == SLOT_LIST ? slot_node(slot) : NULL, *list;
    uint32_t count = old ? old->live : 0;
    if (old && old->born && count < list_room(old)) {
        *out = old;
        return TLA_OK;
    }
    tla_status status = radix_new(t, LIST_LEVEL, count + 1, &list);
    if (status) return status;
    if (old) memcpy(list->slots, old->slots, count * 2 * sizeof list->slots[0]);
    list->live = count;
    status = radix_set(t, node, index, node_slot(list, SLOT_LIST));
    if (status) return status;
    if (old) radix_retire(t, old);
    *out = list;
    return TLA_OK;
}

static void insert_region(radix_node *list, uint32_t at, uint64_t offset, uint64_t nbytes, uint64_t slot) {
    memmove(list->slots + 2 * at + 2, list->slots + 2 * at, (list->live - at) * 2 * sizeof list->slots[0]);
    list->slots[2 * at] = offset | nbytes << 32;
    list->slots[2 * at + 1] = slot;
    list->live++;
}

static void remove_region(radix_node *list, uint32_t at) {
    list->live--;
    memmove(list->slots + 2 * at, list->slots + 2 * at + 2, (list->live - at) * 2 * sizeof list->slots[0]);
    memset(list->slots + 2 * list->live, 0, 2 * sizeof list->slots[0]);
}

static tla_status add_region(tla_page_table *t, radix_node *node, uint32_t index, uint64_t offset, uint64_t nbytes,
                             uint64_t pa, uint32_t flags) {
    radix_node *list;
    tla_status status = writable_list(t, node, index, &list);
    if (status) return status;
    uint32_t at = list->live;
    while (at > 0 && region_offset(list, at - 1) > offset)
        at--;
    insert_region(list, at, offset, nbytes, page_slot(pa, flags, 0));
    t->stats.regions++;
    t->stats.mapped_bytes += nbytes;
    t->written++;
    return TLA_OK;
}

/* Takes bytes from .. to of the page out of its list. */
static tla_status cut_list(tla_page_table *t, radix_node *node, uint32_t index, uint64_t from, uint64_t to,
                           bool whole) {
    radix_node *list = slot_node(node->slots[index]);
    uint64_t covered = 0, regions = 0, total = 0;
    for (uint32_t i = 0; i < list->live; i++) {
        uint64_t first = region_offset(list, i), last = first + region_nbytes(list, i) - 1;
        total += region_nbytes(list, i);
        if (first > to || last < from) continue;
        covered += (last < to ? last : to) - (first > from ? first : from) + 1;
        regions++;
    }
    if (whole && covered != to - from + 1) return TLA_UNMAPPED;
    if (covered == 0) return TLA_OK;
    t->cleared += regions;
    t->stats.mapped_bytes -= covered;
    if (covered == total) {
        t->stats.regions -= regions;
        tla_status status = radix_set(t, node, index, SLOT_EMPTY);
        if (!status) radix_retire(t, list);
        return status;
    }
    tla_status status = writable_list(t, node, index, &list);
    if (status) return status;
    for (uint32_t i = 0; i < list->live;) {
        uint64_t first = region_offset(list, i), last = first + region_nbytes(list, i) - 1;
        uint64_t slot = list->slots[2 * i + 1];
        if (first > to || last < from) {
            i++;
            continue;
        }
        remove_region(list, i);
        t->stats.regions--;
        if (first < from) {
            insert_region(list, i++, first, from - first, slot);
            t->stats.regions++;
        }
        if (last > to) {
            uint64_t pa = slot_pa(slot) + (to + 1 - first);
            insert_region(list, i++, to + 1, last - to, page_slot(pa, slot_flags(slot), 0));
            t->stats.regions++;
        }
    }
    return TLA_OK;
}

/* ---- mapping ---- */

static tla_status map_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                            uint32_t flags);

static tla_status map_slot(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                           uint32_t flags) {
    uint64_t span = level_span(t, node->level);
    uint32_t index = level_index(t, node->level, va);
    if (last - va == span - 1) {
        uint32_t size = best_size(t, pa, span);
        if (!in_memory(t) || t->sizes[size] == span) {
            tla_status status = radix_set(t, node, index, page_slot(pa, flags, size));
            if (!status) count_pages(t, size, span, true);
            return status;
        }
    }
    if (node->level == t->levels - 1) return add_region(t, node, index, va & (span - 1), last - va + 1, pa, flags);
    if (node->slots[index] == SLOT_EMPTY) {
        radix_node *child;
        tla_status status = radix_new(t, (uint8_t)(node->level + 1), 0, &child);
        if (!status) status = radix_set(t, node, index, node_slot(child, SLOT_NODE));
        if (status) return status;
    }
    return map_slots(t, slot_node(node->slots[index]), va, last, pa, flags);
}

static tla_status map_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                            uint32_t flags) {
    for (;;) {
        uint64_t slot_last = va | (level_span(t, node->level) - 1), end = last < slot_last ? last : slot_last;
        tla_status status = map_slot(t, node, va, end, pa, flags);
        if (status || end == last) return status;
        pa += end - va + 1;
        va = end + 1;
    }
}

tla_status radix_map(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, uint64_t pa, uint32_t flags) {
    if (t->contexts->slots[asid] == SLOT_EMPTY) {
        radix_node *root;
        tla_status status = radix_new(t, 0, 0, &root);
        if (!status) status = radix_set(t, t->contexts, asid, node_slot(root, SLOT_NODE));
        if (status) return status;
    }
    return map_slots(t, radix_descend(t, t->contexts->slots[asid], va, last), va, last, pa, flags);
}

/* ---- unmapping ---- */

/* Replaces the page, or run of pages, of a slot by a node of smaller ones, or by a list of one region. */
static tla_status break_page(tla_page_table *t, radix_node *node, uint64_t va) {
    uint64_t span = level_span(t, node->level), first = va & ~(span - 1);
    uint32_t index = level_index(t, node->level, va);
    uint64_t slot = node->slots[index], written = t->written, cleared = t->cleared;
    radix_node *child;
    tla_status status;
    count_pages(t, slot_size(slot), span, false);
    t->cleared = cleared;
    if (node->level == t->levels - 1) {
        status = radix_set(t, node, index, SLOT_EMPTY);
        if (!status) status = add_region(t, node, index, 0, span, slot_pa(slot), slot_flags(slot));
        t->written = written;
        return status;
    }
    status = radix_new(t, (uint8_t)(node->level + 1), 0, &child);
    if (!status) status = radix_set(t, node, index, node_slot(child, SLOT_NODE));
    if (!status) status = map_slots(t, child, first, first + (span - 1), slot_pa(slot), slot_flags(slot));
    /* The pages of a run stay unchanged; the pages of a large page are new entries. */
    if (t->sizes[slot_size(slot)] < span) t->written = written;
    return status;
}

static tla_status clear_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, bool whole);

static tla_status clear_slot(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, bool whole) {
    uint64_t span = level_span(t, node->level);
    uint32_t index = level_index(t, node->level, va);
    if (slot_kind(node->slots[index]) == SLOT_PAGE) {
        if (last - va == span - 1) {
            count_pages(t, slot_size(node->slots[index]), span, false);
            return radix_set(t, node, index, SLOT_EMPTY);
        }
        tla_status status = break_page(t, node, va);
        if (status) return status;
    }
    if (slot_kind(node->slots[index]) == SLOT_LIST)
        return cut_list(t, node, index, va & (span - 1), last & (span - 1), whole);
    if (node->slots[index] == SLOT_EMPTY) return whole ? TLA_UNMAPPED : TLA_OK;
    radix_node *child = slot_node(node->slots[index]);
    tla_status status = clear_slots(t, child, va, last, whole);
    if (status || child->live > 0) return status;
    status = radix_set(t, node, index, SLOT_EMPTY);
    if (!status) radix_retire(t, child);
    return status;
}

static tla_status clear_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, bool whole) {
    for (;;) {
        uint64_t slot_last = va | (level_span(t, node->level) - 1), end = last < slot_last ? last : slot_last;
        tla_status status = clear_slot(t, node, va, end, whole);
        if (status || end == last) return status;
        va = end + 1;
    }
}

/* The deepest node that keeps other slots whatever becomes of va .. last, which lie in one of its own; or the root. */
static radix_node *node_that_stays(const tla_page_table *t, radix_node *root, uint64_t va, uint64_t last) {
    radix_node *stays = root;
    for (radix_node *node = root; (va ^ last) >> t->level[node->level].shift == 0;) {
        const uint64_t slot = node->slots[level_index(t, node->level, va)];
        if (node->live > 1) stays = node;
        if (slot_kind(slot) != SLOT_NODE) break;
        node = slot_node(slot);
    }
    return stays;
}

tla_status radix_unmap(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, bool whole) {
    if (t->contexts->slots[asid] == SLOT_EMPTY) return whole ? TLA_UNMAPPED : TLA_OK;
    radix_node *root = slot_node(t->contexts->slots[asid]);
    tla_status status = clear_slots(t, node_that_stays(t, root, va, last), va, last, whole);
    if (status || root->live > 0) return status;
    status = radix_set(t, t->contexts, asid, SLOT_EMPTY);
    if (!status) radix_retire(t, root);
    return status;
}

/* ---- rewriting ---- */

/* Ends the region that has bytes on both sides of `at` there, and begins another. */
static tla_status split_region(tla_page_table *t, radix_node *node, uint32_t index, uint64_t at) {
    radix_node *list = slot_node(node->slots[index]);
    uint32_t i = 0;
    while (i < list->live && (uint64_t)region_offset(list, i) + region_nbytes(list, i) <= at)
        i++;
    if (i == list->live || region_offset(list, i) >= at) return TLA_OK;
    tla_status status = writable_list(t, node, index, &list);
    if (status) return status;
    const uint64_t first = region_offset(list, i), end = first + region_nbytes(list, i), slot = list->slots[2 * i + 1];
    remove_region(list, i);
    insert_region(list, i, first, at - first, slot);
    insert_region(list, i + 1, at, end - at, page_slot(slot_pa(slot) + (at - first), slot_flags(slot), 0));
    t->stats.regions++;
    return TLA_OK;
}

/* Bytes from .. to of the page. */
static tla_status rewrite_list(tla_page_table *t, radix_node *node, uint32_t index, uint64_t from, uint64_t to,
                               uint64_t pa, uint32_t flags) {
    tla_status status = split_region(t, node, index, from);
    if (!status) status = split_region(t, node, index, to + 1);
    radix_node *const list = slot_node(node->slots[index]);
    uint64_t next = from;
    for (uint32_t i = 0; i < list->live && !status; i++) {
        const uint64_t first = region_offset(list, i);
        if (first < from || first > to) continue;
        if (first != next) return TLA_UNMAPPED;
        status = radix_set(t, list, 2 * i + 1, page_slot(pa + (first - from), flags, 0));
        next = first + region_nbytes(list, i);
        t->written++;
    }
    return status || next == to + 1 ? status : TLA_UNMAPPED;
}

static tla_status rewrite_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                                uint32_t flags);

static tla_status rewrite_slot(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                               uint32_t flags) {
    const uint64_t span = level_span(t, node->level);
    const uint32_t index = level_index(t, node->level, va);
    if (slot_kind(node->slots[index]) == SLOT_PAGE) {
        if (last - va == span - 1 && t->sizes[best_size(t, pa, span)] == span) {
            t->written++;
            return radix_set(t, node, index, page_slot(pa, flags, slot_size(node->slots[index])));
        }
        tla_status status = break_page(t, node, va);
        if (status) return status;
    }
    switch (slot_kind(node->slots[index])) {
    case SLOT_LIST:
        return rewrite_list(t, node, index, va & (span - 1), last & (span - 1), pa, flags);
    case SLOT_NODE:
        return rewrite_slots(t, slot_node(node->slots[index]), va, last, pa, flags);
    default:
        return TLA_UNMAPPED;
    }
}

static tla_status rewrite_slots(tla_page_table *t, radix_node *node, uint64_t va, uint64_t last, uint64_t pa,
                                uint32_t flags) {
    for (;;) {
        uint64_t slot_last = va | (level_span(t, node->level) - 1), end = last < slot_last ? last : slot_last;
        tla_status status = rewrite_slot(t, node, va, end, pa, flags);
        if (status || end == last) return status;
        pa += end - va + 1;
        va = end + 1;
    }
}

tla_status radix_rewrite(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, uint64_t pa, uint32_t flags) {
    const uint64_t root = t->contexts->slots[asid];
    return root == SLOT_EMPTY || !in_memory(t) ? TLA_UNMAPPED : rewrite_slots(t, slot_node(root), va, last, pa, flags);
}
