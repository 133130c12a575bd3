/* Offsets for the tensors of a network, planned before it runs: by quick rules, by search, or op by op. */
#ifndef TLMALLOC_PLAN_PLAN_H
#define TLMALLOC_PLAN_PLAN_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- By rules ---
 *
 * Offsets for tensors whose lifetimes are known: the planners of TPU-MLIR and of TFLite Micro,
 * and other rules that place each tensor once.
 *
 * Planning is a compiler's work: it has no receipt, and all of it happens in one call. The methods keep their names and
 * their defects; TPU-MLIR computes in 32 bits, which is not modelled. */

/* A tensor: live in [lower, upper) of whatever counts the program's steps. */
typedef struct tla_lifetime {
    uint64_t lower, upper; /* lower < upper */
    uint64_t nbytes;       /* at least 1 */
} tla_lifetime;

/* The largest address of a plan. */
#define TLA_PLAN_HEIGHT_MAX ((uint64_t)1 << 63)

/* In place of a fixed offset: wherever there is room. */
#define TLA_PLAN_ANYWHERE UINT64_MAX

/* [lower, upper) of a tensor's lifetime, in which its bytes are not needed: others may have them. */
typedef struct tla_plan_gap {
    size_t tensor; /* index */
    uint64_t lower, upper;
} tla_plan_gap;

/* What a plan has to respect besides lifetimes and sizes (at most TLA_PLAN_HEIGHT_MAX each). All stays the caller's. */
typedef struct tla_plan_problem {
    const tla_lifetime *tensors;
    size_t n;
    const uint64_t *alignments; /* of each offset: a power of two, 0 = 1; NULL: 1 for all */
    const uint64_t *fixed;    /* each tensor's offset or TLA_PLAN_ANYWHERE, a multiple of its alignment, so that it ends
                                 at TLA_PLAN_HEIGHT_MAX at the latest; NULL: none is fixed */
    const tla_plan_gap *gaps; /* in the order of tensors, then of time; disjoint, not the whole lifetime */
    size_t gap_count;
} tla_plan_problem;

typedef enum tla_plan_method {
    TLA_PLAN_STACK,       /* one after the other, no reuse (FitFirstAssign without reuse) */
    TLA_PLAN_FIT_FIRST,   /* FitFirstAssign: by live start, into the largest hole, which grows when it is too small */
    TLA_PLAN_SIZE_ORDER,  /* OpSizeOrderAssign: by size, into the smallest gap that is large enough */
    TLA_PLAN_TFLM_GREEDY, /* TFLite Micro's greedy planner: by size, into the first gap that is large enough */
    TLA_PLAN_GREEDY_AREA, /* into the first gap too, by size x lifetime */
    TLA_PLAN_GREEDY_LIFETIME,  /* by lifetime, then by size */
    TLA_PLAN_GREEDY_CONFLICTS, /* by how many live together with it, then by size */
    TLA_PLAN_LOWEST_FIRST,     /* always at the lowest place there is, what lives in the fullest moment first, then the
                                  longest: the first descent of the exact search, for any number of tensors */
    TLA_PLAN_METHOD_COUNT
} tla_plan_method;

/* "stack", "fit_first", "size_order", "tflm_greedy", "greedy_area", "greedy_lifetime", "greedy_conflicts",
 * "lowest_first"; NULL for a value that is none. */
const char *tla_plan_method_name(tla_plan_method method);

typedef struct tla_plan_options {
    uint64_t base;      /* added to every offset */
    uint64_t alignment; /* sizes are rounded up to a multiple; a power of two, 0 = 1 */
    bool stable_sort;   /* FIT_FIRST keeps the order of tensors that begin together; TPU-MLIR's own quicksort, which is
                           what false does, does not, and results differ by up to 1.6 times */
} tla_plan_options;

/* Plans n tensors: offsets[i] is where tensor i goes, *nbytes how much all of them take above the base. No two that are
 * live together overlap. TLA_INVALID_ARGUMENT for a tensor, an option or a sum of sizes (2^62) out of range,
 * TLA_NO_HOST_MEMORY; nothing is written then. FIT_FIRST needs host memory for n times the number of tensors that live
 * together, the others for n; time is the same, for the latter n^2, for STACK n and for LOWEST_FIRST about n log n. */
tla_status tla_plan(tla_plan_method method, const tla_lifetime *tensors, size_t n, const tla_plan_options *options,
                    uint64_t *offsets, uint64_t *nbytes);

/* What TPU-MLIR does: FIT_FIRST and SIZE_ORDER, the smaller result, the first of equals. *method (may be NULL) says
 * which. Errors as tla_plan. */
tla_status tla_plan_smaller(const tla_lifetime *tensors, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *nbytes, tla_plan_method *method);

/* Weights one after the other from the base, each on a multiple of the alignment; *end is the aligned end. Errors as
 * tla_plan. */
tla_status tla_plan_weights(const uint64_t *nbytes, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *end);

/* The most bytes (rounded up as the plan does) that are live at once: no plan can take less. Errors as tla_plan. */
tla_status tla_plan_peak(const tla_lifetime *tensors, size_t n, uint64_t alignment, uint64_t *nbytes);

