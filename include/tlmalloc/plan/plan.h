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
 * Offsets for tensors with known lifetimes: the planners of TPU-MLIR, TFLite Micro and XNNPACK, and other rules that
 * place each tensor once.
 *
 * Planning is a compiler's work: it has no receipt, and runs in one call. The methods keep their names and their
 * defects; TPU-MLIR computes in 32 bits, which is not modelled. */

/* A tensor: live in [lower, upper) of the caller's count of program steps. */
typedef struct tla_lifetime {
    uint64_t lower, upper; /* lower < upper */
    uint64_t nbytes;       /* at least 1 */
} tla_lifetime;

/* The largest address of a plan. */
#define TLA_PLAN_HEIGHT_MAX ((uint64_t)1 << 63)

/* No fixed offset: any free place. */
#define TLA_PLAN_ANYWHERE UINT64_MAX

/* [lower, upper) of a tensor's lifetime, in which its bytes are not needed: other tensors may use them. */
typedef struct tla_plan_gap {
    size_t tensor; /* index */
    uint64_t lower, upper;
} tla_plan_gap;

/* The constraints of a plan in addition to lifetimes and sizes (at most TLA_PLAN_HEIGHT_MAX each). All memory belongs
 * to the caller. */
typedef struct tla_plan_problem {
    const tla_lifetime *tensors;
    size_t n;
    const uint64_t *alignments; /* alignment of each offset: a power of two, 0 = 1; NULL: 1 for all */
    const uint64_t *fixed; /* each tensor's offset, a multiple of its alignment, or TLA_PLAN_ANYWHERE; the tensor ends
                              at TLA_PLAN_HEIGHT_MAX at the latest; NULL: none is fixed */
    const tla_plan_gap *gaps; /* in the order of tensors, then of time; disjoint, not the whole lifetime */
    size_t gap_count;
} tla_plan_problem;

typedef enum tla_plan_method {
    TLA_PLAN_STACK,      /* one after the other, no reuse (FitFirstAssign without reuse) */
    TLA_PLAN_FIT_FIRST,  /* FitFirstAssign: by start of life, into the largest hole, which grows when it is too small */
    TLA_PLAN_SIZE_ORDER, /* OpSizeOrderAssign: by size, into the smallest gap that is large enough */
    TLA_PLAN_TFLM_GREEDY,      /* TFLite Micro's greedy planner: by size, into the first gap that is large enough */
    TLA_PLAN_GREEDY_AREA,      /* also into the first gap, by size x lifetime */
    TLA_PLAN_GREEDY_LIFETIME,  /* by lifetime, then by size */
    TLA_PLAN_GREEDY_CONFLICTS, /* by the number of tensors that are live at the same time, then by size */
    TLA_PLAN_LOWEST_FIRST, /* always at the lowest possible place. Tensors of the fullest moment are placed first, then
                              the longest: the first descent of the exact search, for any number of tensors */
    TLA_PLAN_XNNPACK, /* XNNPACK's planner: by size, into the smallest gap that is large enough. It never looks below
                         the lowest tensor that lives together with the new one */
    TLA_PLAN_XNNPACK_REPAIRED, /* the same, and the room below the lowest is a gap. Often lower, seldom higher */
    TLA_PLAN_METHOD_COUNT
} tla_plan_method;

/* Returns the name "stack", "fit_first", "size_order", "tflm_greedy", "greedy_area", "greedy_lifetime",
 * "greedy_conflicts", "lowest_first", "xnnpack", "xnnpack_repaired"; NULL for an unknown value. */
const char *tla_plan_method_name(tla_plan_method method);

typedef struct tla_plan_options {
    uint64_t base;      /* added to every offset */
    uint64_t alignment; /* sizes are rounded up to a multiple; a power of two, 0 = 1 */
    bool stable_sort;   /* true: FIT_FIRST keeps the order of tensors that begin together. False: it uses TPU-MLIR's own
                           quicksort, which does not; results differ by up to 1.6 times */
} tla_plan_options;

/* Plans n tensors: offsets[i] is the offset of tensor i, *nbytes the total above the base. Tensors that are live at the
 * same time do not overlap. TLA_INVALID_ARGUMENT for a tensor, an option or a sum of sizes (2^62) out of range,
 * TLA_NO_HOST_MEMORY; nothing is written then. FIT_FIRST needs host memory for n times the number of tensors that live
 * together, the others for n. The time of FIT_FIRST grows like its memory, that of STACK like n. LOWEST_FIRST takes
 * about n log n, and the others n^2. */
