/* A control port driven by loads and stores. */
#include "tlmalloc/command/port_client.h"

#include "base/little_endian.h"
#include "descriptor.h"
#include "tlmalloc/command/control_port.h"

static uint32_t read_word(const tla_port_client *client, uint32_t offset) {
    return client->port ? client->port[offset / 4] : client->read(client->context, offset);
}

/* Writes bytes (a multiple of 4) at an offset of the port, in ascending words; returns where they end. */
static uint32_t write_bytes(const tla_port_client *client, uint32_t offset, const uint8_t *bytes, size_t count) {
    volatile uint32_t *const port = client->port;
    for (const uint8_t *end = bytes + count; bytes < end; bytes += 4, offset += 4) {
        const uint32_t word = (uint32_t)get_little_endian(bytes, 4);
        if (port)
            port[offset / 4] = word;
        else
            client->write(client->context, offset, word);
    }
    return offset;
}

/* Reads count bytes (a multiple of 4) from an offset of the port on. */
static void read_bytes(const tla_port_client *client, uint32_t offset, uint8_t *bytes, uint32_t count) {
    volatile uint32_t *const port = client->port;
    for (const uint8_t *end = bytes + count; bytes < end; bytes += 4, offset += 4)
        put_little_endian(bytes, port ? port[offset / 4] : client->read(client->context, offset), 4);
}

/* Returns false if the port has no completion of this command: the completion of an earlier command has another request
 * id. */
static bool read_completion(const tla_port_client *client, tla_completion *completion) {
    uint8_t bytes[TLA_COMPLETION_BYTES];
    read_bytes(client, TLA_PORT_COMPLETION, bytes, TLA_COMPLETION_BYTES);
    tla_completion read;
    if (tla_completion_decode(bytes, &read) || read.request_id != client->request_id) return false;
    *completion = read;
    return true;
}

/* `items` are what tla_descriptor_put_item takes, where the opcode has some. */
static tla_status execute(tla_port_client *client, tla_descriptor *d, const void *items, tla_completion *completion) {
    uint8_t bytes[TLA_DESCRIPTOR_HEAD_MAX_BYTES]; /* longer than an item, too */
    size_t head, length;
    bool reachable = client->port || (client->read && client->write);
    if (!reachable) return TLA_INVALID_ARGUMENT;
    d->correlation_id = client->correlation_id;
    d->request_id = client->request_id + 1;
    tla_status status = tla_descriptor_put_head(d, bytes, &head, &length);
    if (status) return status;
    if (length > head && !items) return TLA_INVALID_ARGUMENT;
    client->request_id = d->request_id;
    uint32_t at = write_bytes(client, 0, bytes, head);
    for (uint32_t i = 0; at < length; i++)
        at = write_bytes(client, at, bytes, tla_descriptor_put_item(d->opcode, items, i, bytes));
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    for (uint32_t polls = 0; client->polls_max == 0 || polls < client->polls_max; polls++) {
        if (read_word(client, TLA_PORT_STATE) == TLA_PORT_DONE && read_completion(client, completion))
            return completion->status;
        if (client->relax) client->relax(client->context);
    }
    return TLA_BUSY;
}

tla_status tla_port_client_alloc(tla_port_client *client, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                                 tla_completion *completion) {
    return tla_port_client_request(client, kind, &(tla_stack_request){.nbytes = nbytes}, pa, completion);
}

tla_status tla_port_client_trim(tla_port_client *client, tla_memory_kind kind, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_TRIM, .target = TLA_TARGET_MEMORY_CONTROLLER, .memory = kind};
    return execute(client, &d, NULL, completion);
}

/* Describes ALLOC and similar commands. TLA_INVALID_ARGUMENT for a stream that no descriptor can express. */
static tla_status describe(tla_opcode opcode, tla_memory_kind kind, const tla_stack_request *request,
                           tla_descriptor *d) {
    if (request->stream > UINT16_MAX) return TLA_INVALID_ARGUMENT;
    *d = (tla_descriptor){.opcode = opcode,
                          .target = TLA_TARGET_MEMORY_CONTROLLER,
                          .memory = kind,
                          .format = request->format,
                          .stream = (uint32_t)request->stream,
                          .nbytes = request->nbytes};
    return TLA_OK;
}

tla_status tla_port_client_request(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                   tla_paddr *pa, tla_completion *completion) {
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    tla_descriptor d;
    tla_status status = describe(TLA_OP_ALLOC, kind, request, &d);
    if (!status) status = execute(client, &d, NULL, completion);
    if (!status) pa->value = completion->value;
    return status;
}

