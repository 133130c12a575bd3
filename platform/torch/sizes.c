/* The memory of a device: not recorded, but at least the reserved bytes plus the free bytes of an oom. */
#include "torch/parts.h"
#include "torch/replayer.h"

#include <assert.h>

static const uint64_t usual[] = {8, 11, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 141, 192, 256, 288, 1024}; /* GiB */

enum { USUAL_COUNT = sizeof usual / sizeof usual[0] };

static_assert(USUAL_COUNT + 2 == TORCH_SIZES_MAX, "torch_likely_sizes has room for all");

/* Returns the reserved bytes before an entry, from those after it. */
static uint64_t undo(const torch_entry *e, uint64_t reserved) {
    if (e->action == TORCH_SEGMENT_ALLOC || e->action == TORCH_SEGMENT_MAP)
        return reserved - (e->nbytes < reserved ? e->nbytes : reserved);
    return e->action == TORCH_SEGMENT_FREE || e->action == TORCH_SEGMENT_UNMAP ? reserved + e->nbytes : reserved;
}

static uint64_t reserved_at_end(const torch_device *d) {
    uint64_t reserved = 0;
    for (size_t i = 0; i < d->segment_count; i++)
        reserved += d->segments[i].nbytes;
    return reserved;
}

static uint64_t capacity_of(const torch_entry *oom, uint64_t reserved) {
    return oom->address > UINT64_MAX - reserved ? UINT64_MAX : reserved + oom->address;
}

uint64_t torch_capacity_at(const torch_device *d, size_t oom) {
    uint64_t reserved = reserved_at_end(d);
    for (size_t i = d->entry_count; i > oom; i--)
        reserved = undo(&d->entries[i - 1], reserved);
    return capacity_of(&d->entries[oom], reserved);
}

/* Returns the peak of reserved bytes of a device, and its memory at its last oom (0: none). */
static uint64_t peak_of(const torch_device *d, uint64_t *capacity) {
    uint64_t reserved = reserved_at_end(d), peak = reserved;
    *capacity = 0;
    for (size_t i = d->entry_count; i > 0; i--) {
        const torch_entry *e = &d->entries[i - 1];
        reserved = undo(e, reserved);
        if (e->action == TORCH_OOM && !*capacity) *capacity = capacity_of(e, reserved);
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
