/* Changes that wait for their time. */
#include "change_heap.h"

#include <stdlib.h>

static bool before(const tla_wave_change *a, const tla_wave_change *b) {
    if (a->at_ps != b->at_ps) return a->at_ps < b->at_ps;
    if (a->signal != b->signal) return a->signal < b->signal;
    return a->arrival < b->arrival;
}

bool tla_change_heap_push(tla_change_heap *heap, tla_wave_change change) {
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity ? 2 * heap->capacity : 256;
        tla_wave_change *items = realloc(heap->items, capacity * sizeof *items);
        if (!items) return false;
        heap->items = items;
        heap->capacity = capacity;
    }
    change.arrival = heap->arrivals++;
    size_t at = heap->count++;
    for (size_t parent; at > 0 && before(&change, &heap->items[parent = (at - 1) / 2]); at = parent)
        heap->items[at] = heap->items[parent];
    heap->items[at] = change;
    return true;
}

const tla_wave_change *tla_change_heap_first(const tla_change_heap *heap) {
    return heap->count ? heap->items : NULL;
}

void tla_change_heap_pop(tla_change_heap *heap) {
    const tla_wave_change last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child])) child++;
        if (!before(&heap->items[child], &last)) break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
}

void tla_change_heap_clear(tla_change_heap *heap) {
    free(heap->items);
    *heap = (tla_change_heap){0};
}
