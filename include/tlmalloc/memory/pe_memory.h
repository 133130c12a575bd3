/* What one memory controller allocates: of a PE its HBM slice and its TCM, of a cube its SRAM or the memory of its
 * M_CPU, of the host its memory, each served by a stack of its own (stack.h), physical addresses out (KernBench
 * ADR-0048 D3 and D7, PEMemAllocator). */
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
 * A free list that is kept in memory: which of its nodes an operation reads and writes, and what stands in them.
 *
 * Every free block has a node, a record of TLA_LIST_NODE_BYTES at slot * TLA_LIST_NODE_BYTES of a reserved range. A
 * block keeps its slot as long as it is on the list; a new one takes the slot that was given up last, or a fresh one.
 * The engine keeps the slot of the first node in a register. An allocation walks the nodes that its receipt counts; a
 * free, which cannot search by halves in a linked list, walks to the first node behind its place. A cache of nodes in
 * front is fully associative, least recently used first out, and written through.
 *
 * This structure follows the list; it places nothing. It keeps its own list in an array: O(blocks) a change, which is
 * what the walk costs anyway. */

/* Where a controller keeps its free lists. */
typedef enum tla_free_list_place {
    TLA_LIST_REGISTERS, /* nodes cost what the prices of the receipt say */
    TLA_LIST_SRAM,      /* and a fixed time for each access */
    TLA_LIST_HBM,       /* and the time of real accesses, of the HBM's list */
    TLA_LIST_PLACE_COUNT
} tla_free_list_place;

/* Name as in configuration files, "registers", "sram", "hbm"; NULL for a value that is none. */
const char *tla_free_list_place_name(tla_free_list_place place);

/* A node, little-endian: bytes 0-5 offset, 6-11 size, 12-15 slot of the next node, TLA_LIST_END behind the last. */
enum { TLA_LIST_NODE_BYTES = 16 };
#define TLA_LIST_END UINT32_MAX

typedef struct tla_list_in_memory tla_list_in_memory;

/* One access to a node. */
typedef struct tla_list_access {
    uint32_t slot;
    bool write;
    bool hit;                            /* a read that the cache serves */
    uint8_t record[TLA_LIST_NODE_BYTES]; /* what is written, or what a read finds in memory */
} tla_list_access;

/* Follows an arena whose base is 0, from the free blocks that it has now; their writes are the first accesses that are
 * handed out. `nodes` (2 .. 2^31) slots are reserved, `cache_entries` nodes are cached (0: none). TLA_UNSUPPORTED for a
 * policy that does not walk a list from the front (first, best, next and worst fit do), TLA_INVALID_ARGUMENT, TLA_LIMIT
 * when the arena has more free blocks than there are slots, TLA_NO_HOST_MEMORY; *traffic is NULL then. */
tla_status tla_list_in_memory_create(const tla_arena *arena, uint64_t nodes, uint64_t cache_entries,
                                     tla_list_in_memory **traffic);
void tla_list_in_memory_destroy(tla_list_in_memory *traffic);

/* To be called before an operation of the arena: a free of `freed`, an allocation when that is NULL. TLA_LIMIT for a
 * free that would need a node when none is left, TLA_NO_HOST_MEMORY: the operation must not be done then. */
tla_status tla_list_in_memory_prepare(tla_list_in_memory *traffic, const tla_block *freed);

/* The same for n operations that come one after the other. TLA_LIMIT when n frees could need more nodes than are left.
 */
tla_status tla_list_in_memory_prepare_batch(tla_list_in_memory *traffic, size_t n, bool frees);

/* Follows an operation that the arena has done, and appends its accesses. `block` is what was taken or given back, as
 * granted, NULL when nothing fitted; `work` the receipt of this operation alone. */
void tla_list_in_memory_alloc(tla_list_in_memory *traffic, const tla_block *block, const tla_work *work);
void tla_list_in_memory_free(tla_list_in_memory *traffic, tla_block block);

/* The accesses since the last call of tla_list_in_memory_clear, in order; *count of them. */
const tla_list_access *tla_list_in_memory_accesses(const tla_list_in_memory *traffic, size_t *count);
void tla_list_in_memory_clear(tla_list_in_memory *traffic);

/* The slot of the first node, TLA_LIST_END when nothing is free. */
uint32_t tla_list_in_memory_head(const tla_list_in_memory *traffic);

/* --- The memories --- */

/* What the addresses of a controller's memories are: in ALLOC, FREE and every other command, in data and debug accesses
 * and in DMI. */
typedef enum tla_address_layout {
    TLA_LAYOUT_KERNBENCH, /* sip, die, pe and what kind of memory it is, in 51 bits (phys_addr.h) */
    TLA_LAYOUT_PLAIN      /* the memory's own base + offset */
} tla_address_layout;

