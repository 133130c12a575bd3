/* Control descriptors and completions, byte by byte: the same on every host. */
#include "tlmalloc/device/command.h"

#include "descriptor.h"

#include <string.h>

static const uint32_t command_magic = 0x43414C54;    /* "TLAC" */
static const uint32_t completion_magic = 0x44414C54; /* "TLAD" */

enum {
    SCALAR_BYTES = 32,
    ENTRIES_AT = 32,
    VA_ALLOC_BYTES = 24,
    TRIM_BYTES = 24,
    ADDRESS_BYTES = 24,
    PLACE_BYTES = 40,
    KEY_BYTES = 32,
    ALLOC_AND_MORE_BYTES = 40,
    BLOCKS_AT = 24,
    OBJECT_BLOCKS_AT = 72,
    ARGUMENTS_AT = 72,
    PE_DMA_BYTES = 80
};                                                      /* headers included */
enum { KIND_SHIFT = 13, SIP_SHIFT = 9, DIE_SHIFT = 4 }; /* of a place in a completion */

static void put(uint8_t *bytes, uint64_t value, unsigned nbytes) {
    for (unsigned i = 0; i < nbytes; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, unsigned nbytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < nbytes; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static uint32_t get32(const uint8_t *bytes) {
    return (uint32_t)get(bytes, 4);
}

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
        return count > TLA_COMMAND_MAX_ENTRIES ? 0 : ENTRIES_AT + (size_t)count * TLA_MAP_ENTRY_BYTES;
    case TLA_OP_ALLOC_BATCH:
        return count > TLA_COMMAND_MAX_BLOCKS ? 0 : ALLOC_AND_MORE_BYTES;
    case TLA_OP_EVICT:
        return ALLOC_AND_MORE_BYTES;
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
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
    return opcode == TLA_OP_MAP || opcode == TLA_OP_UNMAP || opcode == TLA_OP_INVALIDATE || opcode == TLA_OP_TAKE_BACK;
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

/* Every program of a launch has a number below `programs`. */
static bool programs_fit(uint32_t program, uint32_t programs, const tla_pe_set *pes) {
    const uint32_t count = tla_pe_set_count(pes);
    return program < programs && programs - program >= count;
}

static bool is_alloc(uint32_t opcode) {
    return opcode == TLA_OP_ALLOC || opcode == TLA_OP_ALLOC_BATCH || opcode == TLA_OP_EVICT;
}

static bool has_channel(uint32_t opcode) {
    return is_alloc(opcode) || opcode == TLA_OP_TRIM || opcode == TLA_OP_GET || opcode == TLA_OP_REMOVE;
}

/* Of what stands behind the dimensions nothing is said. */
static bool meta_is_right(const tla_mem_object_meta *meta) {
    for (unsigned i = meta->dimensions; i < 6; i++)
        if (meta->shape[i] != 0) return false;
    return meta->dimensions <= 6;
}

enum { META_BYTES = 44 }; /* dtype, dimensions, 2 bytes 0, shape, positions */

static void put_meta(const tla_mem_object_meta *meta, uint8_t bytes[META_BYTES]) {
    put(bytes, meta->dtype, 1);
    put(bytes + 1, meta->dimensions, 1);
    put(bytes + 2, 0, 2);
    for (unsigned i = 0; i < 6; i++)
        put(bytes + 4 + 4 * i, meta->shape[i], 4);
    put(bytes + 28, meta->first_position, 8);
    put(bytes + 36, meta->positions, 8);
}

static tla_mem_object_meta get_meta(const uint8_t bytes[META_BYTES]) {
    tla_mem_object_meta meta = {.dtype = bytes[0],
                                .dimensions = bytes[1],
                                .first_position = get(bytes + 28, 8),
                                .positions = get(bytes + 36, 8)};
    for (unsigned i = 0; i < 6; i++)
        meta.shape[i] = get32(bytes + 4 + 4 * i);
    return meta;
}

static void put_block(tla_placed_block block, uint8_t bytes[TLA_BLOCK_BYTES]) {
    put(bytes, block.pa.value, 8);
    put(bytes + 8, block.nbytes, 8);
}

tla_placed_block tla_placed_block_decode(const uint8_t bytes[TLA_BLOCK_BYTES]) {
    return (tla_placed_block){{get(bytes, 8)}, get(bytes + 8, 8)};
}

size_t tla_object_result_encode(const tla_mem_object_meta *meta, const tla_placed_block *blocks, uint32_t count,
                                uint8_t bytes[TLA_COMMAND_MAX_BYTES]) {
    put(bytes, count, 4);
    put_meta(meta, bytes + 4);
    for (uint32_t i = 0; i < count; i++)
        put_block(blocks[i], bytes + TLA_OBJECT_RESULT_BYTES + (size_t)i * TLA_BLOCK_BYTES);
    return TLA_OBJECT_RESULT_BYTES + (size_t)count * TLA_BLOCK_BYTES;
}

void tla_object_result_decode(const uint8_t bytes[TLA_OBJECT_RESULT_BYTES], tla_mem_object_meta *meta,
                              uint32_t *count) {
    *count = get32(bytes);
    *meta = get_meta(bytes + 4);
}

size_t tla_batch_result_encode(const tla_placed_block *blocks, uint32_t count, uint8_t bytes[TLA_COMMAND_MAX_BYTES]) {
    for (uint32_t i = 0; i < count; i++)
        put(bytes + (size_t)i * 8, blocks[i].pa.value, 8);
    return (size_t)count * 8;
}

static bool known_target(uint32_t target) {
    return target >= TLA_TARGET_MEMORY_CONTROLLER && target <= TLA_TARGET_M_CPU;
}

static void put_pes(uint8_t *bytes, const tla_pe_set *pes) {
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        put(bytes + 2 * i, pes->cubes[i], 2);
}

static void put_alloc(const tla_descriptor *d, uint8_t *body) {
    put(body, (uint64_t)d->channel, 1);
    put(body + 1, (uint64_t)d->format, 1);
    put(body + 2, d->stream, 2);
    put(body + 4, d->object, 4);
    put(body + 8, d->nbytes, 8);
}

tla_status tla_descriptor_put_head(const tla_descriptor *d, uint8_t bytes[TLA_DESCRIPTOR_HEAD_MAX_BYTES], size_t *head,
                                   size_t *length) {
    size_t whole = tla_descriptor_bytes((uint32_t)d->opcode, d->count);
    const uint32_t opcode = (uint32_t)d->opcode;
    bool bad_channel = has_channel(opcode) && (uint32_t)d->channel >= TLA_CHANNEL_COUNT;
    bool bad_kind = (is_alloc(opcode) && ((uint32_t)d->format >= TLA_FORMAT_COUNT || d->stream > UINT16_MAX)) ||
                    (opcode == TLA_OP_ALLOC_BATCH && (uint32_t)d->batch > TLA_BATCH_CARVED) ||
                    (opcode == TLA_OP_PUT && !meta_is_right(&d->meta));
    bool bad_program = d->opcode == TLA_OP_LAUNCH && !programs_fit(d->program, d->programs, &d->pes);
    if (whole == 0 || bad_channel || bad_kind || bad_program || !known_target((uint32_t)d->target))
        return TLA_INVALID_ARGUMENT;
    put(bytes, command_magic, 4);
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
        put_meta(&d->meta, body + 12);
        break;
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
        put(body, d->key, 8);
        put(body + 8, (uint64_t)d->channel, 4);
        put(body + 12, 0, 4);
        break;
    case TLA_OP_TRIM:
        put(body, (uint64_t)d->channel, 4);
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
        put_block(((const tla_placed_block *)items)[index], bytes);
        return TLA_BLOCK_BYTES;
    default:
        put_entry(&((const tla_map_entry *)items)[index], bytes);
        return TLA_MAP_ENTRY_BYTES;
    }
}

tla_status tla_command_encode(const tla_command *c, uint8_t *bytes, size_t capacity, size_t *length) {
    tla_descriptor d = {.opcode = c->opcode,
                        .target = c->target,
                        .correlation_id = c->correlation_id,
                        .request_id = c->request_id,
                        .channel = c->channel,
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
    if (whole > capacity) return TLA_INVALID_ARGUMENT;
    memcpy(bytes, head, head_bytes);
    uint8_t *at = bytes + head_bytes;
    const void *items = c->opcode == TLA_OP_LAUNCH          ? (const void *)c->arguments
                        : tla_opcode_has_entries(c->opcode) ? (const void *)c->entries
                                                            : (const void *)c->blocks;
    for (uint32_t i = 0; at < bytes + whole; i++)
        at += tla_descriptor_put_item(c->opcode, items, i, at);
    *length = whole;
    return TLA_OK;
}

uint32_t tla_command_claimed_length(const uint8_t *bytes) {
    return get32(bytes) == command_magic ? (uint32_t)get(bytes + 6, 2) : 0;
}

/* Checks the header and fills opcode, target and ids of an all-zero command. */
static tla_status decode_header(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error) {
    if (length < TLA_COMMAND_HEADER_BYTES)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor of %zu bytes, expected at least the header of %d",
                             length, TLA_COMMAND_HEADER_BYTES);
    if (get32(bytes) != command_magic)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with magic 0x%08x, expected 0x%08x (\"TLAC\")",
                             get32(bytes), command_magic);
    command->correlation_id = get32(bytes + 8);
    command->request_id = get32(bytes + 12);
    uint32_t opcode = bytes[4], target = bytes[5], claimed = tla_command_claimed_length(bytes);
    if (!known_target(target))
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor for target %u, expected %d to %d", target,
                             TLA_TARGET_MEMORY_CONTROLLER, TLA_TARGET_M_CPU);
    command->target = (tla_target)target;
    if (tla_descriptor_bytes(opcode, 0) == 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with opcode %u, expected %d to %d", opcode,
                             TLA_OP_ALLOC, TLA_OP_LAST);
    command->opcode = (tla_opcode)opcode;
    if (claimed != length)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor that claims %u bytes, but %zu are there", claimed,
                             length);
    return TLA_OK;
}

