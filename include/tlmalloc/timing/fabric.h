/* The fabric as a graph: nodes, directed links with latency and bandwidth, shortest paths, and how long a transfer
 * takes over links that others use too.
 *
 * A transfer passes the links of its path like a worm: each link adds its latency once and is occupied for
 * nbytes / bandwidth; the tail follows the head after nbytes / (lowest bandwidth of the path). */
#ifndef TLMALLOC_FABRIC_H
#define TLMALLOC_FABRIC_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/timing/order.h"

#include <stdbool.h>
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

/* A transfer that takes one link after the other: for callers who act when its head arrives at a link, in the order of
 * these arrivals. */
typedef struct tla_fabric_transfer {
    uint32_t node, to; /* where its head is, and where it goes */
    uint64_t nbytes;
    uint64_t head_ps; /* when the head is there; once node == to, when the last byte is there */
    uint64_t tail_ps; /* how far the last byte follows the head */
} tla_fabric_transfer;

/* Errors as tla_fabric_send; nothing has begun then. One without bytes is at its end at once, and so is from == to. */
tla_status tla_fabric_begin(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at_ps,
                            tla_fabric_transfer *transfer);

/* The link (0 .. link_count - 1) at which a transfer is that is not at its end. */
uint32_t tla_fabric_next_link(const tla_fabric *fabric, const tla_fabric_transfer *transfer);

/* Takes that link, in order of arrival: after all that took it before. True when the transfer is at its end then. */
bool tla_fabric_pass(tla_fabric *fabric, tla_fabric_transfer *transfer);

/* Latency of the path without contention, in ps, and its number of links; errors as tla_fabric_send. */
tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links);

/* Nothing will be sent before before_ps any more: what links keep of earlier times may be forgotten
 * (timeline.h). O(1). */
void tla_fabric_forget(tla_fabric *fabric, uint64_t before_ps);

/* How far links were from serving in order of arrival, summed over them. */
tla_order tla_fabric_order(const tla_fabric *fabric);

/* Bytes that link number `link` (0 .. link_count - 1) has carried, and the time it was occupied (ps). */
void tla_fabric_link_load(const tla_fabric *fabric, size_t link, uint64_t *nbytes, uint64_t *busy_ps);

#ifdef __cplusplus
}
#endif
#endif
