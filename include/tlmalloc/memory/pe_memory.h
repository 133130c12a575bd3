/* The memories of one memory controller: a PE's HBM slice and TCM, a cube's SRAM or the memory of its M_CPU, the host's
 * memory. Each has a stack of its own (stack.h). Results are physical addresses (KernBench ADR-0048 D3 and D7,
 * PEMemAllocator). */
#ifndef TLMALLOC_MEMORY_PE_MEMORY_H
#define TLMALLOC_MEMORY_PE_MEMORY_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/memory_kind.h"
#include "tlmalloc/memory/guard.h"
#include "tlmalloc/stack/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Free lists in memory ---
 *
 * A free list that is kept in memory: the nodes that an operation reads and writes, and their contents.
 *
 * Every free block has a node, a record of TLA_LIST_NODE_BYTES at slot * TLA_LIST_NODE_BYTES of a reserved range. A
 * block keeps its slot as long as it is on the list. A new block takes the most recently released slot, or a fresh one.
 * The engine keeps the slot of the first node in a register. An allocation walks the nodes that its receipt counts. A
 * free cannot bisect a linked list, and walks to the first node after its place. A cache of nodes in front is fully
 * associative, evicts the least recently used node, and is written through.
 *
 * This structure follows the list; it places no blocks. It keeps its own list in an array: O(blocks) per change, which
 * is the cost of the walk anyway. */

/* The location of a controller's free lists. */
typedef enum tla_free_list_place {
    TLA_LIST_REGISTERS, /* nodes cost the prices of the receipt */
    TLA_LIST_SRAM,      /* plus a fixed time for each access */
    TLA_LIST_HBM,       /* plus the time of real accesses, for the HBM's list */
    TLA_LIST_PLACE_COUNT
} tla_free_list_place;

/* Name as in configuration files, "registers", "sram", "hbm"; NULL for an unknown value. */
const char *tla_free_list_place_name(tla_free_list_place place);

/* A node, little-endian: bytes 0-5 offset, 6-11 size, 12-15 slot of the next node, TLA_LIST_END after the last. */
enum { TLA_LIST_NODE_BYTES = 16 };
#define TLA_LIST_END UINT32_MAX

typedef struct tla_list_in_memory tla_list_in_memory;

/* One access to a node. */
typedef struct tla_list_access {
    uint32_t slot;
    bool write;
    bool hit;                            /* a read that the cache serves */
    uint8_t record[TLA_LIST_NODE_BYTES]; /* the written bytes, or those that a read finds in memory */
} tla_list_access;

/* Follows an arena whose base is 0, starting with its present free blocks; their writes are the first returned
 * accesses. `nodes` (2 .. 2^31) slots are reserved, `cache_entries` nodes are cached (0: none). TLA_UNSUPPORTED for a
 * policy that does not walk a list from the front (first, best, next and worst fit do). TLA_INVALID_ARGUMENT, TLA_LIMIT
 * when the arena has more free blocks than slots, TLA_NO_HOST_MEMORY. After an error *traffic is NULL. */
tla_status tla_list_in_memory_create(const tla_arena *arena, uint64_t nodes, uint64_t cache_entries,
                                     tla_list_in_memory **traffic);
void tla_list_in_memory_destroy(tla_list_in_memory *traffic);

/* Call it before an operation of the arena: a free of `freed`, or an allocation when that is NULL. TLA_LIMIT for a free
 * that would need a node when none is left, TLA_NO_HOST_MEMORY: the operation must not be executed then. */
tla_status tla_list_in_memory_prepare(tla_list_in_memory *traffic, const tla_block *freed);

/* As tla_list_in_memory_prepare, for n consecutive operations. TLA_LIMIT when n frees could need more nodes than are
 * left. */
tla_status tla_list_in_memory_prepare_batch(tla_list_in_memory *traffic, size_t n, bool frees);

/* Follows an operation that the arena has executed, and appends its accesses. `block` is the allocated or released
 * range, as granted, NULL when nothing fitted; `work` the receipt of this operation alone. */
void tla_list_in_memory_alloc(tla_list_in_memory *traffic, const tla_block *block, const tla_work *work);
void tla_list_in_memory_free(tla_list_in_memory *traffic, tla_block block);

/* Returns the *count accesses since the last call of tla_list_in_memory_clear, in order. */
const tla_list_access *tla_list_in_memory_accesses(const tla_list_in_memory *traffic, size_t *count);
void tla_list_in_memory_clear(tla_list_in_memory *traffic);

/* Returns the slot of the first node, TLA_LIST_END without free blocks. */
uint32_t tla_list_in_memory_head(const tla_list_in_memory *traffic);

/* --- The memories --- */

/* The addresses of a controller's memories: in ALLOC, FREE and every other command, in data and debug accesses and in
 * DMI. */