tla_status tla_port_client_evict(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                 uint32_t attempts, tla_paddr *pa, tla_completion *completion) {
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    tla_descriptor d;
    tla_status status = describe(TLA_OP_EVICT, kind, request, &d);
    if (status) return status;
    d.busy = attempts > 0;
    for (uint32_t i = 0; i == 0 || (i < attempts && status == TLA_BUSY); i++) {
        if (i > 0 && client->relax) client->relax(client->context);
        *completion = (tla_completion){.status = TLA_STATUS_COUNT};
        status = execute(client, &d, NULL, completion);
        if (completion->status == TLA_STATUS_COUNT) break; /* not answered: the port is not to be used */
    }
    if (!status) pa->value = completion->value;
    return status;
}

tla_status tla_port_client_alloc_batch(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                       uint32_t count, tla_batch batch, tla_paddr *blocks, tla_completion *completion) {
    tla_descriptor d;
    tla_status status = describe(TLA_OP_ALLOC_BATCH, kind, request, &d);
    if (status) return status;
    d.count = count;
    d.batch = batch;
    status = execute(client, &d, NULL, completion);
    for (uint32_t i = 0; i < count && !status; i++) {
        uint8_t bytes[TLA_BLOCK_BYTES] = {0};
        read_bytes(client, i * 8, bytes, 8);
        blocks[i] = tla_placed_block_decode(bytes).pa;
    }
    return status;
}

tla_status tla_port_client_free_batch(tla_port_client *client, const tla_placed_block *blocks, uint32_t count,
                                      tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_FREE_BATCH, .target = TLA_TARGET_MEMORY_CONTROLLER, .count = count};
    return execute(client, &d, blocks, completion);
}

tla_status tla_port_client_put(tla_port_client *client, uint64_t key, const tla_mem_object_meta *meta,
                               const tla_placed_block *blocks, uint32_t count, tla_completion *completion) {
    tla_descriptor d = {
        .opcode = TLA_OP_PUT, .target = TLA_TARGET_MEMORY_CONTROLLER, .key = key, .meta = *meta, .count = count};
    return execute(client, &d, blocks, completion);
}

tla_status tla_port_client_get(tla_port_client *client, tla_memory_kind kind, uint64_t key, tla_mem_object_meta *meta,
                               tla_placed_block *blocks, uint32_t room, uint32_t *count, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_GET, .target = TLA_TARGET_MEMORY_CONTROLLER, .memory = kind, .key = key};
    tla_status status = execute(client, &d, NULL, completion);
    if (status) return status;
    uint8_t bytes[TLA_OBJECT_RESULT_BYTES];
    read_bytes(client, 0, bytes, sizeof bytes);
    tla_object_result_decode(bytes, meta, count);
    for (uint32_t i = 0; i < *count && i < room; i++) {
        read_bytes(client, TLA_OBJECT_RESULT_BYTES + i * TLA_BLOCK_BYTES, bytes, TLA_BLOCK_BYTES);
        blocks[i] = tla_placed_block_decode(bytes);
    }
    return TLA_OK;
}

tla_status tla_port_client_remove(tla_port_client *client, tla_memory_kind kind, uint64_t key,
                                  tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_REMOVE, .target = TLA_TARGET_MEMORY_CONTROLLER, .memory = kind, .key = key};
    return execute(client, &d, NULL, completion);
}

tla_status tla_port_client_free(tla_port_client *client, tla_paddr pa, uint64_t nbytes, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_FREE, .target = TLA_TARGET_MEMORY_CONTROLLER, .pa = pa, .nbytes = nbytes};
    return execute(client, &d, NULL, completion);
}

/* REF, UNREF, PIN, UNPIN. */
static tla_status count(tla_port_client *client, tla_opcode opcode, tla_paddr pa, uint64_t timeout_ps,
                        tla_completion *completion) {
    tla_descriptor d = {.opcode = opcode, .target = TLA_TARGET_MEMORY_CONTROLLER, .pa = pa, .timeout_ps = timeout_ps};
    return execute(client, &d, NULL, completion);
}

tla_status tla_port_client_ref(tla_port_client *client, tla_paddr pa, tla_completion *completion) {
    return count(client, TLA_OP_REF, pa, 0, completion);
}

tla_status tla_port_client_unref(tla_port_client *client, tla_paddr pa, tla_completion *completion) {
    return count(client, TLA_OP_UNREF, pa, 0, completion);
}

tla_status tla_port_client_pin(tla_port_client *client, tla_paddr pa, uint64_t timeout_ps, tla_completion *completion) {
    return count(client, TLA_OP_PIN, pa, timeout_ps, completion);
}

