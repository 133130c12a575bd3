/* The reads of attention on a platform, for reports. */
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_ATTENTION_H
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_ATTENTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The totals of the one simulated layer, in all steps. */
typedef struct platform_attention_totals {
    uint64_t bytes;      /* of keys and values */
    uint64_t lookups;    /* of the PEs' MMUs */
    uint64_t tlb_misses; /* 0 where walks take no time (mmu.walk ideal) */
    uint64_t ps;         /* sum over the steps */
} platform_attention_totals;

#ifdef __cplusplus
}
#endif
#endif
