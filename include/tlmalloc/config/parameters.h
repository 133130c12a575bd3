/* What the modules are told: the structs that they take.
 *
 * The defaults of the members, with units, ranges and sources, are the rows of model/config/platform_keys.c, which
 * `tlmalloc check --reference` prints: the functions below fill a struct from there, so that a module made in C++ and
 * one made from an empty configuration are the same. Here it says what a member is and which key it has; a member
 * without one follows from others. */
#ifndef TLMALLOC_CONFIG_PARAMETERS_H
#define TLMALLOC_CONFIG_PARAMETERS_H

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/types.h"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/vm/mmu.h"
#include "tlmalloc/vm/va_space.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Memories and their controllers --- */

/* Of a PE's slice of HBM; and of the host's memory, whose channels are built alike: host_memory.capacity, .channels,
 * .interleave, .channel_bandwidth, .direction_switch and .latency. */
typedef struct tla_hbm_parameters {
    uint64_t capacity;                 /* bytes; of a platform hbm.capacity_per_cube / system.pes_per_cube */
    uint32_t pseudo_channels;          /* hbm.pseudo_channels: power of two */
    uint32_t burst;                    /* hbm.burst: bytes, power of two */
    uint64_t pseudo_channel_bandwidth; /* hbm.pseudo_channel_bandwidth: bytes/s of one */
    uint64_t direction_switch_ps;      /* hbm.direction_switch: read <-> write */
    uint64_t latency_ps;               /* hbm.controller_latency: added to every access */
    uint64_t ecc_latency_ps;           /* faults.ecc_latency: of a correction */
} tla_hbm_parameters;

/* Of a PE's tightly coupled memory; and of a cube's SRAM and the memory of its M_CPU, which are built alike: the keys
 * of the sections sram and m_cpu_memory. */
typedef struct tla_tcm_parameters {
    uint64_t capacity;                        /* tcm.capacity: bytes */
    uint64_t read_bandwidth, write_bandwidth; /* tcm.read_bandwidth, tcm.write_bandwidth: bytes/s of a channel */
    uint64_t latency_ps;                      /* tcm.latency: added to every access */
} tla_tcm_parameters;

/* Who places the blocks of the HBM slices: each PE's controller its own, or one decision for all slices of a cube (its
 * M_CPU's) or of a SIP (its IO_CPU's), by which a block lies at the same offset in each (lockstep.h). */
typedef enum tla_lockstep_scope {
    TLA_LOCKSTEP_OFF,
    TLA_LOCKSTEP_CUBE,
    TLA_LOCKSTEP_SIP,
    TLA_LOCKSTEP_SCOPE_COUNT
} tla_lockstep_scope;

/* "off", "cube", "sip"; NULL for a value that is none. */
const char *tla_lockstep_scope_name(tla_lockstep_scope scope);

/* What is asked beside the core, and so what says how long a command takes (engine.h). */
typedef enum tla_engine_kind {
    TLA_ENGINE_MODEL,    /* nothing: the prices of the receipt */
    TLA_ENGINE_RTL,      /* that of model/rtl for the policy, clocked until it answers */
    TLA_ENGINE_FIRMWARE, /* that of platform/firmware, run by a hart until it answers */
    TLA_ENGINE_KIND_COUNT
} tla_engine_kind;

/* "model", "rtl", "firmware"; NULL for a value that is none. */
const char *tla_engine_kind_name(tla_engine_kind kind);

/* Of the memory controllers: of PEs, of the cube's other memories and of the host's, whose engines are alike. */
typedef struct tla_controller_parameters {
    /* controller.hbm_policy, .tcm_policy, .sram_policy, .m_cpu_policy, .host_policy, .hbm_front, .tcm_front,
     * .sram_front, .m_cpu_front, .host_front, .alignment, .validate, .guard_history and .addresses (layout), hbm.base
     * and tcm.base (base, of the plain layout), tcm.scheduler_reserve; where the PE stands and how large its memories
     * are follows from the platform, what is guarded and reserved from the rest. */
    tla_pe_memory_config memory;
    tla_lockstep_scope lockstep;   /* controller.lockstep; hbm_policy is first_fit or first_fit_top then */
    uint32_t ports, queue_depth;   /* controller.ports, one for each sender; controller.queue_depth */
    tla_free_list_place free_list; /* controller.free_list */
    uint64_t node_latency_ps;      /* controller.node_latency: sram, an access to a node; hbm, a hit in the cache */
    uint64_t list_reserve;         /* controller.list_reserve: bytes */
    uint64_t node_cache;           /* controller.node_cache: nodes */
    tla_guard_mode guard;          /* controller.guard */
    bool poison;                   /* controller.poison: fill freed bytes with 0xDD; commits them on the host */
    bool object_signals;           /* controller.object_signals: waveforms show references, pins, objects */
    tla_engine_kind engine;        /* controller.engine */
    uint32_t engine_nodes;         /* controller.engine_nodes: of a free list; 0: as many as it needs, or has */
    uint32_t engine_node_cycles;   /* controller.engine_node_cycles: rtl, 1 or 2 */
    tla_riscv_timing firmware;     /* controller.firmware: of the processor of engine firmware */
    tla_cost_profile cost;         /* controller.cost: of a command; of an engine its clock, and what is beside it */
} tla_controller_parameters;

