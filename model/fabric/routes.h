/* The paths of transactions: a table for each destination that was used, or, with ranks, for each start, and from these
 * tables the paths of every pair of nodes that has exchanged messages. */
#ifndef TLMALLOC_MODEL_FABRIC_ROUTES_H
#define TLMALLOC_MODEL_FABRIC_ROUTES_H

#include "tlmalloc/fabric/fabric.h"

typedef struct tla_routes tla_routes;

/* The links must outlive it; the nodes need not. TLA_NO_HOST_MEMORY. */
tla_status tla_routes_create(const tla_fabric_node *nodes, uint32_t node_count, const tla_fabric_link *links,
                             uint32_t link_count, tla_routes **out);
void tla_routes_destroy(tla_routes *routes);

/* A path, of which tla_routes_step takes one link after the other: from its start on, or, with ranks, from its end on.
 */
typedef struct tla_route {
    const uint32_t *next; /* of each node on the path the next link */
    uint32_t at, root;    /* the node of the next step, and the last node */
} tla_route;

/* The path between two nodes. Errors as tla_fabric_path. It is valid until the next call. */
tla_status tla_routes_to(tla_routes *routes, uint32_t from, uint32_t to, tla_route *route);

/* Returns false at the end. */
bool tla_routes_step(const tla_routes *routes, tla_route *route, uint32_t *link);

/* Writes the links of the path from its start on, unless `links` is NULL. Returns their number. */
uint32_t tla_routes_list(const tla_routes *routes, tla_route route, uint32_t *links);

/* The way from one node to another, and that of answers. */
typedef struct tla_way {
    uint32_t from, to;
    uint32_t links, links_back;         /* how many */
    uint64_t narrowest, narrowest_back; /* the least bandwidth of them; UINT64_MAX without links */
    uint64_t *complete_ps;              /* when the data of requests, and of answers, that came first are complete
                                           (TLA_TRANSPORT_ONCE) */
    uint32_t link[];                    /* those there, then those back */
} tla_way;

static inline const uint32_t *tla_way_back(const tla_way *way) {
    return way->link + way->links;
}

/* Errors as tla_fabric_path, of either direction. Ways live as long as the routes. */
tla_status tla_routes_find(tla_routes *routes, uint32_t from, uint32_t to, const tla_way **way);

#endif
