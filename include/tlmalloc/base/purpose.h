/* Why an access to memory is made. Counts of accesses and of DRAM commands, and energies, are kept by purpose. */
#ifndef TLMALLOC_BASE_PURPOSE_H
#define TLMALLOC_BASE_PURPOSE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_purpose {
    TLA_PURPOSE_KERNEL,    /* a kernel's loads and stores, and every access of an unknown purpose */
    TLA_PURPOSE_WALK,      /* an MMU reads page tables */
    TLA_PURPOSE_ALLOCATOR, /* an allocator's lists, the marks of its guard, and its commands */
    TLA_PURPOSE_MAPPING,   /* page tables are written */
    TLA_PURPOSE_MOVE,      /* blocks are copied: compaction, paging, compression */
    TLA_PURPOSE_MESSAGE,   /* messages between PEs, and their slots */
    TLA_PURPOSE_HOST,      /* the host's DMA and its runtime */
    TLA_PURPOSE_COUNT
} tla_purpose;

/* "kernel", "walk", "allocator", "mapping", "move", "message", "host"; a null pointer for another value. */
const char *tla_purpose_name(tla_purpose purpose);

#ifdef __cplusplus
}
#endif
#endif
