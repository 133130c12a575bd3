/* The order of segments for a writer: its own host's first. Sorted and rotated in place. */
#include "tlmalloc/cache/replicas.h"

#include <string.h>

static void reverse(uint32_t *order, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t other = order[count - 1 - i];
        order[count - 1 - i] = order[i];
        order[i] = other;
    }
}

/* Makes element `first` the first one. */
static void rotate(uint32_t *order, uint32_t count, uint32_t first) {
    reverse(order, first);
    reverse(order + first, count - first);
    reverse(order, count);
}

static int compare(const tla_segment_place *a, const tla_segment_place *b) {
    const int hosts = strcmp(a->host, b->host);
    return hosts ? hosts : strcmp(a->name, b->name);
}

void tla_replicas_local_first(const tla_segment_place *segments, uint32_t count, const char *writer, uint64_t key_hash,
                              uint32_t *order) {
    uint32_t before = 0; /* segments of hosts below the writer */
    for (uint32_t i = 0, at; i < count; i++) {
        for (at = i; at > 0 && compare(&segments[i], &segments[order[at - 1]]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
        before += strcmp(segments[i].host, writer) < 0;
    }
    rotate(order, count, before);
    for (uint32_t first = 0, length; first < count; first += length) {
        for (length = 1; first + length < count; length++)
            if (strcmp(segments[order[first]].host, segments[order[first + length]].host)) break;
        rotate(order + first, length, (uint32_t)(key_hash % length));
    }
}
