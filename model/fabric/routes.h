/* Which way transactions take: next-hop tables, one for each destination that was ever asked for. */
#ifndef TLMALLOC_MODEL_FABRIC_ROUTES_H
#define TLMALLOC_MODEL_FABRIC_ROUTES_H

#include "tlmalloc/timing/fabric.h"

typedef struct tla_routes tla_routes;

/* The links must outlive it. TLA_NO_HOST_MEMORY. */
tla_status tla_routes_create(uint32_t node_count, const tla_fabric_link *links, uint32_t link_count, tla_routes **out);
void tla_routes_destroy(tla_routes *routes);

/* *next: for each node the link to take towards `to`. Errors as tla_fabric_path. */
tla_status tla_routes_to(tla_routes *routes, uint32_t from, uint32_t to, const uint32_t **next);

/* The table of a destination that has been asked for. */
const uint32_t *tla_routes_known(const tla_routes *routes, uint32_t to);

#endif
