/* Where a matrix lies on the PEs of one SIP by policy: KernBench's DPPolicy (ADR-0026).
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
#ifndef TLMALLOC_KERNEL_MATRIX_LAYOUT_H
#define TLMALLOC_KERNEL_MATRIX_LAYOUT_H

#include "tlmalloc/kernel/tensor_shards.h"

#ifdef __cplusplus
extern "C" {
#endif

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
