/* Control descriptors, which senders write to a control socket, and the completions that they read back.
 *
 * A descriptor is packed, and little-endian on every host. Header, 16 bytes:
 *
 *     0  u32 magic "TLAC"       4  u8 opcode              5  u8 target      6  u16 length of the whole descriptor
 *     8  u32 correlation id    12  u32 request id
 *
 * The correlation id identifies the sender's task (the creation of a tensor, a launch). The request id identifies the
 * message. A component that forwards a command forwards both ids, and so does its completion.
 *
 * Bodies, from byte 16:
 *
 *     - ALLOC              u8 memory, u8 format, u16 stream, u32 object, u64 nbytes
 *     - FREE               u64 pa, u64 nbytes
 *     - MAP, UNMAP, INVALIDATE, TAKE_BACK, PAUSE, REMAP, RESUME, BIND, UNBIND
 *                          u32 count, u32 sip mask, u32 die mask, u32 pe mask, then count entries of 32 bytes:
 *                          u64 va, u64 pa, u64 nbytes, u32 flags, u32 asid
 *     - REF, UNREF, UNPIN  u64 pa
 *     - MOVE               u64 pa, u64 memory, or 2^63 + the new physical address
 *     - PIN                u64 pa, u64 time-out in ps, 0: none
 *     - ALLOC_BATCH        as ALLOC, then u32 count, u32 tla_batch
 *     - FREE_BATCH         u32 count, u32 0, then count times u64 pa, u64 nbytes
 *     - EVICT              as ALLOC, then u32 busy, u32 0
 *     - PUT                u64 key, u32 count, u8 dtype, u8 dimensions, u16 0, 6 u32 shape, u64 first position, u64
 *                          positions, then count times u64 pa
 *     - GET, REMOVE        u64 key, u32 memory, u32 0
 *     - TRIM               u32 memory, u32 0
 *     - PLACE              u64 pa, u64 nbytes, u32 object, u32 0
 *     - VA_ALLOC           u64 nbytes
 *     - VA_FREE            u64 va, u64 nbytes
 *     - LAUNCH             u32 kernel, u32 program, u32 programs, u32 count, u64 target start, 16 u16 PEs, then count
 *                          arguments u64
 *     - PE_DMA             u64 pa, u64 nbytes, u64 target start, u32 write, u32 pattern, 16 u16 PEs
 *
 * The format of an ALLOC is a tla_memory_format (buffer_pools.h), 0: the default tensor. Fronts that do not distinguish
 * formats (stack.h) ignore format and stream. TRIM makes the front of a memory release its kept free blocks to the list
 * below it.
 *
 * REF, UNREF, PIN and UNPIN count references to the block that begins at pa (object_store.h). An ALLOC creates one
 * reference, and a FREE drops one. The controller releases the block with the last reference when no pin holds it.
 *
 * BIND records at a controller that the MMUs in the scope have these mappings, whose physical addresses lie in its
 * blocks; UNBIND forgets them. MOVE leads the block that begins at pa to another place of the memory, or to a block
 * that the sender has allocated at another controller, while others use it through the recorded mappings
 * (controller.h).
 *
 * MAP to a memory controller lets it serve page faults in the ranges by itself: the physical address of an entry is the
 * first byte of the memory that gives the pages, and the scope is that of their mappings. Their blocks are the object
 * that the correlation id names. UNMAP of the same ranges withdraws this. It is answered when no fault in the ranges is
 * served any more.
 *
 * The slices of many PEs may have one owner: a command processor with controller.lockstep. The ALLOC and the FREE of
 * HBM are then sent to this owner. The nbytes are those in every slice, and the offset, which is the same in all
 * slices, replaces the physical address. The owner forwards each command to the controllers of the slices, an ALLOC as
 * PLACE. The block of a PLACE is at pa, and its owner has already allocated it. With of_units such an ALLOC or FREE is
 * longer by u32 mode, u32 0 and 16 u16 PEs, as in a LAUNCH. In mode common it may then have a u64 size for each of
 * these PEs, in ascending order of cube, then of PE; its nbytes are the largest of them.
 *
 * A batch succeeds or fails as a whole: count blocks of nbytes each, or count dropped references. PUT enters blocks of
 * one memory under a key of its cache. GET finds the blocks and their description again, and REMOVE removes them. An
 * EVICT is an ALLOC that makes the cache evict blocks without other holders until the request fits (object_store.h).
 *
 * Results that do not fit into a completion are in the command area of the port. They stay from the completion until
 * the next write there (control_port.h):
 *
 *     - ALLOC_BATCH        count times u64 pa
 *     - GET                u32 count, u8 dtype, u8 dimensions, u16 0, 6 u32 shape, u64 first position, u64 positions,
 *                          then count times u64 pa, u64 nbytes
 *
 * A LAUNCH is for PEs of one SIP: PEs [c] has bit p for PE p of cube c, and can name any subset. `program` is the
 * number of the first named PE. The others follow in ascending order of cube, then of PE. The sum of program and the
 * number of PEs (one, if the command names none) is at most `programs`. A processing element ignores the field PEs.
 * Target start is the time in ps at which all PEs begin, 0: not stated. PE_DMA takes the same path. The DMA engine of
 * every named PE writes nbytes of `pattern` (0 .. 255) at a physical address, or reads there (write 0), over the fabric
 * and without its TCM.
 *
 * A completion is 64 bytes:
 *
 *      0  u32 magic "TLAD"      4  u32 request id         8  u8 status
 *      9  u8 opcode            10  u16 failed at         12  u32 correlation id
 *     16  u64 value            24  u64 nbytes            32  u64 total free
 *     40  u64 largest free     48  u64 nodes visited     56  u64 service time in ps
 *
 * Failed at: [15] 0, [14:13] 0 the answering component itself, 1 IO_CPU, 2 M_CPU, 3 PE; [12:9] sip, [8:4] die, [3:0]
 * pe. */
