/* What a PE's memories and the controller in front of them are told: the structs that the modules take.
 *
 * The defaults of the members, with units, ranges and sources, are the rows of model/config/platform_keys.c, which
 * `tlmalloc check --reference` prints: the functions below fill a struct from there, so that a module made in C++ and
 * one made from an empty configuration are the same. Here it says what a member is and which key it has; a member
 * without one follows from others. */
#ifndef TLMALLOC_CONFIG_MEMORY_H
#define TLMALLOC_CONFIG_MEMORY_H

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/cost.h"
#include "tlmalloc/memory/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
