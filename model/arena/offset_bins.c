/* Aaltonen's OffsetAllocator (2023): size bins that are small floats, two levels of bitmaps, constant time. The rules
 * are those of its source at 3610a73, in words of our own.
 *
 * A free region lies in the bin below its size, a request searches from the bin above its size, so that every region
 * there is large enough. The region that entered the lowest such bin last gives its front. A request can fail although
 * a region of just its size is free. The original counts 32 bits; more bytes are counted in units (Mooncake). Every
 * region, free or live, has a node. */
#include "offset_bins.h"
#include "float_bin.h"

typedef struct offset_bins {
    tla_binned_list blocks;
    uint64_t live;  /* regions that are not free */
    uint64_t nodes; /* for regions of both kinds; UINT64_MAX: as many as needed */
} offset_bins;

static uint64_t units_of(const offset_bins *o, uint64_t nbytes) {
    return nbytes >> tla_log2(o->blocks.granule);
}

static uint32_t bin_of(uint64_t nbytes, uint64_t granule) {
    const uint32_t bin = tla_float_bin_of(nbytes >> tla_log2(granule));
    return bin < TLA_FLOAT_BINS ? bin : TLA_FLOAT_BINS - 1;
}

/* The bytes after the last whole unit belong to no region. Once the unit in front of them is live, they are a block of
 * their own, which is no region either: the only one in the bin of 0 units. Returns 1 then, else 0. */
static uint64_t lone_tail(const offset_bins *o) {
    return o->blocks.bins.heads[0] != 0;
}

static uint64_t free_regions(const offset_bins *o) {
    return o->blocks.bins.count - lone_tail(o);
}

static uint64_t nodes_left(const offset_bins *o) {
    const uint64_t used = o->live + free_regions(o);
    return used < o->nodes ? o->nodes - used : 0;
}

tla_status tla_offset_bins_create(const tla_arena_config *config, void **state) {
    const tla_status status = tla_binned_list_make(sizeof(offset_bins), config, bin_of, state);
    if (status) return status;
    ((offset_bins *)*state)->nodes = UINT64_MAX;
    return TLA_OK;
}

uint64_t tla_offset_bins_unit(uint64_t alignment, uint64_t capacity) {
    while (capacity / alignment > TLA_FLOAT_BIN_LARGEST)
        alignment *= 2;
    return alignment;
}

uint64_t tla_offset_bins_sufficient(const void *state, uint64_t nbytes) {
    const offset_bins *o = state;
    return tla_float_bin_size(tla_float_bin_from(units_of(o, nbytes))) * o->blocks.granule;
}

/* Words of the two bitmaps that the engine reads: that of the wanted bin's group if the group has a region; without a
 * bin there, the groups and the word of the next group. */
static uint64_t words_read(const tla_class_set *filled, uint32_t wanted, uint32_t found) {
    const uint32_t group = wanted / 8, first = group > 0 ? 8 * group : 1; /* no region has 0 units */
    const bool own = tla_class_set_next(filled, first) / 8 == group;
    if (found == TLA_CLASSES) return own + 1u;
    return found / 8 == group ? 1 : own + 2u;
}

/* Without a node the engine does not look. */
void tla_offset_bins_search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    const offset_bins *o = state;
    const uint32_t wanted = tla_float_bin_from(units_of(o, nbytes));
    work->list_length += free_regions(o);
    if (nodes_left(o) == 0) return;
    work->probes += words_read(&o->blocks.bins.filled, wanted, TLA_CLASSES);
    work->bin_searches++;
}

tla_status tla_offset_bins_alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    (void)alignment;
    offset_bins *o = state;
    const tla_class_set *filled = &o->blocks.bins.filled;
    const uint32_t wanted = tla_float_bin_from(units_of(o, nbytes));
    const uint32_t found = nodes_left(o) > 0 ? tla_class_set_next(filled, wanted) : TLA_CLASSES;
    if (found == TLA_CLASSES) {
        tla_offset_bins_search_in_vain(o, nbytes, work);
        return nodes_left(o) > 0 ? TLA_FRAGMENTED : TLA_LIMIT;
    }
    const tla_block head = tla_size_bins_head(&o->blocks.bins, found), part = {head.offset, nbytes};
    const uint64_t probes = words_read(filled, wanted, found), tail = lone_tail(o);
    tla_free_spot spot;
    tla_list_holding(&o->blocks.list, head, &spot);
    const tla_status status = tla_binned_list_take(&o->blocks, &spot, part, 1, work);
    if (status) return status;
    work->list_length -= tail;
    if (lone_tail(o) > tail) { /* no rest */
        work->splits--;
        work->nodes_released++;
    }
    work->probes += probes;
    work->bin_searches++;
    o->live++;
    *block = part;
    return TLA_OK;
}

