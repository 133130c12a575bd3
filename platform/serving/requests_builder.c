/* Requests while they are read. */
#include "serving/requests_builder.h"

#include "trace/value_store.h"

bool serving_append_block(serving_builder *b, uint64_t block) {
    void *blocks = b->out->block_store;
    const bool good = value_room(&blocks, b->block_count, &b->block_room, sizeof block);
    b->out->block_store = blocks;
    if (good) b->out->block_store[b->block_count++] = block;
    return good;
}

bool serving_append(serving_builder *b, const serving_line *line) {
    tla_serving_requests *out = b->out;
    void *items = out->items;
    const bool good = value_room(&items, out->count, &b->room, sizeof *out->items);
    out->items = items;
    if (!good) return false;
    if (out->count == 0) b->first_ns = line->arrival_ns;
    b->last_ns = line->arrival_ns;
    out->items[out->count++] = (tla_serving_request){.id = line->id,
                                                     .arrival_ns = line->arrival_ns - b->first_ns,
                                                     .prompt_tokens = (uint32_t)line->prompt_tokens,
                                                     .output_tokens = (uint32_t)line->output_tokens,
                                                     .block_count = (uint32_t)line->block_count};
    return true;
}
