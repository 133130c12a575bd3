/* Plays a trace on a memory controller that compacts, in the C core alone and without time. Every block has a mapping
 * (BIND), every move ends before the next event, and the trace's program frees a block where it is then. */
#ifndef TLMALLOC_PLATFORM_REPLAY_COMPACTION_REPLAY_H
#define TLMALLOC_PLATFORM_REPLAY_COMPACTION_REPLAY_H

#include "tlmalloc/memory/controller.h"
#include "trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct compaction_replay_config {
    tla_policy policy;
    uint64_t capacity;  /* bytes of the memory */
    uint64_t alignment; /* of all blocks, bytes; 0: none */
    tla_compaction_config compaction;
    uint64_t budget; /* background: bytes that every event of the trace pays for. A move begins if some of them are left
                        when all moves before are paid for */
    bool aged;       /* The trace is played up to its largest use before, and these blocks stay. They are not counted */
} compaction_replay_config;

/* Sums over the trace; a request is an alloc event. */
typedef struct compaction_replay_result {
    uint64_t requests, served, fragmented, exhausted; /* requests = served + fragmented + exhausted */
    uint64_t served_bytes;                            /* as asked for */
    uint64_t moved_blocks, moved_bytes;
} compaction_replay_result;

/* Returns the most bytes that live at once, by the trace's own sizes. */
uint64_t compaction_replay_peak(const alloc_trace *trace);

/* Plays every event. A refused request is a result, and its free event has no effect. TLA_INVALID_ARGUMENT,
 * TLA_UNSUPPORTED and TLA_NO_HOST_MEMORY for a controller that cannot be. TLA_WRONG_RESULT if an answer or a count
 * contradicts another, or if the free list is not as at the beginning after all blocks are freed. *result is undefined
 * after an error. */
tla_status compaction_replay(const alloc_trace *trace, const compaction_replay_config *config,
                             compaction_replay_result *result, tla_error *error);

/* Plays the trace up to its largest use, with compaction on demand, and then makes one hole that is as large as moves
 * can make it, to a 64th of the bytes outside the largest hole. Writes the state of the memory as aging_text does.
 * `aged` and `budget` have no effect. TLA_EXHAUSTED if the memory is too small; other errors as compaction_replay. */
tla_status compaction_replay_heap(const alloc_trace *trace, const compaction_replay_config *config, char **text,
                                  size_t *length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
