/* Writes a decoded command as a control descriptor. Apart from descriptor.c, which needs no library. */
#include "descriptor_layout.h"

#include <string.h>

static void put_units(const tla_command *c, uint8_t *bytes) {
    put(bytes, (uint64_t)c->units, 4);
    put(bytes + 4, 0, 4);
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        put(bytes + 8 + 2 * i, c->pes.cubes[i], 2);
    for (uint32_t i = 0; i < c->count; i++)
        put(bytes + 40 + TLA_ARGUMENT_BYTES * i, c->extents[i], TLA_ARGUMENT_BYTES);
}

tla_status tla_command_encode(const tla_command *c, uint8_t *bytes, size_t capacity, size_t *length) {
    tla_descriptor d = {.opcode = c->opcode,
                        .target = c->target,
                        .correlation_id = c->correlation_id,
                        .request_id = c->request_id,
                        .memory = c->memory,
                        .format = c->format,
                        .stream = c->stream,
                        .object = c->object,
                        .nbytes = c->nbytes,
                        .pa = c->pa,
                        .timeout_ps = c->timeout_ps,
                        .va = c->va,
                        .scope = c->scope,
                        .kernel = c->kernel,
                        .program = c->program,
                        .programs = c->programs,
                        .target_start_ps = c->target_start_ps,
                        .pes = c->pes,
                        .write = c->write,
                        .pattern = c->pattern,
                        .batch = c->batch,
                        .busy = c->busy,
                        .key = c->key,
                        .meta = c->meta,
                        .count = c->count};
    uint8_t head[TLA_DESCRIPTOR_HEAD_MAX_BYTES];
    size_t head_bytes, whole;
    tla_status status = tla_descriptor_put_head(&d, head, &head_bytes, &whole);
    if (status) return status;
    const bool leaves = c->opcode == TLA_OP_MOVE && c->elsewhere;
    const bool of_units = c->of_units && (c->opcode == TLA_OP_ALLOC || c->opcode == TLA_OP_FREE);
    if (of_units && !(may_name_units(c->opcode, c->target) && is_mode_of_units((uint32_t)c->units) && extents_fit(c)))
        return TLA_INVALID_ARGUMENT;
    if (of_units) whole = OF_UNITS_BYTES + (size_t)c->count * TLA_ARGUMENT_BYTES;
    if (whole > capacity || (leaves && c->to.value & MOVE_ELSEWHERE)) return TLA_INVALID_ARGUMENT;
    memcpy(bytes, head, head_bytes);
    if (leaves) put(bytes + TLA_COMMAND_HEADER_BYTES + 8, MOVE_ELSEWHERE | c->to.value, 8);
    *length = whole;
    if (of_units) {
        put(bytes + 6, whole, 2);
        put_units(c, bytes + SCALAR_BYTES);
        return TLA_OK;
    }
    uint8_t *at = bytes + head_bytes;
    const void *items = c->opcode == TLA_OP_LAUNCH          ? (const void *)c->arguments
                        : tla_opcode_has_entries(c->opcode) ? (const void *)c->entries
                                                            : (const void *)c->blocks;
    for (uint32_t i = 0; at < bytes + whole; i++)
        at += tla_descriptor_put_item(c->opcode, items, i, at);
    return TLA_OK;
}