tla_status tla_plan(tla_plan_method method, const tla_lifetime *tensors, size_t n, const tla_plan_options *options,
                    uint64_t *offsets, uint64_t *nbytes);

/* Plans as TPU-MLIR does: FIT_FIRST and SIZE_ORDER, the smaller result, the first if both are equal. The method of the
 * result is written to *method (may be NULL). Errors as tla_plan. */
tla_status tla_plan_smaller(const tla_lifetime *tensors, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *nbytes, tla_plan_method *method);

/* Places weights one after the other from the base, each at a multiple of the alignment; *end is the aligned end.
 * Errors as tla_plan. */
tla_status tla_plan_weights(const uint64_t *nbytes, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *end);

/* Computes the maximum of live bytes (rounded up as in the plan): no plan can be smaller. Errors as tla_plan. */
tla_status tla_plan_peak(const tla_lifetime *tensors, size_t n, uint64_t alignment, uint64_t *nbytes);

/* Computes a plan with all constraints of the problem, by one method; heights begin at 0. FIT_FIRST counts gaps as
 * lifetime and rounds sizes up to the largest alignment. LOWEST_FIRST counts gaps as lifetime. Both return
 * TLA_UNSUPPORTED for a fixed offset. TLA_INVALID_ARGUMENT for a problem out of range, TLA_EXHAUSTED where the method
 * needs more than TLA_PLAN_HEIGHT_MAX, TLA_OVERLAP where fixed offsets contradict each other, TLA_NO_HOST_MEMORY. After
 * an error nothing is written. */
tla_status tla_plan_place(tla_plan_method method, const tla_plan_problem *problem, uint64_t *offsets, uint64_t *height);

/* The maximum numbers of tensors for which tla_plan_best tries methods with time n^2, and FIT_FIRST with its memory. */
enum { TLA_PLAN_BEST_QUADRATIC_MAX = 20000, TLA_PLAN_BEST_FIT_FIRST_MAX = 4000 };

/* Returns the lowest of all methods' plans, the first among equals. The height of each method is written to
 * heights[TLA_PLAN_METHOD_COUNT] (may be NULL), UINT64_MAX where it has no plan. Errors as tla_plan_place, when no
 * method has a plan. */
tla_status tla_plan_best(const tla_plan_problem *problem, uint64_t *offsets, uint64_t *height, tla_plan_method *method,
                         uint64_t *heights);

/* Computes a lower bound of any plan: the maximum of live bytes, including alignment, or the end of a fixed tensor. The
 * *count tensors of tensors[n] (may be NULL) cause the bound. TLA_EXHAUSTED where more than TLA_PLAN_HEIGHT_MAX live
 * together, TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY. O(n log n). */
tla_status tla_plan_bound(const tla_plan_problem *problem, uint64_t *nbytes, size_t *tensors, size_t *count);

/* Checks that no two tensors that are live together overlap. Returns TLA_OK, or TLA_OVERLAP and the first such pair in
 * time (first < second; NULL = not wanted), or TLA_NO_HOST_MEMORY. Sizes are not rounded. O(n log n). */
tla_status tla_plan_check(const tla_lifetime *tensors, const uint64_t *offsets, size_t n, size_t *first,
                          size_t *second);

/* As tla_plan_check, for all constraints of a problem; gaps do not overlap. TLA_OUT_OF_RANGE for a tensor that ends
 * above the capacity. TLA_INVALID_ARGUMENT for a tensor that is not aligned or not at its fixed offset; *first and
 * *second are then both this tensor. TLA_INVALID_ARGUMENT also for a problem out of range, where neither is a
 * tensor. */
tla_status tla_plan_check_problem(const tla_plan_problem *problem, const uint64_t *offsets, uint64_t capacity,
                                  size_t *first, size_t *second);

/* --- By search ---
 *
 * Offsets for tensors with known lifetimes, by search: a plan below a height, or the proof that none exists, and the
 * least height. After MiniMalloc (Moffitt, ASPLOS 2023). The problem is that of the rules.
 *
 * The search has no clock and draws no random numbers: the same problem has the same plan, whenever it is stopped. It
 * is for problems of some thousand tensors; it needs host memory for the pairs that live together. */

/* The limits of a search. A node is a placed tensor, which takes about a microsecond. */
typedef struct tla_plan_limits {
    uint64_t nodes;              /* 0: no limit */
    bool (*stop)(void *context); /* true ends the search; called every few milliseconds; NULL: never */
    void *context;
} tla_plan_limits;

