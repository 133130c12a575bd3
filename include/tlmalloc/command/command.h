/* Control descriptors: what is written to a control socket, and the completion that is read back.
 *
 * A descriptor is packed and little-endian whatever the host is. Header, 16 bytes:
 *
 *   0 u32 magic "TLAC"   4 u8 opcode   5 u8 target   6 u16 length of the whole descriptor
 *   8 u32 correlation id   12 u32 request id
 *
 * The correlation id is that of what a sender was asked for (the making of a tensor, a launch), the request id that of
 * the message. Whoever passes a command on passes both on, and so does its completion.
 *
 * Bodies, from byte 16:
 *   ALLOC                u8 memory, u8 format, u16 stream, u32 object, u64 nbytes
 *   FREE                 u64 pa, u64 nbytes
 *   MAP, UNMAP, INVALIDATE, TAKE_BACK
 *                        u32 count, u32 sip mask, u32 die mask, u32 pe mask, then count entries of 32 bytes:
 *                        u64 va, u64 pa, u64 nbytes, u32 flags, u32 asid
 *   REF, UNREF, UNPIN    u64 pa
 *   PIN                  u64 pa, u64 time-out in ps, 0: none
 *   ALLOC_BATCH          as ALLOC, then u32 count, u32 tla_batch
 *   FREE_BATCH           u32 count, u32 0, then count times u64 pa, u64 nbytes
 *   EVICT                as ALLOC, then u32 busy, u32 0
 *   PUT                  u64 key, u32 count, u8 dtype, u8 dimensions, u16 0, 6 u32 shape, u64 first position,
 *                        u64 positions, then count times u64 pa
 *   GET, REMOVE          u64 key, u32 memory, u32 0
 *   TRIM                 u32 memory, u32 0
 *   PLACE                u64 pa, u64 nbytes, u32 object, u32 0
 *   VA_ALLOC             u64 nbytes
 *   VA_FREE              u64 va, u64 nbytes
 *   LAUNCH               u32 kernel, u32 program, u32 programs, u32 count, u64 target start, 16 u16 PEs, then count
 *                        arguments u64
 *   PE_DMA               u64 pa, u64 nbytes, u64 target start, u32 write, u32 pattern, 16 u16 PEs
 *
 * The format of an ALLOC is a tla_memory_format (buffer_pools.h), 0: the default tensor; fronts that do not tell
 * formats apart (stack.h) look at neither it nor the stream. TRIM has the front of a memory give what it keeps free
 * back to the list below it.
 *
 * REF, UNREF, PIN and UNPIN count what refers to the block that begins at pa (object_store.h): an ALLOC makes one
 * reference, a FREE gives one up, and the block is given back with the last reference when no pin holds it.
 *
 * Where the slices of many PEs have one owner (a command processor with controller.lockstep), the ALLOC and the FREE of
 * HBM go to it: nbytes are those in every slice, and in place of a physical address stands the offset, which is the
 * same in all. It passes each on to the controllers of the slices, an ALLOC as PLACE: the block is at pa, and has been
 * taken elsewhere.
 *
 * A batch is done as a whole or not at all: count blocks of nbytes each, or count references given up. PUT enters
 * blocks of one memory under a key of its cache, GET finds them, and what they are, again, REMOVE takes them out, and
 * an EVICT is an ALLOC that has the cache give up what nobody else holds until there is room (object_store.h).
 *
 * What a completion has no room for stands in the command area of the port from the completion on, until the next
 * write there (control_port.h):
 *   ALLOC_BATCH          count times u64 pa
 *   GET                  u32 count, u8 dtype, u8 dimensions, u16 0, 6 u32 shape, u64 first position, u64 positions,
 *                        then count times u64 pa, u64 nbytes
 *
 * A LAUNCH is for PEs of one SIP: PEs [c] has bit p for PE p of cube c, so that it can be any subset. `program` is the
 * number of the first of them; the others follow in ascending order of cube, then of PE. program + their number (one,
 * where none is named) is at most `programs`. To a processing element PEs say nothing. Target start is the time in ps
 * at which all begin, 0: not stated. PE_DMA goes the same way: the DMA engine of every PE that is named writes nbytes
 * of `pattern` (0 .. 255) at a physical address, or reads what is there (write 0), by the fabric and without its TCM.
 *
 * A completion is 64 bytes:
 *   0 u32 magic "TLAD"  4 u32 request id  8 u8 status  9 u8 opcode  10 u16 failed at  12 u32 correlation id
 *   16 u64 value  24 u64 nbytes  32 u64 total free  40 u64 largest free  48 u64 nodes visited
 *   56 u64 service time in ps
 *
 * Failed at: [15] 0, [14:13] 0 whoever answers, 1 IO_CPU, 2 M_CPU, 3 PE; [12:9] sip, [8:4] die, [3:0] pe. */