static tla_status put(offset_bins *o, tla_block range, tla_work *work) {
    const uint64_t tail = lone_tail(o), merges = work->merges;
    const tla_status status = tla_binned_list_free(&o->blocks, range, work);
    if (status) return status;
    work->list_length -= tail;
    if (lone_tail(o) >= tail) return TLA_OK;
    if (work->merges - merges == 2)
        work->nodes_released--;
    else
        work->nodes_created++;
    work->merges--;
    return TLA_OK;
}

/* Arenas that trust their callers may release a block in parts. */
tla_status tla_offset_bins_free(void *state, tla_block range, tla_work *work) {
    offset_bins *o = state;
    const tla_status status = put(o, range, work);
    if (status == TLA_OK && o->live > 0) o->live--;
    return status;
}

tla_status tla_offset_bins_add(void *state, tla_block range, tla_work *work) {
    offset_bins *o = state;
    tla_free_spot before;
    const bool joins = tla_free_list_up_to(&o->blocks.list, range.offset, &before) &&
                       before.block.offset + before.block.nbytes == range.offset && units_of(o, before.block.nbytes);
    if (!joins && units_of(o, range.nbytes) > 0 && nodes_left(o) == 0) return TLA_LIMIT;
    return put(o, range, work);
}

/* Serves requests of one size until `limit`, with so many nodes: the rest of a block lies in the same bin or in a lower
 * one, on top, and is therefore cut next. Only a rest needs a node. */
static uint64_t served(const offset_bins *o, uint64_t nbytes, uint64_t limit, uint64_t nodes) {
    const tla_size_bins *bins = &o->blocks.bins;
    const uint64_t least = tla_offset_bins_sufficient(o, nbytes);
    uint64_t count = 0;
    for (uint32_t bin = tla_class_set_next(&bins->filled, tla_float_bin_from(units_of(o, nbytes))); bin < TLA_CLASSES;
         bin = tla_class_set_next(&bins->filled, bin + 1))
        for (uint32_t node = bins->heads[bin]; node; node = bins->nodes[node - 1].after) {
            const uint64_t whole = units_of(o, bins->nodes[node - 1].block.nbytes) * o->blocks.granule;
            const uint64_t most = (whole - least) / nbytes + 1;
            const uint64_t parts = most < nodes ? most : nodes;
            count += parts;
            nodes -= parts;
            if (parts * nbytes == whole) nodes++;
            if (nodes == 0 || count >= limit) return count < limit ? count : limit;
        }
    return count;
}

uint64_t tla_offset_bins_fits(const void *state, uint64_t nbytes, uint64_t limit) {
    const offset_bins *o = state;
    return nodes_left(o) > 0 ? served(o, nbytes, limit, nodes_left(o)) : 0;
}

tla_status tla_offset_bins_limit(void *state, uint64_t nodes, uint64_t live) {
    offset_bins *o = state;
    if (nodes > 0 && free_regions(o) + live > nodes) return TLA_LIMIT;
    o->nodes = nodes > 0 ? nodes : UINT64_MAX;
    o->live = live;
    return TLA_OK;
}

uint64_t tla_offset_bins_live(const void *state) {
    return ((const offset_bins *)state)->live;
}

bool tla_offset_bins_lacks_node(const void *state, uint64_t nbytes, uint64_t n) {
    const offset_bins *o = state;
    if (nodes_left(o) == 0) return true;
    return served(o, nbytes, n, nodes_left(o)) < n && served(o, nbytes, n, UINT64_MAX) == n;
}

uint64_t tla_offset_bins_largest_bin(const void *state) {
    const tla_binned_list *b = state;
    return tla_float_bin_size(tla_class_set_last(&b->bins.filled)) * b->granule;
}

/* One of the nodes is never used. */
static tla_status limit(void *state, uint64_t nodes, uint64_t live) {
    if (nodes == 1) return TLA_LIMIT;
    return tla_offset_bins_limit(state, nodes > 0 ? nodes - 1 : 0, live);
}

static const tla_region_nodes regions = {
    .unit = tla_offset_bins_unit,
    .limit = limit,
    .live = tla_offset_bins_live,
    .lacks_node = tla_offset_bins_lacks_node,
    .largest_bin = tla_offset_bins_largest_bin,
};

const tla_placement tla_offset_bins = {
    .create = tla_offset_bins_create,
    .destroy = tla_binned_list_destroy,
    .alloc = tla_offset_bins_alloc,
    .search_in_vain = tla_offset_bins_search_in_vain,
    .sufficient = tla_offset_bins_sufficient,
    .free = tla_offset_bins_free,
    .add = tla_offset_bins_add,
    .may_free = tla_list_may_free,
    .fits = tla_offset_bins_fits,
    .make_room = tla_binned_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
    .saved = tla_binned_list_saved,
    .regions = &regions,
};