/* One memory; all 0: there is none. */
typedef struct tla_memory_part {
    uint64_t bytes;          /* 0: there is none */
    uint64_t reserved;       /* of these the top ones, never allocated: kept by a TCM's scheduler (ADR-0014), or by the
                                controller for a free list */
    tla_stack_policy policy; /* a tla_policy, or a front over one */
    tla_front_sizes front;   /* of the front that the policy names */
    /* Plain layout: where the first byte has its address, a multiple of the alignment; no two memories overlap and none
     * goes past 2^64, which one may end at. A pe_mmu maps what lies below 2^51. */
    uint64_t base;
} tla_memory_part;

typedef struct tla_pe_memory_config {
    uint32_t sip, die, pe; /* whose memory it is: ranges of phys_addr.h; pe 0 where it is a cube's, all 0 the host's */
    /* Each at most tla_memory_kind_bytes_max, PEs 0 .. pe of a cube together; in the plain layout
     * TLA_HOST_MEMORY_BYTES, and sip, die and pe say only whose they are. */
    tla_memory_part of[TLA_MEMORY_KIND_COUNT];
    uint64_t alignment;     /* of all, as tla_arena_config; 0 = byte granular, as ADR-0048 */
    bool validate;          /* of all, as tla_stack_config */
    bool guarded;           /* validates frees, and tla_pe_memory_look works */
    uint64_t guard_history; /* freed blocks of a memory that a guarded memory remembers */
    tla_address_layout layout;
} tla_pe_memory_config;

typedef struct tla_pe_memory tla_pe_memory;

/* A byte by its address, and where that leads: worked out once, and passed on. */
typedef struct tla_site {
    tla_paddr pa;
    tla_memory_kind memory; /* TLA_MEMORY_KIND_COUNT: it leads to none of these memories */
    uint64_t offset;        /* there */
} tla_site;

/* Whether the numbers of sip, die and pe are some and the sizes fit the address map and each other, plain bases too,
 * and every memory can have its stack: TLA_OK, or TLA_INVALID_ARGUMENT with an error that names the member or the
 * memory, what it is and what was expected. */
tla_status tla_pe_memory_check_config(const tla_pe_memory_config *config, tla_error *error);

/* Bytes of a memory, reserves included; 0: there is none. */
uint64_t tla_pe_memory_bytes(const tla_pe_memory_config *config, tla_memory_kind kind);

/* Of these, those that can be allocated. */
uint64_t tla_pe_memory_capacity(const tla_pe_memory_config *config, tla_memory_kind kind);

/* What serves a memory. */
tla_stack_config tla_pe_memory_stack_config(const tla_pe_memory_config *config, tla_memory_kind kind);

/* Address of a byte of a memory. TLA_INVALID_ARGUMENT where there is none. */
tla_status tla_pe_memory_address(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset,
                                 tla_paddr *pa);

/* Where an address leads, and the site of a byte of a memory. Reserved bytes are sites, too. */
tla_site tla_pe_memory_find_site(const tla_pe_memory_config *config, tla_paddr pa);
tla_site tla_pe_memory_site_at(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset);

/* Errors as tla_pe_memory_check_config and tla_stack_create; *memory is NULL then. */
tla_status tla_pe_memory_create(const tla_pe_memory_config *config, tla_pe_memory **memory);
void tla_pe_memory_destroy(tla_pe_memory *memory);

const tla_pe_memory_config *tla_pe_memory_get_config(const tla_pe_memory *memory);

/* Who the following calls are made for (tla_who in .who); kept with each block of a guarded memory. */
void tla_pe_memory_set_owner(tla_pe_memory *memory, tla_owner owner);

/* Errors as tla_stack_alloc, and TLA_INVALID_ARGUMENT for a memory that is none. */
tla_status tla_pe_memory_take(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                              tla_site *at, tla_work *work);

/* Takes a block that somebody else has placed: as tla_stack_reserve, and TLA_INVALID_ARGUMENT for 0 bytes and
 * TLA_OUT_OF_RANGE where the bytes are not in one of these memories. Not for a guarded memory, nor for one whose list
 * is followed: TLA_UNSUPPORTED. */
tla_status tla_pe_memory_put(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work);

/* As tla_stack_trim. */
tla_status tla_pe_memory_trim(tla_pe_memory *memory, tla_memory_kind kind, uint64_t *given_back, tla_work *work);

/* TLA_OUT_OF_RANGE for a range that is not in one of these memories, or lies in the scheduler's reserve, TLA_NOT_OWNER
 * for a guarded block of another context; else as tla_stack_free. */
