/* The kernels and their numbers, for the registry and the kernels themselves. */
#ifndef TLMALLOC_PLATFORM_KERNELS_REGISTRY_H
#define TLMALLOC_PLATFORM_KERNELS_REGISTRY_H

#include "kernels.h"

enum { TL_KERNEL_VECTOR_ADD, TL_KERNEL_QKV_GEMM, TL_KERNEL_DMA_READ };

extern const tl_kernel_info tl_kernel_vector_add;
extern const tl_kernel_info tl_kernel_qkv_gemm;
extern const tl_kernel_info tl_kernel_dma_read;

#endif