static int most_of(tla_opcode opcode) {
    if (opcode == TLA_OP_LAUNCH) return TLA_COMMAND_MAX_ARGUMENTS;
    return tla_opcode_has_entries(opcode) ? TLA_COMMAND_MAX_ENTRIES : TLA_COMMAND_MAX_BLOCKS;
}

/* Where in the body it stands; -1 for an opcode that has none. */
static int count_at(tla_opcode opcode) {
    switch (opcode) {
    case TLA_OP_LAUNCH:
        return 12;
    case TLA_OP_ALLOC_BATCH:
        return 16;
    case TLA_OP_PUT:
        return 8;
    case TLA_OP_FREE_BATCH:
        return 0;
    default:
        return tla_opcode_has_entries(opcode) ? 0 : -1;
    }
}

/* What a vector body's count must be; its own place in the body depends on the opcode. */
static tla_status check_count(tla_opcode opcode, uint32_t count, size_t length, tla_error *error) {
    size_t expected = tla_descriptor_bytes((uint32_t)opcode, count);
    if (expected == 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with a count of %u, expected at most %d", count,
                             most_of(opcode));
    if (expected != length)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "descriptor of %zu bytes, expected %zu for opcode %d with a count of %u", length, expected,
                             (int)opcode, count);
    return TLA_OK;
}