#ifndef TLMALLOC_COMMAND_COMMAND_H
#define TLMALLOC_COMMAND_COMMAND_H

#include "tlmalloc/base/memory_kind.h"
#include "tlmalloc/cache/objects.h"
#include "tlmalloc/stack/stack.h"
#include "tlmalloc/stack/units.h"
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
    TLA_OP_INVALIDATE, /* drops the TLB entries of the ranges (nbytes 0: of the whole address space) at its arrival, not
                          at its completion; mappings stay */
    TLA_OP_TAKE_BACK,  /* undoes the sender's last MAP, UNMAP or REMAP, which had the same request id and entries */
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
    TLA_OP_PAUSE,  /* New accesses to the ranges wait. It completes when earlier accesses have been answered (pauses.h).
                    */
    TLA_OP_REMAP,  /* Leads mapped ranges to another place, whatever mmu.allow_remap says. */
    TLA_OP_RESUME, /* Ends a PAUSE of the same ranges. */
    TLA_OP_BIND,
    TLA_OP_UNBIND,
    TLA_OP_MOVE,
    TLA_OP_LAST = TLA_OP_MOVE
} tla_opcode;

/* The kind of control socket that a descriptor addresses. */
typedef enum tla_target {
    TLA_TARGET_MEMORY_CONTROLLER = 1,
    TLA_TARGET_PE_MMU,
    TLA_TARGET_VA_MANAGER,
    TLA_TARGET_PROCESSING_ELEMENT,
    TLA_TARGET_IO_CPU, /* forwards commands with entries, LAUNCH and PE_DMA to the M_CPUs of its SIP */
    TLA_TARGET_M_CPU,  /* forwards commands with entries to the MMUs of its cube, LAUNCH and PE_DMA to its PEs */
    TLA_TARGET_HOST,   /* knows physical addresses of mapped blocks: PAUSE, REMAP, RESUME, TAKE_BACK */
    TLA_TARGET_LAST = TLA_TARGET_HOST
} tla_target;

