/* The fabric as a graph: nodes, directed links, shortest paths, and the duration of transactions over shared links and
 * nodes.
 *
 * Data travel as flits. A link carries one flit after the other in the order of their arrival, each for bytes /
 * bandwidth. A flit is at the next node `latency` after its last byte has left. A node forwards a complete flit, in the
 * order of arrival. The first flit of a transaction occupies the node for its overhead, and other arrivals wait; the
 * later flits of the transaction pass immediately. A hop therefore adds the time of one flit, its latency and its
 * overhead. Delays after the slowest link are partly hidden by it. A node that stores and forwards collects the data of
 * a transaction, then pays its overhead and forwards all data. A message without data takes no time of a link, but
 * waits its turn. (KernBench ADR-0015, 0033, 0037.)
 *
 * In a transaction that reads, the first request travels as a message. The others follow it: they take the latency of
 * the links, and do not arrive before it. In a transaction that writes, the acknowledgement of the last access is a
 * message. It leaves when all bytes have been accepted. The other acknowledgements take the latency of the links. */
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
 * A transaction: the accesses of one transfer, as the fabric treats them.
 *
 * An initiator that splits a transfer into accesses (a DMA engine into chunks, a host into pieces) sends them as one
 * transaction to every target. The overhead of a node is then paid once in each direction. A node that stores and
 * forwards collects the whole transaction, the request of a read travels once, and writes are acknowledged once. An
 * access without a transaction is one of its own.
 *
 * The initiator creates the transaction, announces each issued access, and destroys the transaction when all accesses
 * have been answered. One owner at a time. */

typedef struct tla_transaction tla_transaction;

/* window: the maximum number of outstanding accesses of the initiator, above 0. Nodes that store and forward send
 * their data on when they hold so many accesses, because no more can arrive. posted: the initiator does not wait for
 * the acknowledgement of writes, which then takes no time. TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY; *transaction is
 * NULL then. */
tla_status tla_transaction_create(uint64_t window, bool posted, tla_transaction **transaction);

/* All its accesses must have been answered. NULL is allowed. */
void tla_transaction_destroy(tla_transaction *transaction);

/* Announces one more access to the fabric; `last`: no access is issued after it. */
void tla_transaction_issue(tla_transaction *transaction, bool last);

/* Announces that an issued access was answered at at_ps without entering the fabric (for example, it was not
 * translated). */
void tla_transaction_lose(tla_transaction *transaction, uint64_t at_ps);

/* Announces a pause from at_ps on: no access is issued before one of those in flight has returned to the initiator. The
 * outstanding accesses may be fewer than the window, as in a window that moves in order and waits for its oldest
 * access. The pause ends with the next issue. */
void tla_transaction_wait(tla_transaction *transaction, uint64_t under_way, uint64_t at_ps);

/* Announces that no access is issued from at_ps on, although none was announced as the last (for example, an access has
 * failed). */
void tla_transaction_end(tla_transaction *transaction, uint64_t at_ps);

/* --- The fabric --- */

typedef struct tla_fabric_node {
    uint64_t overhead_ps;   /* paid by the first flit of a transaction that leaves from, passes or ends at the node */
    bool store_and_forward; /* collects passing transactions */
    uint32_t region;        /* the region of the node; 0: no region */
    uint32_t rank;          /* decides between paths of equal routing (tla_fabric_path), unless it is 0 at all nodes */
} tla_fabric_node;

typedef struct tla_fabric_link {
    uint32_t from, to; /* nodes, 0 .. node_count - 1 */
    uint64_t latency_ps;
    uint64_t bandwidth_bytes_per_s; /* > 0 */
    uint64_t routing;               /* the cost that paths minimize: a length, in a unit of the caller's */
    uint64_t routing_at_end;        /* replaces it where `to` lies in the region of the path's destination; with ranks,
                                       only on paths that begin in that region, too */
} tla_fabric_link;

typedef struct tla_fabric tla_fabric;

/* flit: bytes, > 0. TLA_INVALID_ARGUMENT for a flit of 0 bytes, or a link with an unknown node or without bandwidth.
 * The same error reports a sum of latencies, overheads or routing above 2^64 - 1. TLA_NO_HOST_MEMORY. After an error
 * *fabric is NULL. */
tla_status tla_fabric_create(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                             size_t link_count, uint32_t flit, tla_fabric **fabric);
void tla_fabric_destroy(tla_fabric *fabric);

/* How data occupy links. */
typedef enum tla_transport {
    TLA_TRANSPORT_PER_FLIT, /* as above */
    TLA_TRANSPORT_ONCE      /* The data of an access are one item. The item waits until a link is free, occupies the
                               link for bytes / bandwidth, and is at the next node after the latency alone. Every item
                               pays the overhead of every node; it waits for no other one there. The end of the path
                               holds it for bytes / the least bandwidth of the path, once, before it is complete; it
                               holds the items of one path one after the other. No node collects. (KernBench V3 and V4:
                               commits d75da43, 90874ab.) */
} tla_transport;
enum { TLA_TRANSPORT_COUNT = TLA_TRANSPORT_ONCE + 1 };

/* Returns "per_flit" or "once"; NULL for an unknown transport. */
const char *tla_transport_name(tla_transport transport);

/* Replaces the transport, which is per_flit at first. Call it before the first message. */
void tla_fabric_set_transport(tla_fabric *fabric, tla_transport transport);

