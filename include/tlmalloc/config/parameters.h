/* The parameters of the modules: the structs that their constructors take.
 *
 * The defaults of the members, with units, ranges and sources, are the rows of model/config/platform_keys.c, which
 * `tlmalloc check --reference` prints. The functions below fill a struct from these rows. A module built in C++ and a
 * module built from an empty configuration are therefore the same. The comments here give a member's meaning and its
 * key; a member without a key follows from other members. */
#ifndef TLMALLOC_CONFIG_PARAMETERS_H
#define TLMALLOC_CONFIG_PARAMETERS_H

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/tensor_shards.h"
#include "tlmalloc/kernel/types.h"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/vm/mmu.h"
#include "tlmalloc/vm/va_space.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Memories and their controllers --- */

/* A PE's slice of HBM. The host's memory has the same channels: host_memory.capacity, .channels, .interleave,
 * .channel_bandwidth, .direction_switch and .latency. */
typedef struct tla_hbm_parameters {
    uint64_t capacity;                 /* bytes; in a platform hbm.capacity_per_cube / system.pes_per_cube */
    uint32_t pseudo_channels;          /* hbm.pseudo_channels: power of two */
    uint32_t burst;                    /* hbm.burst: bytes, power of two */
    uint64_t pseudo_channel_bandwidth; /* hbm.pseudo_channel_bandwidth: bytes/s of one channel */
    uint64_t direction_switch_ps;      /* hbm.direction_switch: read <-> write */
    uint64_t latency_ps;               /* hbm.controller_latency: added to every access */
    uint64_t ecc_latency_ps;           /* faults.ecc_latency: time of a correction */
} tla_hbm_parameters;

/* A PE's tightly coupled memory. A cube's SRAM and the memory of its M_CPU have the same structure: the keys of the
 * sections sram and m_cpu_memory. */
typedef struct tla_tcm_parameters {
    uint64_t capacity;                        /* tcm.capacity: bytes */
    uint64_t read_bandwidth, write_bandwidth; /* tcm.read_bandwidth, tcm.write_bandwidth: bytes/s of a channel */
    uint64_t latency_ps;                      /* tcm.latency: added to every access */
} tla_tcm_parameters;

/* The component that places the blocks of the HBM slices. Off: each PE's controller places its own blocks. Cube or SIP:
 * one decision for all slices of a cube (by its M_CPU) or of a SIP (by its IO_CPU). A block then lies at the same
 * offset in each slice (lockstep.h). */
typedef enum tla_lockstep_scope {
    TLA_LOCKSTEP_OFF,
    TLA_LOCKSTEP_CUBE,
    TLA_LOCKSTEP_SIP,
    TLA_LOCKSTEP_SCOPE_COUNT
} tla_lockstep_scope;

/* "off", "cube", "sip"; NULL for an unknown value. */
const char *tla_lockstep_scope_name(tla_lockstep_scope scope);

/* The engine that serves beside the core, and hence the source of a command's duration (engine.h). */
typedef enum tla_engine_kind {
    TLA_ENGINE_MODEL,    /* no engine: the prices of the receipt */
    TLA_ENGINE_RTL,      /* the policy's engine of model/rtl, clocked until it answers */
    TLA_ENGINE_FIRMWARE, /* the policy's engine of platform/firmware, run by a hart until it answers */
    TLA_ENGINE_KIND_COUNT
} tla_engine_kind;

/* "model", "rtl", "firmware"; NULL for an unknown value. */
const char *tla_engine_kind_name(tla_engine_kind kind);