#ifndef TLMALLOC_COMMAND_COMMAND_H
#define TLMALLOC_COMMAND_COMMAND_H

#include "tlmalloc/base/memory_kind.h"
#include "tlmalloc/cache/objects.h"
#include "tlmalloc/stack/stack.h"
#include "tlmalloc/vm/page_table.h"

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
    TLA_OP_INVALIDATE, /* drops TLB entries of the ranges (nbytes 0: of the whole address space) when it arrives, not
                          when it is done; mappings stay */
    TLA_OP_TAKE_BACK,  /* undoes the sender's last MAP or UNMAP, which had the same request id and entries (mmu.h) */
    TLA_OP_PE_DMA,
    TLA_OP_TRIM,
    TLA_OP_REF,
    TLA_OP_UNREF,
    TLA_OP_PIN,
    TLA_OP_UNPIN,
    TLA_OP_PLACE,
    TLA_OP_ALLOC_BATCH,
    TLA_OP_FREE_BATCH,
    TLA_OP_PUT,
    TLA_OP_GET,
    TLA_OP_REMOVE,
    TLA_OP_EVICT,
    TLA_OP_LAST = TLA_OP_EVICT
} tla_opcode;

/* What kind of control socket a descriptor is meant for. */
typedef enum tla_target {
    TLA_TARGET_MEMORY_CONTROLLER = 1,
    TLA_TARGET_PE_MMU,
    TLA_TARGET_VA_MANAGER,
    TLA_TARGET_PROCESSING_ELEMENT,
    TLA_TARGET_IO_CPU, /* passes MAP, UNMAP, INVALIDATE, LAUNCH, PE_DMA on to the M_CPUs of its SIP */
    TLA_TARGET_M_CPU   /* passes MAP, UNMAP and INVALIDATE on to the MMUs of its cube, LAUNCH and PE_DMA to its PEs */
} tla_target;

enum {
    TLA_COMMAND_HEADER_BYTES = 16,
    TLA_COMMAND_CLAIM_BYTES = 8,  /* what of it tells the length */
    TLA_COMMAND_MAX_BYTES = 3840, /* the command area of a control port (control_port.h) */
    TLA_MAP_ENTRY_BYTES = 32,
    TLA_COMMAND_MAX_ENTRIES = (TLA_COMMAND_MAX_BYTES - 32) / TLA_MAP_ENTRY_BYTES,
    TLA_COMMAND_MAX_ARGUMENTS = 16,
    TLA_COMMAND_MAX_BLOCKS = 232, /* ALLOC_BATCH, FREE_BATCH, PUT */
    TLA_OBJECT_RESULT_BYTES = 48, /* of a GET, before the blocks */
    TLA_LAUNCH_MAX_BYTES = 72 + 8 * TLA_COMMAND_MAX_ARGUMENTS,
    TLA_COMPLETION_BYTES = 64
};

/* As above: "ALLOC_BATCH"; NULL for none. */
const char *tla_opcode_name(tla_opcode opcode);

/* MAP, UNMAP, INVALIDATE, TAKE_BACK: what is passed on to MMUs, entry by entry. */
bool tla_opcode_has_entries(tla_opcode opcode);

/* LAUNCH, PE_DMA: what is passed on to PEs that are named one by one. */
bool tla_opcode_names_pes(tla_opcode opcode);

/* Which PEs a mapping is for: the product of three bit masks. */
typedef struct tla_scope {
    uint32_t sip_mask, die_mask, pe_mask;
} tla_scope;

/* Any PEs of one SIP: bit p of cubes[c] is PE p of cube c. */
typedef struct tla_pe_set {
    uint16_t cubes[TLA_CUBE_DIE_COUNT];
} tla_pe_set;

uint32_t tla_pe_set_count(const tla_pe_set *set);

/* A part of the platform, as deep as `kind` says. */
typedef enum tla_location_kind {
    TLA_LOCATION_NONE,
    TLA_LOCATION_IO_CPU,
    TLA_LOCATION_M_CPU,
    TLA_LOCATION_PE
} tla_location_kind;

typedef struct tla_location {
    tla_location_kind kind;
    uint32_t sip, cube, pe; /* 0 where the kind does not have them */
} tla_location;

