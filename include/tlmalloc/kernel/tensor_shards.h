/* How a tensor lies in the memories of PEs: which part goes where, which commands map it, what a page fault needs. */
#ifndef TLMALLOC_KERNEL_TENSOR_SHARDS_H
#define TLMALLOC_KERNEL_TENSOR_SHARDS_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_pe_location {
    uint32_t sip, cube, pe;
} tla_pe_location;

/* Whose memory a PE's blocks of one kind lie in: the PE's own; PE 0 of its cube stands for the cube's memories, the
 * first PE of all for the host's. */
tla_pe_location tla_memory_of_pe(tla_memory_kind kind, tla_pe_location pe);

/* A part of a tensor in one memory. */
typedef struct tla_shard {
    tla_pe_location where;
    tla_paddr pa;
    uint64_t nbytes, offset; /* offset: of its first byte in the tensor */
    uint64_t ready_ps;       /* when the first page fault in it was answered; 0 = there was none */
} tla_shard;

/* How a tensor comes to lie where its layout says. */
typedef enum tla_spread {
    TLA_SPREAD_SPLIT,     /* contiguous equal parts, one for each PE in order; every MMU maps all of them */
    TLA_SPREAD_REPLICATE, /* a whole copy in every cube, split over the PEs there; mapped in its own cube only */
    TLA_SPREAD_DEMAND,    /* nothing at first: a page comes to the PE that touches it first, mapped in every MMU */
    TLA_SPREAD_MATRIX     /* as a layout by policy says */
} tla_spread;

struct tla_matrix_layout;

typedef struct tla_tensor {
    tla_spread spread;
    tla_vaddr va;
    uint64_t nbytes;
    const tla_shard *shards;
    size_t count;
    tla_scope scope; /* of all PEs that there are */
    uint32_t asid;
    const struct tla_matrix_layout *layout; /* TLA_SPREAD_MATRIX */
    bool read_only;                         /* mapped so that PEs may read it only */
} tla_tensor;

/* The parts of a tensor, without addresses: shards[0 .. result), of which there are at most pe_count. Whole elements;
 * where they do not come out even the first parts are one larger, and where there are fewer than PEs the last PEs get
 * none. 0 with TLA_SPREAD_DEMAND and TLA_SPREAD_MATRIX (tla_matrix_layout_split). elements * element_bytes must not
 * pass 2^64 - 1. */
size_t tla_tensor_split(tla_spread spread, const tla_pe_location *pes, size_t pe_count, uint64_t elements,
                        uint32_t element_bytes, tla_shard *shards);

/* Whether a shard belongs to another copy of a replicated tensor than the first. */
bool tla_tensor_is_copy(const tla_tensor *tensor, const tla_shard *shard);

/* The command (opcode TLA_OP_MAP or TLA_OP_UNMAP) for shards[from] and as many of those behind it as fit and have its
 * scope; its tag and target are the sender's. Returns how many shards it holds. */
size_t tla_tensor_map_command(const tla_tensor *tensor, size_t from, tla_opcode opcode, tla_command *command);

/* What the fault of a PE at a byte of a tensor needs. */
typedef enum tla_page_need {
    TLA_PAGE_NOTHING, /* another fault has brought it: it is there at its shard's ready_ps */
    TLA_PAGE_TIME,    /* it was mapped when the tensor was made, and is on its way to the PE */
    TLA_PAGE_MAP,     /* it is mapped, and did not get there: the mapping was lost */
    TLA_PAGE_MEMORY,  /* it is not there: to be allocated in this PE, and mapped */
    TLA_PAGE_REFUSAL  /* it is not there, and the tensor is not on demand */
} tla_page_need;

/* `again`: the PE has been answered for this byte before, and it is not mapped still. *which is the index of the shard
 * that the byte lies in; with TLA_PAGE_MEMORY *page is the shard that it will lie in, one page without an address. */
tla_page_need tla_tensor_page(const tla_tensor *tensor, const tla_pe_location *pe, tla_vaddr va, bool again,
                              uint64_t page_size, size_t *which, tla_shard *page);

