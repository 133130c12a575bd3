/* The memory that the segments of a snapshot hold: what a snapshot without its history can show. */
#ifndef TLMALLOC_PLATFORM_TORCH_USAGE_H
#define TLMALLOC_PLATFORM_TORCH_USAGE_H

#include "torch/torch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes: reserved = allocated + pending + whole + pieces. */
typedef struct torch_usage {
    uint64_t segments;
    uint64_t reserved;
    uint64_t allocated;
    uint64_t requested; /* of the allocated blocks; as many as allocated where the file lacks it */
    uint64_t pending;   /* the program has freed them, another stream still uses them */
    uint64_t whole;     /* free, in segments without a block; of an expandable range its granules without a block */
    uint64_t pieces;    /* free, in other segments and granules */
    uint64_t waiting;   /* how many more `whole` has after the other streams are done with the pending blocks */
    uint64_t largest_free;
} torch_usage;

/* The segments of one pool, small or large, of one stream. */
typedef struct torch_usage_row {
    torch_pool owner; /* (0, 0): the common pools */
    bool small;
    uint64_t stream;
    torch_usage usage;
} torch_usage_row;

/* A segment with free pieces, and its largest block. */
typedef struct torch_usage_blocker {
    uint64_t segment, pieces, live;
    size_t blocks; /* allocated or pending */
    uint64_t largest_block, largest_bytes;
    const void *source; /* of the largest block */
} torch_usage_blocker;

enum { TORCH_USAGE_BLOCKERS = 5 };

typedef struct torch_usage_report {
    size_t device;
    torch_usage all;
    uint64_t empty_cache; /* bytes that torch.cuda.empty_cache() returns: `whole` and `waiting` of the common pools */
    uint64_t
        private_whole; /* `whole` of private pools, which stay until the graphs or the MemPool of the pool are gone */
    torch_usage_row *rows; /* by owner, small pools first, then by stream */
    size_t row_count;
    torch_usage_blocker blockers[TORCH_USAGE_BLOCKERS]; /* the most bytes in pieces first */
    size_t blocker_count;
} torch_usage_report;

/* Adds up the segments of a device. TLA_SYNTAX, with the place, when segments contradict themselves or each other;
 * TLA_NO_HOST_MEMORY; *report is empty then. */
tla_status torch_usage_find(const torch_snapshot *snapshot, size_t device, torch_usage_report *report,
                            tla_error *error);
void torch_usage_clear(torch_usage_report *report);

/* Adds the figures of one to a sum. */
void torch_usage_add(torch_usage *sum, const torch_usage *more);

#ifdef __cplusplus
}
#endif
#endif
