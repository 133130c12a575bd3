/* The fabric as a graph: nodes, directed links, shortest paths, and how long transactions take over links and nodes
 * that others use too.
 *
 * Data travel as flits. A link carries one flit after the other in the order in which they arrive at it, each for bytes
 * / bandwidth, and a flit is at the next node `latency` after its last byte has left. A node passes a flit on when all
 * of it is there, in the order of arrival. The first flit of a transaction keeps the node for its overhead, and what
 * arrives meanwhile waits; the other flits of the transaction pass at once. So a hop adds the time of one flit, its
 * latency and its overhead, and what is paid behind the slowest link is partly hidden by it. A node that stores and
 * forwards collects the data of a transaction, and then pays its overhead and passes all of it on. A message without
 * data takes no time of a link, but waits its turn. (KernBench ADR-0015, 0033, 0037.)
 *
 * Of a transaction that reads, the first request travels as a message, and the others follow it: they take the latency
 * of the links, and are not there before it. Of a transaction that writes, the acknowledgement of the last access is a
 * message, which leaves when all bytes have been taken; the others take the latency of the links. */
#ifndef TLMALLOC_FABRIC_FABRIC_H
#define TLMALLOC_FABRIC_FABRIC_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Transactions ---
 *
 * What the accesses of one transfer are to the fabric: a transaction.
 *
 * An initiator that cuts a transfer into accesses (a DMA engine into chunks, a host into pieces) sends them as one
 * transaction to every target that they go to: the overhead of a node is paid once in each direction, a node that
 * stores and forwards collects what belongs together, the request of a read travels once, and writes are acknowledged
 * once. An access without a transaction is one of its own.
 *
 * The initiator makes it, says what it issues, and destroys it when everything has been answered. One owner at a time.
 */

typedef struct tla_transaction tla_transaction;

/* window: how many accesses the initiator has under way at most, above 0. Nodes that store and forward pass on what
 * they have when they hold so many, since no more can come. posted: nobody waits for the acknowledgement of writes,
 * which takes no time then. TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY; *transaction is NULL then. */
tla_status tla_transaction_create(uint64_t window, bool posted, tla_transaction **transaction);

/* All its accesses have been answered. NULL is allowed. */
void tla_transaction_destroy(tla_transaction *transaction);

/* One more access is on its way to the fabric; `last`: none is issued after it. */
void tla_transaction_issue(tla_transaction *transaction, bool last);

/* An access that was issued has been answered, at at_ps, without having entered the fabric (it was not translated,
 * say).
 */
void tla_transaction_lose(tla_transaction *transaction, uint64_t at_ps);

/* From at_ps on no more is issued before one of those that are under way has come back to the initiator, although they
 * are fewer than the window (a window that moves in order waits for its oldest). Until the next one is issued. */
void tla_transaction_wait(tla_transaction *transaction, uint64_t under_way, uint64_t at_ps);

/* None is issued any more, from at_ps on, although it was not said with the last one (an access has failed, say). */
void tla_transaction_end(tla_transaction *transaction, uint64_t at_ps);

/* --- The fabric --- */

typedef struct tla_fabric_node {
    uint64_t overhead_ps;   /* paid by the first flit of a transaction that leaves from, passes or ends at the node */
    bool store_and_forward; /* collects what passes */
    uint32_t region;        /* of which nodes it is one; 0: of none */
} tla_fabric_node;

typedef struct tla_fabric_link {
    uint32_t from, to; /* nodes, 0 .. node_count - 1 */
    uint64_t latency_ps;
    uint64_t bandwidth_bytes_per_s; /* > 0 */
    uint64_t routing;               /* what paths have as little of as they can: a length, in a unit of the caller's */
    uint64_t routing_at_end;        /* instead, where `to` lies in the region of the path's destination */
} tla_fabric_link;

typedef struct tla_fabric tla_fabric;

/* flit: bytes, > 0. TLA_INVALID_ARGUMENT for a flit of none, a link that names no node or has no bandwidth, or
 * latencies, overheads or routing whose sum passes 2^64 - 1; TLA_NO_HOST_MEMORY. *fabric is NULL then. */
tla_status tla_fabric_create(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                             size_t link_count, uint32_t flit, tla_fabric **fabric);
void tla_fabric_destroy(tla_fabric *fabric);

