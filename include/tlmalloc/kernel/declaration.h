/* The declaration of a kernel in its file, with which a host can run and check it: one block, TL_KERNEL.
 *
 *     TL_KERNEL(.name = "vector_add", .run = run,
 *               .tensors = {{.name = "a", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(1024)}},
 *                           {.name = "c", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(1024)}, .use = TL_OUT}},
 *               .arguments = {TL_ADDRESS_OF(0), TL_ADDRESS_OF(1), TL_ELEMENTS_OF(0)}, .check = check);
 *
 * A host creates the tensors, fills the inputs, and runs one program on every PE with these arguments. Then it reads
 * the outputs back and checks them. */
#ifndef TLMALLOC_KERNEL_DECLARATION_H
#define TLMALLOC_KERNEL_DECLARATION_H

#include "tlmalloc/kernel/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_KERNEL_TENSORS_MAX = 8, TL_KERNEL_ARGUMENTS_MAX = 16, TL_KERNEL_PARAMETERS_MAX = 8 };

/* The size of a run. */
typedef struct tl_workload {
    uint32_t programs;        /* > 0 */
    uint64_t elements_per_pe; /* workload.elements_per_pe: see TL_PER_ELEMENT */
    uint64_t seed;            /* workload.seed, of the inputs: the same seed gives the same bytes */
    uint64_t parameters[TL_KERNEL_PARAMETERS_MAX]; /* parameters of the kernel, in the order of its declaration */
} tl_workload;

/* A dimension of a shape is a number below 2^61, or a number that grows with the run: */
#define TL_PER_PROGRAM(n) (UINT64_C(1) << 63 | (n)) /* n for each program */
#define TL_PER_ELEMENT(n) (UINT64_C(1) << 62 | (n)) /* n * elements_per_pe; may be used inside TL_PER_PROGRAM */
#define TL_PARAMETER(i) (UINT64_C(1) << 61 | (i))   /* the kernel's parameter number i; may be used inside both */

/* The use of a tensor. An input is filled before the launch, and not read back. */
typedef enum tl_use { TL_IN, TL_OUT, TL_INOUT, TL_USE_COUNT } tl_use;

/* The distribution of a tensor over the PEs. Split: equal contiguous parts in the order of the programs. Replicated: a
 * whole copy in every cube, split over its PEs, which the programs of that cube read (inputs only). */
typedef enum tl_spread { TL_SPLIT, TL_REPLICATED, TL_SPREAD_COUNT } tl_spread;

/* The memory of a tensor: the PEs' HBM, the SRAM of their cubes, or the host's (host_memory of the configuration). */
typedef enum tl_memory { TL_HBM, TL_SRAM, TL_HOST, TL_MEMORY_COUNT } tl_memory;

typedef struct tl_kernel_tensor {
    const char *name; /* NULL: the previous tensor was the last */
    tl_dtype dtype;
    tl_use use;
    tl_spread spread;
    tl_memory memory;
    uint64_t shape[TL_RANK_MAX]; /* row-major; 0: the previous dimension was the last */

    /* A file. For TL_IN and TL_INOUT it has the contents before the launch. For TL_OUT it has the expected contents at
     * the end, byte for byte. A path is relative to the folder of the kernel's own file. NULL: no file. */
    const char *file;

    /* Fills a TL_IN or TL_INOUT tensor without a file. NULL: numbers that are uniform in [-1, 1]. */
    void (*fill)(const tl_workload *workload, void *bytes);
} tl_kernel_tensor;

/* A number that the user of a kernel may choose (`tlmalloc run --parameter NAME=VALUE`): a size, a choice. */
typedef struct tl_kernel_parameter {
    const char *name;     /* letters, digits and _; NULL: the previous parameter was the last */
    uint64_t value;       /* the default */
    uint64_t least, most; /* the range; most 0: 2^32 - 1. A parameter that is a dimension is at least 1 */
} tl_kernel_parameter;

/* An argument of a launch; see tl_argument of language.h. */
typedef enum tl_argument_kind {
    TL_ARGUMENT_NONE, /* the previous argument was the last */
    TL_ARGUMENT_ADDRESS,
    TL_ARGUMENT_ELEMENTS,
    TL_ARGUMENT_NUMBER,
    TL_ARGUMENT_PARAMETER,
    TL_ARGUMENT_KIND_COUNT
} tl_argument_kind;

typedef struct tl_kernel_argument {
    tl_argument_kind kind;
    uint64_t value;
} tl_kernel_argument;

/* clang-format off */
#define TL_ADDRESS_OF(tensor) {TL_ARGUMENT_ADDRESS, (tensor)}   /* the address of the tensor with this number */
#define TL_ELEMENTS_OF(tensor) {TL_ARGUMENT_ELEMENTS, (tensor)} /* its number of elements */
#define TL_NUMBER(number) {TL_ARGUMENT_NUMBER, (number)}
#define TL_VALUE_OF(parameter) {TL_ARGUMENT_PARAMETER, (parameter)} /* the parameter with this number */
/* clang-format on */

/* The operations of a kernel that determine which configuration keys have an effect. The last three follow from its
 * tensors. */
