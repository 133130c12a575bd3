/* Reads control descriptors, and explains every mistake of a sender. */
#include "descriptor_layout.h"

#include "base/phrase.h"

#include <inttypes.h>
#include <string.h>

uint32_t tla_command_claimed_length(const uint8_t *bytes) {
    return get32(bytes) == DESCRIPTOR_MAGIC ? (uint32_t)get(bytes + 6, 2) : 0;
}

/* Checks the header and fills opcode, target and ids of an all-zero command. */
static tla_status decode_header(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error) {
    if (length < TLA_COMMAND_HEADER_BYTES)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "descriptor of %zu bytes: must be at least the %d bytes of the header", length,
                             TLA_COMMAND_HEADER_BYTES);
    if (get32(bytes) != DESCRIPTOR_MAGIC)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with magic 0x%08x: must be 0x%08x (\"TLAC\")",
                             get32(bytes), DESCRIPTOR_MAGIC);
    command->correlation_id = get32(bytes + 8);
    command->request_id = get32(bytes + 12);
    uint32_t opcode = bytes[4], target = bytes[5], claimed = tla_command_claimed_length(bytes);
    if (!known_target(target))
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor for target %u: must be %d to %d", target,
                             TLA_TARGET_MEMORY_CONTROLLER, TLA_TARGET_LAST);
    command->target = (tla_target)target;
    if (tla_descriptor_bytes(opcode, 0) == 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with opcode %u: must be %d to %d", opcode,
                             TLA_OP_ALLOC, TLA_OP_LAST);
    command->opcode = (tla_opcode)opcode;
    if (claimed != length)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor claims %u bytes but has %zu", claimed, length);
    return TLA_OK;
}

const char *tla_opcode_name(tla_opcode opcode) {
    static const char *const names[] = {[TLA_OP_ALLOC] = "ALLOC",
                                        [TLA_OP_FREE] = "FREE",
                                        [TLA_OP_MAP] = "MAP",
                                        [TLA_OP_UNMAP] = "UNMAP",
                                        [TLA_OP_VA_ALLOC] = "VA_ALLOC",
                                        [TLA_OP_VA_FREE] = "VA_FREE",
                                        [TLA_OP_LAUNCH] = "LAUNCH",
                                        [TLA_OP_INVALIDATE] = "INVALIDATE",
                                        [TLA_OP_TAKE_BACK] = "TAKE_BACK",
                                        [TLA_OP_PE_DMA] = "PE_DMA",
                                        [TLA_OP_TRIM] = "TRIM",
                                        [TLA_OP_REF] = "REF",
                                        [TLA_OP_UNREF] = "UNREF",
                                        [TLA_OP_PIN] = "PIN",
                                        [TLA_OP_UNPIN] = "UNPIN",
                                        [TLA_OP_PLACE] = "PLACE",
                                        [TLA_OP_ALLOC_BATCH] = "ALLOC_BATCH",
                                        [TLA_OP_FREE_BATCH] = "FREE_BATCH",
                                        [TLA_OP_PUT] = "PUT",
                                        [TLA_OP_GET] = "GET",
                                        [TLA_OP_REMOVE] = "REMOVE",
                                        [TLA_OP_EVICT] = "EVICT",
                                        [TLA_OP_PAUSE] = "PAUSE",
                                        [TLA_OP_REMAP] = "REMAP",
                                        [TLA_OP_RESUME] = "RESUME",
                                        [TLA_OP_BIND] = "BIND",
                                        [TLA_OP_UNBIND] = "UNBIND",
                                        [TLA_OP_MOVE] = "MOVE"};
    _Static_assert(sizeof names / sizeof *names == TLA_OP_LAST + 1, "every opcode has a name");
    return opcode > 0 && opcode <= TLA_OP_LAST ? names[opcode] : NULL;
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

/* Explains an invalid count: "at most 232"; a command with entries has at least one. */
static tla_phrase counts_of(tla_opcode opcode, uint32_t count) {
    return count == 0 ? tla_phrase_of("at least 1") : tla_phrase_of("at most %d", most_of(opcode));
}

static bool is_count(tla_opcode opcode, uint32_t count) {
    return tla_descriptor_bytes((uint32_t)opcode, count) > 0 && (count > 0 || !tla_opcode_has_entries(opcode));
}

/* Checks the count of a vector body; its place in the body depends on the opcode. */
static tla_status check_count(tla_opcode opcode, uint32_t count, size_t length, tla_error *error) {
    size_t expected = tla_descriptor_bytes((uint32_t)opcode, count);
    if (!is_count(opcode, count))
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor with a count of %u: must be %s", count,
                             counts_of(opcode, count).text);
    if (expected != length)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "descriptor of %zu bytes: must be %zu for opcode %d with a count of %u", length, expected,
                             (int)opcode, count);
    return TLA_OK;
}