static tla_status decode_channel(const char *what, uint32_t channel, tla_command *command, tla_error *error) {
    if (channel >= TLA_CHANNEL_COUNT)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "%s channel %u, expected %d (HBM), %d (TCM), %d (SRAM), %d (M_CPU memory) or %d (host "
                             "memory)",
                             what, channel, TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY);
    command->channel = (tla_channel)channel;
    return TLA_OK;
}

static tla_status decode_alloc(const uint8_t *body, tla_command *command, tla_error *error) {
    const char *const what = command->opcode == TLA_OP_ALLOC   ? "ALLOC from"
                             : command->opcode == TLA_OP_EVICT ? "EVICT in"
                                                               : "ALLOC_BATCH from";
    const tla_status status = decode_channel(what, body[0], command, error);
    if (status) return status;
    if (body[1] >= TLA_FORMAT_COUNT)
        return tla_error_set(error, TLA_BAD_COMMAND, "ALLOC of format %u, expected 0 to %d", body[1],
                             TLA_FORMAT_COUNT - 1);
    command->format = (tla_memory_format)body[1];
    command->stream = (uint32_t)get(body + 2, 2);
    command->object = get32(body + 4);
    command->nbytes = get(body + 8, 8);
    return TLA_OK;
}

static tla_status decode_trim(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 4) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "TRIM with 0x%08x behind its channel, expected 0",
                             get32(body + 4));
    return decode_channel("TRIM of", get32(body), command, error);
}

