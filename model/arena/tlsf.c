/* Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004): 32 classes for every power of two, a
 * bitmap of the classes that hold a block, constant time.
 *
 * A request is rounded up to the lower bound of a class. Any block from there on is then large enough, and the last
 * freed block is used: a good fit, not the best. A request can fail although a block of just its size is free. With an
 * alignment the search is for nbytes + alignment, as memalign does. Neighbours are joined at once; the modelled engine
 * finds them by their boundary tags, this code in the sorted list. */
#include "list_placement.h"
#include "size_bins.h"

typedef struct tlsf {
    tla_free_list list;
    tla_size_bins bins; /* the same blocks by class */
    uint64_t granule;   /* every offset is a multiple */
} tlsf;

static void destroy(void *state) {
    tlsf *t = state;
    tla_size_bins_release(&t->bins);
    tla_list_destroy(t);
}

static tla_status create(const tla_arena_config *config, void **state) {
    void *made;
    tla_status status = tla_list_make(sizeof(tlsf), &made);
    if (status) return status;
    tlsf *t = made;
    t->granule = config->alignment;
    status = tla_size_bins_init(&t->bins);
    if (status)
        destroy(t);
    else
        *state = t;
    return status;
}

static void file(tlsf *t, tla_block block) {
    if (block.nbytes) tla_size_bins_push(&t->bins, tla_class_of(block.nbytes), block);
}

/* Takes `part` out of the block at a spot; the rest enters its classes, the back of it last. */
static tla_status take(tlsf *t, tla_free_spot *spot, tla_block part, uint64_t visited, tla_work *work) {
    uint64_t end = part.offset + part.nbytes, block_end = spot->block.offset + spot->block.nbytes;
    bool two_come = part.offset > spot->block.offset && end < block_end; /* and one goes */
    if (two_come && tla_size_bins_make_room(&t->bins, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_list_take(&t->list, spot, part, visited, work);
    if (status) return status;
    tla_size_bins_remove(&t->bins, spot->block.offset);
    file(t, (tla_block){spot->block.offset, part.offset - spot->block.offset});
    file(t, (tla_block){end, block_end - end});
    return TLA_OK;
}

/* Words of the two bitmaps that the engine reads: the second level of the class; when that has nothing, the first level
 * and the second level it points to. */
static uint64_t words_read(uint32_t wanted, uint32_t found) {
    if (found == TLA_CLASSES) return 2;
    return found >> TLA_CLASSES_LOG2 == wanted >> TLA_CLASSES_LOG2 ? 1 : 3;
}

static void search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    (void)nbytes;
    work->probes += words_read(0, TLA_CLASSES);
    work->list_length += ((const tlsf *)state)->bins.count;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tlsf *t = state;
    uint64_t slack = alignment - t->granule, highest = (uint64_t)1 << 63;
    uint32_t wanted = nbytes > highest - slack ? TLA_CLASSES : tla_class_of(tla_class_round_up(nbytes + slack));
    uint32_t found = tla_class_set_next(&t->bins.filled, wanted);
    if (found == TLA_CLASSES) {
        search_in_vain(t, nbytes, work);
        return TLA_FRAGMENTED;
    }
    tla_block head = tla_size_bins_head(&t->bins, found), part;
    tla_free_spot spot;
    tla_list_holding(&t->list, head, &spot);
    tla_aligned_fit(head, nbytes, alignment, &part);
    tla_status status = take(t, &spot, part, 1, work);
    if (status) return status;
    work->probes += words_read(wanted, found);
    *block = part;
    return TLA_OK;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    tlsf *t = state;
    tla_free_spot spot;
    if (!tla_list_holding(&t->list, range, &spot)) return TLA_OVERLAP;
    return take(t, &spot, range, spot.rank + 1, work);
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    tlsf *t = state;
    uint64_t count = t->bins.count;
    tla_free_join join;
    if (tla_size_bins_make_room(&t->bins, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_put(&t->list, range, &join);
    if (status) return status;
    uint64_t start = range.offset - join.previous, end = range.offset + range.nbytes;
    if (join.previous) tla_size_bins_remove(&t->bins, start);
    if (join.next) tla_size_bins_remove(&t->bins, end);
    file(t, (tla_block){start, end + join.next - start});
    work->list_length += count;
    tla_list_joined(&join, work);
    return TLA_OK;
}

/* A block serves requests as long as its rest is in a class that the search reaches. */
static uint64_t fits(const void *state, uint64_t nbytes, uint64_t limit) {
    const tla_size_bins *bins = &((const tlsf *)state)->bins;
    uint64_t least = tla_class_round_up(nbytes), count = 0;
    for (uint32_t bin = tla_class_set_next(&bins->filled, tla_class_of(least)); bin < TLA_CLASSES && count < limit;
         bin = tla_class_set_next(&bins->filled, bin + 1))
        for (uint32_t node = bins->heads[bin]; node && count < limit; node = bins->nodes[node - 1].after)
            count += (bins->nodes[node - 1].block.nbytes - least) / nbytes + 1;
    return count < limit ? count : limit;
}

static tla_status make_room(void *state, size_t n) {
    tlsf *t = state;
    tla_status status = tla_free_list_make_room(&t->list, n);
    return status ? status : tla_size_bins_make_room(&t->bins, n);
}

static void saved(const void *state, tla_block *blocks) {
    tla_size_bins_saved(&((const tlsf *)state)->bins, blocks);
}

const tla_placement tla_tlsf = {
    .create = create,
    .destroy = destroy,
    .alloc = alloc,
    .search_in_vain = search_in_vain,
    .sufficient = tla_class_round_up,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = tla_list_may_free,
    .fits = fits,
    .make_room = make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
    .saved = saved,
};
