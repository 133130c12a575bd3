/* The positions of the fields of descriptors, and the names of their values. Internal to model/command. */
#ifndef TLMALLOC_COMMAND_DESCRIPTOR_LAYOUT_H
#define TLMALLOC_COMMAND_DESCRIPTOR_LAYOUT_H

#include "base/little_endian.h"
#include "descriptor.h"

enum { DESCRIPTOR_MAGIC = 0x43414C54 }; /* "TLAC" */

/* Bytes of descriptors, and places in them, headers included. */
enum {
    SCALAR_BYTES = 32,
    OF_UNITS_BYTES = 72, /* ALLOC, FREE: with a mode and PEs behind their scalars; then extents */
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
};

enum { META_BYTES = 44 }; /* dtype, dimensions, 2 bytes 0, shape, positions */

#define MOVE_ELSEWHERE (UINT64_C(1) << 63) /* beside the new address of a block that leaves its controller */

static inline void put(uint8_t *bytes, uint64_t value, unsigned nbytes) {
    put_little_endian(bytes, value, nbytes);
}

static inline uint64_t get(const uint8_t *bytes, unsigned nbytes) {
    return get_little_endian(bytes, nbytes);
}

static inline uint32_t get32(const uint8_t *bytes) {
    return (uint32_t)get(bytes, 4);
}

static inline bool known_target(uint32_t target) {
    return target >= TLA_TARGET_MEMORY_CONTROLLER && target <= TLA_TARGET_LAST;
}

/* Bytes after the dimensions have no rule. */
static inline bool meta_is_right(const tla_mem_object_meta *meta) {
    for (unsigned i = meta->dimensions; i < 6; i++)
        if (meta->shape[i] != 0) return false;
    return meta->dimensions <= 6;
}

/* Every program of a launch has a number below `programs`. */
static inline bool programs_fit(uint32_t program, uint32_t programs, const tla_pe_set *pes) {
    const uint32_t count = tla_pe_set_count(pes);
    return program < programs && programs - program >= count;
}

/* Whether an ALLOC or a FREE may name units: only for a target that owns slices. */
static inline bool may_name_units(tla_opcode opcode, tla_target target) {
    return (opcode == TLA_OP_ALLOC || opcode == TLA_OP_FREE) &&
           (target == TLA_TARGET_IO_CPU || target == TLA_TARGET_M_CPU);
}

static inline bool is_mode_of_units(uint32_t mode) {
    return mode <= TLA_UNITS_COMMON && mode != TLA_UNITS_LOCKSTEP;
}

/* Whether a command that names units has no extents, or right ones. */
static inline bool extents_fit(const tla_command *command) {
    if (command->count == 0) return true;
    if (command->units != TLA_UNITS_COMMON || command->count != tla_pe_set_count(&command->pes)) return false;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < command->count; i++) {
        if (command->extents[i] == 0) return false;
        if (command->extents[i] > largest) largest = command->extents[i];
    }
    return largest == command->nbytes;
}

/* Encode and decode the description of an object, and a block, which PUT and the answer to GET share (completion.c). */
void tla_object_meta_put(const tla_mem_object_meta *meta, uint8_t bytes[META_BYTES]);
tla_mem_object_meta tla_object_meta_get(const uint8_t bytes[META_BYTES]);
void tla_placed_block_put(tla_placed_block block, uint8_t bytes[TLA_BLOCK_BYTES]);

#endif