/* Where commands can be passed on to: the address of a control port, and the PEs that lie behind it. */
typedef struct tla_command_route {
    uint64_t port_address;
    tla_scope covers;
} tla_command_route;

/* Where commands for PEs that are named one by one can be passed on to. */
typedef struct tla_dispatch_route {
    uint64_t window;     /* address of a control window; a command goes on to the port at which it came */
    tla_pe_set pes;      /* the PEs behind it; of another route none lies between them, in ascending order */
    uint64_t way_ps;     /* from the sending of a command until the farthest of them is ready to begin, when nobody else
                            sends; 0: not known */
    uint64_t spacing_ps; /* by how much a command that is sent at the same time holds it up */
} tla_dispatch_route;

/* An HBM slice whose blocks somebody else places (lockstep.h). */
typedef struct tla_owned_slice {
    uint64_t port_address; /* of its controller */
    tla_paddr base;        /* its first byte */
    tla_location where;
} tla_owned_slice;

/* A block as batches and caches have it. */
typedef struct tla_placed_block {
    tla_paddr pa;
    uint64_t nbytes; /* as asked for */
} tla_placed_block;

/* A command, decoded. Only the members of its opcode mean anything. */
typedef struct tla_command {
    tla_opcode opcode;
    tla_target target;
    uint32_t correlation_id, request_id; /* chosen by the sender, echoed by the completion */
    tla_memory_kind memory;              /* ALLOC, ALLOC_BATCH, EVICT, TRIM, GET, REMOVE */
    tla_memory_format format;            /* ALLOC, and what is like it; TLA_FORMAT_UNDEFINED: the default tensor */
    uint32_t stream;                     /* likewise: at most UINT16_MAX */
    uint32_t object;                     /* likewise, PLACE: blocks beside each other with the same one, not 0, are
                                            one (guard.h) */
    tla_batch batch;                     /* ALLOC_BATCH */
    bool busy;                           /* EVICT: TLA_BUSY when nothing can be evicted now */
    uint64_t key;                        /* PUT, GET, REMOVE */
    tla_mem_object_meta meta;            /* PUT */
    uint64_t nbytes;                     /* ALLOC, FREE, PLACE, VA_ALLOC, VA_FREE, PE_DMA */
    tla_paddr pa;                        /* FREE, PLACE, REF, UNREF, PIN, UNPIN, PE_DMA */
    uint64_t timeout_ps;                 /* PIN; 0: none */
    tla_vaddr va;                        /* VA_FREE */
    tla_scope scope;                     /* MAP, UNMAP, INVALIDATE, TAKE_BACK */
    uint32_t kernel, program, programs;  /* LAUNCH */
    uint64_t target_start_ps;            /* LAUNCH, PE_DMA */
    tla_pe_set pes;                      /* LAUNCH, PE_DMA */
    bool write;                          /* PE_DMA */
    uint8_t pattern;                     /* PE_DMA */
    uint32_t count;                      /* MAP, UNMAP, INVALIDATE: entries; LAUNCH: arguments; batches, PUT: blocks */
    union {
        tla_map_entry entries[TLA_COMMAND_MAX_ENTRIES];
        uint64_t arguments[TLA_COMMAND_MAX_ARGUMENTS];
        tla_placed_block blocks[TLA_COMMAND_MAX_BLOCKS]; /* FREE_BATCH; PUT: without their bytes */
    };
} tla_command;

typedef struct tla_completion {
    uint32_t correlation_id, request_id;
    tla_status status;
    tla_opcode opcode;
    tla_location failed_at; /* where it failed first, when it has been passed on */
    uint64_t value;         /* ALLOC: physical address; of one that failed: bytes that a TRIM of the memory gives
                               back, if the request is served after it, else 0;
                               FREE, REF, UNREF: references that are left; PIN, UNPIN: pins;
                               ALLOC_BATCH, GET: as of the first block; FREE_BATCH: blocks that are free now, of one
                               that failed the number of the block that is to blame, from 0; PUT: 1, or 0 when the key
                               is there already; REMOVE: blocks; EVICT: as ALLOC;
                               VA_ALLOC: virtual address; LAUNCH, PE_DMA: when it
                               began (ps), of several the last of them; 0: it did not */
    uint64_t nbytes; /* ALLOC, FREE, PLACE: bytes; of an ALLOC or EVICT that failed: what the request takes of the
                        memory at least, its size class or segment (tla_stack_takes); REF, UNREF, PIN, UNPIN: those that
                        were asked for; batches, PUT, GET, REMOVE: of all blocks; TRIM: bytes given back; MAP, UNMAP,
                        INVALIDATE: entries done; PE_DMA: bytes; LAUNCH: of a kernel that ended with the status of a
                        tl_alloc (kernel.h), the bytes it asked for */
    uint64_t total_free, largest_free; /* of the memory or the VA space, after the command (bytes), total_free with
                                          what a front keeps; LAUNCH: of the TCM after that tl_alloc */
    uint64_t nodes_visited;
    uint64_t service_ps; /* what the engine charged, without queueing; LAUNCH, PE_DMA: from its begin to its end, of
                            several the longest */
} tla_completion;

