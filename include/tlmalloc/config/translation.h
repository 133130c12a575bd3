/* What an MMU and the manager of virtual addresses are told: the structs that the modules take (config/memory.h
 * says where their defaults are). */
#ifndef TLMALLOC_CONFIG_TRANSLATION_H
#define TLMALLOC_CONFIG_TRANSLATION_H

#include "tlmalloc/base/cost.h"
#include "tlmalloc/command/sent_command.h"
#include "tlmalloc/vm/mmu.h"
#include "tlmalloc/vm/va_space.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
