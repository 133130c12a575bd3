/* Facts that only a difference shows: sizes of blocks and pools of segments. A large block keeps up to 1 MiB more than
 * the requested bytes; for a block that was allocated before the trace and freed in it, this is not recorded. If the
 * cache finds room directly after the block's rounded end where the recording did not, the block was longer: so long
 * that the request no longer fits. */
#include "torch/replayer.h"

#include <stdlib.h>

enum { LARGEST_SLACK = 1 << 20, UNIT = 512, ABOUT = 24 /* entries */ };

/* Returns whether the free bytes after a block extend to the end of its range, so that its possible growth depends on
 * the length of the range. */
static bool is_last(const tla_segment_block_info *blocks, size_t count, size_t i) {
    const uint64_t segment = blocks[i].segment;
    for (i++; i < count && blocks[i].segment == segment && blocks[i].state == TLA_SEGMENT_FREE; i++)
        ;
    const bool unmapped = i < count && blocks[i].segment == segment && blocks[i].state == TLA_SEGMENT_UNMAPPED;
    return unmapped && (i + 1 == count || blocks[i + 1].segment != segment);
}

/* The cache prefers what can grow to less: it took `taken`, then it took the block at `recorded`. */
static int longer(const tla_segment_block_info *blocks, size_t count, uint64_t taken, uint64_t recorded) {
    bool found[2] = {false, false}, last[2] = {false, false};
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].address != taken && blocks[i].address != recorded) continue;
        found[blocks[i].address == recorded] = true;
        last[blocks[i].address == recorded] = is_last(blocks, count, i);
    }
    return found[0] && found[1] ? last[0] - last[1] : 0;
}

tla_status torch_doubt_block(torch_replayer *r, const torch_entry *e, tla_block block) {
    tla_segment_block_info *blocks = NULL;
    size_t count = 0;
    if (r->is_probe) return TLA_OK;
    tla_status status = tla_segment_cache_blocks(r->cache, &blocks, &count);
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].address != block.offset) continue;
        bool behind = i + 1 < count && blocks[i + 1].segment == blocks[i].segment;
        bool is_free = behind && blocks[i + 1].state == TLA_SEGMENT_FREE;
        r->doubt.address = block.offset;
        r->doubt.room = block.nbytes + (is_free ? blocks[i + 1].nbytes : 0);
        r->doubt.rounded = tla_segment_cache_round_with(e->nbytes, &r->config);
    }
    r->doubt.longer = e->action == TORCH_ALLOC ? longer(blocks, count, block.offset, e->address) : 0;
    free(blocks);
    return status;
}

torch_start_block *torch_doubt_mend(const torch_snapshot *snapshot, const torch_start *start, const torch_doubt *doubt,
                                    uint64_t *nbytes) {
    if (doubt->room < doubt->rounded) return NULL;
    for (size_t i = 0; i < start->segment_count; i++) {
        const torch_start_segment *s = &start->segments[i];
        if (s->small || s->expandable || doubt->address - s->address >= s->nbytes) continue;
        for (size_t k = s->first_block; k < s->first_block + s->block_count; k++) {
            torch_start_block *b = &start->blocks[k];
            if (!b->guessed || b->address + b->nbytes != doubt->address) continue;
            uint64_t most = tla_segment_cache_round_with(b->requested, &snapshot->settings) + LARGEST_SLACK;
            *nbytes = b->nbytes + (doubt->room - doubt->rounded) / UNIT * UNIT + UNIT;
            return *nbytes <= most ? b : NULL;
        }
    }
    return NULL;
}

static bool is_involved(const torch_lot *lot, const torch_doubt *doubt) {
    if (lot->from > doubt->entry) return false;
    if (lot->to + ABOUT > doubt->entry && lot->to < doubt->entry + ABOUT) return true;
    for (size_t i = 0; i < sizeof doubt->involved / sizeof doubt->involved[0]; i++) {
        const uint64_t address = doubt->involved[i];
        if (address && address - lot->address < lot->nbytes && doubt->entry <= lot->to) return true;
    }
    return false;
}

torch_lot *torch_doubt_lot(const torch_start *start, const torch_doubt *doubt, const torch_lot *behind) {
    for (size_t i = behind ? (size_t)(behind - start->lots) + 1 : 0; i < start->lot_count; i++)
        if (!start->lots[i].known && is_involved(&start->lots[i], doubt)) return &start->lots[i];
    return NULL;
}

const torch_lot *torch_lot_at(const torch_start *start, const torch_device *device, size_t entry) {
    const uint64_t address = device->entries[entry].address;
    size_t low = 0, high = start->lot_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const torch_lot *lot = &start->lots[middle];
        if (lot->address < address || (lot->address == address && lot->to < entry))
            low = middle + 1;
        else
            high = middle;
    }
    return low < start->lot_count && start->lots[low].to == entry ? &start->lots[low] : NULL;
}

void torch_lot_assign(const torch_device *device, const torch_start *start, torch_lot *lot, uint32_t pool) {
    lot->pool = pool;
    for (size_t i = lot->from; i < lot->to; i++) {
        torch_entry *e = &device->entries[i];
        if (e->action == TORCH_ALLOC && !e->has_pool && e->address - lot->address < lot->nbytes) e->pool = pool;
    }
    for (size_t i = 0; i < start->segment_count && lot->older; i++)
        if (start->segments[i].address == lot->address) start->segments[i].pool = pool;
}
