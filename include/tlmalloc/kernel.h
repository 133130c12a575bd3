/* The calls of a kernel test bench in C.
 *
 * A kernel is a C function that every PE runs as one program, in a file of its own. The file has the computation, and
 * the declaration that a host needs to run it (kernel/declaration.h). A kernel addresses tensors by virtual address,
 * keeps tiles in its PE's TCM, and pays simulated time for every call. Calls of tl_alloc are commands to the PE's
 * memory controller. Loads and stores are DMA through the PE's MMU. Arithmetic occupies an engine. The calls block
 * until the simulated work is done, except those of kernel/pipeline.h. The names follow KernBench's tl.* (ADR-0046).
 *
 * Every PE runs the same code in the same process, so a kernel keeps its state in its own variables and in its tiles.
 * The platform rejects kernels with writable static variables. Each kernel has its own stack (pe.stack). */
#ifndef TLMALLOC_KERNEL_H
#define TLMALLOC_KERNEL_H

#include "tlmalloc/kernel/calls.h"
#include "tlmalloc/kernel/collectives.h"
#include "tlmalloc/kernel/declaration.h"
#include "tlmalloc/kernel/language.h"
#include "tlmalloc/kernel/layers.h"
#include "tlmalloc/kernel/messages.h"
#include "tlmalloc/kernel/pipeline.h"
#include "tlmalloc/kernel/tensor.h"
#include "tlmalloc/kernel/types.h"

#endif
