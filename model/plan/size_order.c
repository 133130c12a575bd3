/* Greedy by size: OpSizeOrderAssign (allocators.md 1.6) and TFLite Micro's GreedyMemoryPlanner, which differ in the gap
 * that they take and in the order of equals. */
#include "plan_methods.h"

#include <stdlib.h>
#include <string.h>

typedef struct sized {
    uint64_t nbytes;
    size_t index;
} sized;

static int later_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->nbytes != y->nbytes) return x->nbytes > y->nbytes ? -1 : 1;
    return x->index > y->index ? -1 : 1;
}

static int earlier_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->nbytes != y->nbytes ? later_first(a, b) : later_first(b, a);
}

/* Where the tensor goes among those that are placed, which are in the order of their offsets. */
static uint64_t find_gap(const tla_lifetime *tensors, const tla_lifetime *tensor, const size_t *placed, size_t count,
                         const uint64_t *offsets, bool first_gap) {
    uint64_t end = 0, best = UINT64_MAX, smallest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const tla_lifetime *other = &tensors[placed[i]];
        uint64_t start = offsets[placed[i]];
        if (other->upper <= tensor->lower || tensor->upper <= other->lower) continue;
        if (start >= end && start - end >= tensor->nbytes && start - end < smallest) {
            smallest = start - end;
            best = end;
            if (first_gap) break;
        }
        if (start + other->nbytes > end) end = start + other->nbytes;
    }
    return best == UINT64_MAX ? end : best;
}

tla_status tla_plan_by_size(const tla_lifetime *tensors, size_t n, bool first_gap, uint64_t *offsets) {
    sized *order = malloc((n ? n : 1) * sizeof *order);
    size_t *placed = malloc((n ? n : 1) * sizeof *placed);
    if (!order || !placed) {
        free(order);
        free(placed);
        return TLA_NO_HOST_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (sized){tensors[i].nbytes, i};
    /* TPU-MLIR compares with >= in std::list::sort, which with libstdc++ turns equals around. */
    qsort(order, n, sizeof *order, first_gap ? earlier_first : later_first);
    for (size_t count = 0; count < n; count++) {
        size_t index = order[count].index, at = 0;
        uint64_t offset = find_gap(tensors, &tensors[index], placed, count, offsets, first_gap);
        offsets[index] = offset;
        /* TPU-MLIR puts it before others at the same offset, TFLite Micro behind them. */
        while (at < count && (offsets[placed[at]] < offset || (first_gap && offsets[placed[at]] == offset)))
            at++;
        memmove(placed + at + 1, placed + at, (count - at) * sizeof *placed);
        placed[at] = index;
    }
    free(order);
    free(placed);
    return TLA_OK;
}
