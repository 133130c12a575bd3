/* Control descriptors: what is written to a control socket, and the completion that is read back.
 *
 * A descriptor is packed and little-endian whatever the host is. Header, 16 bytes:
 *
 *   0 u32 magic "TLAC"   4 u16 opcode   6 u16 target   8 u32 length of the whole descriptor   12 u32 tag
 *
 * Bodies, from byte 16:
 *   ALLOC                u32 channel, u32 0, u64 nbytes
 *   FREE                 u64 pa, u64 nbytes
 *   MAP, UNMAP, INVALIDATE, TAKE_BACK
 *                        u32 count, u32 sip mask, u32 die mask, u32 pe mask, then count entries of 32 bytes:
 *                        u64 va, u64 pa, u64 nbytes, u32 flags, u32 asid
 *   VA_ALLOC             u64 nbytes
 *   VA_FREE              u64 va, u64 nbytes
 *   LAUNCH               u32 kernel, u32 program, u32 programs, u32 count, then count arguments u64;
 *                        program < programs
 *
 * A completion is 64 bytes:
 *   0 u32 magic "TLAD"  4 u32 tag  8 u32 status  12 u32 opcode  16 u64 value  24 u64 nbytes  32 u64 total free
 *   40 u64 largest free  48 u64 nodes visited  56 u64 service time in ps */
#ifndef TLMALLOC_COMMAND_H
#define TLMALLOC_COMMAND_H

#include "tlmalloc/allocators/pe_memory.h"
#include "tlmalloc/translation/page_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_opcode {
    TLA_OP_ALLOC = 1,
    TLA_OP_FREE,
    TLA_OP_MAP,
    TLA_OP_UNMAP,
    TLA_OP_VA_ALLOC,
    TLA_OP_VA_FREE,
    TLA_OP_LAUNCH,
    TLA_OP_INVALIDATE, /* drops TLB entries of the ranges (nbytes 0: of the whole address space); mappings stay */
    TLA_OP_TAKE_BACK,  /* undoes the sender's last MAP or UNMAP, which had the same tag and entries (mmu.h) */
    TLA_OP_LAST = TLA_OP_TAKE_BACK
} tla_opcode;

/* What kind of control socket a descriptor is meant for. */
typedef enum tla_target {
    TLA_TARGET_MEMORY_CONTROLLER = 1,
    TLA_TARGET_PE_MMU,
    TLA_TARGET_VA_MANAGER,
    TLA_TARGET_PROCESSING_ELEMENT,
    TLA_TARGET_IO_CPU, /* passes MAP, UNMAP and INVALIDATE on to the M_CPUs of its SIP */
    TLA_TARGET_M_CPU   /* passes MAP, UNMAP and INVALIDATE on to the MMUs of its cube */
} tla_target;

enum {
    TLA_COMMAND_HEADER_BYTES = 16,
    TLA_COMMAND_MAX_BYTES = 3840, /* the command area of a control port (control_port.h) */
    TLA_MAP_ENTRY_BYTES = 32,
    TLA_COMMAND_MAX_ENTRIES = (TLA_COMMAND_MAX_BYTES - 32) / TLA_MAP_ENTRY_BYTES,
    TLA_COMMAND_MAX_ARGUMENTS = 16,
    TLA_COMPLETION_BYTES = 64
};

/* MAP, UNMAP, INVALIDATE, TAKE_BACK: what is passed on to MMUs, entry by entry. */
bool tla_opcode_has_entries(tla_opcode opcode);

/* Which PEs a mapping is for: the product of three bit masks. */
typedef struct tla_scope {
    uint32_t sip_mask, die_mask, pe_mask;
} tla_scope;

/* Where commands can be passed on to: the address of a control port, and the PEs that lie behind it. */
typedef struct tla_command_route {
    uint64_t port_address;
    tla_scope covers;
} tla_command_route;

/* A command, decoded. Only the members of its opcode mean anything. */
typedef struct tla_command {
    tla_opcode opcode;
    tla_target target;
    uint32_t tag;                       /* chosen by the sender, echoed by the completion */
    tla_channel channel;                /* ALLOC */
    uint64_t nbytes;                    /* ALLOC, FREE, VA_ALLOC, VA_FREE */
    tla_paddr pa;                       /* FREE */
    tla_vaddr va;                       /* VA_FREE */
    tla_scope scope;                    /* MAP, UNMAP, INVALIDATE, TAKE_BACK */
    uint32_t kernel, program, programs; /* LAUNCH */
    uint32_t count;                     /* MAP, UNMAP, INVALIDATE: entries; LAUNCH: arguments */
    union {
        tla_map_entry entries[TLA_COMMAND_MAX_ENTRIES];
        uint64_t arguments[TLA_COMMAND_MAX_ARGUMENTS];
    };
} tla_command;

typedef struct tla_completion {
    uint32_t tag;
    tla_status status;
    tla_opcode opcode;
    uint64_t value;                    /* ALLOC: physical address; VA_ALLOC: virtual address */
    uint64_t nbytes;                   /* ALLOC, FREE: bytes; MAP, UNMAP, INVALIDATE: entries done; LAUNCH: of a kernel
                                          that ended with the status of a tl_alloc (kernel.h), the bytes it asked for */
    uint64_t total_free, largest_free; /* of the channel or the VA space, after the command (bytes); LAUNCH: of the TCM
                                          after that tl_alloc */
    uint64_t nodes_visited;
    uint64_t service_ps; /* what the engine charged, without queueing */
} tla_completion;

/* Writes a descriptor into bytes[0 .. capacity); *length is its size.
 * TLA_INVALID_ARGUMENT for an unknown opcode, target or channel, a program that is none, too many entries or
 * arguments, or a capacity too small: nothing is written then. */
tla_status tla_command_encode(const tla_command *command, uint8_t *bytes, size_t capacity, size_t *length);

/* Reads a descriptor of exactly `length` bytes. TLA_BAD_COMMAND, and a text that says what was found and what was
 * expected, for a wrong magic, opcode, target, channel, program, length or count, or bytes that must be 0 and are not.
 * Does not look at whether the target suits. On failure *command is all zero but for opcode, target and tag as far as a
 * valid header told them, so that a completion can be addressed to the sender. */
tla_status tla_command_decode(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error);

/* Length that a descriptor claims, from its first 12 bytes; 0 when the magic is wrong. */
uint32_t tla_command_claimed_length(const uint8_t *bytes);

void tla_completion_encode(const tla_completion *completion, uint8_t bytes[TLA_COMPLETION_BYTES]);

/* TLA_BAD_COMMAND for a wrong magic (so there is no completion yet), status or opcode; *completion is untouched then.
 * Opcode 0 is allowed: the answer to a descriptor whose opcode could not be read. */
tla_status tla_completion_decode(const uint8_t bytes[TLA_COMPLETION_BYTES], tla_completion *completion);

#ifdef __cplusplus
}
#endif
#endif
