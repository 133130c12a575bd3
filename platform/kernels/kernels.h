/* The kernels that come with the platform, and what a host must know to run one and to check what it computed.
 *
 * A host makes the tensors of a kernel (tensor_bytes), fills the inputs (fill), launches it on `programs` PEs with the
 * arguments (arguments), reads the tensors back and compares them with a reference of its own (verify). */
#ifndef TLMALLOC_PLATFORM_KERNELS_H
#define TLMALLOC_PLATFORM_KERNELS_H

#include "tlmalloc/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_KERNEL_TENSORS_MAX = 3, TL_KERNEL_ARGUMENTS_MAX = 6 };

/* The size of a run. */
typedef struct tl_workload {
    uint32_t programs;        /* > 0 */
    uint64_t elements_per_pe; /* of vector_add; the other kernels have sizes of their own */
    uint64_t seed;            /* of the inputs: the same seed, the same bytes */
} tl_workload;

typedef struct tl_kernel_tensor {
    const char *name;
    tl_dtype dtype;
    bool output; /* written by the kernel; else an input, which `fill` fills */
} tl_kernel_tensor;

typedef struct tl_kernel_info {
    const char *name;
    uint32_t number; /* in LAUNCH commands (command.h); its place in the registry */
    const char *description;
    tl_kernel run;
    uint32_t tensor_count;
    tl_kernel_tensor tensors[TL_KERNEL_TENSORS_MAX];

    /* Bytes of a tensor (0 .. tensor_count - 1). */
    uint64_t (*tensor_bytes)(const tl_workload *workload, uint32_t tensor);

    /* Writes the arguments of a launch, given where each tensor is; returns how many. */
    uint32_t (*arguments)(const tl_workload *workload, const tla_vaddr *tensors,
                          uint64_t arguments[TL_KERNEL_ARGUMENTS_MAX]);

    /* Fills the bytes of an input tensor. */
    void (*fill)(const tl_workload *workload, uint32_t tensor, void *bytes);

    /* Compares the outputs with a reference computed from the inputs; tensors[i] points at the bytes of tensor i as
     * they were read back. TLA_WRONG_RESULT, and an error that names the first element that is wrong, what it is and
     * what was expected. NULL for a kernel without outputs. */
    tla_status (*verify)(const tl_workload *workload, const void *const *tensors, tla_error *error);
} tl_kernel_info;

/* The kernel of this number; NULL past the last, so that a loop from 0 sees them all. */
const tl_kernel_info *tl_kernel_at(uint32_t number);

/* The kernel of this name; NULL when there is none. */
const tl_kernel_info *tl_find_kernel(const char *name);

#ifdef __cplusplus
}
#endif
#endif
