/* The types of kernels: element types, tiles, tensors. */
#ifndef TLMALLOC_KERNEL_TYPES_H
#define TLMALLOC_KERNEL_TYPES_H

#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* IEEE 754 binary16, bfloat16, binary32 and binary64, two's complement and unsigned integers; little-endian. */
typedef enum tl_dtype {
    TL_F16,
    TL_F32,
    TL_BF16,
    TL_F64,
    TL_I8,
    TL_I16,
    TL_I32,
    TL_I64,
    TL_U8,
    TL_U16,
    TL_U32,
    TL_U64,
    TL_DTYPE_COUNT
} tl_dtype;

/* Bytes of one element. */
static inline uint32_t tl_dtype_bytes(tl_dtype dtype) {
    switch (dtype) {
    case TL_I8:
    case TL_U8:
        return 1;
    case TL_F16:
    case TL_BF16:
    case TL_I16:
    case TL_U16:
        return 2;
    case TL_F64:
    case TL_I64:
    case TL_U64:
        return 8;
    default:
        return 4;
    }
}

/* A row-major matrix in this PE's TCM. */
typedef struct tl_tile {
    tla_paddr pa;
    uint32_t rows, columns;
    tl_dtype dtype;
    uint32_t pitch; /* elements from one row to the next, at least `columns`; 0: `columns`, the rows are adjacent */
} tl_tile;

enum { TL_RANK_MAX = 4 };

/* A tensor in virtual memory, or a part of a tensor: a handle, which transfers nothing. Element [i][j]... is at va + i
 * * stride[0] + j * stride[1] + ...; sums are modulo 2^64. A stride may therefore be negative, and a stride of 0
 * repeats the same elements. */
typedef struct tl_tensor {
    tla_vaddr va;
    uint32_t rank;                /* dimensions, 1 to TL_RANK_MAX */
    uint32_t shape[TL_RANK_MAX];  /* elements along each dimension */
    uint64_t stride[TL_RANK_MAX]; /* bytes from one index to the next */
    tl_dtype dtype;
} tl_tensor;

/* The axis along which programs are counted; see tl_program_id (language.h). */
typedef enum tl_axis { TL_PE, TL_CUBE, TL_SIP, TL_ALL, TL_AXIS_COUNT } tl_axis;

/* A handle of an operation that continues while the kernel does other work; see kernel/pipeline.h. All zero: no
 * operation to wait for. */
typedef struct tl_handle {
    uint64_t value;
} tl_handle;

/* An operation on a hold of a tile's memory (memory/object_store.h): a reference, a pin, or the end of a pin. */
typedef enum tl_hold { TL_RETAIN, TL_PIN, TL_UNPIN, TL_HOLD_COUNT } tl_hold;

/* An operation of the vector engine on one element: out = op(a). */
typedef enum tl_unary { TL_ABS, TL_NEG, TL_EXP, TL_LOG, TL_SQRT, TL_RSQRT, TL_SIGMOID, TL_UNARY_COUNT } tl_unary;

/* On two elements: out = a op b. A comparison is 1 or 0. */
typedef enum tl_binary {
    TL_ADD,
    TL_SUB,
    TL_MUL,
    TL_DIV,
    TL_MAXIMUM,
    TL_MINIMUM,
    TL_EQ,
    TL_NE,
    TL_LT,
    TL_LE,
    TL_GT,
    TL_GE,
    TL_BINARY_COUNT
} tl_binary;

/* On three elements: a * b + c, a in [b, c], a ? b : c. */
typedef enum tl_ternary { TL_FMA, TL_CLAMP, TL_WHERE, TL_TERNARY_COUNT } tl_ternary;

/* On all elements of a column or a row. */
typedef enum tl_reduction { TL_SUM, TL_MAX, TL_MIN, TL_REDUCTION_COUNT } tl_reduction;

/* The source of an operand of a composite, or the destination of its result. A streamed matrix is in memory, and DMA
 * moves it tile by tile. It is a tensor whose last two dimensions are those of the matrix and whose others are 1. A
 * pinned tile is in the TCM. */
typedef enum tl_operand_kind { TL_NO_OPERAND, TL_STREAMED, TL_PINNED, TL_OPERAND_KIND_COUNT } tl_operand_kind;
typedef struct tl_operand {
    tl_operand_kind kind;
    tl_tensor tensor; /* TL_STREAMED */
    tl_tile tile;     /* TL_PINNED */
} tl_operand;