/* Searches a plan in which every tensor ends at `capacity` bytes at most. TLA_OK: offsets[n] is such a plan.
 * TLA_EXHAUSTED: no such plan exists. TLA_LIMIT: the search found neither within the limits (NULL: none), or more
 * tensors live together than it supports (2^26 pairs). TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY. Offsets are written
 * with TLA_OK only; *nodes (may be NULL), the number of visited nodes, always. */
tla_status tla_plan_exact(const tla_plan_problem *problem, uint64_t capacity, const tla_plan_limits *limits,
                          uint64_t *offsets, uint64_t *nodes);

/* The range of the least height. */
typedef struct tla_plan_range {
    uint64_t bound;  /* no plan is smaller */
    uint64_t height; /* height of the plan */
    uint64_t nodes;  /* visited nodes */
} tla_plan_range;

/* Lowers a plan, offsets[n], to the least height by bisection between it and the bound. TLA_OK: the plan is the lowest
 * possible; bound and height are equal. TLA_LIMIT: the search reached its limits first, and the plan is the lowest that
 * it found. Both write *range. TLA_INVALID_ARGUMENT for a problem out of range or offsets that are not a plan,
 * TLA_NO_HOST_MEMORY; nothing is written then. */
tla_status tla_plan_minimize(const tla_plan_problem *problem, const tla_plan_limits *limits, uint64_t *offsets,
                             tla_plan_range *range);

/* --- Op by op ---
 *
 * Global memory for the tensors of a network, op by op, reused by reference count: TPU-MLIR's first allocator with
 * reuse (seed 002).
 *
 * The table only grows: an entry for every tensor, with its offset, its size and its remaining uses. A new tensor takes
 * the offset of the OLDEST entry that meets the seed's five conditions, as a whole, however large it is. The table
 * never splits or joins entries. If no entry meets the conditions, the tensor takes new memory at the end.
 *
 * The seed's set of used offsets counts an offset once, although a reshape puts a second tensor on it. When the first
 * tensor ends, the offset can be reused under the second. The model keeps this defect; count_offsets selects the
 * version that counts. Offset 0 means "not found" in TPU-MLIR, which therefore never reuses it; here it is an ordinary
 * offset. */

typedef struct tla_record_table tla_record_table;

typedef struct tla_record_table_config {
    uint64_t base;      /* first offset of the tensors: after the weights */
    uint64_t alignment; /* alignment of offsets; a power of two, 0 = 1; 4096 on the BM1684X */
    bool count_offsets; /* an offset with two live tensors is in use until both have ended (not in the seed) */
} tla_record_table_config;

typedef enum tla_op_kind {
    TLA_OP_COMPUTE,  /* its outputs need memory */
    TLA_OP_RESHAPE,  /* its output is its input under another name (BM1684X): same offset, its own entry */
    TLA_OP_NO_OUTPUT /* return, call, yield, ops inside a group: their uses count, they receive no memory */
} tla_op_kind;

typedef struct tla_op_output {
    uint64_t tensor; /* any number, not used for another output of the table */
    uint64_t nbytes; /* at least 1 */
    uint64_t users;  /* number of operands of later ops that are this tensor */
} tla_op_output;

typedef struct tla_op {
    tla_op_kind kind;
    const uint64_t *operands; /* tensors, one entry per occurrence; tensors that are not in the table are weights */
    size_t operand_count;
    const tla_op_output *outputs; /* exactly one for a reshape, none for TLA_OP_NO_OUTPUT */
    size_t output_count;
} tla_op;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *table is NULL then. */
tla_status tla_record_table_create(const tla_record_table_config *config, tla_record_table **table);
void tla_record_table_destroy(tla_record_table *table); /* NULL is allowed */

/* Adds the next op of the program. TLA_INVALID_ARGUMENT for outputs that do not suit the kind, an existing tensor or 0
 * bytes. TLA_NOT_ALLOCATED for a reshape of a tensor that is not in the table, TLA_EXHAUSTED past 2^63,
 * TLA_NO_HOST_MEMORY. After an error nothing has changed. O(entries) per output. */
tla_status tla_record_table_add(tla_record_table *table, const tla_op *op);

/* For a stream of allocations and frees, which has no ops: the tensor ends, and the next output may take its place.
 * TLA_NOT_ALLOCATED when it is not in the table or has already ended. */
tla_status tla_record_table_free(tla_record_table *table, uint64_t tensor);

/* Finds the offset of a tensor. TLA_NOT_ALLOCATED when it is not in the table. */
tla_status tla_record_table_find(const tla_record_table *table, uint64_t tensor, uint64_t *offset);

/* Returns the bytes of the tensors above the base, a multiple of the alignment. */
uint64_t tla_record_table_size(const tla_record_table *table);

#ifdef __cplusplus
}
#endif
#endif
