/* Writes control descriptors, whole or in parts. */
#include "descriptor_layout.h"

size_t tla_descriptor_bytes(uint32_t opcode, uint32_t count) {
    switch (opcode) {
    case TLA_OP_ALLOC:
    case TLA_OP_FREE:
    case TLA_OP_VA_FREE:
    case TLA_OP_PIN:
        return SCALAR_BYTES;
    case TLA_OP_REF:
    case TLA_OP_UNREF:
    case TLA_OP_UNPIN:
        return ADDRESS_BYTES;
    case TLA_OP_VA_ALLOC:
        return VA_ALLOC_BYTES;
    case TLA_OP_TRIM:
        return TRIM_BYTES;
    case TLA_OP_PLACE:
        return PLACE_BYTES;
    case TLA_OP_PE_DMA:
        return PE_DMA_BYTES;
    case TLA_OP_MAP:
    case TLA_OP_UNMAP:
    case TLA_OP_INVALIDATE:
    case TLA_OP_TAKE_BACK:
    case TLA_OP_PAUSE:
    case TLA_OP_REMAP:
    case TLA_OP_RESUME:
    case TLA_OP_BIND:
    case TLA_OP_UNBIND:
        return count > TLA_COMMAND_MAX_ENTRIES ? 0 : ENTRIES_AT + (size_t)count * TLA_MAP_ENTRY_BYTES;
    case TLA_OP_ALLOC_BATCH:
        return count > TLA_COMMAND_MAX_BLOCKS ? 0 : ALLOC_AND_MORE_BYTES;
    case TLA_OP_EVICT:
        return ALLOC_AND_MORE_BYTES;
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
    case TLA_OP_MOVE:
        return KEY_BYTES;
    case TLA_OP_FREE_BATCH:
        return count > TLA_COMMAND_MAX_BLOCKS ? 0 : BLOCKS_AT + (size_t)count * TLA_BLOCK_BYTES;
    case TLA_OP_PUT:
        return count > TLA_COMMAND_MAX_BLOCKS ? 0 : OBJECT_BLOCKS_AT + (size_t)count * TLA_ARGUMENT_BYTES;
    case TLA_OP_LAUNCH:
        return count > TLA_COMMAND_MAX_ARGUMENTS ? 0 : ARGUMENTS_AT + (size_t)count * TLA_ARGUMENT_BYTES;
    default:
        return 0;
    }
}

bool tla_opcode_has_entries(tla_opcode opcode) {
    switch (opcode) {
    case TLA_OP_MAP:
    case TLA_OP_UNMAP:
    case TLA_OP_INVALIDATE:
    case TLA_OP_TAKE_BACK:
    case TLA_OP_PAUSE:
    case TLA_OP_REMAP:
    case TLA_OP_RESUME:
    case TLA_OP_BIND:
    case TLA_OP_UNBIND:
        return true;
    default:
        return false;
    }
}

bool tla_opcode_is_of_a_move(tla_opcode opcode) {
    return opcode == TLA_OP_PAUSE || opcode == TLA_OP_REMAP || opcode == TLA_OP_RESUME;
}

bool tla_opcode_names_pes(tla_opcode opcode) {
    return opcode == TLA_OP_LAUNCH || opcode == TLA_OP_PE_DMA;
}

uint32_t tla_pe_set_count(const tla_pe_set *set) {
    uint32_t count = 0;
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        count += (uint32_t)__builtin_popcount(set->cubes[i]);
    return count;
}

static bool is_alloc(uint32_t opcode) {
    return opcode == TLA_OP_ALLOC || opcode == TLA_OP_ALLOC_BATCH || opcode == TLA_OP_EVICT;
}

static bool has_memory_kind(uint32_t opcode) {
    return is_alloc(opcode) || opcode == TLA_OP_TRIM || opcode == TLA_OP_GET || opcode == TLA_OP_REMOVE ||
           opcode == TLA_OP_MOVE;
}

static void put_pes(uint8_t *bytes, const tla_pe_set *pes) {
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        put(bytes + 2 * i, pes->cubes[i], 2);
}

static void put_alloc(const tla_descriptor *d, uint8_t *body) {
    put(body, (uint64_t)d->memory, 1);
    put(body + 1, (uint64_t)d->format, 1);
    put(body + 2, d->stream, 2);
    put(body + 4, d->object, 4);
    put(body + 8, d->nbytes, 8);
}