tla_status tla_port_client_unpin(tla_port_client *client, tla_paddr pa, tla_completion *completion) {
    return count(client, TLA_OP_UNPIN, pa, 0, completion);
}

static tla_status change_mappings(tla_port_client *client, tla_opcode opcode, tla_target target, tla_scope scope,
                                  const tla_map_entry *entries, uint32_t count, tla_completion *completion) {
    tla_descriptor d = {.opcode = opcode, .target = target, .scope = scope, .count = count};
    return execute(client, &d, entries, completion);
}

tla_status tla_port_client_map(tla_port_client *client, tla_target target, tla_scope scope,
                               const tla_map_entry *entries, uint32_t count, tla_completion *completion) {
    return change_mappings(client, TLA_OP_MAP, target, scope, entries, count, completion);
}

tla_status tla_port_client_unmap(tla_port_client *client, tla_target target, tla_scope scope,
                                 const tla_map_entry *entries, uint32_t count, tla_completion *completion) {
    return change_mappings(client, TLA_OP_UNMAP, target, scope, entries, count, completion);
}

tla_status tla_port_client_invalidate(tla_port_client *client, tla_target target, tla_scope scope,
                                      const tla_map_entry *entries, uint32_t count, tla_completion *completion) {
    return change_mappings(client, TLA_OP_INVALIDATE, target, scope, entries, count, completion);
}

tla_status tla_port_client_bind(tla_port_client *client, tla_scope scope, const tla_map_entry *entries, uint32_t count,
                                tla_completion *completion) {
    return change_mappings(client, TLA_OP_BIND, TLA_TARGET_MEMORY_CONTROLLER, scope, entries, count, completion);
}

tla_status tla_port_client_unbind(tla_port_client *client, tla_scope scope, const tla_map_entry *entries,
                                  uint32_t count, tla_completion *completion) {
    return change_mappings(client, TLA_OP_UNBIND, TLA_TARGET_MEMORY_CONTROLLER, scope, entries, count, completion);
}

tla_status tla_port_client_move(tla_port_client *client, tla_paddr pa, tla_memory_kind to, tla_paddr *moved,
                                tla_completion *completion) {
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    tla_descriptor d = {.opcode = TLA_OP_MOVE, .target = TLA_TARGET_MEMORY_CONTROLLER, .memory = to, .pa = pa};
    tla_status status = execute(client, &d, NULL, completion);
    if (!status) moved->value = completion->value;
    return status;
}

tla_status tla_port_client_va_alloc(tla_port_client *client, uint64_t nbytes, tla_vaddr *va,
                                    tla_completion *completion) {
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    tla_descriptor d = {.opcode = TLA_OP_VA_ALLOC, .target = TLA_TARGET_VA_MANAGER, .nbytes = nbytes};
    tla_status status = execute(client, &d, NULL, completion);
    if (!status) va->value = completion->value;
    return status;
}

tla_status tla_port_client_va_free(tla_port_client *client, tla_vaddr va, uint64_t nbytes, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_VA_FREE, .target = TLA_TARGET_VA_MANAGER, .va = va, .nbytes = nbytes};
    return execute(client, &d, NULL, completion);
}

tla_status tla_port_client_launch(tla_port_client *client, uint32_t kernel, uint32_t program, uint32_t programs,
                                  const uint64_t *arguments, uint32_t count, tla_completion *completion) {
    static const tla_pe_set none;
    return tla_port_client_launch_all(client, TLA_TARGET_PROCESSING_ELEMENT, &none, kernel, program, programs,
                                      arguments, count, completion);
}

tla_status tla_port_client_launch_all(tla_port_client *client, tla_target target, const tla_pe_set *pes,
                                      uint32_t kernel, uint32_t program, uint32_t programs, const uint64_t *arguments,
                                      uint32_t count, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_LAUNCH,
                        .target = target,
                        .pes = *pes,
                        .kernel = kernel,
                        .program = program,
                        .programs = programs,
                        .count = count};
    return execute(client, &d, arguments, completion);
}

tla_status tla_port_client_pe_dma(tla_port_client *client, tla_target target, const tla_pe_set *pes, tla_paddr pa,
                                  uint64_t nbytes, bool write, uint8_t pattern, tla_completion *completion) {
    tla_descriptor d = {.opcode = TLA_OP_PE_DMA,
                        .target = target,
                        .pes = *pes,
                        .pa = pa,
                        .nbytes = nbytes,
                        .write = write,
                        .pattern = pattern};
    return execute(client, &d, NULL, completion);
}
