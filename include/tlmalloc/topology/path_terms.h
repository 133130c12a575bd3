/* How long data take over a path where nobody else is, and what of it is what.
 *
 * The rules are those of the fabric: data travel as flits, a link carries one after the other, a node passes a flit on
 * when all of it is there, the first flit of a transaction waits for the overhead of every node from the first to the
 * last, and a node that stores and forwards collects everything before it pays and passes on. */
#ifndef TLMALLOC_TOPOLOGY_PATH_TERMS_H
#define TLMALLOC_TOPOLOGY_PATH_TERMS_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A node of a path, and the link that leaves it. */
typedef struct tla_path_hop {
    uint64_t overhead_ps;
    bool store_and_forward; /* at the end of the path, from where nothing is passed on, it makes no difference */
    uint64_t latency_ps;    /* of the link; 0 at the end of the path */
    uint64_t bandwidth;     /* bytes/s; 0 at the end of the path */
} tla_path_hop;

/* end_ps = fill_ps + overhead_ps + wire_ps + collected_ps + drain_ps - hidden_ps. */
typedef struct tla_path_terms {
    uint64_t fill_ps;      /* a flit's time on every link: the first flit comes with it */
    uint64_t overhead_ps;  /* of every node */
    uint64_t wire_ps;      /* latency of every link */
    uint64_t collected_ps; /* what nodes that store and forward wait for: the other flits, at the slowest link before */
    uint64_t drain_ps;     /* the other flits behind the first, at the slowest link of what is left of the path */
    uint64_t hidden_ps;    /* overhead and fill behind the slowest link: later flits come too late to wait for it */
    uint64_t end_ps;       /* the last byte is there: computed flit by flit, and exact */
} tla_path_terms;

/* A transaction of nbytes (0: a message without data) that leaves the first of `count` nodes at time 0, in flits of
 * `flit` bytes, of which the last may be shorter. Takes flits x nodes steps. TLA_INVALID_ARGUMENT for no node, no flit,
 * a link without bandwidth or more than 2^32 flits, TLA_NO_HOST_MEMORY. */
tla_status tla_path_terms_of(const tla_path_hop *hops, size_t count, uint64_t flit, uint64_t nbytes,
                             tla_path_terms *terms);

#ifdef __cplusplus
}
#endif
#endif