/* A plan with all that the problem says, by one method; heights begin at 0. FIT_FIRST takes gaps for lifetime and
 * rounds sizes up to the largest alignment, LOWEST_FIRST takes gaps for lifetime; both say TLA_UNSUPPORTED where an
 * offset is fixed. TLA_INVALID_ARGUMENT for a problem out of range, TLA_EXHAUSTED where the method does not get by with
 * TLA_PLAN_HEIGHT_MAX, TLA_OVERLAP where fixed offsets contradict each other, TLA_NO_HOST_MEMORY; nothing is written
 * then. */
tla_status tla_plan_place(tla_plan_method method, const tla_plan_problem *problem, uint64_t *offsets, uint64_t *height);

/* The tensors up to which tla_plan_best tries what takes time n^2, and FIT_FIRST with its memory. */
enum { TLA_PLAN_BEST_QUADRATIC_MAX = 20000, TLA_PLAN_BEST_FIT_FIRST_MAX = 4000 };

/* The lowest of all methods' plans, the first of equals. heights[TLA_PLAN_METHOD_COUNT] (may be NULL) has that of each,
 * UINT64_MAX where it has none. Errors as tla_plan_place, when no method has a plan. */
tla_status tla_plan_best(const tla_plan_problem *problem, uint64_t *offsets, uint64_t *height, tla_plan_method *method,
                         uint64_t *heights);

/* No plan takes less than *nbytes: the most that lives at once, alignment considered, or the end of a fixed tensor.
 * tensors[n] (may be NULL) are those that make the bound, *count of them. TLA_EXHAUSTED where more than
 * TLA_PLAN_HEIGHT_MAX live together, TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY. O(n log n). */
tla_status tla_plan_bound(const tla_plan_problem *problem, uint64_t *nbytes, size_t *tensors, size_t *count);

/* Whether no two tensors that are live together overlap: TLA_OK, or TLA_OVERLAP and the first such pair in time
 * (first < second; NULL = not wanted), or TLA_NO_HOST_MEMORY. Sizes are taken as they are. O(n log n). */
tla_status tla_plan_check(const tla_lifetime *tensors, const uint64_t *offsets, size_t n, size_t *first,
                          size_t *second);

/* The same for all that a problem says: gaps do not overlap, TLA_OUT_OF_RANGE for a tensor that ends above the capacity
 * and TLA_INVALID_ARGUMENT for one that is not aligned or not where it is fixed (*first and *second are both it), or
 * for a problem out of range, which is none of them. */
tla_status tla_plan_check_problem(const tla_plan_problem *problem, const uint64_t *offsets, uint64_t capacity,
                                  size_t *first, size_t *second);

/* --- By search ---
 *
 * Offsets for tensors whose lifetimes are known, by search: a plan below a height, or the proof that there is none, and
 * the least height. After MiniMalloc (Moffitt, ASPLOS 2023). The problem is that of the rules.
 *
 * The search knows no clock and draws no random numbers: the same problem has the same plan, whenever it is stopped. It
 * is for problems of some thousand tensors; it needs host memory for the pairs that live together. */

/* When a search ends without a result. A node is a tensor that is placed, which takes about a microsecond. */
typedef struct tla_plan_limits {
    uint64_t nodes;              /* 0: no limit */
    bool (*stop)(void *context); /* true ends the search; asked every few milliseconds; NULL: never */
    void *context;
} tla_plan_limits;

/* Looks for a plan in which every tensor ends at `capacity` bytes at most. TLA_OK: offsets[n] is one; TLA_EXHAUSTED:
 * there is none; TLA_LIMIT: neither was found within the limits (NULL: none), or more tensors live together than can be
 * searched (2^26 pairs). TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY. Nothing is written unless TLA_OK, but *nodes (may be
 * NULL), which is how many were visited. */
tla_status tla_plan_exact(const tla_plan_problem *problem, uint64_t capacity, const tla_plan_limits *limits,
                          uint64_t *offsets, uint64_t *nodes);

/* Where the least height lies. */
typedef struct tla_plan_range {
    uint64_t bound;  /* no plan takes less */
    uint64_t height; /* of the plan */
    uint64_t nodes;  /* visited */
} tla_plan_range;

/* Lowers a plan, offsets[n], to the least height by bisection between it and the bound. TLA_OK: it is the lowest there
 * is, bound and height are equal; TLA_LIMIT: the limits came first, and it is the lowest that was found. Both write
 * *range. TLA_INVALID_ARGUMENT for a problem out of range or offsets that are no plan, TLA_NO_HOST_MEMORY; nothing is
 * written then. */
tla_status tla_plan_minimize(const tla_plan_problem *problem, const tla_plan_limits *limits, uint64_t *offsets,
                             tla_plan_range *range);

/* --- Op by op ---
 *
 * Global memory for the tensors of a network, op by op, reused by reference count: TPU-MLIR's first allocator with
 * reuse (seed 002).
 *
 * The table only grows: an entry for every tensor, with its offset, its size and how many uses are left. A new tensor
 * takes the offset of the OLDEST entry that meets the seed's five conditions, whole, however large it is; nothing is
 * split and nothing joined. Where none does, it takes new memory at the end.
 *
 * The seed's set of offsets in use counts an offset once, though a reshape puts a second tensor on it: when the first
 * dies, the offset can be given away under the second. That is modelled as it is; count_offsets is the version that
 * counts. Offset 0 means "not found" in TPU-MLIR, which therefore never reuses it; here it is an offset like any. */

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