/* Finds the path between two nodes. It has the least routing, then the least latency, then the fewest links. At the
 * first node where two such paths diverge, it uses the link of the lowest number: the result is deterministic. Answers
 * return on the path of their requests: the n-th link from b to a replaces the n-th from a to b. If such a link is
 * missing, answers use their own path.
 *
 * If a node has a rank, ranks decide between paths of the least routing, as in Dijkstra's algorithm from the start of
 * the path on. The nearest node that has been reached forwards next. If several are equally near, the lowest rank
 * decides, then the lowest number. A node forwards over its links in the order of their numbers, and keeps the first
 * link over which it was reached at its distance. A later part of such a path is not always a path itself.
 *
 * The latency of a message without data and without other traffic, including overheads, is written to *latency_ps, and
 * the number of links to *links. TLA_OUT_OF_RANGE when no path exists, TLA_INVALID_ARGUMENT for an unknown node. The
 * first query for a node, and a query from a more distant node, computes the paths to it from that distance (with
 * ranks, the paths from a start). This takes host memory: TLA_NO_HOST_MEMORY. */
tla_status tla_fabric_path(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t *latency_ps, uint32_t *links);

/* Computes the duration of a message of nbytes without other traffic, including overheads, until it has arrived
 * completely. Saturates. Errors as tla_fabric_path. */
tla_status tla_fabric_alone(tla_fabric *fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t *duration_ps);

/* Writes the numbers of the links of a path, from its start on: as many as tla_fabric_path reports. Errors as
 * tla_fabric_path; nothing is written then. */
tla_status tla_fabric_path_links(tla_fabric *fabric, uint32_t from, uint32_t to, uint32_t *links);

/* ---- an access and its answer ---- */

typedef struct tla_fabric_access {
    uint32_t from, to;            /* nodes of the initiator and of the target */
    uint32_t target;              /* distinguishes targets: a transaction is one to each target */
    bool write;                   /* its data travel with the request, else with the answer */
    tla_transaction *transaction; /* NULL: the access is its own transaction; the same applies if another fabric already
                                     uses the transaction */
    const struct tla_way *way;    /* from here on: private to the fabric */
    struct tla_transaction_part *part;
    struct tla_fabric_group *group;
} tla_fabric_access;

/* Accesses travel flit by flit, or as one item (tla_transport), in the order of arrival. */

typedef struct tla_flit tla_flit;

/* The services that the fabric needs from the keeper of its time. */
typedef struct tla_fabric_host {
    void *context;
    /* Requests a call of tla_fabric_arrive at at_ps, which does not precede the time of the call. Calls at one time are
     * ordered by their nodes, then by the inputs, then by the order of requests. Inputs are those of the messages, and
     * above them the links. */
    void (*post)(void *context, uint64_t at_ps, uint32_t node, uint64_t input, tla_flit *flit);
    /* A message has arrived, at at_ps, which does not precede the time of the call. */
    void (*arrived)(void *context, void *tag, uint64_t at_ps);
} tla_fabric_host;

/* The fabric copies *host. Call it before the first message. */
void tla_fabric_set_host(tla_fabric *fabric, const tla_fabric_host *host);

/* The request of an access, or its answer, enters the fabric at at_ps, at an input below 2^32 of its node. The fabric
 * calls `arrived` with the tag, perhaps before this call returns. Errors as tla_fabric_path: nothing has entered
 * then. */
tla_status tla_fabric_enter_request(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                    uint32_t input, void *tag);
tla_status tla_fabric_enter_answer(tla_fabric *fabric, tla_fabric_access *access, uint64_t nbytes, uint64_t at_ps,
                                   uint32_t input, void *tag);

/* Calls `post` and `arrived`; functions that these call may enter further messages. */
void tla_fabric_arrive(tla_flit *flit, uint64_t at_ps);

/* ---- figures ---- */

/* The load of a link so far. Waiting means waiting for other transfers. If flits of one transfer wait for each other,
 * because the link is slower than its source, that counts as load and not as waiting. A transfer without other traffic
 * therefore never waits. A transfer is a transaction, with all its targets, or an access without a transaction. */
typedef struct tla_fabric_load {
    uint64_t nbytes;    /* carried */
    uint64_t messages;  /* carried, including messages without data */
    uint64_t busy_ps;   /* occupied time */
    uint64_t waited_ps; /* sum of the waits of flits for flits of other transfers */
} tla_fabric_load;

/* Returns the load of a link; all zero for an unknown link. */
tla_fabric_load tla_fabric_link_load(const tla_fabric *fabric, size_t link);

/* A flit that a link carries; for a message without data, the message. */
typedef struct tla_fabric_passage {
    uint32_t link;
    uint64_t arrival_ps, waited_ps; /* arrival, and total wait for other transfers from then on */
    uint64_t start_ps, end_ps;      /* occupies the link in between; equal without data */
    uint64_t nbytes;
    bool opens; /* a message begins with it, as tla_fabric_load counts messages */
} tla_fabric_passage;

/* An observer of every passage, called as soon as the passage is decided. Start and end may lie in the future, and
 * passages are not in the order of time. It must not call the fabric. Its sums equal those of tla_fabric_link_load. */
typedef struct tla_fabric_watch {
    void *context;
    void (*passes)(void *context, const tla_fabric_passage *passage); /* NULL: no observer */
} tla_fabric_watch;

/* The fabric copies *watch, which replaces the previous observer. */
void tla_fabric_set_watch(tla_fabric *fabric, const tla_fabric_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