tla_status tla_descriptor_put_head(const tla_descriptor *d, uint8_t bytes[TLA_DESCRIPTOR_HEAD_MAX_BYTES], size_t *head,
                                   size_t *length) {
    size_t whole = tla_descriptor_bytes((uint32_t)d->opcode, d->count);
    const uint32_t opcode = (uint32_t)d->opcode;
    bool bad_memory = has_memory_kind(opcode) && (uint32_t)d->memory >= TLA_MEMORY_KIND_COUNT;
    bool bad_kind = (is_alloc(opcode) && ((uint32_t)d->format >= TLA_FORMAT_COUNT || d->stream > UINT16_MAX)) ||
                    (opcode == TLA_OP_ALLOC_BATCH && (uint32_t)d->batch > TLA_BATCH_CARVED) ||
                    (opcode == TLA_OP_PUT && !meta_is_right(&d->meta));
    const bool no_entry = tla_opcode_has_entries(d->opcode) && d->count == 0;
    bool bad_program = d->opcode == TLA_OP_LAUNCH && !programs_fit(d->program, d->programs, &d->pes);
    if (whole == 0 || no_entry || bad_memory || bad_kind || bad_program || !known_target((uint32_t)d->target))
        return TLA_INVALID_ARGUMENT;
    put(bytes, DESCRIPTOR_MAGIC, 4);
    put(bytes + 4, (uint64_t)d->opcode, 1);
    put(bytes + 5, (uint64_t)d->target, 1);
    put(bytes + 6, whole, 2);
    put(bytes + 8, d->correlation_id, 4);
    put(bytes + 12, d->request_id, 4);
    uint8_t *body = bytes + TLA_COMMAND_HEADER_BYTES;
    switch (d->opcode) {
    case TLA_OP_ALLOC_BATCH:
    case TLA_OP_EVICT:
        put(body + 16, opcode == TLA_OP_EVICT ? d->busy : d->count, 4);
        put(body + 20, opcode == TLA_OP_EVICT ? 0 : (uint64_t)d->batch, 4);
        put_alloc(d, body);
        break;
    case TLA_OP_ALLOC:
        put_alloc(d, body);
        break;
    case TLA_OP_FREE_BATCH:
        put(body, d->count, 4);
        put(body + 4, 0, 4);
        break;
    case TLA_OP_PUT:
        put(body, d->key, 8);
        put(body + 8, d->count, 4);
        tla_object_meta_put(&d->meta, body + 12);
        break;
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
    case TLA_OP_MOVE:
        put(body, d->opcode == TLA_OP_MOVE ? d->pa.value : d->key, 8);
        put(body + 8, (uint64_t)d->memory, 4);
        put(body + 12, 0, 4);
        break;
    case TLA_OP_TRIM:
        put(body, (uint64_t)d->memory, 4);
        put(body + 4, 0, 4);
        break;
    case TLA_OP_FREE:
        put(body, d->pa.value, 8);
        put(body + 8, d->nbytes, 8);
        break;
    case TLA_OP_PIN:
        put(body, d->pa.value, 8);
        put(body + 8, d->timeout_ps, 8);
        break;
    case TLA_OP_REF:
    case TLA_OP_UNREF:
    case TLA_OP_UNPIN:
        put(body, d->pa.value, 8);
        break;
    case TLA_OP_PLACE:
        put(body, d->pa.value, 8);
        put(body + 8, d->nbytes, 8);
        put(body + 16, d->object, 4);
        put(body + 20, 0, 4);
        break;
    case TLA_OP_VA_ALLOC:
        put(body, d->nbytes, 8);
        break;
    case TLA_OP_VA_FREE:
        put(body, d->va.value, 8);
        put(body + 8, d->nbytes, 8);
        break;
    case TLA_OP_MAP:
    case TLA_OP_UNMAP:
    case TLA_OP_INVALIDATE:
    case TLA_OP_TAKE_BACK:
    case TLA_OP_PAUSE:
    case TLA_OP_REMAP:
    case TLA_OP_RESUME:
    case TLA_OP_BIND:
    case TLA_OP_UNBIND:
        put(body, d->count, 4);
        put(body + 4, d->scope.sip_mask, 4);
        put(body + 8, d->scope.die_mask, 4);
        put(body + 12, d->scope.pe_mask, 4);
        break;
    case TLA_OP_LAUNCH:
        put(body, d->kernel, 4);
        put(body + 4, d->program, 4);
        put(body + 8, d->programs, 4);
        put(body + 12, d->count, 4);
        put(body + 16, d->target_start_ps, 8);
        put_pes(body + 24, &d->pes);
        break;
    case TLA_OP_PE_DMA:
        put(body, d->pa.value, 8);
        put(body + 8, d->nbytes, 8);
        put(body + 16, d->target_start_ps, 8);
        put(body + 24, d->write, 4);
        put(body + 28, d->pattern, 4);
        put_pes(body + 32, &d->pes);
        break;
    }
    *head = tla_descriptor_bytes((uint32_t)d->opcode, 0);
    *length = whole;
    return TLA_OK;
}

static void put_entry(const tla_map_entry *entry, uint8_t bytes[TLA_MAP_ENTRY_BYTES]) {
    put(bytes, entry->va.value, 8);
    put(bytes + 8, entry->pa.value, 8);
    put(bytes + 16, entry->nbytes, 8);
    put(bytes + 24, entry->flags, 4);
    put(bytes + 28, entry->asid, 4);
}

size_t tla_descriptor_put_item(tla_opcode opcode, const void *items, uint32_t index, uint8_t *bytes) {
    switch (opcode) {
    case TLA_OP_LAUNCH:
        put(bytes, ((const uint64_t *)items)[index], TLA_ARGUMENT_BYTES);
        return TLA_ARGUMENT_BYTES;
    case TLA_OP_PUT:
        put(bytes, ((const tla_placed_block *)items)[index].pa.value, TLA_ARGUMENT_BYTES);
        return TLA_ARGUMENT_BYTES;
    case TLA_OP_FREE_BATCH:
        tla_placed_block_put(((const tla_placed_block *)items)[index], bytes);
        return TLA_BLOCK_BYTES;
    default:
        put_entry(&((const tla_map_entry *)items)[index], bytes);
        return TLA_MAP_ENTRY_BYTES;
    }
}