static tla_status decode_memory_kind(const char *what, uint32_t kind, tla_command *command, tla_error *error) {
    if (kind >= TLA_MEMORY_KIND_COUNT)
        return tla_error_set(
            error, TLA_BAD_COMMAND,
            "%s channel %u: must be %d (HBM), %d (TCM), %d (SRAM), %d (M_CPU memory) or %d (host memory)", what, kind,
            TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY);
    command->memory = (tla_memory_kind)kind;
    return TLA_OK;
}

static tla_status decode_alloc(const uint8_t *body, tla_command *command, tla_error *error) {
    const char *const what = command->opcode == TLA_OP_ALLOC   ? "ALLOC from"
                             : command->opcode == TLA_OP_EVICT ? "EVICT in"
                                                               : "ALLOC_BATCH from";
    const tla_status status = decode_memory_kind(what, body[0], command, error);
    if (status) return status;
    if (body[1] >= TLA_FORMAT_COUNT)
        return tla_error_set(error, TLA_BAD_COMMAND, "ALLOC with format %u: must be 0 to %d", body[1],
                             TLA_FORMAT_COUNT - 1);
    command->format = (tla_memory_format)body[1];
    command->stream = (uint32_t)get(body + 2, 2);
    command->object = get32(body + 4);
    command->nbytes = get(body + 8, 8);
    return TLA_OK;
}

static void get_pes(const uint8_t *bytes, tla_pe_set *pes) {
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        pes->cubes[i] = (uint16_t)get(bytes + 2 * i, 2);
}

static tla_status explain_sizes(const tla_command *c, tla_status status, tla_error *error) {
    return tla_error_set(error, status,
                         "%s of %" PRIu64 " bytes in units of mode %u with %u sizes for %u PEs: must have none, or in "
                         "mode %d (common) one for each PE, at least 1 and its bytes the largest of them",
                         tla_opcode_name(c->opcode), c->nbytes, (unsigned)c->units, c->count, tla_pe_set_count(&c->pes),
                         TLA_UNITS_COMMON);
}

static tla_status decode_units(const uint8_t *body, size_t extent_bytes, tla_command *command, tla_error *error) {
    const uint32_t mode = get32(body + 16);
    if (!is_mode_of_units(mode) || get32(body + 20) != 0)
        return tla_error_set(
            error, TLA_BAD_COMMAND,
            "%s in units of mode %u and then %u: must be %d (single), %d (range) or %d (common), and 0",
            tla_opcode_name(command->opcode), mode, get32(body + 20), TLA_UNITS_SINGLE, TLA_UNITS_RANGE,
            TLA_UNITS_COMMON);
    command->of_units = true;
    command->units = (tla_units_mode)mode;
    get_pes(body + 24, &command->pes);
    command->nbytes = get(body + 8, 8);
    command->count = (uint32_t)(extent_bytes / TLA_ARGUMENT_BYTES);
    for (uint32_t i = 0; i < command->count && i < TLA_COMMAND_MAX_UNITS; i++)
        command->extents[i] = get(body + 56 + (size_t)i * TLA_ARGUMENT_BYTES, TLA_ARGUMENT_BYTES);
    return extents_fit(command) ? TLA_OK : explain_sizes(command, TLA_BAD_COMMAND, error);
}

static tla_status decode_trim(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 4) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "TRIM with 0x%08x after its channel: must be 0", get32(body + 4));
    return decode_memory_kind("TRIM of", get32(body), command, error);
}

static tla_status decode_place(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 20) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "PLACE with 0x%08x after its object: must be 0", get32(body + 20));
    command->pa.value = get(body, 8);
    command->nbytes = get(body + 8, 8);
    command->object = get32(body + 16);
    return TLA_OK;
}

static tla_status decode_more_of_alloc(const uint8_t *body, tla_command *command, tla_error *error) {
    const uint32_t first = get32(body + 16), second = get32(body + 20);
    if (command->opcode == TLA_OP_EVICT) {
        if (first > 1 || second != 0)
            return tla_error_set(error, TLA_BAD_COMMAND, "EVICT with busy %u and then %u: must be 0 or 1, and 0", first,
                                 second);
        command->busy = first;
        return TLA_OK;
    }
    if (second > TLA_BATCH_CARVED)
        return tla_error_set(error, TLA_BAD_COMMAND, "ALLOC_BATCH of kind %u: must be 0 (contiguous) or 1 (carved)",
                             second);
    command->count = first;
    command->batch = (tla_batch)second;
    return TLA_OK;
}

static tla_status decode_free_batch(const uint8_t *body, tla_command *command, tla_error *error) {
    if (get32(body + 4) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "FREE_BATCH with 0x%08x after its count: must be 0",
                             get32(body + 4));
    command->count = get32(body);
    for (uint32_t i = 0; i < command->count; i++)
        command->blocks[i] = tla_placed_block_decode(body + 8 + (size_t)i * TLA_BLOCK_BYTES);
    return TLA_OK;
}

