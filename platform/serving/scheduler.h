/* Continuous batching over a paged key-value cache, by the rules of vLLM V1 (vllm/v1/core/sched/scheduler.py and
 * async_scheduler.py, 0.19.0 and 0.28.0): a budget of tokens for every step, prefill in chunks, admission in order
 * behind a gate, preemption by recomputation, steps formed while others are in flight. It has no clock: the caller
 * states when a request arrives, when a step is formed, and when the oldest step has ended. */
#ifndef TLMALLOC_PLATFORM_SERVING_SCHEDULER_H
#define TLMALLOC_PLATFORM_SERVING_SCHEDULER_H

#include "serving/host_tier.h"
#include "serving/kv_memory.h"
#include "tlmalloc/kv/kv_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SERVING_DEPTH_MAX = 2 };

typedef struct tla_scheduler_rules {
    uint32_t blocks;          /* of the cache, with the placeholder: usable are one less */
    uint32_t block_tokens;    /* 1 or more */
    uint64_t step_tokens;     /* the most of one step, 1 or more: max_num_batched_tokens */
    uint32_t sequences;       /* the most that run at once, 1 or more: max_num_seqs */
    uint64_t request_tokens;  /* the most of a request, prompt and output: max_model_len; 0: any */
    uint32_t depth;           /* steps in flight: 2 with asynchronous scheduling, 1 without */
    bool index;               /* prefixes are found again: prefix_caching */
    bool gate;                /* a request is admitted when all of its known tokens fit: reserve_full_prompt */
    tla_kv_rules_of kv_rules; /* of the blocks */
    bool has_memory; /* another manager than that of blocks with an index, of as many tokens; then there is no index */
    tla_kv_memory_config memory; /* which; its tokens, its longest request and their number are the scheduler's */
    uint32_t host_blocks;        /* of a second tier in the host's memory (host_tier.h), behind an index; 0: none */
    uint64_t host_budget;        /* blocks of it that are read at one time; 0: all */
} tla_scheduler_rules;

/* The part of a request in a step. */
typedef struct tla_step_part {
    uint32_t request;       /* its index */
    uint32_t tokens;        /* computed in the step, 1 or more; more than one is prefill, one is decode */
    uint32_t computed;      /* before the step */
    bool yields;            /* the step makes a token of it */
    const uint32_t *blocks; /* all that it holds, in the order of its tokens */
    uint32_t block_count;
} tla_step_part;

/* A step that has been formed. Valid until the next call. */
typedef struct tla_step {
    const tla_step_part *parts; /* in the order in which they were scheduled */
    size_t count;               /* 0: none could be formed */
    uint64_t tokens;
} tla_step;

/* The decisions about blocks, in their order. Commands to controllers and moves of blocks follow from them. */
typedef enum tla_block_decision_kind {
    TLA_BLOCKS_LOOKED_UP, /* a prefix, at an admission that may fail yet; no blocks */
    TLA_BLOCKS_ALLOCATED, /* the blocks belong to the request from now on; the first `found` already have its content */
    TLA_BLOCKS_REFUSED,   /* a running request did not get its blocks, and another one is preempted; no blocks */
    TLA_BLOCKS_ENTERED,   /* in the index, because they are full; by LMCache's rules if their content was not there */
    TLA_BLOCKS_RELEASED,  /* in the order of the request's tokens; released from the last to the first */
    TLA_BLOCKS_MOVED_OUT, /* their content goes to `host_blocks`, before the decisions about their new owners */
    TLA_BLOCKS_MOVED_IN,  /* the content of `host_blocks`, which are held, arrives in them */
    TLA_BLOCKS_HELD, /* `host_blocks` will be read, and no content may replace theirs until TLA_BLOCKS_LET_GO; no blocks
                      */
    TLA_BLOCKS_LET_GO /* `host_blocks` have been read, as the step has been processed; no request, and no blocks */
} tla_block_decision_kind;

typedef struct tla_block_decision {
    tla_block_decision_kind kind;
    uint32_t request;
    const uint32_t *blocks; /* `count` blocks, or NULL */
    uint32_t count, found;
    tla_work work;               /* the receipt */
    const uint32_t *host_blocks; /* `count` blocks for moves and holds; otherwise NULL */
} tla_block_decision;

typedef struct tla_scheduler_watch {
    void (*blocks)(void *context, const tla_block_decision *decision); /* NULL: no observer */
    /* A request leaves `waiting` for `running` (admitted), returns to it, or has arrived there. NULL: no observer. */
    void (*moves)(void *context, uint32_t request, bool admitted);
    void *context;
} tla_scheduler_watch;

