/* A host's use of the declaration of a kernel (kernel/declaration.h): sizes, inputs, arguments, comparison. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_PROGRAM_H
#define TLMALLOC_PLATFORM_PROGRAMS_PROGRAM_H

#include "tlmalloc/kernel.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Checks whether a declaration can run, and with the table of this platform: TLA_INVALID_ARGUMENT, or TLA_UNSUPPORTED
 * for another version of the table, with the found and the expected value. */
tla_status tl_kernel_validate(const tl_kernel_info *kernel, tla_error *error);

/* Returns the size of a run, with the default values of the kernel's parameters. */
tl_workload tl_kernel_workload(const tl_kernel_info *kernel, uint32_t programs, uint64_t elements_per_pe,
                               uint64_t seed);

/* Sets the parameter of "NAME=VALUE", a decimal number. TLA_INVALID_ARGUMENT for an unknown name, for text that is not
 * a number, and for a number out of the parameter's range, with the found and the expected value. */
tla_status tl_kernel_set_parameter(const tl_kernel_info *kernel, const char *text, tl_workload *workload,
                                   tla_error *error);

/* How many tensors, and parameters, a kernel has. */
uint32_t tl_kernel_parameter_count(const tl_kernel_info *kernel);
uint32_t tl_kernel_tensor_count(const tl_kernel_info *kernel);

/* Returns a kernel's uses: the bits of tl_kernel_use in its declaration, and those of its tensors. 0: none stated. */
uint32_t tl_kernel_uses(const tl_kernel_info *kernel);

/* Elements, and bytes, of a tensor in a run of this size; UINT64_MAX when they are more than 2^62. */
uint64_t tl_kernel_elements(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor);
uint64_t tl_kernel_tensor_bytes(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor);

/* Whether a tensor is filled before the launch, and whether it is read back after it. */
bool tl_kernel_goes_in(const tl_kernel_info *kernel, uint32_t tensor);
bool tl_kernel_comes_out(const tl_kernel_info *kernel, uint32_t tensor);

/* Writes the arguments of a launch, given where each tensor is; returns how many. */
uint32_t tl_kernel_arguments(const tl_kernel_info *kernel, const tl_workload *workload, const tla_vaddr *tensors,
                             uint64_t arguments[TL_KERNEL_ARGUMENTS_MAX]);

/* Fills the bytes of a tensor that goes in and has no file. */
void tl_kernel_fill(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor, void *bytes);

/* Whether there is anything that the outputs are compared with. */
bool tl_kernel_can_verify(const tl_kernel_info *kernel);

/* Compares the outputs with the kernel's reference and with the contents of their files: files[i] are as many bytes as
 * tensor i has, or NULL. TLA_WRONG_RESULT with the first element that is wrong. */
tla_status tl_kernel_verify(const tl_kernel_info *kernel, const tl_workload *workload, const void *const *tensors,
                            const void *const *files, tla_error *error);

/* The kernels that come with the platform, in the order of their names; NULL past the last, so that a loop from 0 sees
 * them all. */
const tl_kernel_info *tl_kernel_at(uint32_t number);

/* Returns the kernel of this name; NULL for an unknown name. */
const tl_kernel_info *tl_find_kernel(const char *name);

#ifdef __cplusplus
}
#endif
#endif
