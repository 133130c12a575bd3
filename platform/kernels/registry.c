/* The list of kernels. */
#include "registry.h"

#include <string.h>

static const tl_kernel_info *const kernels[] = {
    [TL_KERNEL_VECTOR_ADD] = &tl_kernel_vector_add,
    [TL_KERNEL_QKV_GEMM] = &tl_kernel_qkv_gemm,
    [TL_KERNEL_DMA_READ] = &tl_kernel_dma_read,
};

const tl_kernel_info *tl_kernel_at(uint32_t number) {
    return number < sizeof kernels / sizeof *kernels ? kernels[number] : NULL;
}

const tl_kernel_info *tl_find_kernel(const char *name) {
    for (uint32_t number = 0; number < sizeof kernels / sizeof *kernels; number++)
        if (strcmp(kernels[number]->name, name) == 0) return kernels[number];
    return NULL;
}