enum {
    TLA_COMMAND_HEADER_BYTES = 16,
    TLA_COMMAND_CLAIM_BYTES = 8,  /* bytes from the start that contain the length */
    TLA_COMMAND_MAX_BYTES = 3840, /* the command area of a control port (control_port.h) */
    TLA_MAP_ENTRY_BYTES = 32,
    TLA_COMMAND_MAX_ENTRIES = (TLA_COMMAND_MAX_BYTES - 32) / TLA_MAP_ENTRY_BYTES,
    TLA_COMMAND_MAX_ARGUMENTS = 16,
    TLA_COMMAND_MAX_UNITS = 16 * TLA_CUBE_DIE_COUNT,
    TLA_COMMAND_MAX_BLOCKS = 232, /* ALLOC_BATCH, FREE_BATCH, PUT */
    TLA_OBJECT_RESULT_BYTES = 48, /* result of a GET, in front of the blocks */
    TLA_LAUNCH_MAX_BYTES = 72 + 8 * TLA_COMMAND_MAX_ARGUMENTS,
    TLA_COMPLETION_BYTES = 64
};

/* Returns the name as above: "ALLOC_BATCH"; NULL for an unknown opcode. */
const char *tla_opcode_name(tla_opcode opcode);

/* Commands about mappings, entry by entry: MAP, UNMAP, INVALIDATE, TAKE_BACK, PAUSE, REMAP, RESUME, which are forwarded
 * to MMUs, and BIND and UNBIND. */
bool tla_opcode_has_entries(tla_opcode opcode);

/* PAUSE, REMAP, RESUME: commands of a move to those who know where a block is. */
bool tla_opcode_is_of_a_move(tla_opcode opcode);

/* LAUNCH, PE_DMA: commands that are forwarded to individually named PEs. */
bool tla_opcode_names_pes(tla_opcode opcode);

/* The PEs of a mapping: the product of three bit masks. */
typedef struct tla_scope {
    uint32_t sip_mask, die_mask, pe_mask;
} tla_scope;

/* Any PEs of one SIP: bit p of cubes[c] is PE p of cube c. */
typedef struct tla_pe_set {
    uint16_t cubes[TLA_CUBE_DIE_COUNT];
} tla_pe_set;

uint32_t tla_pe_set_count(const tla_pe_set *set);

/* A component of the platform, as precise as `kind`. */
typedef enum tla_location_kind {
    TLA_LOCATION_NONE,
    TLA_LOCATION_IO_CPU,
    TLA_LOCATION_M_CPU,
    TLA_LOCATION_PE
} tla_location_kind;

typedef struct tla_location {
    tla_location_kind kind;
    uint32_t sip, cube, pe; /* 0 where the kind has no such number */
} tla_location;

/* A route to forward commands: the address of a control port, and the PEs that it reaches. */
typedef struct tla_command_route {
    uint64_t port_address;
    tla_scope covers;
    bool moves_only; /* to a TLA_TARGET_HOST, behind all other routes: only commands of moves that also take another
                        route take this one */
} tla_command_route;

/* A route to forward commands for individually named PEs. */
typedef struct tla_dispatch_route {
    uint64_t window; /* address of a control window; a command is forwarded to the port number at which it arrived */
    tla_pe_set pes;  /* the PEs that it reaches; in ascending order, no PE of another route lies between them */
    uint64_t way_ps; /* time from sending a command until its farthest PE is ready to begin, without other senders; 0:
                        unknown */
    uint64_t spacing_ps; /* delay of this command by a command that is sent at the same time */
} tla_dispatch_route;

/* An HBM slice whose blocks another component places (lockstep.h). */
typedef struct tla_owned_slice {
    uint64_t port_address; /* port of its controller */
    tla_paddr base;        /* its first byte */
    tla_location where;
} tla_owned_slice;

/* A block in batches and caches. */
typedef struct tla_placed_block {
    tla_paddr pa;
    uint64_t nbytes; /* as requested */
} tla_placed_block;