/* The path between two nodes has the least routing, of those the least latency, of those the fewest links, and at the
 * first node where two such paths part the link of the lowest number: always the same. Answers go back the way their
 * requests came, by the n-th link from b to a for the n-th from a to b; by the path of their own where one of those is
 * missing. *latency_ps: what a message without data takes where nobody else is, overheads included; *links: how many.
 * TLA_OUT_OF_RANGE when there is no path, TLA_INVALID_ARGUMENT for a node that is none. The first question for a
 * node, and one from farther away, computes the paths that lead there from so far, which takes host memory:
 * TLA_NO_HOST_MEMORY. */
tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links);

/* What a message of nbytes takes where nobody else is, overheads included: until all of it is there. Saturates. Errors
 * as tla_fabric_path. */
tla_status tla_fabric_alone(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t *duration_ps);

/* The link that the path from a node takes first; TLA_FABRIC_NO_LINK where there is none, or from == to. */
#define TLA_FABRIC_NO_LINK UINT32_MAX
uint32_t tla_fabric_next_link(tla_fabric *fabric, uint32_t from, uint32_t to);

/* ---- an access and its answer ---- */

typedef struct tla_fabric_access {
    uint32_t from, to;            /* nodes of the initiator and of the target */
    uint32_t target;              /* what distinguishes targets: a transaction is one to each */
    bool write;                   /* its data travel with the request, else with the answer */
    tla_transaction *transaction; /* NULL: it is one of its own; and where another fabric has it already */
    const struct tla_way *way;    /* the fabric's own, from here on */
    struct tla_transaction_part *part;
    struct tla_fabric_group *group;
} tla_fabric_access;

/* Accesses travel flit by flit, in the order of arrival. */

typedef struct tla_flit tla_flit;

/* What the fabric asks of whoever keeps its time. */
typedef struct tla_fabric_host {
    void *context;
    /* Call tla_fabric_arrive at at_ps, which is not before the time of the call: of several at one time in the order of
     * their nodes, then of the inputs, then of the calls. Inputs are those of the messages, and above them the links.
     */
    void (*post)(void *context, uint64_t at_ps, uint32_t node, uint64_t input, tla_flit *flit);
    /* A message is there, at at_ps: not before the time of the call. */
    void (*arrived)(void *context, void *tag, uint64_t at_ps);
} tla_fabric_host;

void tla_fabric_set_host(tla_fabric *fabric, const tla_fabric_host *host);

/* The request of an access, or its answer, enters the fabric at at_ps, at an input below 2^32 of its node. `arrived` is
 * called with the tag, perhaps before the call returns. Errors as tla_fabric_path: nothing has entered then. */
tla_status tla_fabric_enter_request(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                    uint32_t input, void *tag);
tla_status tla_fabric_enter_answer(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                   uint32_t input, void *tag);

/* Within it `post` and `arrived` are called, and what they call may enter. */
void tla_fabric_arrive(tla_flit *flit, uint64_t at_ps);

/* ---- figures ---- */

/* Of a link, so far. Waiting is for others: what the flits of a transfer wait for each other, since the link is slower
 * than what feeds it, is load and no waiting, so that nobody waits who is alone. A transfer is a transaction, with all
 * its targets, or an access of none. */
typedef struct tla_fabric_load {
    uint64_t nbytes;    /* carried */
    uint64_t messages;  /* carried, those without data too */
    uint64_t busy_ps;   /* occupied */
    uint64_t waited_ps; /* sum of what flits waited for those of other transfers */
} tla_fabric_load;

/* All zero for a link that is none. */
tla_fabric_load tla_fabric_link_load(const tla_fabric *fabric, size_t link);

/* A flit that a link carries; of a message without data, the message. */
typedef struct tla_fabric_passage {
    uint32_t link;
    uint64_t arrival_ps, waited_ps; /* it waits for others from its arrival on, so long in all */
    uint64_t start_ps, end_ps;      /* occupies the link; equal where there are no data */
    uint64_t nbytes;
    bool opens; /* a message begins with it, as tla_fabric_load counts them */
} tla_fabric_passage;

/* Who wants to know of every passage, as soon as it is decided: start and end may lie ahead, and passages come in no
 * order of time. It must not call the fabric. What it adds up is what tla_fabric_link_load says. */
typedef struct tla_fabric_watch {
    void *context;
    void (*passes)(void *context, const tla_fabric_passage *passage); /* NULL: nobody watches */
} tla_fabric_watch;

void tla_fabric_set_watch(tla_fabric *fabric, const tla_fabric_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
