/* Chunks, of which the newest is filled. */
#include "trace/value_store.h"

#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 16 };

typedef struct value_chunk {
    struct value_chunk *previous;
    size_t used, room;
    max_align_t bytes[];
} value_chunk;

void *value_store_take(value_store *store, size_t nbytes) {
    const size_t unit = _Alignof(max_align_t);
    nbytes = (nbytes + unit - 1) / unit * unit;
    store->taken += nbytes;
    store->too_much = store->taken > store->most;
    if (store->too_much) return NULL;
    value_chunk *c = store->chunks;
    if (!c || c->room - c->used < nbytes) {
        size_t room = nbytes > CHUNK_BYTES ? nbytes : CHUNK_BYTES;
        c = malloc(sizeof *c + room);
        if (!c) return NULL;
        *c = (value_chunk){.previous = store->chunks, .room = room};
        store->chunks = c;
    }
    void *bytes = (char *)c->bytes + c->used;
    c->used += nbytes;
    return bytes;
}

static void free_from(value_chunk *c) {
    while (c) {
        value_chunk *previous = c->previous;
        free(c);
        c = previous;
    }
}

void value_store_reset(value_store *store) {
    store->taken = 0;
    if (!store->chunks) return;
    free_from(store->chunks->previous);
    store->chunks->previous = NULL;
    store->chunks->used = 0;
}

void value_store_clear(value_store *store) {
    free_from(store->chunks);
    store->chunks = NULL;
}
