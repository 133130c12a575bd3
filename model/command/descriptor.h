/* The parts of a control descriptor, so that it can be written without being whole anywhere. Internal to model/device.
 */
#ifndef TLMALLOC_COMMAND_DESCRIPTOR_H
#define TLMALLOC_COMMAND_DESCRIPTOR_H

#include "tlmalloc/command/command.h"

enum { TLA_DESCRIPTOR_HEAD_MAX_BYTES = 80, TLA_ARGUMENT_BYTES = 8, TLA_BLOCK_BYTES = 16 };

/* A tla_command without its entries, arguments and blocks. */
typedef struct tla_descriptor {
    tla_opcode opcode;
    tla_target target;
    uint32_t correlation_id, request_id;
    tla_memory_kind memory;
    tla_memory_format format;
    uint32_t stream;
    uint32_t object;
    uint64_t nbytes;
    tla_paddr pa;
    uint64_t timeout_ps;
    tla_vaddr va;
    tla_scope scope;
    uint32_t kernel, program, programs;
    uint64_t target_start_ps;
    tla_pe_set pes;
    bool write;
    uint8_t pattern;
    tla_batch batch;
    bool busy;
    uint64_t key;
    tla_mem_object_meta meta;
    uint32_t count;
} tla_descriptor;

/* Bytes of a descriptor with this opcode and count; 0 when there is no such opcode or the count is too large. */
size_t tla_descriptor_bytes(uint32_t opcode, uint32_t count);

/* Writes all that stands before the items, which is *head bytes; *length is that of the whole descriptor.
 * TLA_INVALID_ARGUMENT as tla_command_encode; nothing is written then. */
tla_status tla_descriptor_put_head(const tla_descriptor *d, uint8_t bytes[TLA_DESCRIPTOR_HEAD_MAX_BYTES], size_t *head,
                                   size_t *length);

/* Writes item `index` of what stands behind the head: entries (tla_map_entry), arguments (uint64_t) or blocks
 * (tla_placed_block), by the opcode. Returns how many bytes it is, at most TLA_DESCRIPTOR_HEAD_MAX_BYTES. */
size_t tla_descriptor_put_item(tla_opcode opcode, const void *items, uint32_t index, uint8_t *bytes);

#endif