typedef enum tla_address_layout {
    TLA_LAYOUT_KERNBENCH, /* sip, die, pe and the kind of memory, in 51 bits (phys_addr.h) */
    TLA_LAYOUT_PLAIN      /* the memory's own base + offset */
} tla_address_layout;

/* One memory; all 0: the memory is missing. */
typedef struct tla_memory_part {
    uint64_t bytes;    /* 0: the memory is missing */
    uint64_t reserved; /* the top bytes among these, never allocated: kept by a TCM's scheduler (ADR-0014), or by the
                          controller for a free list */
    tla_stack_policy policy; /* a tla_policy, or a front over one */
    tla_front_sizes front;   /* sizes of the front that the policy names */
    /* Plain layout: the address of the first byte, a multiple of the alignment. No two memories may overlap, and none
     * may exceed 2^64, at which a memory may end. A pe_mmu maps addresses below 2^51. */
    uint64_t base;
} tla_memory_part;

typedef struct tla_pe_memory_config {
    /* The owner of the memories, in the ranges of phys_addr.h: pe is 0 for a cube, all three are 0 for the host. */
    uint32_t sip, die, pe;
    /* Each has at most tla_memory_kind_bytes_max, PEs 0 .. pe of a cube together. In the plain layout the limit is
     * TLA_HOST_MEMORY_BYTES, and sip, die and pe only identify the memories. */
    tla_memory_part of[TLA_MEMORY_KIND_COUNT];
    uint64_t alignment;     /* alignment of all memories, as tla_arena_config; 0 = byte granular, as in ADR-0048 */
    bool validate;          /* for all memories, as tla_stack_config */
    bool guarded;           /* validates frees, and tla_pe_memory_look works */
    uint64_t guard_history; /* freed blocks of a memory that a guarded memory remembers */
    tla_address_layout layout;
} tla_pe_memory_config;

typedef struct tla_pe_memory tla_pe_memory;

/* A byte by its address, and the decoded location: computed once, and passed on. */
typedef struct tla_site {
    tla_paddr pa;
    tla_memory_kind memory; /* TLA_MEMORY_KIND_COUNT: the address belongs to none of these memories */
    uint64_t offset;        /* offset in that memory */
} tla_site;

/* Checks a configuration. The numbers of sip, die and pe must be valid. The sizes, and plain bases, must fit the
 * address map and each other. Every memory must be able to have its stack. Returns TLA_OK, or TLA_INVALID_ARGUMENT with
 * an error that names the member or the memory, its value and the expected value. */
tla_status tla_pe_memory_check_config(const tla_pe_memory_config *config, tla_error *error);

/* Returns the bytes of a memory, including reserves; 0: the memory is missing. */
uint64_t tla_pe_memory_bytes(const tla_pe_memory_config *config, tla_memory_kind kind);

/* Returns the bytes among these that can be allocated. */
uint64_t tla_pe_memory_capacity(const tla_pe_memory_config *config, tla_memory_kind kind);

/* Returns the configuration of a memory's stack. */
tla_stack_config tla_pe_memory_stack_config(const tla_pe_memory_config *config, tla_memory_kind kind);

/* Computes the address of a byte of a memory. TLA_INVALID_ARGUMENT for a missing byte. */
tla_status tla_pe_memory_address(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset,
                                 tla_paddr *pa);

/* Return the location of an address, and the site of a byte of a memory. Reserved bytes are also sites. */
tla_site tla_pe_memory_find_site(const tla_pe_memory_config *config, tla_paddr pa);
tla_site tla_pe_memory_site_at(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset);

/* Errors as tla_pe_memory_check_config and tla_stack_create; *memory is NULL then. */
tla_status tla_pe_memory_create(const tla_pe_memory_config *config, tla_pe_memory **memory);
void tla_pe_memory_destroy(tla_pe_memory *memory);

const tla_pe_memory_config *tla_pe_memory_get_config(const tla_pe_memory *memory);

/* Sets the owner of the following calls (tla_who in .who); kept with each block of a guarded memory. */
void tla_pe_memory_set_owner(tla_pe_memory *memory, tla_owner owner);

/* Errors as tla_stack_alloc, and TLA_INVALID_ARGUMENT for an unknown memory. */
tla_status tla_pe_memory_take(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                              tla_site *at, tla_work *work);

/* Allocates a block that another component has placed: as tla_stack_reserve. TLA_INVALID_ARGUMENT for 0 bytes,
 * TLA_OUT_OF_RANGE where the bytes are not in one of these memories. TLA_UNSUPPORTED for a guarded memory, and for a
 * memory whose list is followed. */
tla_status tla_pe_memory_put(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work);

/* The same for a block whose place its own controller has chosen: also in a guarded memory, for the owner of
 * tla_pe_memory_set_owner. */
tla_status tla_pe_memory_take_at(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work);

