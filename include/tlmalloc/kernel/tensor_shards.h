/* The distribution of a tensor over the memories of PEs: the shards' locations, their mapping commands, and page
 * faults. */
#ifndef TLMALLOC_KERNEL_TENSOR_SHARDS_H
#define TLMALLOC_KERNEL_TENSOR_SHARDS_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_pe_location {
    uint32_t sip, cube, pe;
} tla_pe_location;

/* Returns the PE that stands for the memory of a PE's blocks of one kind: the PE itself for its own memories. PE 0 of
 * its cube stands for the cube's memories, the first PE of all for the host's. */
tla_pe_location tla_memory_of_pe(tla_memory_kind kind, tla_pe_location pe);

/* A shard: a part of a tensor in one memory. */
typedef struct tla_shard {
    tla_pe_location where;
    tla_paddr pa;
    uint64_t nbytes, offset; /* offset: of its first byte in the tensor */
    uint64_t ready_ps;       /* time at which its first page fault was answered; 0 = no page fault */
} tla_shard;

/* The method that distributes a tensor. */
typedef enum tla_spread {
    TLA_SPREAD_SPLIT,     /* contiguous equal parts, one for each PE in order; every MMU maps all parts */
    TLA_SPREAD_REPLICATE, /* a whole copy in every cube, split over its PEs; mapped in its own cube only */
    TLA_SPREAD_DEMAND, /* empty at first: a page is allocated in the PE that touches it first, and mapped in every MMU
                        */
    TLA_SPREAD_MATRIX  /* by a layout with policies */
} tla_spread;

struct tla_matrix_layout;

typedef struct tla_tensor {
    tla_spread spread;
    tla_vaddr va;
    uint64_t nbytes;
    const tla_shard *shards;
    size_t count;
    tla_scope scope; /* all existing PEs */
    uint32_t asid;
    const struct tla_matrix_layout *layout; /* TLA_SPREAD_MATRIX */
    bool read_only;                         /* PEs have read-only mappings */
} tla_tensor;

/* Computes the shards of a tensor, without addresses: shards[0 .. result), at most pe_count. Shards have whole
 * elements. If the elements do not divide evenly, the first shards are one element larger. If a tensor has fewer
 * elements than PEs, the last PEs have no shard. 0 with TLA_SPREAD_DEMAND and TLA_SPREAD_MATRIX
 * (tla_matrix_layout_split). elements * element_bytes must not exceed 2^64 - 1. */
size_t tla_tensor_split(tla_spread spread, const tla_pe_location *pes, size_t pe_count, uint64_t elements,
                        uint32_t element_bytes, tla_shard *shards);

/* Returns whether a shard belongs to a copy of a replicated tensor other than the first. */
bool tla_tensor_is_copy(const tla_tensor *tensor, const tla_shard *shard);

/* Builds the command (opcode TLA_OP_MAP or TLA_OP_UNMAP) for shards[from] and as many following shards as fit and have
 * its scope. The sender sets tag and target. Returns the number of shards in the command. */
size_t tla_tensor_map_command(const tla_tensor *tensor, size_t from, tla_opcode opcode, tla_command *command);

/* mmu.eviction: the choice of a page on demand that leaves a full memory for the host's memory. */
typedef enum tla_eviction { TLA_EVICTION_OFF, TLA_EVICTION_CLOCK, TLA_EVICTION_LRU, TLA_EVICTION_COUNT } tla_eviction;

/* "off", "clock", "lru"; NULL for an unknown value. */
const char *tla_eviction_name(tla_eviction eviction);

/* The need of a PE's page fault at a byte of a tensor. */
typedef enum tla_page_need {
    TLA_PAGE_NOTHING, /* no action: another fault has allocated the page, available at its shard's ready_ps */
    TLA_PAGE_TIME,    /* time: the page was mapped with the tensor, and the mapping is in flight to the PE */
    TLA_PAGE_MAP,     /* a MAP: the page is mapped, but the mapping was lost before it reached the PE */
    TLA_PAGE_MEMORY,  /* memory: the page is missing; allocate it in this PE and map it */
    TLA_PAGE_REFUSAL  /* rejection: the page is missing, and the tensor is not on demand */
} tla_page_need;

/* `again`: this PE has already received an answer for this byte, and the byte is still unmapped. The index of the shard
 * with the byte is written to *which. With TLA_PAGE_MEMORY *page is its future shard, one page without an address. */
