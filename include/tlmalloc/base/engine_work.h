/* The receipt of a free list's engine, beside the receipt that every list has (work.h). Two engines fill it: that of
 * worst fit, which keeps the largest block and searches for the next one after its answer, and an engine behind an
 * arena (engine.h). Operations add to it if tla_work.engine points to one. */
#ifndef TLMALLOC_ENGINE_WORK_H
#define TLMALLOC_ENGINE_WORK_H

#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_engine_work {
    uint64_t
        requests; /* that it served. Above 0: what the list does behind its last answer keeps the next one waiting */
    /* of worst fit: when the list has changed, its engine walks it for the largest block */
    uint64_t walks;             /* such walks */
    uint64_t walk_nodes;        /* free blocks that they pass, all of them each time */
    uint64_t walks_behind;      /* 1: the last of them goes on behind the answer, and the list's next request waits */
    uint64_t walk_nodes_behind; /* for it; those before it are over, for requests of this receipt have waited */
    /* of an engine behind an arena: of its requests the receipt has only nodes_visited and list_length */
    uint64_t cycles;        /* of its clock, up to the last answer */
    uint64_t cycles_behind; /* those behind that answer in which it takes no request */
    uint64_t nodes;         /* those of nodes_visited that it walked, within its cycles */
} tla_engine_work;

#ifdef __cplusplus
}
#endif
#endif
