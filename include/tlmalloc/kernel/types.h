/* What a kernel handles: element types and tiles. */
#ifndef TLMALLOC_KERNEL_TYPES_H
#define TLMALLOC_KERNEL_TYPES_H

#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_dtype { TL_F16, TL_F32, TL_DTYPE_COUNT } tl_dtype;

/* Bytes of one element. */
static inline uint32_t tl_dtype_bytes(tl_dtype dtype) {
    return dtype == TL_F16 ? 2 : 4;
}

/* A row-major matrix in this PE's TCM. */
typedef struct tl_tile {
    tla_paddr pa;
    uint32_t rows, columns;
    tl_dtype dtype;
} tl_tile;

#ifdef __cplusplus
}
#endif
#endif
