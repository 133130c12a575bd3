/* One list in two orders: whatever enters or leaves it does so in both. */
#include "binned_list.h"

void tla_binned_list_destroy(void *state) {
    tla_binned_list *b = state;
    tla_size_bins_release(&b->bins);
    tla_list_destroy(b);
}

tla_status tla_binned_list_make(size_t size, const tla_arena_config *config,
                                uint32_t (*bin_of)(uint64_t nbytes, uint64_t granule), void **state) {
    void *made;
    tla_status status = tla_list_make(size, &made);
    if (status) return status;
    tla_binned_list *b = made;
    b->granule = config->alignment;
    b->bin_of = bin_of;
    status = tla_size_bins_init(&b->bins);
    if (status)
        tla_binned_list_destroy(b);
    else
        *state = b;
    return status;
}

static void file(tla_binned_list *b, tla_block block) {
    if (block.nbytes) tla_size_bins_push(&b->bins, b->bin_of(block.nbytes, b->granule), block);
}

tla_status tla_binned_list_take(tla_binned_list *b, tla_free_spot *spot, tla_block part, uint64_t visited,
                                tla_work *work) {
    uint64_t end = part.offset + part.nbytes, block_end = spot->block.offset + spot->block.nbytes;
    bool two_come = part.offset > spot->block.offset && end < block_end; /* and one goes */
    if (two_come && tla_size_bins_make_room(&b->bins, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_list_take(&b->list, spot, part, visited, work);
    if (status) return status;
    tla_size_bins_remove(&b->bins, spot->block.offset);
    file(b, (tla_block){spot->block.offset, part.offset - spot->block.offset});
    file(b, (tla_block){end, block_end - end});
    return TLA_OK;
}

tla_status tla_binned_list_free(void *state, tla_block range, tla_work *work) {
    tla_binned_list *b = state;
    uint64_t count = b->bins.count;
    tla_free_join join;
    if (tla_size_bins_make_room(&b->bins, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_put(&b->list, range, &join);
    if (status) return status;
    uint64_t start = range.offset - join.previous, end = range.offset + range.nbytes;
    if (join.previous) tla_size_bins_remove(&b->bins, start);
    if (join.next) tla_size_bins_remove(&b->bins, end);
    file(b, (tla_block){start, end + join.next - start});
    work->list_length += count;
    tla_list_joined(&join, work);
    return TLA_OK;
}

tla_status tla_binned_list_make_room(void *state, size_t n) {
    tla_binned_list *b = state;
    tla_status status = tla_free_list_make_room(&b->list, n);
    return status ? status : tla_size_bins_make_room(&b->bins, n);
}

void tla_binned_list_saved(const void *state, tla_block *blocks) {
    tla_size_bins_saved(&((const tla_binned_list *)state)->bins, blocks);
}
