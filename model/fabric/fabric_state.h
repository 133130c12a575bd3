/* The structures of the fabric, shared by its files. */
#ifndef TLMALLOC_MODEL_FABRIC_FABRIC_STATE_H
#define TLMALLOC_MODEL_FABRIC_FABRIC_STATE_H

#include "base/numbers.h"
#include "fabric/routes.h"
#include "tlmalloc/base/timeline.h"

typedef struct tla_transaction_part transaction_part;
typedef struct tla_fabric_group group;

/* The latest flits of one transfer over a link, without a pause and without flits of others in between. */
typedef struct link_run {
    uint64_t transfer, start_ps, end_ps;
} link_run;

typedef struct link_state {
    tla_timeline timeline;
    tla_fabric_load load;
    link_run run;
} link_state;

typedef struct node_state {
    tla_fabric_node node;
    tla_timeline worker; /* orders the flits at the node; no flit waits for a node without overhead */
} node_state;

typedef struct message message;

struct tla_flit {
    tla_flit *next; /* of its message, of a collector, or of those that are free */
    message *of;
    uint32_t node, hop;      /* where it is, and how many links it has passed */
    uint32_t nbytes, number; /* number: in its message, from 0 on */
    bool held;               /* by a collector */
};

/* A request or an answer in flight as flits, or a request that follows another request. The members that every flit
 * uses at every node lie in the first cache line, beside the first flit, which is most often the only flit. */
struct message {
    tla_flit first;
    tla_fabric *fabric;
    const tla_way *way;
    bool request, write, entered, opens;
    uint32_t flits_left;
    uint64_t transfer;
    group *collected;
    uint64_t nbytes, at_ps; /* at_ps: its entry; later the arrival of its last flit */
    transaction_part *part;
    void *tag;
    message *next; /* of those that follow, or that are free */
};

/* The messages of a group that a node with store and forward holds. */
typedef struct collector {
    struct collector *next;
    uint32_t node;
    bool requests;
    bool leaves;       /* it has been posted that all pass on */
    uint64_t messages; /* messages whose flits have all arrived */
    tla_flit *first, **end;
} collector;

/* Accesses of a transaction to one target that belong together at nodes which store and forward. */
struct tla_fabric_group {
    uint64_t requests, answers; /* messages with data that it has, as far as is known */
    uint64_t users;             /* accesses that are not answered, and a part for which it is open */
    bool open;                  /* more may come */
    bool holds[2];              /* some node collects its answers; its requests */
    collector *collectors;
};

/* The part of a transaction that leads to one target. */
struct tla_transaction_part {
    struct tla_transaction_part *next;
    uint32_t target;
    enum { UNASKED, ASKING, ASKED } request; /* of a read: whether its request was sent, and has arrived */
    bool written, answered;                  /* whether its first data have left, in either direction */
    uint64_t opened_ps;                      /* when the request was there */
    uint64_t there_ps, back_ps;              /* the time of a message on links without other traffic */
    uint64_t under_way, latest_ps;           /* accesses; the latest that has been answered */
    message *followers, **followers_end;
    group *collecting;
};

struct tla_transaction {
    uint64_t window, issued, entered;
    uint64_t held;  /* accesses that nodes which store and forward keep until nothing more joins them */
    uint64_t limit; /* with so many held accesses, the initiator issues no more: no access returns to it */
    bool posted, ended;
    tla_fabric *fabric;
    uint64_t transfer;       /* its number */
    transaction_part *parts; /* the one that was used last comes first */
};

struct tla_fabric {
    uint32_t node_count, link_count, flit;
    tla_fabric_link *links;
    link_state *states;
    node_state *nodes;
    tla_routes *routes;
    bool collects; /* some node stores and forwards, and the transport is per_flit */
    tla_transport transport;
    uint64_t transfers; /* so many have been numbered, from 1 on */
    tla_fabric_host host;
    tla_fabric_watch watch;
    message *free_messages;
    tla_flit *free_flits;
    struct slab *slabs; /* all memory of messages and flits */
};

void fabric_destroy_messages(tla_fabric *fabric);

/* The time for which the end of a path holds data before they are complete, if the transport is once; else 0. */
uint64_t fabric_drain_ps(const tla_fabric *fabric, const tla_way *way, bool request, uint64_t nbytes);

/* Checks that there are ways there and back, and finds or makes what an access belongs to. */
tla_status fabric_join(tla_fabric *fabric, tla_fabric_access *access);

/* The number of what an access belongs to; an access of no transaction gets one of its own every time. */
uint64_t fabric_transfer_of(tla_fabric *fabric, const tla_fabric_access *access);

/* A link carries something of a transfer: `opens`, the beginning of a message. */
typedef struct carriage {
    uint64_t transfer, nbytes, arrival_ps, start_ps, duration_ps;
    bool opens;
} carriage;
void fabric_note_load(tla_fabric *fabric, uint32_t link, const carriage *what);

/* An access that has joined enters; one that is answered leaves, at at_ps. */
void transaction_enter(tla_fabric_access *access, uint64_t at_ps);
void transaction_leave(tla_fabric_access *access, uint64_t at_ps);
/* Whether the access that has left was the last of its part: its answer is the transaction's. */
bool transaction_is_over(const tla_fabric_access *access);

/* An empty group, with a user, for the nodes of a way that collect; NULL without host memory. */
group *group_of_way(const tla_fabric *fabric, const tla_way *way);

/* Returns whether all messages that belong to a collector have arrived. */
bool collector_has_all(const group *g, const collector *c);
/* Forwards the messages that a group has together, from at_ps on, if no further message belongs to it. */
void group_look(tla_fabric *fabric, group *g, uint64_t at_ps);
/* An access of it has been answered, or its part has closed it. */
void group_leave(group *g);

#endif