/* The memory controllers: of PEs, of the cube's other memories and of the host's. Their engines are alike. */
typedef struct tla_controller_parameters {
    /* controller.hbm_policy, .tcm_policy, .sram_policy, .m_cpu_policy, .host_policy, .hbm_front, .tcm_front,
     * .sram_front, .m_cpu_front, .host_front, .alignment, .validate, .guard_history and .addresses (layout); hbm.base
     * and tcm.base (base, of the plain layout); tcm.scheduler_reserve. The platform determines the location of the PE
     * and the sizes of its memories. The other members determine the guarded and reserved ranges. */
    tla_pe_memory_config memory;
    tla_lockstep_scope lockstep;   /* controller.lockstep; hbm_policy must then be first_fit or first_fit_top */
    uint32_t ports, queue_depth;   /* controller.ports, one for each sender; controller.queue_depth */
    tla_free_list_place free_list; /* controller.free_list */
    uint64_t node_latency_ps;      /* controller.node_latency: sram, an access to a node; hbm, a hit in the cache */
    uint64_t list_reserve;         /* controller.list_reserve: bytes */
    uint64_t node_cache;           /* controller.node_cache: nodes */
    tla_guard_mode guard;          /* controller.guard */
    bool poison;           /* controller.poison: fill freed bytes with 0xDD; the host then commits their memory */
    bool object_signals;   /* controller.object_signals: waveforms show references, pins, objects */
    tla_move_config move;  /* controller.move, .move_chunk, .move_rounds: how blocks move */
    uint32_t move_buffers; /* controller.move_buffers: chunks of a move that are in flight */
    tla_victim_rule object_eviction;    /* controller.object_eviction: object under a key that leaves */
    tla_watermark_config watermark;     /* controller.watermark, .watermark_share, .watermark_interval */
    tla_controller_partition partition; /* controller.partition, .partition_l1, .partition_chunk and others */
    uint64_t pin_wait_ps;               /* controller.pin_wait: how long a chunk of the front lazy waits for accesses */
    tla_compaction_config compaction;   /* controller.compaction, .compaction_threshold; planner: exact */
    uint64_t compaction_budget;         /* controller.compaction_budget: bytes/s */
    tla_engine_kind engine;             /* controller.engine */
    uint32_t engine_nodes;       /* controller.engine_nodes: nodes of a free list; 0: as needed, or the engine's */
    uint32_t engine_node_cycles; /* controller.engine_node_cycles: rtl, 1 or 2 */
    tla_riscv_timing firmware;   /* controller.firmware: timing of the processor of engine firmware */
    tla_cost_profile cost;       /* controller.cost: of a command; with an engine its clock and the costs outside it */
} tla_controller_parameters;

void tla_hbm_defaults(tla_hbm_parameters *parameters);
void tla_tcm_defaults(tla_tcm_parameters *parameters);
void tla_sram_defaults(tla_tcm_parameters *parameters);
void tla_m_cpu_memory_defaults(tla_tcm_parameters *parameters);
void tla_host_memory_defaults(tla_hbm_parameters *parameters);
void tla_controller_defaults(tla_controller_parameters *parameters);

/* --- Translation --- */

/* The handling of an access to an unmapped virtual address. It returns an error, uses the address as a physical
 * address, or requests memory from the host and is then repeated. */
typedef enum tla_unmapped {
    TLA_UNMAPPED_ERROR,
    TLA_UNMAPPED_PA_FALLBACK,
    TLA_UNMAPPED_DEMAND,
    TLA_UNMAPPED_COUNT
} tla_unmapped;

/* "error", "pa_fallback", "demand"; NULL for an unknown value. */
const char *tla_unmapped_name(tla_unmapped unmapped);

/* The component that serves page faults: the host, or the memory controller of the PE, which asks the host only for
 * what it cannot serve. */
typedef enum tla_fault_handler {
    TLA_FAULT_HANDLER_HOST,
    TLA_FAULT_HANDLER_CONTROLLER,
    TLA_FAULT_HANDLER_COUNT
} tla_fault_handler;

/* "host", "controller"; NULL for an unknown value. */
const char *tla_fault_handler_name(tla_fault_handler handler);

/* The acknowledgement of a mapping command: when it has been sent, or when every MMU has completed it. */
typedef enum tla_map_ack { TLA_MAP_ACK_VISIBLE, TLA_MAP_ACK_POSTED, TLA_MAP_ACK_COUNT } tla_map_ack;

/* "visible", "posted"; NULL for an unknown value. */
const char *tla_map_ack_name(tla_map_ack ack);

/* The payer of mmu.overhead. Access: every access through the MMU. Call: a load or store of a kernel once, before it
 * takes a channel of the DMA; tiles of composites and other accesses pay nothing (KernBench ADR-0039 D2.1). */