/* Writes a descriptor into bytes[0 .. capacity); *length is its size.
 * TLA_INVALID_ARGUMENT for an unknown opcode, target, memory or format, a stream too large, programs that are none,
 * no entry for a command that has entries, too many entries or arguments, or a capacity too small: nothing is written
 * then. */
tla_status tla_command_encode(const tla_command *command, uint8_t *bytes, size_t capacity, size_t *length);

/* Says for a person why tla_command_encode refuses a command: *error has the command's name, what was found and what
 * was expected. */
void tla_command_explain(const tla_command *command, tla_error *error);

/* Reads a descriptor of exactly `length` bytes. TLA_BAD_COMMAND, and a text that says what was found and what was
 * expected, for a wrong magic, opcode, target, memory, format, program, length or count, or bytes that must be 0 and
 * are not. Does not look at whether the target suits. On failure *command is all zero but for opcode, target and ids as
 * far as a valid header told them, so that a completion can be addressed to the sender. */
tla_status tla_command_decode(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error);

/* What stands in the command area after a GET, and after an ALLOC_BATCH; returns how many bytes. */
size_t tla_object_result_encode(const tla_mem_object_meta *meta, const tla_placed_block *blocks, uint32_t count,
                                uint8_t bytes[TLA_COMMAND_MAX_BYTES]);
size_t tla_batch_result_encode(const tla_placed_block *blocks, uint32_t count, uint8_t bytes[TLA_COMMAND_MAX_BYTES]);

/* The head of a GET's result, and the block number `index` of it, from its TLA_OBJECT_RESULT_BYTES and 16 bytes. */
void tla_object_result_decode(const uint8_t bytes[TLA_OBJECT_RESULT_BYTES], tla_mem_object_meta *meta, uint32_t *count);
tla_placed_block tla_placed_block_decode(const uint8_t bytes[16]);

/* Length that a descriptor claims, from its first 8 bytes; 0 when the magic is wrong. */
uint32_t tla_command_claimed_length(const uint8_t *bytes);

void tla_completion_encode(const tla_completion *completion, uint8_t bytes[TLA_COMPLETION_BYTES]);

/* TLA_BAD_COMMAND for a wrong magic (so there is no completion yet), status, opcode or place; *completion is untouched.
 * Opcode 0 is allowed: the answer to a descriptor whose opcode could not be read. */
tla_status tla_completion_decode(const uint8_t bytes[TLA_COMPLETION_BYTES], tla_completion *completion);

/* --- Sent commands ---
 *
 * A command on its way to a control port, and what became of it. Who decides about commands fills in the first half,
 * who moves transactions the second. */

typedef struct tla_sent_command {
    uint64_t port_address;
    const tla_command *command; /* NULL: nothing is written, only the completion of what was posted before is read */
    uint64_t at_ps;             /* when that begins */
    bool gather;                /* the completion is read as soon as the command is written */

    /* Of the completion, or where none is read of the write. TLA_BUS_ERROR: a transaction was refused, or what came
     * back is no completion; TLA_INVALID_ARGUMENT: the command cannot be encoded. */
    tla_status status;
    uint64_t written_ps, answered_ps; /* the latter is the former where no completion is read */
    tla_completion completion;        /* where one was read */
} tla_sent_command;

/* What a sender does when a command is refused for now (its completion says TLA_BUSY): it sends it again, `retries`
 * times at most, each delay_ps after the refusal was known. */
typedef struct tla_retry_policy {
    uint32_t retries;
    uint64_t delay_ps;
} tla_retry_policy;

/* A FREE that is refused in spite of all retries is owed: nothing would free the block any more. Whoever owes it sends
 * it again before its work is told to be done, so many times in vain at most: more than a plan has faults. */
enum { TLA_OWED_TRIES = 16 };

#ifdef __cplusplus
}
#endif
#endif