/* A decoded command. Only the members of its opcode have a meaning. */
typedef struct tla_command {
    tla_opcode opcode;
    tla_target target;
    uint32_t correlation_id, request_id; /* chosen by the sender, echoed by the completion */
    tla_memory_kind memory;              /* ALLOC, ALLOC_BATCH, EVICT, TRIM, GET, REMOVE; MOVE: the new place */
    tla_memory_format format;            /* ALLOC and similar commands; TLA_FORMAT_UNDEFINED: the default tensor */
    uint32_t stream;                     /* the same commands: at most UINT16_MAX */
    uint32_t object; /* the same commands and PLACE: neighbouring blocks with the same value, other than 0, are one
                        object (guard.h) */
    tla_batch batch; /* ALLOC_BATCH */
    bool busy;       /* EVICT: TLA_BUSY when nothing can be evicted now */
    uint64_t key;    /* PUT, GET, REMOVE */
    tla_mem_object_meta meta; /* PUT */
    uint64_t nbytes; /* ALLOC and similar commands, VA_ALLOC, PE_DMA; FREE, VA_FREE, PLACE: the size of the block */
    tla_paddr pa;    /* FREE, PLACE, REF, UNREF, PIN, UNPIN, MOVE, PE_DMA */
    bool elsewhere;  /* MOVE: to a block at another controller */
    tla_paddr to;    /* that block, below 2^63; memory has no meaning then */
    bool of_units;   /* ALLOC, FREE, for an IO_CPU or M_CPU that owns slices: some of them; else all in lockstep */
    tla_units_mode units;               /* of_units: single, range or common (units.h) */
    uint64_t timeout_ps;                /* PIN; 0: none */
    tla_vaddr va;                       /* VA_FREE */
    tla_scope scope;                    /* commands with entries (tla_opcode_has_entries) */
    uint32_t kernel, program, programs; /* LAUNCH */
    uint64_t target_start_ps;           /* LAUNCH, PE_DMA */
    tla_pe_set pes;                     /* LAUNCH, PE_DMA; with of_units: the slices of the block */
    bool write;                         /* PE_DMA */
    uint8_t pattern;                    /* PE_DMA */
    uint32_t count; /* commands with entries: entries; LAUNCH: arguments; batches, PUT: blocks; with of_units: extents,
                       none or, of common, one for each of pes */
    union {
        tla_map_entry entries[TLA_COMMAND_MAX_ENTRIES];
        uint64_t arguments[TLA_COMMAND_MAX_ARGUMENTS];
        uint64_t extents[TLA_COMMAND_MAX_UNITS]; /* sizes in the slices of pes, at least 1, nbytes the largest of them;
                                                    none: nbytes in each */
        tla_placed_block blocks[TLA_COMMAND_MAX_BLOCKS]; /* FREE_BATCH; PUT: without their sizes */
    };
} tla_command;

typedef struct tla_completion {
    uint32_t correlation_id, request_id;
    tla_status status;
    tla_opcode opcode;
    tla_location failed_at; /* location of the first failure of a forwarded command */
    /* The main result:
     * - ALLOC, EVICT, VA_ALLOC: the address, physical or virtual. Failed ALLOC or EVICT: bytes that a TRIM of the
     *   memory releases, if the request then succeeds, else 0. ALLOC: or TLA_SMALLER_L1 (control_port.h)
     * - MOVE: the new physical address. Failed MOVE: as a failed ALLOC
     * - FREE, REF, UNREF: remaining references; PIN, UNPIN: pins
     * - ALLOC_BATCH, GET: as for the first block
     * - FREE_BATCH: blocks that are now free. Failed FREE_BATCH: the number of the block that failed, from 0
     * - PUT: 1, or 0 when the key already exists; REMOVE: blocks
     * - INVALIDATE, PAUSE to MMUs that keep bits of use: bit i: an MMU has used (PAUSE: written) the page of entry i <
     * 64
     * - LAUNCH, PE_DMA: start time (ps), with several PEs the latest; 0: it did not start */
    uint64_t value;
    /* Bytes, or entries:
     * - ALLOC, FREE, PLACE, PE_DMA: bytes. Failed ALLOC or EVICT: the minimum that the request occupies in the memory,
     *   its size class or segment (tla_stack_takes)
     * - REF, UNREF, PIN, UNPIN, MOVE: the requested bytes
     * - batches, PUT, GET, REMOVE: bytes of all blocks; TRIM: released bytes
     * - commands with entries: completed entries
     * - LAUNCH: if the kernel ended with the status of a tl_alloc (kernel.h), the bytes that it requested */
    uint64_t nbytes;
    uint64_t total_free, largest_free; /* bytes of the memory or the VA space after the command; total_free includes the
                                          kept blocks of a front. LAUNCH: of the TCM after that tl_alloc */
    uint64_t nodes_visited;
    uint64_t service_ps; /* time that the engine charged, without queueing; LAUNCH, PE_DMA: from start to end, with
                            several PEs the longest */
} tla_completion;

