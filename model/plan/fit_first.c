/* FitFirstAssign: forwards, holes may grow; backwards, addresses are decided.
 *
 * The forward pass goes through the tensors by live start, with a list of blocks that covers the whole space. A tensor
 * takes the largest hole, large enough or not; a hole that is too small grows, and pushes the blocks above it up. The
 * pass keeps every state of the list. The backward pass goes through the states: a tensor gets its address in the first
 * state that has it, and keeps the address. */
#include "base/grow.h"
#include "plan_methods.h"

#include <stdlib.h>

#define NOBODY SIZE_MAX

typedef struct space {
    uint64_t start, nbytes;
    size_t tensor; /* NOBODY: free */
} space;

/* The states one after the other; the last one is spaces[from .. count). */
typedef struct snapshots {
    space *spaces;
    size_t count, room, from;
} snapshots;

static tla_status reserve(snapshots *album, size_t n) {
    const size_t need = album->count + n;
    return tla_grow(&album->spaces, &album->room, need, sizeof *album->spaces) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* Begins a new state as a copy of the last one without the tensors that are disjoint in time from `tensor`, free
 * neighbours joined. Leaves room for one block more. */
static tla_status turn_page(snapshots *album, const tla_lifetime *tensors, const tla_lifetime *tensor) {
    size_t from = album->from, end = album->count;
    tla_status status = reserve(album, end - from + 1);
    if (status) return status;
    album->from = end;
    for (size_t i = from; i < end; i++) {
        space copy = album->spaces[i];
        if (copy.tensor != NOBODY &&
            (tensors[copy.tensor].upper <= tensor->lower || tensors[copy.tensor].lower >= tensor->upper))
            copy.tensor = NOBODY;
        space *last = album->count > album->from ? &album->spaces[album->count - 1] : NULL;
        if (last && last->tensor == NOBODY && copy.tensor == NOBODY)
            last->nbytes += copy.nbytes;
        else
            album->spaces[album->count++] = copy;
    }
    return TLA_OK;
}

/* The largest free block below the last one, the first of equals; else the last one, the endless rest. */
static size_t select_space(const snapshots *album) {
    size_t selected = album->count - 1;
    uint64_t largest = 0;
    for (size_t i = album->from; i + 1 < album->count; i++) {
        if (album->spaces[i].tensor != NOBODY || album->spaces[i].nbytes <= largest) continue;
        selected = i;
        largest = album->spaces[i].nbytes;
    }
    return selected;
}

static void occupy(snapshots *album, size_t at, size_t tensor, uint64_t nbytes) {
    space *spaces = album->spaces;
    if (spaces[at].nbytes > nbytes) {
        for (size_t i = album->count++; i > at + 1; i--)
            spaces[i] = spaces[i - 1];
        spaces[at + 1] = (space){spaces[at].start + nbytes, spaces[at].nbytes - nbytes, NOBODY};
    } else {
        uint64_t end = spaces[at].start + nbytes;
        for (size_t i = at + 1; i < album->count; i++) {
            spaces[i].start = end;
            end += spaces[i].nbytes;
        }
    }
    spaces[at].nbytes = nbytes;
    spaces[at].tensor = tensor;
}

/* From the last state to the first. Where a state begins is known: it is the one that begins at start 0, and no other
 * block of a state does, as blocks are not empty. */
static void assign(snapshots *album, uint64_t *offsets) {
    for (size_t end = album->count; end > 0;) {
        size_t from = end - 1;
        while (album->spaces[from].start != 0)
            from--;
        uint64_t offset = 0;
        for (size_t i = from; i < end; i++) {
            space *block = &album->spaces[i];
            if (block->tensor == NOBODY) {
                offset += block->nbytes;
                continue;
            }
            uint64_t start = offsets[block->tensor] == UINT64_MAX ? block->start : offsets[block->tensor];
            if (start < offset) start = offset;
            offset = start + block->nbytes;
            if (offsets[block->tensor] == UINT64_MAX) offsets[block->tensor] = start;
        }
        end = from;
    }
}

/* TPU-MLIR's sortOpByLiveStart: quicksort whose pivot is the first element, with a hole that moves between the ends.
 * The order of equal elements depends on exactly this sequence of exchanges. */
static void quick_sort(const tla_lifetime *tensors, size_t *order, size_t low, size_t high) {
    while (low < high) {
        size_t i = low, k = high, moved;
        uint64_t pivot = tensors[order[low]].lower;
        while (i < k) {
            while (i < k && tensors[order[k]].lower > pivot)
                k--;
            if (i < k) {
                moved = order[i];
                order[i++] = order[k];
                order[k] = moved;
            }
            while (i < k && tensors[order[i]].lower <= pivot)
                i++;
            if (i < k) {
                moved = order[i];
                order[i] = order[k];
                order[k--] = moved;
            }
        }
        /* The shorter side by recursion, so that the depth stays logarithmic; the sides do not touch each other. */
        if (i - low < high - i) {
            if (i > low) quick_sort(tensors, order, low, i - 1);
            low = i + 1;
        } else {
            if (i < high) quick_sort(tensors, order, i + 1, high);
            if (i == low) return;
            high = i - 1;
        }
    }
}

/* Insertion sort from the back: orders are nearly sorted as a rule, and n is a compiler's. */
static void stable_sort(const tla_lifetime *tensors, size_t *order, size_t n) {
    for (size_t i = 1; i < n; i++) {
        size_t moved = order[i], k = i;
        for (; k > 0 && tensors[order[k - 1]].lower > tensors[moved].lower; k--)
            order[k] = order[k - 1];
        order[k] = moved;
    }
}

tla_status plan_fit_first(const tla_lifetime *tensors, size_t n, bool stable, uint64_t *offsets) {
    size_t *order = malloc((n ? n : 1) * sizeof *order);
    snapshots album = {0};
    tla_status status = order ? reserve(&album, 1) : TLA_NO_HOST_MEMORY;
    if (!status) album.spaces[album.count++] = (space){0, (uint64_t)1 << 63, NOBODY};
    for (size_t i = 0; order && i < n; i++) {
        order[i] = i;
        offsets[i] = UINT64_MAX;
    }
    if (order && stable) stable_sort(tensors, order, n);
    if (order && !stable && n > 0) quick_sort(tensors, order, 0, n - 1);
    for (size_t i = 0; !status && i < n; i++) {
        status = turn_page(&album, tensors, &tensors[order[i]]);
        if (!status) occupy(&album, select_space(&album), order[i], tensors[order[i]].nbytes);
    }
    if (!status) assign(&album, offsets);
    free(album.spaces);
    free(order);
    return status;
}