tla_page_need tla_tensor_page(const tla_tensor *tensor, const tla_pe_location *pe, tla_vaddr va, bool again,
                              uint64_t page_size, size_t *which, tla_shard *page);

/* --- A matrix by policy ---
 *
 * The distribution of a matrix over the PEs of one SIP by policy: KernBench's DPPolicy (ADR-0026).
 *
 * A layout has two policies, one for the cubes of the SIP and one for the PEs of each of these cubes. The cubes' policy
 * cuts the matrix into a block for each cube: by columns, by rows, or the whole matrix for every cube. The PEs' policy
 * cuts a cube's block into a shard for each PE in the same way. If rows or columns do not divide evenly, the first
 * parts are one larger. If there are fewer rows or columns than parts, the last parts are empty.
 *
 * A shard is contiguous in its PE's HBM, row by row. In virtual memory a copy of the matrix consists of its shards in
 * ascending order of cube, then of PE. As in KernBench, shard VA = VA of the tensor + offset_bytes. All copies have the
 * same addresses. Only a matrix that both policies cut by rows is therefore row-major in virtual memory. For every
 * other matrix tla_matrix_layout_find returns the location of an element, and tla_matrix_layout_pack reorders a matrix.
 *
 * Visibility: a block that cubes replicate is mapped in its own cube only, everything else everywhere. If the PEs of a
 * cube replicate a shard, PE p of any cube in its scope uses the copy of PE p % (PEs). */

typedef enum tla_cut { TLA_COLUMN_WISE, TLA_ROW_WISE, TLA_REPLICATE, TLA_CUT_COUNT } tla_cut;

/* "column_wise", "row_wise", "replicate"; NULL for an unknown value. */
const char *tla_cut_name(tla_cut cut);

typedef struct tla_matrix_layout {
    tla_cut of_cubes, of_pes;
    uint32_t sip;
    uint32_t cubes, pes; /* cubes 0 .. cubes - 1, each with PEs 0 .. pes - 1 */
    uint64_t rows, columns;
    uint32_t element_bytes;
} tla_matrix_layout;

/* Checks a layout. TLA_INVALID_ARGUMENT, with a text, for an unknown policy or SIP, or for invalid numbers of cubes or
 * PEs. The same error reports a matrix without elements, or of more than 2^64 - 1 bytes. */
tla_status tla_matrix_layout_check(const tla_matrix_layout *layout, tla_error *error);

/* The following functions require a layout that tla_matrix_layout_check has accepted. */

/* Returns the bytes of one copy: the size of the tensor in virtual memory. */
uint64_t tla_matrix_layout_bytes(const tla_matrix_layout *layout);

/* A rectangle of the matrix. */
typedef struct tla_rectangle {
    uint64_t row, column, rows, columns; /* no rows or no columns: empty */
} tla_rectangle;

/* Returns the part of the matrix in a PE (cube < cubes, pe < pes), and its offset in the tensor. */
tla_rectangle tla_matrix_layout_shard(const tla_matrix_layout *layout, uint32_t cube, uint32_t pe, uint64_t *offset);

/* Computes the shards that are not empty, without addresses, in ascending order of cube, then of PE: shards[0 ..
 * result), at most cubes * pes. */
size_t tla_matrix_layout_split(const tla_matrix_layout *layout, tla_shard *shards);

/* Returns the PEs that map a shard, out of all existing PEs. */
tla_scope tla_matrix_layout_seen_by(const tla_matrix_layout *layout, const tla_shard *shard, tla_scope all);

/* Returns whether a shard belongs to a copy other than the first. */
bool tla_matrix_layout_is_copy(const tla_matrix_layout *layout, const tla_shard *shard);

/* Returns the location of element (row, column): its offset in the tensor, and the PE that has its first copy. The
 * element's VA is that of the tensor + offset. TLA_OUT_OF_RANGE for an element outside the matrix. */
tla_status tla_matrix_layout_find(const tla_matrix_layout *layout, uint64_t row, uint64_t column, uint64_t *offset,
                                  tla_pe_location *where);

/* Converts a row-major matrix to the order of the tensor, and back. Both have tla_matrix_layout_bytes. */
void tla_matrix_layout_pack(const tla_matrix_layout *layout, const uint8_t *matrix, uint8_t *tensor);
void tla_matrix_layout_unpack(const tla_matrix_layout *layout, const uint8_t *tensor, uint8_t *matrix);

#ifdef __cplusplus
}
#endif
#endif