tla_status tla_pe_memory_give_back(tla_pe_memory *memory, tla_site at, uint64_t nbytes, tla_work *work);

/* The same by address: of the default tensor, and of the memory that the address leads to. */
tla_status tla_pe_memory_alloc(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                               tla_work *work);
tla_status tla_pe_memory_free(tla_pe_memory *memory, tla_paddr pa, uint64_t nbytes, tla_work *work);

/* As tla_stack_alloc_batch, and carved only where the list is followed, by a walk for each block. */
tla_status tla_pe_memory_request_batch(tla_pe_memory *memory, tla_memory_kind kind, const tla_stack_request *request,
                                       size_t n, tla_batch batch, tla_block *blocks, tla_work *work);

/* As tla_stack_free_batch, for blocks of one memory that say the bytes which were asked for, TLA_NOT_OWNER for a
 * guarded one of another context, and block by block where the list is followed, too: TLA_LIMIT when that could need
 * more nodes than are left, though all may go. */
tla_status tla_pe_memory_free_batch(tla_pe_memory *memory, tla_memory_kind kind, tla_block *blocks, size_t n,
                                    size_t *freed, tla_work *work);

/* The text of the last free that was refused by the guard, or by the memory's stack (tla_stack_last_error). */
const tla_error *tla_pe_memory_last_error(const tla_pe_memory *memory, tla_memory_kind kind);

/* Which of the memories an address leads to, and the offset there, whether or not its allocators exist; reserved TCM
 * is addressable. TLA_OUT_OF_RANGE when [pa, pa + nbytes) does not lie wholly inside one of them. */
tla_status tla_pe_memory_locate(const tla_pe_memory_config *config, tla_paddr pa, uint64_t nbytes,
                                tla_memory_kind *kind, uint64_t *offset);

/* From now on a memory's list lies in memory; allocations and frees add to its accesses, and fail as
 * tla_list_in_memory_prepare. Called again, it starts anew from the free blocks of the moment. Errors as
 * tla_list_in_memory_create; TLA_UNSUPPORTED with a front, too, whose own lists are not followed. */
tla_status tla_pe_memory_follow(tla_pe_memory *memory, tla_memory_kind kind, uint64_t nodes, uint64_t cache_entries);

/* The list that is followed; NULL when none is. */
tla_list_in_memory *tla_pe_memory_traffic(tla_pe_memory *memory, tla_memory_kind kind);

/* As tla_arena_drive, for a memory's list; offsets that the engine is told begin at the memory's first byte.
 * TLA_UNSUPPORTED, too, with a front that keeps lists of its own (slot_pool, mixed, lazy) and where the list is
 * followed, which is TLA_UNSUPPORTED from then on. *error names the memory. */
tla_status tla_pe_memory_drive(tla_pe_memory *memory, tla_memory_kind kind, const tla_engine *engine, uint64_t nodes,
                               tla_error *error);

/* As tla_stack_granted, for a block at an offset of a memory: to be asked before it is freed. */
uint64_t tla_pe_memory_granted(const tla_pe_memory *memory, tla_memory_kind kind, tla_block block);

/* As tla_guard_look, tla_guard_note, tla_guard_trust and tla_arena_find, for offsets in a guarded memory;
 * else TLA_OK, nothing, nothing, and TLA_UNSUPPORTED. The scheduler's and the controller's reserves are not guarded. */
tla_status tla_pe_memory_look(const tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access,
                              tla_error *error);
void tla_pe_memory_note(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_access *access);
void tla_pe_memory_trust(tla_pe_memory *memory, tla_memory_kind kind, tla_block range);
tla_status tla_pe_memory_find(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t offset, tla_block *block,
                              tla_owner *owner);

/* As tla_guard_set_shares, where the memory is guarded; else nothing. */
void tla_pe_memory_set_shares(tla_pe_memory *memory, tla_memory_kind kind, const tla_guard_shares *shares);

tla_arena_stats tla_pe_memory_get_stats(const tla_pe_memory *memory, tla_memory_kind kind);

/* The stack of a memory, for what stack.h offers beyond this header: owners, snapshots, statistics of a front. Offsets
 * there are those of the memory. NULL for a memory that is none. */
tla_stack *tla_pe_memory_stack(tla_pe_memory *memory, tla_memory_kind kind);

/* Its arena (tla_stack_arena). */
tla_arena *tla_pe_memory_arena(tla_pe_memory *memory, tla_memory_kind kind);

/* As tla_stack_explain; the text names the memory and its PE or cube. */
tla_status tla_pe_memory_explain(const tla_pe_memory *memory, tla_memory_kind kind, uint64_t nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