static tla_status decode_place(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 20) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "PLACE with 0x%08x behind its object, expected 0",
                             get32(body + 20));
    command->pa.value = get(body, 8);
    command->nbytes = get(body + 8, 8);
    command->object = get32(body + 16);
    return TLA_OK;
}

static tla_status decode_more_of_alloc(const uint8_t *body, tla_command *command, tla_error *error) {
    const uint32_t first = get32(body + 16), second = get32(body + 20);
    if (command->opcode == TLA_OP_EVICT) {
        if (first > 1 || second != 0)
            return tla_error_set(error, TLA_BAD_COMMAND, "EVICT with busy %u and %u behind it, expected 0 or 1, and 0",
                                 first, second);
        command->busy = first;
        return TLA_OK;
    }
    if (second > TLA_BATCH_CARVED)
        return tla_error_set(error, TLA_BAD_COMMAND, "ALLOC_BATCH of kind %u, expected 0 (contiguous) or 1 (carved)",
                             second);
    command->count = first;
    command->batch = (tla_batch)second;
    return TLA_OK;
}

static tla_status decode_free_batch(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 4) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "FREE_BATCH with 0x%08x behind its count, expected 0",
                             get32(body + 4));
    command->count = get32(body);
    for (uint32_t i = 0; i < command->count; i++)
        command->blocks[i] = tla_placed_block_decode(body + 8 + (size_t)i * TLA_BLOCK_BYTES);
    return TLA_OK;
}

static tla_status decode_put(const uint8_t *body, tla_command *command, tla_error *error) {
    const tla_mem_object_meta meta = get_meta(body + 12);
    if (get(body + 14, 2) != 0 || !meta_is_right(&meta))
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "PUT with %u dimensions and %u behind them, expected at most 6, 0, and no sizes beyond",
                             meta.dimensions, (unsigned)get(body + 14, 2));
    command->key = get(body, 8);
    command->count = get32(body + 8);
    command->meta = meta;
    for (uint32_t i = 0; i < command->count; i++)
        command->blocks[i] = (tla_placed_block){{get(body + 56 + (size_t)i * TLA_ARGUMENT_BYTES, 8)}, 0};
    return TLA_OK;
}

static tla_status decode_key(const uint8_t *body, tla_command *command, tla_error *error) {
    const char *const what = command->opcode == TLA_OP_GET ? "GET from" : "REMOVE from";
    if (get32(body + 12) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "%s a channel with 0x%08x behind it, expected 0", what,
                             get32(body + 12));
    command->key = get(body, 8);
    return decode_channel(what, get32(body + 8), command, error);
}

static void decode_entries(const uint8_t *body, tla_command *command) {
    command->count = get32(body);
    const uint8_t *entry = body + 16;
    for (uint32_t i = 0; i < command->count; i++, entry += TLA_MAP_ENTRY_BYTES) {
        command->entries[i] = (tla_map_entry){.va = {get(entry, 8)},
                                              .pa = {get(entry + 8, 8)},
                                              .nbytes = get(entry + 16, 8),
                                              .flags = get32(entry + 24),
                                              .asid = get32(entry + 28)};
    }
    command->scope = (tla_scope){get32(body + 4), get32(body + 8), get32(body + 12)};
}

static void get_pes(const uint8_t *bytes, tla_pe_set *pes) {
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        pes->cubes[i] = (uint16_t)get(bytes + 2 * i, 2);
}