/* As tla_stack_trim. */
tla_status tla_pe_memory_trim(tla_pe_memory *memory, tla_memory_kind kind, uint64_t *given_back, tla_work *work);

/* TLA_OUT_OF_RANGE for a range that is not in one of these memories, or lies in the scheduler's reserve. TLA_NOT_OWNER
 * for a guarded block of another context; else as tla_stack_free. */
tla_status tla_pe_memory_give_back(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work);

/* The same by address: allocates the default tensor, and releases in the memory of the address. */
tla_status tla_pe_memory_alloc(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                               tla_work *work);
tla_status tla_pe_memory_free(tla_pe_memory *memory, tla_paddr pa, uint64_t nbytes, tla_work *work);

/* As tla_stack_alloc_batch; where the list is followed, carved batches only, with a walk for each block. */
tla_status tla_pe_memory_request_batch(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                                       size_t n, tla_batch batch, tla_block *blocks, tla_work *work);

/* As tla_stack_free_batch, for blocks of one memory with their requested bytes. TLA_NOT_OWNER for a guarded block of
 * another context. Where the list is followed, too, it works block by block. TLA_LIMIT then means that it could need
 * more nodes than are left, even if all blocks might succeed. */
tla_status tla_pe_memory_free_batch(tla_pe_memory *memory, tla_memory_kind kind, tla_block *blocks, size_t n,
                                    size_t *freed, tla_work *work);

/* The text of the last free that the guard rejected, or the memory's stack (tla_stack_last_error). */
const tla_error *tla_pe_memory_last_error(const tla_pe_memory *memory, tla_memory_kind kind);

/* Finds the memory of an address, and the offset there, whether or not its allocators exist; reserved TCM is
 * addressable. TLA_OUT_OF_RANGE when [pa, pa + nbytes) does not lie wholly inside one memory. */
tla_status tla_pe_memory_locate(const tla_pe_memory_config *config, tla_paddr pa, uint64_t nbytes,
                                tla_memory_kind *kind, uint64_t *offset);

/* From now on a memory's list lies in memory; allocations and frees add to its accesses, and fail as
 * tla_list_in_memory_prepare. A repeated call starts again from the present free blocks. Errors as
 * tla_list_in_memory_create; TLA_UNSUPPORTED also with a front, whose own lists are not followed. */
tla_status tla_pe_memory_follow(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nodes, uint64_t cache_entries);

/* Returns the followed list; NULL when the list is not followed. */
tla_list_in_memory *tla_pe_memory_traffic(tla_pe_memory *memory, tla_memory_kind kind);

/* As tla_arena_drive, for a memory's list; the engine's offsets begin at the memory's first byte. TLA_UNSUPPORTED also
 * with a front that keeps lists of its own (tla_front_has_own_lists), and where the list is followed. Following the
 * list is TLA_UNSUPPORTED from then on. *error names the memory. */
tla_status tla_pe_memory_drive(tla_pe_memory *memory, tla_memory_kind kind, const tla_engine *engine, uint64_t nodes,
                               tla_error *error);

/* As tla_stack_granted, for a block at an offset of a memory: call it before the block is freed. */
uint64_t tla_pe_memory_granted(const tla_pe_memory *memory, tla_memory_kind kind, tla_block block);

/* As tla_guard_look, tla_guard_note, tla_guard_trust and tla_arena_find, for offsets in a guarded memory. In other
 * memories they return TLA_OK, do nothing, do nothing, and return TLA_UNSUPPORTED. The scheduler's and the controller's
 * reserves are not guarded. */
tla_status tla_pe_memory_look(const tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access,
                              tla_error *error);
void tla_pe_memory_note(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access);
void tla_pe_memory_trust(tla_pe_memory *memory, tla_memory_kind kind, tla_block range);
tla_status tla_pe_memory_find(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t offset, tla_block *block,
                              tla_owner *owner);

/* As tla_guard_copied, in guarded memories. */
void tla_pe_memory_copied(tla_pe_memory *memory, tla_site from, uint64_t nbytes, tla_site to);

/* As tla_guard_set_shares, where the memory is guarded; otherwise without effect. */
void tla_pe_memory_set_shares(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_shares *shares);

tla_arena_stats tla_pe_memory_get_stats(const tla_pe_memory *memory, tla_memory_kind kind);

/* Returns the stack of a memory, for functions of stack.h beyond this header: owners, snapshots, statistics of a front.
 * Offsets there are those of the memory. NULL for an unknown memory. */
tla_stack *tla_pe_memory_stack(tla_pe_memory *memory, tla_memory_kind kind);

/* Returns its arena (tla_stack_arena). */
tla_arena *tla_pe_memory_arena(tla_pe_memory *memory, tla_memory_kind kind);

/* As tla_stack_explain; the text names the memory and its PE or cube. */
tla_status tla_pe_memory_explain(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
