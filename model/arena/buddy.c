/* Binary buddies (Knowlton 1965; Knuth, TAOCP 1, 2.5, algorithms R and S): blocks of 2^k bytes at multiples of 2^k, a
 * list for every k, last in first out.
 *
 * A range that is no such block is cut into as few buddies as possible, the largest that its ends allow; growth joins
 * buddies where possible. Addresses are absolute, so an alignment is served by its order and costs nothing more. A
 * request is granted the next power of two, and that counts as used: internal fragmentation is not hidden. */
#include "list_placement.h"
#include "size_bins.h"

typedef struct buddies {
    tla_free_list list; /* the free bytes, joined beyond the buddies: who is free, and in which order */
    tla_size_bins bins; /* the free blocks; bin k holds those of 2^k bytes */
    uint64_t base, end;
    unsigned highest; /* order of the largest block that the range can hold */
} buddies;

static uint64_t size_of(unsigned order) {
    return (uint64_t)1 << order;
}

/* The order of the largest block between two addresses. */
static unsigned highest_order(uint64_t base, uint64_t end) {
    for (unsigned order = 63; order > 0; order--) {
        uint64_t first = (base + size_of(order) - 1) & ~(size_of(order) - 1);
        if (first < end && end - first >= size_of(order)) return order;
    }
    return 0;
}

static void destroy(void *state) {
    buddies *b = state;
    tla_size_bins_release(&b->bins);
    tla_list_destroy(b);
}

static tla_status create(const tla_arena_config *config, void **state) {
    void *made;
    tla_status status = tla_list_make(sizeof(buddies), &made);
    if (status) return status;
    buddies *b = made;
    b->base = config->base;
    b->end = config->base + config->capacity;
    b->highest = highest_order(b->base, b->end);
    status = tla_size_bins_init(&b->bins);
    if (status)
        destroy(b);
    else
        *state = b;
    return status;
}

static uint64_t granted(const void *state, uint64_t nbytes) {
    (void)state;
    return nbytes == 1 ? 1 : size_of(tla_log2(nbytes - 1) + 1);
}

/* Takes `part` out of a free block of 2^order bytes: halves it until the part is left. */
static tla_status take(buddies *b, uint64_t block, unsigned order, tla_block part, tla_work *work) {
    uint64_t count = b->bins.count, splits;
    unsigned wanted = tla_log2(part.nbytes);
    tla_free_spot spot;
    tla_list_holding(&b->list, part, &spot);
    if (tla_size_bins_make_room(&b->bins, order - wanted)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_take(&b->list, &spot, part, &splits);
    if (status) return status;
    tla_size_bins_remove(&b->bins, block);
    work->nodes_visited++;
    work->list_length += count;
    work->allocs++;
    work->splits += order - wanted;
    while (order > wanted) {
        uint64_t half = size_of(--order);
        if (part.offset & half) {
            tla_size_bins_push(&b->bins, order, (tla_block){block, half});
            block += half;
        } else {
            tla_size_bins_push(&b->bins, order, (tla_block){block + half, half});
        }
    }
    return TLA_OK;
}

static void search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    const buddies *b = state;
    unsigned wanted = tla_log2(nbytes);
    work->probes += wanted > b->highest ? 0 : b->highest - wanted + 1;
    work->list_length += b->bins.count;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    buddies *b = state;
    uint64_t least = nbytes > alignment ? nbytes : alignment;
    unsigned wanted = tla_log2(least);
    uint32_t order = tla_class_set_next(&b->bins.filled, wanted);
    if (order == TLA_CLASSES) {
        search_in_vain(b, least, work);
        return TLA_FRAGMENTED;
    }
    tla_block part = {tla_size_bins_head(&b->bins, order).offset, nbytes};
    tla_status status = take(b, part.offset, order, part, work);
    if (status) return status;
    work->probes += order - wanted + 1;
    *block = part;
    return TLA_OK;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    buddies *b = state;
    unsigned order = tla_log2(range.nbytes);
    tla_free_spot spot;
    if (range.offset & (range.nbytes - 1)) return TLA_UNSUPPORTED;
    if (!tla_list_holding(&b->list, range, &spot)) return TLA_OVERLAP;
    uint64_t probes = 1;
    for (;; order++, probes++) { /* free buddies are always joined, so one block holds all of it */
        const tla_binned *node = tla_size_bins_find(&b->bins, range.offset & ~(size_of(order) - 1));
        if (node && node->bin == order) break;
    }
    tla_status status = take(b, range.offset & ~(size_of(order) - 1), order, range, work);
    if (status == TLA_OK) work->probes += probes;
    return status;
}

