/* Completions, and what stands in the command area beside one. */
#include "descriptor_layout.h"

static const uint32_t completion_magic = 0x44414C54; /* "TLAD" */

enum { KIND_SHIFT = 13, SIP_SHIFT = 9, DIE_SHIFT = 4 }; /* of a place in a completion */

void tla_object_meta_put(const tla_mem_object_meta *meta, uint8_t bytes[META_BYTES]) {
    put(bytes, meta->dtype, 1);
    put(bytes + 1, meta->dimensions, 1);
    put(bytes + 2, 0, 2);
    for (unsigned i = 0; i < 6; i++)
        put(bytes + 4 + 4 * i, meta->shape[i], 4);
    put(bytes + 28, meta->first_position, 8);
    put(bytes + 36, meta->positions, 8);
}

tla_mem_object_meta tla_object_meta_get(const uint8_t bytes[META_BYTES]) {
    tla_mem_object_meta meta = {.dtype = bytes[0],
                                .dimensions = bytes[1],
                                .first_position = get(bytes + 28, 8),
                                .positions = get(bytes + 36, 8)};
    for (unsigned i = 0; i < 6; i++)
        meta.shape[i] = get32(bytes + 4 + 4 * i);
    return meta;
}

void tla_placed_block_put(tla_placed_block block, uint8_t bytes[TLA_BLOCK_BYTES]) {
    put(bytes, block.pa.value, 8);
    put(bytes + 8, block.nbytes, 8);
}

tla_placed_block tla_placed_block_decode(const uint8_t bytes[TLA_BLOCK_BYTES]) {
    return (tla_placed_block){{get(bytes, 8)}, get(bytes + 8, 8)};
}

size_t tla_object_result_encode(const tla_mem_object_meta *meta, const tla_placed_block *blocks, uint32_t count,
                                uint8_t bytes[TLA_COMMAND_MAX_BYTES]) {
    put(bytes, count, 4);
    tla_object_meta_put(meta, bytes + 4);
    for (uint32_t i = 0; i < count; i++)
        tla_placed_block_put(blocks[i], bytes + TLA_OBJECT_RESULT_BYTES + (size_t)i * TLA_BLOCK_BYTES);
    return TLA_OBJECT_RESULT_BYTES + (size_t)count * TLA_BLOCK_BYTES;
}

void tla_object_result_decode(const uint8_t bytes[TLA_OBJECT_RESULT_BYTES], tla_mem_object_meta *meta,
                              uint32_t *count) {
    *count = get32(bytes);
    *meta = tla_object_meta_get(bytes + 4);
}

size_t tla_batch_result_encode(const tla_placed_block *blocks, uint32_t count, uint8_t bytes[TLA_COMMAND_MAX_BYTES]) {
    for (uint32_t i = 0; i < count; i++)
        put(bytes + (size_t)i * 8, blocks[i].pa.value, 8);
    return (size_t)count * 8;
}

static uint32_t encode_location(const tla_location *p) {
    const uint32_t sip = p->kind >= TLA_LOCATION_IO_CPU ? p->sip : 0,
                   cube = p->kind >= TLA_LOCATION_M_CPU ? p->cube : 0, pe = p->kind >= TLA_LOCATION_PE ? p->pe : 0;
    return (uint32_t)p->kind << KIND_SHIFT | sip << SIP_SHIFT | cube << DIE_SHIFT | pe;
}

static tla_location decode_location(uint32_t bits) {
    return (tla_location){(tla_location_kind)(bits >> KIND_SHIFT & 3), bits >> SIP_SHIFT & 0xF,
                          bits >> DIE_SHIFT & 0x1F, bits & 0xF};
}

void tla_completion_encode(const tla_completion *completion, uint8_t bytes[TLA_COMPLETION_BYTES]) {
    put(bytes, completion_magic, 4);
    put(bytes + 4, completion->request_id, 4);
    put(bytes + 8, (uint64_t)completion->status, 1);
    put(bytes + 9, (uint64_t)completion->opcode, 1);
    put(bytes + 10, encode_location(&completion->failed_at), 2);
    put(bytes + 12, completion->correlation_id, 4);
    put(bytes + 16, completion->value, 8);
    put(bytes + 24, completion->nbytes, 8);
    put(bytes + 32, completion->total_free, 8);
    put(bytes + 40, completion->largest_free, 8);
    put(bytes + 48, completion->nodes_visited, 8);
    put(bytes + 56, completion->service_ps, 8);
}

tla_status tla_completion_decode(const uint8_t bytes[TLA_COMPLETION_BYTES], tla_completion *completion) {
    const uint32_t status = bytes[8], opcode = bytes[9], bits = (uint32_t)get(bytes + 10, 2);
    const tla_location place = decode_location(bits);
    if (get32(bytes) != completion_magic || status >= TLA_STATUS_COUNT || opcode > TLA_OP_LAST ||
        encode_location(&place) != bits) /* one spelling for every place */
        return TLA_BAD_COMMAND;
    *completion = (tla_completion){.correlation_id = get32(bytes + 12),
                                   .request_id = get32(bytes + 4),
                                   .failed_at = place,
                                   .status = (tla_status)status,
                                   .opcode = (tla_opcode)opcode,
                                   .value = get(bytes + 16, 8),
                                   .nbytes = get(bytes + 24, 8),
                                   .total_free = get(bytes + 32, 8),
                                   .largest_free = get(bytes + 40, 8),
                                   .nodes_visited = get(bytes + 48, 8),
                                   .service_ps = get(bytes + 56, 8)};
    return TLA_OK;
}
