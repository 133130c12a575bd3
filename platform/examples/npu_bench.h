/* Test benches in C on a whole platform: the actions of the host, step by step in simulated time, and a kernel that it
 * runs.
 *
 * A bench is a C file that defines `the_npu_bench`; npu_bench.cpp is the top-level around it: the platform of a
 * configuration, the host's thread, and a waveform of the memory controllers. The program's first argument is the VCD.
 */
#ifndef NPU_BENCH_H
#define NPU_BENCH_H

#include "tlmalloc/kernel.h"
#include "tlmalloc/memory/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SETTINGS_MAX = 16, SIGNALS_MAX = 8 };

typedef struct npu_bench {
    const char *const settings[SETTINGS_MAX]; /* "key=value", over a configuration's defaults; NULL behind the last */
    tl_kernel kernel;                         /* one program of it on every PE */
    int (*run)(void);                         /* the host's program; returns the program's status */
    const char *const signals[SIGNALS_MAX]; /* names in the waveform of the signals of the bench; NULL after the last */
} npu_bench;

extern const npu_bench the_npu_bench;

typedef struct host_tensor host_tensor;

/* For the host. Each takes simulated time and returns the status of the runtime, whose text goes to standard error. A
 * tensor has equal parts for all PEs; `memory` is their memory. */
tla_status make_tensor(const char *name, tla_memory_kind memory, uint64_t nbytes, host_tensor **made);
tla_status free_tensor(host_tensor *tensor);
tla_status write_tensor(const host_tensor *tensor, const uint8_t *bytes);
tla_status read_tensor(const host_tensor *tensor, uint8_t *bytes);
tla_status run_kernel(const uint64_t *arguments, size_t count);

/* A tensor of a plan: in every PE's slice `nbytes` at `offset`; `tensor` is its place from the deployment of the plan
 * until the arena is freed. The parts of successive programs are `height` bytes apart. */
typedef struct planned_tensor {
    uint64_t nbytes, offset;
    const host_tensor *tensor;
} planned_tensor;

/* Puts a plan into one block of each slice (`arena`). One plan at a time: those before are gone. */
tla_status deploy(uint64_t height, planned_tensor *tensors, size_t count, host_tensor **arena);

uint64_t address_of(const host_tensor *tensor); /* virtual; of the first program's part */
uint64_t now_ns(void);
void show(unsigned signal, uint64_t value); /* of a signal from now on */

#ifdef __cplusplus
}
#endif
#endif
