/* The state of a scheduler. Internal to scheduler*.c. */
#ifndef TLMALLOC_PLATFORM_SERVING_SCHEDULER_STATE_H
#define TLMALLOC_PLATFORM_SERVING_SCHEDULER_STATE_H

#include "serving/scheduler.h"

static const uint32_t NOBODY = UINT32_MAX;

typedef struct sequence {
    tla_kv_table table;
    uint32_t generated, computed;
    uint32_t pending;      /* its outputs in flight */
    uint32_t next, before; /* in `waiting`; NOBODY at its ends */
    bool waits, admitted;  /* stands in `waiting`; was in `running` before */
} sequence;

typedef struct flight {
    tla_step_part *parts;
    size_t count, room;
    tla_kv_table *reads; /* of the host's blocks, until it has been processed */
    size_t read_count, read_room;
} flight;

struct tla_scheduler {
    tla_scheduler_rules rules;
    const tla_serving_requests *requests;
    tla_scheduler_watch watch;
    tla_kv_blocks *blocks;
    uint32_t unmade, host_unmade;        /* of both tiers, blocks that no request could use */
    tla_host_tier host;                  /* empty: none */
    uint32_t *out, *out_host, out_count; /* moved out of the first tier by an allocation, and to where */
    tla_work out_work;
    bool out_failed;       /* for want of memory of this machine */
    tla_kv_memory *memory; /* of another manager; NULL: the blocks serve */
    uint32_t memory_peak;  /* the most blocks' worth of it in use */
    sequence *sequences;
    uint32_t *running; /* in order of admission */
    uint32_t running_count;
    uint32_t first, last, waiting_count; /* of `waiting` */
    flight flights[TLA_SERVING_DEPTH_MAX];
    uint32_t oldest, in_flight;
    uint64_t *hashes; /* of a request's blocks, and the found blocks */
    uint32_t *found, *found_host;
    uint32_t *yielded;
    uint64_t computed; /* of all that run */
    tla_scheduler_stats stats;
};

static inline uint32_t least(uint64_t a, uint64_t b) {
    return (uint32_t)(a < b ? a : b);
}

static inline uint32_t blocks_for(const tla_scheduler_rules *rules, uint64_t tokens) {
    return (uint32_t)((tokens + rules->block_tokens - 1) / rules->block_tokens);
}

#endif
