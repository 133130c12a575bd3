/* What runs kernels, moves their data and sends their commands is told: the structs that the modules take
 * (config/memory.h says where their defaults are). */
#ifndef TLMALLOC_CONFIG_EXECUTION_H
#define TLMALLOC_CONFIG_EXECUTION_H

#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/command/sent_command.h"
#include "tlmalloc/config/memory.h"
#include "tlmalloc/kernel/types.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a PE's DMA engine. */
typedef struct tla_dma_parameters {
    uint32_t chunk;       /* dma.chunk: bytes; chunks end at multiples of it */
    uint64_t bandwidth;   /* dma.bandwidth: bytes/s at which a channel issues */
    uint32_t outstanding; /* dma.outstanding: chunks on their way, for each channel */
    uint32_t asid;        /* workload.asid: address space of the virtual addresses */
    bool tell_extent;     /* say with every chunk of which transfer it is a part; on where memory is guarded */
} tla_dma_parameters;

/* Of a PE, which runs a kernel. */
typedef struct tla_pe_parameters {
    uint64_t launch_ps;              /* pe.launch: from LAUNCH to the first call of the kernel */
    uint64_t dispatch_ps;            /* pe.dispatch: of every call of a kernel that does something */
    uint64_t gemm_rate, vector_rate; /* pe.gemm_rate, pe.vector_rate: operations/s */
    uint64_t scheduler_ps;           /* pe.scheduler: of the scheduler, for a tile of a composite */
    uint32_t tile_m, tile_k, tile_n; /* pe.tile_m, pe.tile_k, pe.tile_n: elements of a composite's tile */
    uint32_t pipeline_depth;         /* pe.pipeline_depth: buffers, register sets and accumulators of its stages */
    uint32_t outstanding;            /* pe.outstanding: operations of a kernel that it has begun and not waited for */
    uint64_t stack;                  /* pe.stack: bytes of a kernel's stack */
    uint64_t scratch;                /* pe.scratch: bytes of the TCM for a kernel's scratch tiles */
    uint64_t time_limit_ps;          /* pe.time_limit: of simulated time, for a kernel; 0: none */
    uint64_t host_limit_ps;          /* pe.host_limit: of real time without a call, or in calls while nothing moves;
                                        0: none */
    uint64_t quantum_ps;             /* simulation.quantum: how far a kernel runs ahead of the SystemC kernel */
    uint32_t asid;                   /* workload.asid: whose blocks the kernel's tiles are */
    tla_retry_policy retry;          /* of a kernel's allocations: host.retries, host.retry_delay */

    tl_collective_settings collectives; /* collectives.*: what its kernels are told */
} tla_pe_parameters;

/* Of the host. */
typedef struct tla_host_parameters {
    uint32_t dma_chunk;                  /* host.dma_chunk: bytes of one transaction when tensors are moved */
    tla_retry_policy retry;              /* host.retries, host.retry_delay: of every command but LAUNCH */
    uint32_t asid;                       /* workload.asid: the address space that tensors are mapped in */
    uint64_t page_size;                  /* va.page_size: what a page fault brings */
    uint64_t fault_latency_ps;           /* mmu.fault_latency: of a page fault, to the host and back */
    uint64_t hbm_reserved, tcm_reserved; /* bytes of a PE's memories that are never given, for messages */
    tla_lockstep_scope lockstep;         /* controller.lockstep: who places blocks in the HBM slices */
    uint64_t hbm_slice;                  /* bytes of a PE's slice */
    uint32_t fronts;                     /* memories with a front, which clean-up trims: bit c for tla_memory_kind c */
    uint32_t segment_fronts;             /* of these, the memories with segment_cache */
    tla_host_driver_parameters driver;   /* host.driver, .driver_alloc, .driver_free, .driver_synchronous */
    tla_host_pool pool;                  /* host.pool */
    uint64_t memory;                     /* host_memory.capacity: bytes of the host's memory, 0: it has none */
} tla_host_parameters;

/* Of an IO_CPU or an M_CPU. */
typedef struct tla_command_processor_parameters {
    uint64_t overhead_ps; /* command_processor.io_cpu_overhead, command_processor.m_cpu_overhead: per command */
} tla_command_processor_parameters;

void tla_dma_defaults(tla_dma_parameters *parameters);
void tla_pe_defaults(tla_pe_parameters *parameters);
void tla_host_defaults(tla_host_parameters *parameters);
void tla_io_cpu_defaults(tla_command_processor_parameters *parameters);
void tla_m_cpu_defaults(tla_command_processor_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