static tla_status decode_put(const uint8_t *body, tla_command *command, tla_error *error) {
    const tla_mem_object_meta meta = tla_object_meta_get(body + 12);
    if (get(body + 14, 2) != 0 || !meta_is_right(&meta))
        return tla_error_set(
            error, TLA_BAD_COMMAND,
            "PUT with %u dimensions and then %u: must be at most 6 and 0, with 0 as the size of unused dimensions",
            meta.dimensions, (unsigned)get(body + 14, 2));
    command->key = get(body, 8);
    command->count = get32(body + 8);
    command->meta = meta;
    for (uint32_t i = 0; i < command->count; i++)
        command->blocks[i] = (tla_placed_block){{get(body + 56 + (size_t)i * TLA_ARGUMENT_BYTES, 8)}, 0};
    return TLA_OK;
}

static tla_status decode_key_or_address(const uint8_t *body, tla_command *command, tla_error *error) {
    const char *const what = command->opcode == TLA_OP_GET    ? "GET from"
                             : command->opcode == TLA_OP_MOVE ? "MOVE to"
                                                              : "REMOVE from";
    if (command->opcode == TLA_OP_MOVE && get(body + 8, 8) & MOVE_ELSEWHERE) {
        command->pa.value = get(body, 8);
        command->elsewhere = true;
        command->to.value = get(body + 8, 8) & ~MOVE_ELSEWHERE;
        return TLA_OK;
    }
    if (get32(body + 12) != 0)
        return tla_error_set(error, TLA_BAD_COMMAND, "%s a channel with 0x%08x after it: must be 0", what,
                             get32(body + 12));
    if (command->opcode == TLA_OP_MOVE)
        command->pa.value = get(body, 8);
    else
        command->key = get(body, 8);
    return decode_memory_kind(what, get32(body + 8), command, error);
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

static tla_status decode_pe_dma(const uint8_t *body, tla_command *command, tla_error *error) {
    const uint32_t write = get32(body + 24), pattern = get32(body + 28);
    if (write > 1 || pattern > UINT8_MAX)
        return tla_error_set(error, TLA_BAD_COMMAND,
                             "PE_DMA with write %u and pattern %u: must be 0 or 1, and at most 255", write, pattern);
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
                             "LAUNCH of program %u of %u on %u PEs: the program must be less than their number",
                             command->program, command->programs, tla_pe_set_count(&command->pes));
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
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor of %zu bytes: must be at least %zu for opcode %d",
                             length, least, (int)command->opcode);
    uint32_t count = !counted ? 0 : get32(body + at);
    const bool of_units = length >= OF_UNITS_BYTES && (length - OF_UNITS_BYTES) % TLA_ARGUMENT_BYTES == 0 &&
                          may_name_units(command->opcode, command->target);
    tla_status status = of_units ? decode_units(body, length - OF_UNITS_BYTES, command, error)
                                 : check_count(command->opcode, count, length, error);
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
    case TLA_OP_MOVE:
        return decode_key_or_address(body, command, error);
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
    case TLA_OP_PAUSE:
    case TLA_OP_REMAP:
    case TLA_OP_RESUME:
    case TLA_OP_BIND:
    case TLA_OP_UNBIND:
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

void tla_command_explain(const tla_command *command, tla_error *error) {
    const tla_opcode opcode = command->opcode;
    const char *const name = tla_opcode_name(opcode);
    if (!name) {
        tla_error_set(error, TLA_INVALID_ARGUMENT, "command: opcode %u must be 1 .. %d", (unsigned)opcode, TLA_OP_LAST);
    } else if (count_at(opcode) >= 0 && !is_count(opcode, command->count)) {
        tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: count %u must be %s", name, command->count,
                      counts_of(opcode, command->count).text);
    } else if (!known_target((uint32_t)command->target)) {
        tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: target %u must be %d .. %d (tla_target)", name,
                      (unsigned)command->target, TLA_TARGET_MEMORY_CONTROLLER, TLA_TARGET_LAST);
    } else if (command->of_units && may_name_units(opcode, command->target) && !extents_fit(command)) {
        explain_sizes(command, TLA_INVALID_ARGUMENT, error);
    } else if (command->of_units && (opcode == TLA_OP_ALLOC || opcode == TLA_OP_FREE)) {
        tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "%s in units: mode %u must be %d (single), %d (range) or %d (common), target %u %d (IO_CPU) or %d "
            "(M_CPU), and memory (%u) and format (%u) in range",
            name, (unsigned)command->units, TLA_UNITS_SINGLE, TLA_UNITS_RANGE, TLA_UNITS_COMMON,
            (unsigned)command->target, TLA_TARGET_IO_CPU, TLA_TARGET_M_CPU, (unsigned)command->memory,
            (unsigned)command->format);
    } else if (opcode == TLA_OP_LAUNCH) {
        tla_error_set(error, TLA_INVALID_ARGUMENT, "LAUNCH: programs %u must be at least program %u and its %u PEs",
                      command->programs, command->program, tla_pe_set_count(&command->pes));
    } else {
        tla_error_set(error, TLA_INVALID_ARGUMENT,
                      "%s: memory (%u), format (%u), stream (%u), batch (%u) or meta is out of range for a descriptor",
                      name, (unsigned)command->memory, (unsigned)command->format, command->stream,
                      (unsigned)command->batch);
    }
}
