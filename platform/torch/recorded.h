/* A recording replayed as it was recorded: the program's own requests and frees, and the driver's answers. All other
 * actions must follow from segment_cache as they did from PyTorch, entry by entry. */
#ifndef TLMALLOC_PLATFORM_TORCH_RECORDED_H
#define TLMALLOC_PLATFORM_TORCH_RECORDED_H

#include "torch/torch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torch_difference {
    uint64_t entry;     /* counted from 0 without snapshots and unknown actions; of the end state their number */
    char recorded[160]; /* "alloc of 512 bytes at 139637976727552" */
    char replayed[160];
} torch_difference;

typedef struct torch_recorded {
    size_t device;
    uint64_t entries, equal, allocs, ooms;
    bool differs; /* at `first`; the entries behind it were not replayed */
    torch_difference first;
    bool end_state_equal;
    char end_difference[160];      /* the first block that differs in the end */
    tla_segment_cache_stats stats; /* retries, peaks; of blocks older than the trace too */
} torch_recorded;

/* The cache before a request of the recording, behind it, or at the end. */
typedef struct torch_moment {
    tla_segment_cache *cache; /* valid during the call */
    bool behind;              /* the request was served, or has failed as recorded */
    size_t entry;             /* of the request: index into the entries of the device; their number: the end */
    uint64_t index;           /* of the request as torch_difference counts */
    bool captured;            /* the request failed while a graph was being captured: nothing is released then */
    const uint8_t *retired;   /* by pool of the snapshot: 1 when no graph uses it any more; valid during the call */
} torch_moment;

/* What a replay infers about the program between the entries. Marks of an entry: */
enum {
    TORCH_MARK_EMPTIED = 1, /* the program emptied the cache before the entry */
    TORCH_MARK_WAITED = 2,  /* a free completed because the next request waited for it */
    TORCH_MARK_CAPTURED = 4 /* the request failed while a graph was being captured */
};

/* Before `entry` the last graph of a private pool ended. */
typedef struct torch_retirement {
    size_t entry;
    uint32_t pool; /* index into the pools of the snapshot */
} torch_retirement;

typedef struct torch_inferred {
    uint8_t *marks;                /* by entry of the device */
    torch_retirement *retirements; /* in order; room for one of every pool */
    size_t retirement_count;
} torch_inferred;

/* Empty, for one device. TLA_NO_HOST_MEMORY; the caller clears, also then. */
tla_status torch_inferred_create(const torch_snapshot *snapshot, size_t device, torch_inferred *inferred,
                                 tla_error *error);
void torch_inferred_clear(torch_inferred *inferred);

typedef struct torch_recorded_options {
    const tla_segment_cache_config *settings; /* NULL: those of the recording */
    /* Called before and after every request and at the end; true ends the replay. NULL: no observer. */
    bool (*watch)(void *context, const torch_moment *moment);
    void *context;
    torch_inferred *inferred; /* NULL, or filled by the last replay */
} torch_recorded_options;

/* Replays one device from what torch_start_find found. A difference is a result, not an error. TLA_NO_HOST_MEMORY,
 * TLA_INVALID_ARGUMENT for settings that cannot be; TLA_SYNTAX when the segments contradict the trace. */
tla_status torch_replay_recorded(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                 const torch_recorded_options *options, torch_recorded *result, tla_error *error);

/* Puts what lived before the trace into an empty cache, as it lay; device_bytes as in its configuration. */
tla_status torch_start_restore(const torch_snapshot *snapshot, const torch_start *start, uint64_t device_bytes,
                               tla_segment_cache *cache);

/* The state of a cache in another one, of another configuration; ages of blocks are lost. The caller abandons it, also
 * after an error. */
tla_status torch_cache_copy(const torch_snapshot *snapshot, const tla_segment_cache *from,
                            const tla_segment_cache_config *config, tla_segment_cache **copy);

/* The same, but at most `room` of the addresses without memory stay at the end of the range in which they begin at
 * `address`; *length is the remaining length, UINT64_MAX when no longer range has this address. */
tla_status torch_cache_copy_shortened(const torch_snapshot *snapshot, const tla_segment_cache *from,
                                      const tla_segment_cache_config *config, uint64_t address, uint64_t room,
                                      uint64_t *length, tla_segment_cache **copy);

#ifdef __cplusplus
}
#endif
#endif
