/* How much memory a device has: not recorded, but it had what was reserved, and what an oom says was free besides. */
#include "trace/torch_parts.h"
#include "trace/torch_replayer.h"

#include <assert.h>

static const uint64_t usual[] = {8, 11, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 141, 192, 256, 288, 1024}; /* GiB */

enum { USUAL_COUNT = sizeof usual / sizeof usual[0] };

static_assert(USUAL_COUNT + 2 == TORCH_SIZES_MAX, "torch_likely_sizes has room for all");

/* What a device had reserved at most, and what it had at its last oom (0: none). */
static uint64_t peak_of(const torch_device *d, uint64_t *capacity) {
    uint64_t reserved = 0, peak;
    *capacity = 0;
    for (size_t i = 0; i < d->segment_count; i++)
        reserved += d->segments[i].nbytes;
    peak = reserved;
    for (size_t i = d->entry_count; i > 0; i--) {
        const torch_entry *e = &d->entries[i - 1];
        bool took = e->action == TORCH_SEGMENT_ALLOC || e->action == TORCH_SEGMENT_MAP;
        bool gave = e->action == TORCH_SEGMENT_FREE || e->action == TORCH_SEGMENT_UNMAP;
        if (took) reserved -= e->nbytes < reserved ? e->nbytes : reserved;
        if (gave) reserved += e->nbytes;
        if (e->action == TORCH_OOM && !*capacity) *capacity = reserved + e->address;
        if (reserved > peak) peak = reserved;
    }
    return peak;
}

static size_t usual_from(uint64_t nbytes) {
    size_t i = 0;
    while (i < USUAL_COUNT - 1 && usual[i] << 30 < nbytes)
        i++;
    return i;
}

void torch_sizes_find(const torch_snapshot *snapshot, size_t device, torch_start *start) {
    uint64_t needed = 0, capacity, peak;
    for (size_t k = 0; k < snapshot->device_count; k++) { /* the devices of a program are alike */
        peak = peak_of(&snapshot->devices[k], &capacity);
        if (peak > needed) needed = peak;
        if (capacity > needed) needed = capacity;
    }
    start->peak_reserved = peak_of(&snapshot->devices[device], &start->capacity);
    start->device_bytes = usual[usual_from(needed)] << 30;
}

size_t torch_likely_sizes(const torch_start *start, uint64_t sizes[TORCH_SIZES_MAX]) {
    size_t count = 0, i = usual_from(start->device_bytes);
    if (start->capacity) {
        sizes[count++] = usual[i++] << 30;
        sizes[count++] = start->capacity;
    }
    sizes[count++] = 0;
    while (i < USUAL_COUNT)
        sizes[count++] = usual[i++] << 30;
    return count;
}