void tla_hbm_defaults(tla_hbm_parameters *parameters);
void tla_tcm_defaults(tla_tcm_parameters *parameters);
void tla_sram_defaults(tla_tcm_parameters *parameters);
void tla_m_cpu_memory_defaults(tla_tcm_parameters *parameters);
void tla_host_memory_defaults(tla_hbm_parameters *parameters);
void tla_controller_defaults(tla_controller_parameters *parameters);

/* --- Translation --- */

/* What an access to an unmapped virtual address does: is answered with an error, takes the address for physical, or
 * asks the host for memory and is then made again. */
typedef enum tla_unmapped {
    TLA_UNMAPPED_ERROR,
    TLA_UNMAPPED_PA_FALLBACK,
    TLA_UNMAPPED_DEMAND,
    TLA_UNMAPPED_COUNT
} tla_unmapped;

/* "error", "pa_fallback", "demand"; NULL for a value that is none. */
const char *tla_unmapped_name(tla_unmapped unmapped);

/* When a mapping command is acknowledged: when it has been sent, or when every MMU has done it. */
typedef enum tla_map_ack { TLA_MAP_ACK_VISIBLE, TLA_MAP_ACK_POSTED, TLA_MAP_ACK_COUNT } tla_map_ack;

/* "visible", "posted"; NULL for a value that is none. */
const char *tla_map_ack_name(tla_map_ack ack);

typedef struct tla_mmu_parameters {
    uint64_t page_size;                                 /* mmu.page_size: bytes, power of two */
    uint64_t larger_page_sizes[TLA_PAGE_SIZES_MAX - 1]; /* mmu.pages_64k and others: ascending; 0 = no more */
    uint64_t overhead_ps;                               /* mmu.overhead: per access */
    tla_unmapped unmapped;                              /* mmu.unmapped */
    bool allow_remap;                                   /* mmu.allow_remap: false, a MAP that overlaps fails */
    uint32_t va_bits, asids;                            /* mmu.va_bits, mmu.asids: width of addresses, their spaces */
    uint32_t ports, queue_depth;                        /* mmu.ports, mmu.queue_depth */
    tla_walk_mode walk;                                 /* mmu.walk */
    tla_tlb_level_config tlb_l1, tlb_l2; /* flat, memory: mmu.tlb_l1, mmu.tlb_l2; entries 0: there is none */
    uint64_t tlb_seed;                   /* mmu.tlb_seed: of the random replacement */
    tla_walkers_config walkers;          /* flat, memory: mmu.walkers */
    tla_retry_policy retry;              /* memory: of ALLOC and FREE; host.retries, host.retry_delay */
    tla_cost_profile cost;               /* mmu.cost: of a command */
} tla_mmu_parameters;

typedef struct tla_va_parameters {
    tla_va_space_config space; /* va.base, va.size, va.page_size; larger pages are those of the MMUs */
    tla_map_ack map_ack;       /* va.map_ack */
    tla_cost_profile cost;     /* va.cost: of VA_ALLOC and VA_FREE */
} tla_va_parameters;

void tla_mmu_defaults(tla_mmu_parameters *parameters);
void tla_va_defaults(tla_va_parameters *parameters);

/* --- Kernels, transfers, the host --- */

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

/* --- Messages --- */

/* What all slots of a direction have at most, a half of the window that they are written through. */
#define TLA_MESSAGE_WINDOW_BYTES (UINT64_C(8) << 20)

/* How a sender without a credit waits: until one comes, or by looking again and again. */
typedef enum tla_back_pressure {
    TLA_BACK_PRESSURE_SLEEP,
    TLA_BACK_PRESSURE_POLL,
    TLA_BACK_PRESSURE_COUNT
} tla_back_pressure;

/* "sleep", "poll"; NULL for a value that is none. */
const char *tla_back_pressure_name(tla_back_pressure back_pressure);

typedef struct tla_message_parameters {
    uint32_t slots;                  /* messages.slots: of each direction between two PEs */
    uint64_t slot_size;              /* messages.slot_size: bytes */
    uint32_t credit_bytes;           /* messages.credit: bytes that a credit takes on its way */
    tla_slot_memory memory;          /* messages.memory */
    tla_back_pressure back_pressure; /* messages.back_pressure */
    uint64_t poll_ps;                /* messages.poll_interval */
    tla_slot_costs costs;            /* messages.costs */
    bool signals;                    /* messages.signals: waveforms show the queues */
    uint32_t asid;                   /* workload.asid: whose blocks the slots are */
    tla_retry_policy retry;          /* of the slots' allocation: host.retries, host.retry_delay */
} tla_message_parameters;

void tla_messages_defaults(tla_message_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
