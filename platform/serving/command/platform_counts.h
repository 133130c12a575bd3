/* The counts of decisions about blocks on a platform, for reports. */
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_COUNTS_H
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_COUNTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands by kind, including the releases at the end; and moves between slices and the host's memory. */
typedef struct platform_counts {
    uint64_t alloc, free, ref;                            /* to the controllers of the slices; FREE of a reference */
    uint64_t map, unmap;                                  /* to the PEs' MMUs */
    uint64_t host_alloc, host_free, host_pin, host_unpin; /* to the controller of the host's memory */
    uint64_t moved_out, moved_in;                         /* blocks, by DMA */
    uint64_t bytes_out, bytes_in;
    uint64_t moving_ps; /* time of the moves */
} platform_counts;

#ifdef __cplusplus
}
#endif
#endif
