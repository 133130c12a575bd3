/* The state at the end, block for block. */
#include "torch/replayer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct end_block {
    uint64_t address, nbytes, requested;
    torch_state state;
    bool any_request;
} end_block;

static int by_address(const void *a, const void *b) {
    const end_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static tla_status compare_blocks(torch_replayer *r, end_block *recorded, const tla_segment_block_info *own,
                                 size_t own_count) {
    size_t count = r->device->block_count, k = 0;
    static const char *const names[] = {"inactive", "allocated", "pending"};
    qsort(recorded, count, sizeof *recorded, by_address);
    for (size_t i = 0; i < own_count; i++) {
        const tla_segment_block_info *b = &own[i];
        if (b->state == TLA_SEGMENT_UNMAPPED) continue;
        torch_state state = b->state == TLA_SEGMENT_FREE        ? TORCH_INACTIVE
                            : b->state == TLA_SEGMENT_ALLOCATED ? TORCH_ALLOCATED
                                                                : TORCH_PENDING;
        bool same = k < count && recorded[k].address == b->address && recorded[k].nbytes == b->nbytes &&
                    recorded[k].state == state &&
                    (state == TORCH_INACTIVE || recorded[k].any_request || recorded[k].requested == b->requested);
        if (!same) {
            snprintf(r->result->end_difference, sizeof r->result->end_difference,
                     "replayed %s block of %" PRIu64 " bytes at 0x%" PRIx64 ", recorded %s", names[state], b->nbytes,
                     b->address, k < count ? names[recorded[k].state] : "no further block");
            return TLA_OK;
        }
        k++;
    }
    r->result->end_state_equal = k == count;
    if (k < count)
        snprintf(r->result->end_difference, sizeof r->result->end_difference,
                 "recorded %s block of %" PRIu64 " bytes at 0x%" PRIx64 ", replayed no further block",
                 names[recorded[k].state], recorded[k].nbytes, recorded[k].address);
    return TLA_OK;
}

tla_status torch_compare_end(torch_replayer *r) {
    const torch_device *d = r->device;
    tla_segment_block_info *own = NULL;
    size_t own_count = 0;
    end_block *recorded = malloc((d->block_count + 1) * sizeof *recorded);
    tla_status status = recorded ? tla_segment_cache_blocks(r->cache, &own, &own_count) : TLA_NO_HOST_MEMORY;
    if (!status) {
        for (size_t i = 0; i < d->block_count; i++)
            recorded[i] = (end_block){d->blocks[i].address, d->blocks[i].nbytes, d->blocks[i].requested,
                                      d->blocks[i].state, d->blocks[i].requested_is_size};
        status = compare_blocks(r, recorded, own, own_count);
    }
    free(recorded);
    free(own);
    return status;
}
