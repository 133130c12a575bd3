/* Global memory for the tensors of a network, op by op, reused by reference count: TPU-MLIR's first allocator with
 * reuse (seed 002).
 *
 * The table only grows: an entry for every tensor, with its offset, its size and how many uses are left. A new tensor
 * takes the offset of the OLDEST entry that meets the seed's five conditions, whole, however large it is; nothing is
 * split and nothing joined. Where none does, it takes new memory at the end.
 *
 * The seed's set of offsets in use counts an offset once, though a reshape puts a second tensor on it: when the first
 * dies, the offset can be given away under the second. That is modelled as it is; count_offsets is the version that
 * counts. Offset 0 means "not found" in TPU-MLIR, which therefore never reuses it; here it is an offset like any. */
#ifndef TLMALLOC_PLAN_RECORD_TABLE_H
#define TLMALLOC_PLAN_RECORD_TABLE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_record_table tla_record_table;

typedef struct tla_record_table_config {
    uint64_t base;      /* where the tensors begin: behind the weights */
    uint64_t alignment; /* of offsets; a power of two, 0 = 1; 4096 on the BM1684X */
    bool count_offsets; /* an offset with two live tensors is in use until both are dead (not in the seed) */
} tla_record_table_config;

typedef enum tla_op_kind {
    TLA_OP_COMPUTE,  /* its outputs need memory */
    TLA_OP_RESHAPE,  /* its output is its input under another name (BM1684X): same offset, entry of its own */
    TLA_OP_NO_OUTPUT /* return, call, yield, ops inside a group: their uses count, they get nothing */
} tla_op_kind;

typedef struct tla_op_output {
    uint64_t tensor; /* any number, not used for another output of the table */
    uint64_t nbytes; /* at least 1 */
    uint64_t users;  /* how many operands of later ops are this tensor */
} tla_op_output;

typedef struct tla_op {
    tla_op_kind kind;
    const uint64_t *operands; /* tensors, one entry an occurrence; those that are not in the table are weights */
    size_t operand_count;
    const tla_op_output *outputs; /* exactly one for a reshape, none for TLA_OP_NO_OUTPUT */
    size_t output_count;
} tla_op;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *table is NULL then. */
tla_status tla_record_table_create(const tla_record_table_config *config, tla_record_table **table);
void tla_record_table_destroy(tla_record_table *table); /* NULL is allowed */

/* The next op of the program. TLA_INVALID_ARGUMENT for outputs that do not suit the kind, a tensor that is there
 * already or 0 bytes, TLA_NOT_ALLOCATED for a reshape of a tensor that is not in the table, TLA_EXHAUSTED past 2^63,
 * TLA_NO_HOST_MEMORY; nothing is changed then. O(entries) an output. */
tla_status tla_record_table_add(tla_record_table *table, const tla_op *op);

/* For a stream of allocations and frees, which has no ops: the tensor is dead, and its place may be taken by the next
 * output. TLA_NOT_ALLOCATED when it is not in the table or has been let go already. */
tla_status tla_record_table_free(tla_record_table *table, uint64_t tensor);

/* Where a tensor lies. TLA_NOT_ALLOCATED when it is not in the table. */
tla_status tla_record_table_find(const tla_record_table *table, uint64_t tensor, uint64_t *offset);

/* Bytes that the tensors take above the base, a multiple of the alignment. */
uint64_t tla_record_table_size(const tla_record_table *table);

#ifdef __cplusplus
}
#endif
#endif