/* Files a block, joined with its buddy as often as that is free. */
static void file(buddies *b, uint64_t offset, unsigned order, tla_work *work) {
    for (; order < b->highest; order++, work->merges++) {
        const tla_binned *buddy = tla_size_bins_find(&b->bins, offset ^ size_of(order));
        work->probes++;
        if (!buddy || buddy->bin != order) break;
        tla_size_bins_remove(&b->bins, offset ^ size_of(order));
        offset &= ~size_of(order);
    }
    tla_size_bins_push(&b->bins, order, (tla_block){offset, size_of(order)});
}

static tla_status may_free(const void *state, tla_block range) {
    return range.offset & (range.nbytes - 1) ? TLA_NOT_ALLOCATED : tla_list_may_free(state, range);
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    buddies *b = state;
    uint64_t count = b->bins.count;
    tla_free_join join;
    if (range.offset & (range.nbytes - 1)) return TLA_NOT_ALLOCATED;
    if (tla_size_bins_make_room(&b->bins, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_put(&b->list, range, &join);
    if (status) return status;
    file(b, range.offset, tla_log2(range.nbytes), work);
    work->list_length += count;
    work->frees++;
    return TLA_OK;
}

/* Any range: as few blocks as it can be cut into, from its front. */
static tla_status add(void *state, tla_block range, tla_work *work) {
    buddies *b = state;
    uint64_t count = b->bins.count, end = range.offset + range.nbytes;
    tla_free_join join;
    if (tla_size_bins_make_room(&b->bins, TLA_RANGE_BLOCKS)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_put(&b->list, range, &join);
    if (status) return status;
    if (end > b->end) {
        b->end = end;
        b->highest = highest_order(b->base, end);
    }
    for (uint64_t at = range.offset; at < end;) {
        unsigned order = tla_log2(end - at);
        if (at && (unsigned)__builtin_ctzll(at) < order) order = (unsigned)__builtin_ctzll(at);
        file(b, at, order, work);
        at += size_of(order);
    }
    work->list_length += count;
    return TLA_OK;
}

static uint64_t fits(const void *state, uint64_t nbytes, uint64_t limit) {
    const tla_size_bins *bins = &((const buddies *)state)->bins;
    uint64_t count = 0;
    for (uint32_t bin = tla_class_set_next(&bins->filled, tla_log2(nbytes)); bin < TLA_CLASSES && count < limit;
         bin = tla_class_set_next(&bins->filled, bin + 1))
        for (uint32_t node = bins->heads[bin]; node && count < limit; node = bins->nodes[node - 1].after)
            count += size_of(bin) / nbytes;
    return count < limit ? count : limit;
}

static tla_status make_room(void *state, size_t n) {
    buddies *b = state;
    tla_status status = tla_free_list_make_room(&b->list, n);
    return status ? status : tla_size_bins_make_room(&b->bins, n);
}

/* Halving leaves at most one block of every order at a time, since the next alloc uses it. A block leaves a list entry,
 * which may be left in two; but the entries are no more than the blocks, and a leaf of the list keeps at least 8 of
 * them on average. */
static tla_status make_alloc_room(void *state, size_t n) {
    buddies *b = state;
    size_t most = 2 * ((size_t)b->bins.count + 64);
    tla_status status = tla_free_list_make_room(&b->list, n < most ? n : most);
    return status ? status : tla_size_bins_make_room(&b->bins, 64);
}

static uint64_t largest(const void *state) {
    uint64_t orders = ((const buddies *)state)->bins.filled.words[0];
    return orders ? size_of(tla_log2(orders)) : 0;
}

static uint64_t count_of(const void *state) {
    return ((const buddies *)state)->bins.count;
}

/* The joined free bytes in order, each range block by block. */
static size_t copy(const void *state, uint64_t from, tla_block *blocks, size_t max) {
    const buddies *b = state;
    size_t count = 0;
    tla_free_spot spot;
    bool more = tla_free_list_up_to(&b->list, from, &spot) && spot.block.offset + spot.block.nbytes > from;
    if (!more) more = tla_free_list_first_from(&b->list, from, 1, &spot);
    while (more) {
        uint64_t at = spot.block.offset, end = at + spot.block.nbytes;
        while (at < end) {
            tla_block block = tla_size_bins_find(&b->bins, at)->block;
            if (at >= from) {
                if (count == max) return count;
                blocks[count++] = block;
            }
            at += block.nbytes;
        }
        more = tla_free_list_first_from(&b->list, end, 1, &spot);
    }
    return count;
}

static void saved(const void *state, tla_block *blocks) {
    tla_size_bins_saved(&((const buddies *)state)->bins, blocks);
}

const tla_placement tla_buddy = {
    .create = create,
    .destroy = destroy,
    .granted = granted,
    .alloc = alloc,
    .search_in_vain = search_in_vain,
    .reserve = reserve,
    .free = give_back,
    .add = add,
    .may_free = may_free,
    .fits = fits,
    .make_room = make_room,
    .make_alloc_room = make_alloc_room,
    .largest = largest,
    .count = count_of,
    .copy = copy,
    .saved = saved,
    .whole_blocks = true,
};
