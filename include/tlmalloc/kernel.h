/* What a kernel test bench written in C may call.
 *
 * A kernel is a C function that every PE runs as one program, and a file of its own: what it computes, and what a host
 * must know to run it (kernel/declaration.h). It sees tensors by virtual address, keeps tiles in its PE's TCM, and
 * everything it calls costs simulated time: tl_alloc is a command to the PE's memory controller, loads and stores
 * are DMA through the PE's MMU, arithmetic occupies an engine. The calls block until the simulated work is done, but
 * for those of kernel/pipeline.h. The names follow KernBench's tl.* (ADR-0046).
 *
 * Every PE runs the same code in the same process, so a kernel keeps what it must remember in its own variables and in
 * its tiles; static variables that can be written are refused. Its stack is its own (pe.stack). */
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
