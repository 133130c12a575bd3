/* Requests while they are read. */
#include "serving/requests_builder.h"

#include "model/base/grow.h"

bool serving_append_block(serving_builder *b, uint64_t block) {
    if (!tla_grow(&b->out->block_store, &b->block_room, b->block_count + 1, sizeof block)) return false;
    b->out->block_store[b->block_count++] = block;
    return true;
}

bool serving_is_skipped(const serving_builder *b, const serving_line *line) {
    return b->skips && (!line->prompt_tokens || !line->output_tokens);
}

tla_status serving_append(serving_builder *b, const serving_line *line) {
    tla_serving_requests *out = b->out;
    if (serving_is_skipped(b, line)) {
        ++*(line->output_tokens ? &out->skipped.no_prompt : &out->skipped.no_output);
    } else {
        if (out->count == TLA_SERVING_REQUESTS_MAX) return TLA_LIMIT;
        if (!tla_grow(&out->items, &b->room, out->count + 1, sizeof *out->items)) return TLA_NO_HOST_MEMORY;
        out->items[out->count++] = (tla_serving_request){.id = line->id,
                                                         .arrival_ns = line->arrival_ns,
                                                         .prompt_tokens = (uint32_t)line->prompt_tokens,
                                                         .output_tokens = (uint32_t)line->output_tokens,
                                                         .block_count = (uint32_t)line->block_count,
                                                         .line = (uint32_t)line->number};
    }
    b->read++;
    b->last_ns = line->arrival_ns;
    return TLA_OK;
}
