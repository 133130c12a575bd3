/* Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004): 32 classes for every power of two, a
 * bitmap of the classes that hold a block, constant time.
 *
 * A request is rounded up to the lower bound of a class. Any block from there on is then large enough, and the last
 * freed block is used: a good fit, not the best. A request can fail although a block of just its size is free. With an
 * alignment the search is for nbytes + alignment, as memalign does. Neighbours are joined at once; the modelled engine
 * finds them by their boundary tags, this code in the sorted list. */
#include "binned_list.h"

static uint32_t bin_of(uint64_t nbytes, uint64_t granule) {
    (void)granule;
    return tla_class_of(nbytes);
}

static tla_status create(const tla_arena_config *config, void **state) {
    return tla_binned_list_make(sizeof(tla_binned_list), config, bin_of, state);
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
    work->list_length += ((const tla_binned_list *)state)->bins.count;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_binned_list *t = state;
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
    tla_status status = tla_binned_list_take(t, &spot, part, 1, work);
    if (status) return status;
    work->probes += words_read(wanted, found);
    *block = part;
    return TLA_OK;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    tla_binned_list *t = state;
    tla_free_spot spot;
    if (!tla_list_holding(&t->list, range, &spot)) return TLA_OVERLAP;
    return tla_binned_list_take(t, &spot, range, spot.rank + 1, work);
}

/* A block serves requests as long as its rest is in a class that the search reaches. */
static uint64_t fits(const void *state, uint64_t nbytes, uint64_t limit) {
    const tla_size_bins *bins = &((const tla_binned_list *)state)->bins;
    uint64_t least = tla_class_round_up(nbytes), count = 0;
    for (uint32_t bin = tla_class_set_next(&bins->filled, tla_class_of(least)); bin < TLA_CLASSES && count < limit;
         bin = tla_class_set_next(&bins->filled, bin + 1))
        for (uint32_t node = bins->heads[bin]; node && count < limit; node = bins->nodes[node - 1].after)
            count += (bins->nodes[node - 1].block.nbytes - least) / nbytes + 1;
    return count < limit ? count : limit;
}

static uint64_t sufficient(const void *state, uint64_t nbytes) {
    (void)state;
    return tla_class_round_up(nbytes);
}

const tla_placement tla_tlsf = {
    .create = create,
    .destroy = tla_binned_list_destroy,
    .alloc = alloc,
    .search_in_vain = search_in_vain,
    .sufficient = sufficient,
    .reserve = reserve,
    .free = tla_binned_list_free,
    .add = tla_binned_list_free,
    .may_free = tla_list_may_free,
    .fits = fits,
    .make_room = tla_binned_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
    .saved = tla_binned_list_saved,
};
