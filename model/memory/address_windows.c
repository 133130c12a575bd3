/* Address decoding: sorted windows, searched by halves. */
#include "tlmalloc/memory/address_windows.h"

#include <stdlib.h>

static int by_base(const void *a, const void *b) {
    const uint64_t x = ((const tla_address_window *)a)->base, y = ((const tla_address_window *)b)->base;
    return (x > y) - (x < y);
}

tla_status tla_address_windows_sort(tla_address_window *windows, size_t count, uint32_t targets) {
    if (count > 0) qsort(windows, count, sizeof *windows, by_base);
    for (size_t i = 0; i < count; i++) {
        const tla_address_window *w = &windows[i];
        if (w->target >= targets) return TLA_OUT_OF_RANGE;
        if (w->size > 0 && w->base > UINT64_MAX - (w->size - 1)) return TLA_INVALID_ARGUMENT;
        if (i > 0 && w->base - w[-1].base < w[-1].size) return TLA_OVERLAP;
    }
    return TLA_OK;
}

const tla_address_window *tla_address_windows_find(const tla_address_window *windows, size_t count, uint64_t address,
                                                   uint64_t nbytes) {
    size_t low = 0, high = count; /* windows below `low` begin at or below the address, those from `high` on above */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (windows[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    const tla_address_window *w = &windows[low - 1];
    return nbytes <= w->size && address - w->base <= w->size - nbytes ? w : NULL;
}