/* The second input of a step of a composite: a number, a tile, or (with TL_MATH) the operand b. The tile has the shape
 * of the result, or one row or one column for all. */
typedef enum tl_term_kind { TL_NO_TERM, TL_NUMBER_TERM, TL_TILE_TERM, TL_B_TERM, TL_TERM_KIND_COUNT } tl_term_kind;
typedef struct tl_term {
    tl_term_kind kind;
    float number;
    tl_tile tile;
} tl_term;

/* value = op(value), op(value, x) or op(value, x, y). */
typedef struct tl_step {
    uint32_t operands;  /* number of operands of the operation, including the value: 1, 2 or 3 */
    uint32_t operation; /* a tl_unary, tl_binary or tl_ternary, depending on `operands` */
    tl_term x, y;
} tl_step;

/* The kind of a composite, which the engines of a PE execute tile by tile. The value is the product a * b (TL_GEMM) or
 * a (TL_MATH); then the steps follow. */
typedef enum tl_composite_kind { TL_GEMM, TL_MATH, TL_COMPOSITE_KIND_COUNT } tl_composite_kind;
enum { TL_STEPS_MAX = 8 };
typedef struct tl_composition {
    tl_composite_kind kind;
    tl_operand a, b, out;
    uint32_t step_count;
    tl_step steps[TL_STEPS_MAX];
} tl_composition;

/* The algorithm of a collective (collectives.h). */
typedef enum tl_algorithm { TL_RING, TL_TORUS_2D, TL_MESH_2D, TL_HIERARCHICAL, TL_ALGORITHM_COUNT } tl_algorithm;

/* "ring", "torus_2d", "mesh_2d", "hierarchical"; NULL for an unknown value. */
static inline const char *tl_algorithm_name(tl_algorithm algorithm) {
    switch (algorithm) {
    case TL_RING:
        return "ring";
    case TL_TORUS_2D:
        return "torus_2d";
    case TL_MESH_2D:
        return "mesh_2d";
    case TL_HIERARCHICAL:
        return "hierarchical";
    default:
        return 0;
    }
}

/* The passage of the hierarchical all-reduce between SIPs. Lines: along the rows of their grid, then along a column, to
 * the SIP in the middle and back. Rings: each SIP sends on what the SIP before it has sent, and adds it, for one round
 * less than a row has SIPs, then for one less than a column has (KernBench 1d8b940). A mesh has no rings: its rows go
 * to their middle and back, and then its columns. */
typedef enum tl_between_sips { TL_SIPS_LINES, TL_SIPS_RINGS, TL_BETWEEN_SIPS_COUNT } tl_between_sips;

/* "lines", "rings"; NULL for an unknown value. */
static inline const char *tl_between_sips_name(tl_between_sips passage) {
    return passage == TL_SIPS_LINES ? "lines" : passage == TL_SIPS_RINGS ? "rings" : 0;
}

/* The receipt of vectors from both sides of a line. Both: at one time. In order: from the side before, which is added
 * before that from the side behind is received. */
typedef enum tl_receipt_order { TL_RECEIVE_BOTH, TL_RECEIVE_IN_ORDER, TL_RECEIPT_ORDER_COUNT } tl_receipt_order;

/* "both", "in_order"; NULL for an unknown value. */
static inline const char *tl_receipt_order_name(tl_receipt_order order) {
    return order == TL_RECEIVE_BOTH ? "both" : order == TL_RECEIVE_IN_ORDER ? "in_order" : 0;
}

/* A platform's settings of its collectives. */
typedef struct tl_collective_settings {
    tl_algorithm algorithm; /* collectives.algorithm */
    uint32_t world_size;    /* collectives.world_size: programs; 0: all of a launch */
    uint32_t columns;       /* collectives.columns: of the grid of torus_2d and mesh_2d; 0: about as many as rows */
    uint16_t sip_columns;   /* SIPs in a row of their grid: system.sip_topology, system.sip_grid_width */
    bool sips_joined;       /* the ends of their rows and columns are joined: system.sip_topology is not mesh */
    tl_between_sips between_sips; /* collectives.between_sips */
    tl_receipt_order receives;    /* collectives.receives */
} tl_collective_settings;

/* The place of a program: SIP of the platform, cube of the SIP, PE of the cube. */
typedef struct tl_place {
    uint32_t sip, cube, pe;
} tl_place;

#ifdef __cplusplus
}
#endif
#endif