/* The results of the processing of a step. */
typedef struct tla_step_result {
    uint32_t yielded;      /* requests that got a token: so many tokens were generated */
    const uint32_t *who;   /* their indices; valid until the next call */
    uint64_t first_tokens; /* prompt tokens of those that got their first one */
} tla_step_result;

typedef struct tla_scheduler_stats {
    uint64_t steps, preemptions;
    uint64_t hit_tokens;         /* found in the index at first admissions */
    uint64_t host_hit_tokens;    /* the same in the host's memory, behind those; hit_tokens has none of them */
    uint64_t recomputed_tokens;  /* known, and not found, at later ones */
    uint64_t refused_running;    /* allocations that failed for a running request: each preempts one */
    uint64_t refused_gate;       /* admissions that failed because not all known tokens fit */
    uint64_t refused_admission;  /* ... because those of the step did not */
    uint64_t refused_budget;     /* ... because others read all that may be read of the host's memory */
    uint64_t refused_fragmented; /* of all of these, those for which enough was free, but in pieces */
    uint32_t running, waiting;
    uint64_t finished;
    uint64_t slots_filled; /* tokens that stand in referenced blocks, or will when the steps in flight have ended */
} tla_scheduler_stats;

typedef struct tla_scheduler tla_scheduler;

/* Checks whether these rules can serve the requests: TLA_INVALID_ARGUMENT, with a text, for rules outside their ranges,
 * for a block size that is neither a multiple nor a part of the file's, and for a request that is longer than the cache
 * or than the rules allow. *request (may be NULL) is then its index, and otherwise the number of requests. */
tla_status tla_scheduler_check(const tla_scheduler_rules *rules, const tla_serving_requests *requests, size_t *request,
                               tla_error *error);

/* Leaves out the requests that are longer than the rules allow, and those that even alone do not fit into the cache:
 * tla_scheduler_create would reject them. requests->skipped counts them. Where the rules state no longest request, and
 * regions depend on it, the longest one that fits is kept. TLA_INVALID_ARGUMENT as tla_scheduler_check for other
 * causes, TLA_NO_HOST_MEMORY; the requests are unchanged then. */
tla_status tla_scheduler_skip(const tla_scheduler_rules *rules, tla_serving_requests *requests, tla_error *error);

/* The requests must outlive the scheduler. TLA_INVALID_ARGUMENT as tla_scheduler_check, TLA_NO_HOST_MEMORY; *scheduler
 * is NULL then. */
tla_status tla_scheduler_create(const tla_scheduler_rules *rules, const tla_serving_requests *requests,
                                const tla_scheduler_watch *watch, tla_scheduler **scheduler, tla_error *error);
void tla_scheduler_destroy(tla_scheduler *scheduler); /* NULL is allowed */

/* The request, which has not arrived yet, is the last that waits. */
void tla_scheduler_arrive(tla_scheduler *scheduler, uint32_t request);

/* How many steps are in flight; another can be formed when they are fewer than the depth. */
uint32_t tla_scheduler_in_flight(const tla_scheduler *scheduler);

/* Forms a step, when fewer are in flight than the depth. TLA_NO_HOST_MEMORY: the scheduler can only be destroyed. */
tla_status tla_scheduler_form(tla_scheduler *scheduler, tla_step *step);

/* Processes the output of the oldest step in flight, which must exist. TLA_NO_HOST_MEMORY, by LMCache's rules: the
 * scheduler can only be destroyed. */
tla_status tla_scheduler_process(tla_scheduler *scheduler, tla_step_result *result);

/* Whether every request has all its tokens of those that have arrived. */
bool tla_scheduler_idle(const tla_scheduler *scheduler);

/* How many tokens a request has got. */
uint32_t tla_scheduler_generated(const tla_scheduler *scheduler, uint32_t request);

/* Blocks that a request holds, for checks. */
const tla_kv_table *tla_scheduler_table(const tla_scheduler *scheduler, uint32_t request);

tla_scheduler_stats tla_scheduler_get_stats(const tla_scheduler *scheduler);
/* NULL with another manager. Blocks that the requests can never use are not made; blocks_stats includes them. */
const tla_kv_blocks *tla_scheduler_blocks(const tla_scheduler *scheduler);
tla_host_tier_stats tla_scheduler_host_stats(const tla_scheduler *scheduler); /* all 0 without a second tier */

/* Returns the blocks in use, of the manager that serves. With a manager other than that of blocks, `referenced` is the
 * memory of the requests, rounded up to blocks; usable, free and peak are set too, and nothing else. */
tla_kv_blocks_stats tla_scheduler_blocks_stats(const tla_scheduler *scheduler);

#ifdef __cplusplus
}
#endif
#endif
