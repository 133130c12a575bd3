/* Why a cache holds more than its owners use, byte by byte, as one request sees it (the gap of torchrec #4584).
 *
 * Works on a list of blocks, so on any cache that can list them: tla_segment_cache_blocks does. */
#ifndef TLMALLOC_SEGMENTS_SEGMENT_GAP_H
#define TLMALLOC_SEGMENTS_SEGMENT_GAP_H

#include "tlmalloc/segments/segment_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every byte of reserved - allocated is in exactly one class. */
typedef enum tla_gap_class {
    TLA_GAP_PENDING,    /* freed by its owner, another stream still uses it */
    TLA_GAP_HARD,       /* free, and cannot be given back: its segment, or in a range its granule, holds a block */
    TLA_GAP_SOFT,       /* can be given back; of the request's stream and pool, but in no piece that was large enough */
    TLA_GAP_STREAM,     /* can be given back; of the request's pool and another stream */
    TLA_GAP_OTHER_POOL, /* can be given back; of another pool: small, large, or a graph's */
    TLA_GAP_CLASS_COUNT
} tla_gap_class;

/* "pending", "hard", "soft", "stream", "other_pool". */
const char *tla_gap_class_name(tla_gap_class which);

/* What helps against a class, one sentence without a full stop. */
const char *tla_gap_class_remedy(tla_gap_class which);

typedef struct tla_gap_request {
    uint64_t nbytes; /* rounded: what a block must have at least */
    uint64_t stream;
    tla_segment_pool_id owner;
    bool small;
    /* The rules that withhold blocks, as in the configuration of the cache. */
    uint64_t max_split_size;         /* 0: none */
    uint64_t max_non_split_rounding; /* 0: 20 MiB */
    bool exempt_expandable;
} tla_gap_request;

typedef struct tla_gap {
    uint64_t reserved;                     /* bytes with memory */
    uint64_t allocated;                    /* in blocks of their owners */
    uint64_t requested;                    /* of them asked for */
    uint64_t classes[TLA_GAP_CLASS_COUNT]; /* sum: reserved - allocated */
    uint64_t refused;      /* besides: free bytes of the stream and pool in blocks that are large enough and
                              that the oversize rules withhold */
    uint64_t largest_free; /* the largest free block of the stream and pool */
} tla_gap;

/* The blocks of a cache by address, every segment whole. */
tla_gap tla_gap_explain(const tla_segment_block_info *blocks, size_t count, const tla_gap_request *request);

/* The request that a cache of this configuration would make of nbytes, in everybody's pool. */
tla_gap_request tla_gap_request_of(const tla_segment_cache_config *config, uint64_t stream, uint64_t nbytes);

/* allocated - requested: what rounding and unsplit rests take. */
static inline uint64_t tla_gap_slack(const tla_gap *gap) {
    return gap->allocated > gap->requested ? gap->allocated - gap->requested : 0;
}

/* The class with the most bytes; TLA_GAP_CLASS_COUNT when there are none in any. */
tla_gap_class tla_gap_largest_class(const tla_gap *gap);

#ifdef __cplusplus
}
#endif
#endif