/* --- A matrix by policy ---
 *
 * Where a matrix lies on the PEs of one SIP by policy: KernBench's DPPolicy (ADR-0026).
 *
 * Two policies, one for the cubes of the SIP and one for the PEs of each of these cubes. The cubes' policy cuts the
 * matrix into a block for each cube: by columns, by rows, or the whole of it for every one. The PEs' policy cuts a
 * cube's block into a shard for each PE in the same way. Where rows or columns do not come out even the first parts are
 * one larger; where there are fewer than parts, the last get none.
 *
 * A shard is contiguous in its PE's HBM, row by row. In virtual memory a copy of the matrix is its shards one after the
 * other, in ascending order of cube, then of PE (KernBench: shard VA = VA of the tensor + offset_bytes), and all copies
 * have the same addresses. So only a matrix that is cut by rows throughout lies in virtual memory row by row; of every
 * other one tla_matrix_layout_find says where an element is, and tla_matrix_layout_pack brings a matrix into this
 * order.
 *
 * Who sees what: a block that cubes replicate is mapped in its own cube only, everything else everywhere. Of a shard
 * that the PEs of a cube replicate, PE p of any cube that sees it sees the copy of PE p % (number of PEs). */

typedef enum tla_cut { TLA_COLUMN_WISE, TLA_ROW_WISE, TLA_REPLICATE, TLA_CUT_COUNT } tla_cut;

/* "column_wise", "row_wise", "replicate"; NULL for a value that is none. */
const char *tla_cut_name(tla_cut cut);

typedef struct tla_matrix_layout {
    tla_cut of_cubes, of_pes;
    uint32_t sip;
    uint32_t cubes, pes; /* cubes 0 .. cubes - 1, each with PEs 0 .. pes - 1 */
    uint64_t rows, columns;
    uint32_t element_bytes;
} tla_matrix_layout;

/* TLA_INVALID_ARGUMENT, and a text that says what is wrong: a policy, SIP, number of cubes or of PEs that is none, a
 * matrix without elements, or one of more than 2^64 - 1 bytes. */
tla_status tla_matrix_layout_check(const tla_matrix_layout *layout, tla_error *error);

/* From here on the layout is one that tla_matrix_layout_check found well. */

/* Bytes of one copy: what the tensor takes of virtual memory. */
uint64_t tla_matrix_layout_bytes(const tla_matrix_layout *layout);

/* A rectangle of the matrix. */
typedef struct tla_rectangle {
    uint64_t row, column, rows, columns; /* no rows or no columns: nothing */
} tla_rectangle;

/* What of the matrix lies in a PE (cube < cubes, pe < pes), and at which offset of the tensor it begins. */
tla_rectangle tla_matrix_layout_shard(const tla_matrix_layout *layout, uint32_t cube, uint32_t pe, uint64_t *offset);

/* The shards that are not empty, without addresses, in ascending order of cube, then of PE: shards[0 .. result), of
 * which there are at most cubes * pes. */
size_t tla_matrix_layout_split(const tla_matrix_layout *layout, tla_shard *shards);

/* The PEs that see a shard, out of all that there are. */
tla_scope tla_matrix_layout_seen_by(const tla_matrix_layout *layout, const tla_shard *shard, tla_scope all);

/* Whether it belongs to another copy than the first. */
bool tla_matrix_layout_is_copy(const tla_matrix_layout *layout, const tla_shard *shard);

/* Where element (row, column) is: its offset in the tensor, so that its VA is that of the tensor + offset, and the PE
 * that has its first copy. TLA_OUT_OF_RANGE for one that is not in the matrix. */
tla_status tla_matrix_layout_find(const tla_matrix_layout *layout, uint64_t row, uint64_t column, uint64_t *offset,
                                  tla_pe_location *where);

/* The bytes of a matrix that lies row by row, in the order of the tensor; and back. Both are tla_matrix_layout_bytes.
 */
void tla_matrix_layout_pack(const tla_matrix_layout *layout, const uint8_t *matrix, uint8_t *tensor);
void tla_matrix_layout_unpack(const tla_matrix_layout *layout, const uint8_t *tensor, uint8_t *matrix);

#ifdef __cplusplus
}
#endif
#endif