static tla_status decode_pe_dma(const uint8_t *body, tla_command *command, tla_error *error) {
    const uint32_t write = get32(body + 24), pattern = get32(body + 28);
    if (write > 1 || pattern > UINT8_MAX)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "PE_DMA with write %u and pattern %u, expected 0 or 1, and at most 255", write, pattern);
    command->pa.value = get(body, 8);
    command->nbytes = get(body + 8, 8);
    command->target_start_ps = get(body + 16, 8);
    command->write = write;
    command->pattern = (uint8_t)pattern;
    get_pes(body + 32, &command->pes);
    return TLA_OK;
}

static tla_status decode_launch(const uint8_t *body, tla_command *command, tla_error *error) {
    command->kernel = get32(body);
    command->program = get32(body + 4);
    command->programs = get32(body + 8);
    command->target_start_ps = get(body + 16, 8);
    get_pes(body + 24, &command->pes);
    if (!programs_fit(command->program, command->programs, &command->pes))
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "LAUNCH of program %u of %u on %u PEs, expected less than their number", command->program,
                             command->programs, tla_pe_set_count(&command->pes));
    command->count = get32(body + 12);
    for (uint32_t i = 0; i < command->count; i++)
        command->arguments[i] = get(body + ARGUMENTS_AT - TLA_COMMAND_HEADER_BYTES + 8 * i, 8);
    return TLA_OK;
}

static tla_status decode_body(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error) {
    const uint8_t *body = bytes + TLA_COMMAND_HEADER_BYTES;
    const int at = count_at(command->opcode);
    const bool counted = at >= 0;
    const size_t least = tla_descriptor_bytes((uint32_t)command->opcode, 0);
    if (counted && length < least)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor of %zu bytes, expected at least %zu for opcode %d",
                             length, least, (int)command->opcode);
    uint32_t count = !counted ? 0 : get32(body + at);
    tla_status status = check_count(command->opcode, count, length, error);
    if (status != TLA_OK) return status;
    switch (command->opcode) {
    case TLA_OP_ALLOC:
        return decode_alloc(body, command, error);
    case TLA_OP_ALLOC_BATCH:
    case TLA_OP_EVICT:
        status = decode_alloc(body, command, error);
        return status ? status : decode_more_of_alloc(body, command, error);
    case TLA_OP_FREE_BATCH:
        return decode_free_batch(body, command, error);
    case TLA_OP_PUT:
        return decode_put(body, command, error);
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
        return decode_key(body, command, error);
    case TLA_OP_TRIM:
        return decode_trim(body, command, error);
    case TLA_OP_PLACE:
        return decode_place(body, command, error);
    case TLA_OP_FREE:
        command->pa.value = get(body, 8);
        command->nbytes = get(body + 8, 8);
        break;
    case TLA_OP_PIN:
        command->pa.value = get(body, 8);
        command->timeout_ps = get(body + 8, 8);
        break;
    case TLA_OP_REF:
    case TLA_OP_UNREF:
    case TLA_OP_UNPIN:
        command->pa.value = get(body, 8);
        break;
    case TLA_OP_VA_ALLOC:
        command->nbytes = get(body, 8);
        break;
    case TLA_OP_VA_FREE:
        command->va.value = get(body, 8);
        command->nbytes = get(body + 8, 8);
        break;
    case TLA_OP_MAP:
    case TLA_OP_UNMAP:
    case TLA_OP_INVALIDATE:
    case TLA_OP_TAKE_BACK:
        decode_entries(body, command);
        break;
    case TLA_OP_LAUNCH:
        return decode_launch(body, command, error);
    case TLA_OP_PE_DMA:
        return decode_pe_dma(body, command, error);
    }
    return TLA_OK;
}

tla_status tla_command_decode(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error) {
    memset(command, 0, sizeof *command);
    tla_status status = decode_header(bytes, length, command, error);
    if (status == TLA_OK) status = decode_body(bytes, length, command, error);
    if (status != TLA_OK) {
        tla_opcode opcode = command->opcode;
        tla_target target = command->target;
        uint32_t correlation_id = command->correlation_id, request_id = command->request_id;
        memset(command, 0, sizeof *command);
        command->opcode = opcode;
        command->target = target;
        command->correlation_id = correlation_id;
        command->request_id = request_id;
    }
    return status;
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