/* Writes a descriptor into bytes[0 .. capacity); *length is its size. TLA_INVALID_ARGUMENT for an unknown opcode,
 * target, memory or format, too large a stream, invalid programs, or an invalid mode, target or extents with of_units.
 * The same error reports a command with entries that has none, too many entries or arguments, and too small a capacity.
 * After an error nothing is written. */
tla_status tla_command_encode(const tla_command *command, uint8_t *bytes, size_t capacity, size_t *length);

/* Explains why tla_command_encode rejects a command: *error has the command's name, the found and the expected
 * value. */
void tla_command_explain(const tla_command *command, tla_error *error);

/* Reads a descriptor of exactly `length` bytes. TLA_BAD_COMMAND for a wrong magic, opcode, target, memory, format,
 * program, length or count, or for bytes that must be 0 and are not. The text has the found and the expected value. The
 * call does not check whether the target suits. On failure *command is all zero, except for opcode, target and ids from
 * a valid header. A completion can therefore be addressed to the sender. */
tla_status tla_command_decode(const uint8_t *bytes, size_t length, tla_command *command, tla_error *error);

/* Writes the result in the command area after a GET, and after an ALLOC_BATCH; returns the number of bytes. */
size_t tla_object_result_encode(const tla_mem_object_meta *meta, const tla_placed_block *blocks, uint32_t count,
                                uint8_t bytes[TLA_COMMAND_MAX_BYTES]);
size_t tla_batch_result_encode(const tla_placed_block *blocks, uint32_t count, uint8_t bytes[TLA_COMMAND_MAX_BYTES]);

/* Reads the head of a GET's result, and its block number `index`, from its TLA_OBJECT_RESULT_BYTES and 16 bytes. */
void tla_object_result_decode(const uint8_t bytes[TLA_OBJECT_RESULT_BYTES], tla_mem_object_meta *meta, uint32_t *count);
tla_placed_block tla_placed_block_decode(const uint8_t bytes[16]);

/* Returns the length that a descriptor claims, from its first 8 bytes; 0 when the magic is wrong. */
uint32_t tla_command_claimed_length(const uint8_t *bytes);

void tla_completion_encode(const tla_completion *completion, uint8_t bytes[TLA_COMPLETION_BYTES]);

/* TLA_BAD_COMMAND for a wrong magic (there is no completion yet), status, opcode or place; *completion is unchanged.
 * Opcode 0 is allowed: the completion of a descriptor with an unreadable opcode. */
tla_status tla_completion_decode(const uint8_t bytes[TLA_COMPLETION_BYTES], tla_completion *completion);

/* --- Sent commands ---
 *
 * A command that is sent to a control port, and its result. The component that decides about commands fills in the
 * first half; the component that moves transactions fills in the second half. */

typedef struct tla_sent_command {
    uint64_t port_address;
    const tla_command *command; /* NULL: the sender writes nothing, and reads an earlier completion */
    uint64_t at_ps;             /* start time of the write or read */
    bool gather;                /* the sender reads the completion as soon as the command is written */

    /* Status of the completion, or of the write where no completion is read. TLA_BUS_ERROR: a transaction failed, or
     * the read data is not a completion. TLA_INVALID_ARGUMENT: the command cannot be encoded. */
    tla_status status;
    uint64_t written_ps, answered_ps; /* answered_ps equals written_ps where no completion is read */
    tla_completion completion;        /* valid where a completion was read */
} tla_sent_command;

/* The retry policy for commands that complete with TLA_BUSY. The sender repeats the command at most `retries` times,
 * each time delay_ps after it learns of the rejection. */
typedef struct tla_retry_policy {
    uint32_t retries;
    uint64_t delay_ps;
} tla_retry_policy;

/* A FREE that fails in spite of all retries is owed: no other command would free the block. The sender repeats the FREE
 * before it reports its work as done, at most this many times without success. The limit exceeds the faults of a
 * plan. */
enum { TLA_OWED_TRIES = 16 };

#ifdef __cplusplus
}
#endif
#endif
