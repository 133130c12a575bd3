/* vLLM's rules: one queue of free blocks, of which content is found until they are taken from its head. */
#include "kv_blocks_index.h"
#include "kv_blocks_rules.h"

#include <stdlib.h>

/* In the queue, block 0 stands before the head and behind the tail. */
typedef struct kv_link {
    uint32_t before, behind;
} kv_link;

typedef struct vllm_state {
    bool has_index;
    kv_link *links;
    tla_kv_index index;
    uint32_t cached; /* blocks in the queue that are in the index */
} vllm_state;

static void destroy(void *state) {
    vllm_state *s = state;
    if (!s) return;
    tla_kv_index_clear(&s->index);
    free(s->links);
    free(s);
}

static tla_status create(uint32_t blocks, bool index, void **state) {
    *state = NULL;
    vllm_state *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->has_index = index;
    made->links = calloc(blocks, sizeof *made->links);
    if (!made->links || (index && tla_kv_index_init(&made->index, blocks))) {
        destroy(made);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint32_t block = 0; block < blocks; block++) {
        made->links[block].before = block ? block - 1 : blocks - 1;
        made->links[block].behind = block + 1 < blocks ? block + 1 : 0;
    }
    *state = made;
    return TLA_OK;
}

static bool is_entered(const vllm_state *s, uint32_t block) {
    return s->has_index && s->index.entries[block].entered;
}

/* The lines of a block and of those of its neighbours that are blocks. */
static void charge_link(const kv_link *link, tla_work *work) {
    if (!work) return;
    work->slots++;
    work->metadata_lines += 1u + (link->before != 0) + (link->behind != 0);
}

static void unlink_block(vllm_state *s, uint32_t block, tla_work *work) {
    const kv_link *link = &s->links[block];
    charge_link(link, work);
    s->links[link->before].behind = link->behind;
    s->links[link->behind].before = link->before;
    s->cached -= is_entered(s, block);
}

static uint32_t find(const void *state, uint64_t hash, tla_work *work) {
    const vllm_state *s = state;
    return s->has_index ? tla_kv_index_find(&s->index, hash, work) : 0;
}

static void reuse(void *state, uint32_t block, bool first, tla_work *work) {
    if (first)
        unlink_block(state, block, work);
    else if (work)
        work->metadata_lines++;
}

static uint32_t take(void *state, bool *evicted, uint64_t *hash, tla_work *work) {
    vllm_state *s = state;
    const uint32_t block = s->links[0].behind;
    unlink_block(s, block, work);
    if (is_entered(s, block)) {
        *evicted = true;
        *hash = s->index.entries[block].hash;
        tla_kv_index_remove(&s->index, block, work);
    }
    if (work) work->nodes_visited++;
    return block;
}

static tla_status enter(void *state, uint32_t block, uint64_t hash, tla_work *work) {
    vllm_state *s = state;
    if (s->has_index) tla_kv_index_enter(&s->index, block, hash, work);
    return TLA_OK;
}

static void release(void *state, uint32_t block, bool last, tla_work *work) {
    vllm_state *s = state;
    if (!last) {
        if (work) work->metadata_lines++;
        return;
    }
    kv_link *link = &s->links[block];
    link->before = s->links[0].before;
    link->behind = 0;
    s->links[link->before].behind = block;
    s->links[0].before = block;
    s->cached += is_entered(s, block);
    charge_link(link, work);
}

static uint32_t cached(const void *state) {
    return ((const vllm_state *)state)->cached;
}

const tla_kv_rules tla_kv_vllm_rules = {.create = create,
                                        .destroy = destroy,
                                        .find = find,
                                        .reuse = reuse,
                                        .take = take,
                                        .enter = enter,
                                        .release = release,
                                        .cached = cached,
                                        .release_backwards = true};
