/* A topology while it is built of a shape. Internal to the core. */
#ifndef TLMALLOC_TOPOLOGY_TOPOLOGY_BUILD_H
#define TLMALLOC_TOPOLOGY_TOPOLOGY_BUILD_H

#include "topology/floorplan.h"

/* After a failure nothing more is added. */
typedef struct tla_topology_builder {
    const tla_topology_shape *shape;
    tla_floorplan floorplan;
    tla_topology *topology;
    tla_status status;
    tla_error *error;
    /* Routing costs of paths that are used only if no other path exists. */
    uint64_t through_port;    /* more than any way through a cube's mesh */
    uint64_t through_chiplet; /* more than any way through the cubes of a SIP */
    uint64_t through_host;    /* more than any way through SIPs */
} tla_topology_builder;

/* Where a node is drawn. */
typedef struct tla_spot {
    uint64_t x_um, y_um;
} tla_spot;

/* Adds a node and returns its number. */
uint32_t tla_build_node(tla_topology_builder *builder, tla_node_kind kind, tla_spot at, uint64_t overhead_ps,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a link, both ways. */
void tla_build_link(tla_topology_builder *builder, uint32_t from, uint32_t to, uint64_t length_um, uint64_t routing,
                    uint64_t bandwidth);

/* The same, of a link that weighs something else in the cube where a path ends. */
void tla_build_weighed_link(tla_topology_builder *builder, uint32_t from, uint32_t to, uint64_t length_um,
                            uint64_t routing, uint64_t routing_at_end, uint64_t bandwidth);

/* The nodes of a topology, for changes of their ranks. */
tla_topology_node *tla_topology_own_nodes(tla_topology *topology);

/* Ranks the nodes by their names in descending order, from 1 on. */
void tla_build_ranks(tla_topology_builder *builder);

/* A cube, without the links to its neighbours; ports: the numbers of its UCIe nodes, by tla_side. */
void tla_build_cube(tla_topology_builder *builder, uint32_t sip, uint32_t cube, tla_spot at, uint32_t *ports);

/* An IO chiplet and its links to the ports of cubes, tla_side by tla_side of one after the other; returns the number of
 * its end point. */
uint32_t tla_build_chiplet(tla_topology_builder *builder, uint32_t sip, tla_spot at, const uint32_t *ports);

/* Extent of a cube from one to the next. */
tla_spot tla_cube_stride(const tla_topology_shape *shape);

#endif