typedef enum tla_overhead_place {
    TLA_OVERHEAD_AT_ACCESS,
    TLA_OVERHEAD_AT_CALL,
    TLA_OVERHEAD_PLACE_COUNT
} tla_overhead_place;

/* "access", "call"; NULL for an unknown value. */
const char *tla_overhead_place_name(tla_overhead_place place);

typedef struct tla_mmu_parameters {
    uint64_t page_size;                                 /* mmu.page_size: bytes, power of two */
    uint64_t larger_page_sizes[TLA_PAGE_SIZES_MAX - 1]; /* mmu.pages_64k and others: ascending; 0 = no more */
    uint64_t overhead_ps;                               /* mmu.overhead */
    tla_overhead_place overhead_at;                     /* mmu.overhead_at */
    tla_unmapped unmapped;                              /* mmu.unmapped */
    tla_fault_handler fault_handler;                    /* demand: mmu.fault_handler */
    uint64_t fault_pool;                                /* controller: mmu.fault_pool, bytes; 0: no limit */
    bool allow_remap;                                   /* mmu.allow_remap: false, a MAP that overlaps fails */
    uint32_t va_bits, asids;             /* mmu.va_bits, mmu.asids: width of addresses, number of address spaces */
    uint32_t ports, queue_depth;         /* mmu.ports, mmu.queue_depth */
    tla_walk_mode walk;                  /* mmu.walk */
    uint32_t ranges;                     /* flat, memory: mmu.ranges, beside the TLB; 0: none */
    tla_tlb_level_config tlb_l1, tlb_l2; /* flat, memory: mmu.tlb_l1, mmu.tlb_l2; entries 0: the level is missing */
    uint64_t tlb_seed;                   /* mmu.tlb_seed: seed of the random replacement */
    tla_walkers_config walkers;          /* flat, memory: mmu.walkers */
    tla_retry_policy retry;              /* memory: for ALLOC and FREE; host.retries, host.retry_delay */
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

/* A PE's DMA engine. */
typedef struct tla_dma_parameters {
    uint32_t chunk;       /* dma.chunk: bytes; chunks end at multiples of it */
    uint64_t bandwidth;   /* dma.bandwidth: bytes/s that a channel issues */
    uint32_t outstanding; /* dma.outstanding: outstanding chunks of each channel */
    uint32_t asid;        /* workload.asid: address space of the virtual addresses */
    bool tell_extent;     /* attach to every chunk the extent of its transfer; true where memory is guarded */
} tla_dma_parameters;

/* A PE, which runs a kernel. */
typedef struct tla_pe_parameters {
    uint64_t launch_ps;              /* pe.launch: from LAUNCH to the first call of the kernel */
    uint64_t dispatch_ps;            /* pe.dispatch: of every kernel call that does work */
    uint64_t gemm_rate, vector_rate; /* pe.gemm_rate, pe.vector_rate: operations/s */
    uint64_t vector_cycle_ps; /* pe.vector_cycle: operations of the vector engine take whole cycles; 0: any time */
    uint64_t scheduler_ps;    /* pe.scheduler: scheduler time for a tile of a composite */
    uint32_t tile_m, tile_k, tile_n; /* pe.tile_m, pe.tile_k, pe.tile_n: elements of a composite's tile */
    uint32_t pipeline_depth;         /* pe.pipeline_depth: buffers, register sets and accumulators of its stages */
    uint32_t outstanding;            /* pe.outstanding: operations that a kernel has begun and not waited for */
    uint64_t stack;                  /* pe.stack: bytes of a kernel's stack */
    uint64_t scratch;                /* pe.scratch: bytes of the TCM for a kernel's scratch tiles */
    uint64_t time_limit_ps;          /* pe.time_limit: of simulated time, for a kernel; 0: none */
    uint64_t host_limit_ps; /* pe.host_limit: real time without a call, or in calls without progress; 0: none */
    uint64_t quantum_ps;    /* simulation.quantum: how far a kernel runs ahead of the SystemC kernel */
    uint32_t asid;          /* workload.asid: owner of the blocks of the kernel's tiles */
    tla_retry_policy retry; /* for a kernel's allocations: host.retries, host.retry_delay */

    tl_collective_settings collectives; /* collectives.*: settings for its kernels */
} tla_pe_parameters;

enum { TLA_PREFETCH_MAX = 64 };

/* The host. */
typedef struct tla_host_parameters {
    uint32_t dma_chunk;                  /* host.dma_chunk: bytes of one transaction when the host moves tensors */
    tla_retry_policy retry;              /* host.retries, host.retry_delay: for every command but LAUNCH */
    uint32_t asid;                       /* workload.asid: the address space of tensor mappings */
    uint64_t page_size;                  /* va.page_size: bytes that a page fault maps */
    uint64_t fault_latency_ps;           /* mmu.fault_latency: of a page fault, to the host and back */
    tla_eviction eviction;               /* mmu.eviction: of pages on demand, to the host's memory */
    uint32_t prefetch;                   /* mmu.prefetch: pages that a page fault brings beside its own, at most 64 */
    uint64_t hbm_reserved, tcm_reserved; /* bytes of a PE's memories that are reserved for messages */
    tla_lockstep_scope lockstep;         /* controller.lockstep: the component that places blocks in the HBM slices */
    tla_units_mode lockstep_mode;        /* controller.lockstep_mode: of tensors whose creator states no mode */
    uint64_t hbm_slice;                  /* bytes of a PE's slice */
    uint32_t fronts;                     /* memories with a front, which clean-up trims: bit c for tla_memory_kind c */
    uint32_t parts;                      /* likewise the memories with a part for objects: controller.partition */
    uint32_t segment_fronts;             /* the memories among `fronts` with segment_cache or segmented */
    tla_host_driver_parameters driver;   /* host.driver, .driver_alloc, .driver_free, .driver_synchronous */
    tla_host_pool pool;                  /* host.pool */
    uint64_t memory;                     /* host_memory.capacity: bytes of the host's memory; 0: no memory */
    bool moves;                          /* controller.move is not off: controllers know the mappings of blocks */
    bool delegates;                      /* mmu.fault_handler is controller: tensors on demand are delegated */
} tla_host_parameters;

/* An IO_CPU or an M_CPU. */
typedef struct tla_command_processor_parameters {
    uint64_t overhead_ps; /* command_processor.io_cpu_overhead, command_processor.m_cpu_overhead: per command */
} tla_command_processor_parameters;

void tla_dma_defaults(tla_dma_parameters *parameters);
void tla_pe_defaults(tla_pe_parameters *parameters);
void tla_host_defaults(tla_host_parameters *parameters);
void tla_io_cpu_defaults(tla_command_processor_parameters *parameters);
void tla_m_cpu_defaults(tla_command_processor_parameters *parameters);

/* --- Messages --- */

/* Maximum bytes of all slots of a direction: a half of the window through which senders write them. */
#define TLA_MESSAGE_WINDOW_BYTES (UINT64_C(8) << 20)

/* The wait of a sender without a credit: until a credit arrives, or by polling. */
typedef enum tla_back_pressure {
    TLA_BACK_PRESSURE_SLEEP,
    TLA_BACK_PRESSURE_POLL,
    TLA_BACK_PRESSURE_COUNT
} tla_back_pressure;

/* "sleep", "poll"; NULL for an unknown value. */
const char *tla_back_pressure_name(tla_back_pressure back_pressure);

typedef struct tla_message_parameters {
    uint32_t slots;                  /* messages.slots: of each direction between two PEs */
    uint64_t slot_size;              /* messages.slot_size: bytes */
    uint32_t credit_bytes;           /* messages.credit: bytes that a credit occupies on its route */
    tla_slot_memory memory;          /* messages.memory */
    tla_back_pressure back_pressure; /* messages.back_pressure */
    uint64_t poll_ps;                /* messages.poll_interval */
    tla_slot_costs costs;            /* messages.costs */
    uint64_t overhead_ps;            /* messages.overhead: of sending a message, beside dispatch, path and slots */
    bool read_slot;                  /* messages.read_slot: false, a receiver does not pay the read of the slot */
    bool signals;                    /* messages.signals: waveforms show the queues */
    uint32_t asid;                   /* workload.asid: owner of the blocks of the slots */
    tla_retry_policy retry;          /* for the slots' allocation: host.retries, host.retry_delay */
} tla_message_parameters;

void tla_messages_defaults(tla_message_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
