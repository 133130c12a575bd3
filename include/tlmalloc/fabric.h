/* The fabric as a graph: nodes, directed links with latency and bandwidth, shortest paths, and how long a transfer
 * takes over links that others use too.
 *
 * A transfer passes the links of its path like a worm: each link adds its latency once and is occupied for
 * nbytes / bandwidth; the tail follows the head after nbytes / (lowest bandwidth of the path). */
#ifndef TLMALLOC_FABRIC_H
#define TLMALLOC_FABRIC_H

#include "tlmalloc/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_fabric_link {
    uint32_t from, to; /* nodes, 0 .. node_count - 1 */
    uint64_t latency_ps;
    uint64_t bandwidth_bytes_per_s; /* > 0 */
} tla_fabric_link;

typedef struct tla_fabric tla_fabric;

/* TLA_INVALID_ARGUMENT for a link that names no node or has no bandwidth, or latencies whose sum passes 2^64 - 1;
 * TLA_NO_HOST_MEMORY. *fabric is NULL then. */
tla_status tla_fabric_create(uint32_t node_count, const tla_fabric_link *links, size_t link_count, tla_fabric **fabric);
void tla_fabric_destroy(tla_fabric *fabric);

/* Sends nbytes (0: a request without data, which occupies nothing and waits for nothing) from one node to another,
 * leaving at `at_ps`. *arrival_ps is when the last byte is there. The path is the one of least latency (then fewest
 * links, then the lowest link number at the first node where two paths part): always the same. TLA_OUT_OF_RANGE when
 * there is no path, TLA_INVALID_ARGUMENT for a node that is none. from == to costs nothing. The first send to a node
 * computes the paths that lead there, which takes host memory: TLA_NO_HOST_MEMORY, and nothing is sent. */
tla_status tla_fabric_send(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at_ps,
                           uint64_t *arrival_ps);

/* Latency of the path without contention, in ps, and its number of links; errors as tla_fabric_send. */
tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links);

/* Bytes that link number `link` (0 .. link_count - 1) has carried, and the time it was occupied (ps). */
void tla_fabric_link_load(const tla_fabric *fabric, size_t link, uint64_t *nbytes, uint64_t *busy_ps);

#ifdef __cplusplus
}
#endif
#endif