typedef enum tl_kernel_use {
    TL_USES_TRANSFERS = 1 << 0,   /* loads or stores */
    TL_USES_GEMM = 1 << 1,        /* tl_dot, or composites */
    TL_USES_VECTOR = 1 << 2,      /* other arithmetic, tl_fill and tl_convert included */
    TL_USES_COMPOSITES = 1 << 3,  /* composite operations */
    TL_USES_ASYNCHRONY = 1 << 4,  /* asynchronous loads, stores and receives, and composites */
    TL_USES_SCRATCH = 1 << 5,     /* tl_scratch */
    TL_USES_MESSAGES = 1 << 6,    /* between PEs, in collectives too */
    TL_USES_COLLECTIVES = 1 << 7, /* all-reduces */
    TL_USES_ELEMENTS = 1 << 8,    /* a shape with TL_PER_ELEMENT */
    TL_USES_SRAM = 1 << 9,        /* a tensor in TL_SRAM */
    TL_USES_HOST_MEMORY = 1 << 10 /* a tensor in TL_HOST */
} tl_kernel_use;

typedef struct tl_kernel_info {
    uint32_t calls_version; /* TL_KERNEL sets these three */
    uint32_t calls_bytes;   /* size of the tl_calls that the kernel was compiled with */
    uint32_t bytes;         /* sizeof(tl_kernel_info) */

    const char *name; /* letters, digits and _ */
    const char *description;
    tl_kernel run;
    tl_kernel_tensor tensors[TL_KERNEL_TENSORS_MAX];
    tl_kernel_argument arguments[TL_KERNEL_ARGUMENTS_MAX];

    /* Compares the outputs with a reference that is computed from the inputs; tensors[i] points to the bytes of tensor
     * i after the run. On a difference it returns tl_wrong with a text that has the first wrong element, its value and
     * the expected value. NULL: no reference; outputs with files are compared with their files. */
    tla_status (*check)(const tl_workload *workload, const void *const *tensors, tla_error *error);

    tl_kernel_parameter parameters[TL_KERNEL_PARAMETERS_MAX];

    /* Bits of tl_kernel_use: all that the kernel does in any run. With them `tlmalloc check` and `run` report keys that
     * have no effect on the kernel, and reject a platform that cannot run it. 0: not stated. */
    uint32_t uses;
} tl_kernel_info;

/* The symbol of a kernel's object that has the declaration. */
#ifndef TL_KERNEL_SYMBOL
#define TL_KERNEL_SYMBOL tl_kernel_declaration
#endif

/* In C, once per file. */
#define TL_KERNEL(...)                                                                                                 \
    extern const tl_kernel_info TL_KERNEL_SYMBOL;                                                                      \
    const tl_kernel_info TL_KERNEL_SYMBOL = {.calls_version = TL_CALLS_VERSION,                                        \
                                             .calls_bytes = sizeof(tl_calls),                                          \
                                             .bytes = sizeof(tl_kernel_info),                                          \
                                             __VA_ARGS__}

/* For a check: fills *error (may be NULL) with TLA_WRONG_RESULT and a printf-style text; returns that status. */
__attribute__((format(printf, 2, 3))) static inline tla_status tl_wrong(tla_error *error, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = TLA_WRONG_RESULT;
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return TLA_WRONG_RESULT;
}

/* The bits of `count` bytes as a number. */
static inline uint64_t tl_bits(const uint8_t *at, uint32_t count) {
    uint64_t bits = 0;
    while (count-- > 0)
        bits = bits << 8 | at[count];
    return bits;
}

/* For a check: returns element number `index` of a tensor's bytes; exactly, except integers above 2^53, which are
 * rounded to nearest. */
static inline double tl_element(const void *tensor, tl_dtype dtype, uint64_t index) {
    const uint32_t size = tl_dtype_bytes(dtype);
    uint64_t bits = tl_bits((const uint8_t *)tensor + index * size, size), sign = (uint64_t)1 << (8 * size - 1);
    uint32_t single = (uint32_t)bits, exponent = single >> 10 & 0x1Fu, fraction = single & 0x3FFu;
    float value;
    double wide;
    switch (dtype) {
    case TL_F64:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    case TL_U8:
    case TL_U16:
    case TL_U32:
    case TL_U64:
        return (double)bits;
    case TL_I8:
    case TL_I16:
    case TL_I32:
    case TL_I64:
        return (double)(int64_t)((bits ^ sign) - sign);
    case TL_F16:
        if (exponent == 0) { /* zero and subnormals are multiples of 2^-24 */
            wide = fraction * 5.9604644775390625e-8;
            return bits & sign ? -wide : wide;
        }
        single = (single & 0x8000u) << 16 |
                 (exponent == 0x1F ? 0x7F800000u | fraction << 13 : (exponent + 112) << 23 | fraction << 13);
        break; /* 112 = 127 - 15 */
    case TL_BF16:
        single <<= 16;
        break;
    default:
        break;
    }
    memcpy(&value, &single, sizeof value);
    return (double)value;
}

#ifdef __cplusplus
}
#endif
#endif
