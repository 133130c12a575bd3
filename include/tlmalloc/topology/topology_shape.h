/* A topology from a few numbers: SIPs of an IO chiplet and a mesh of cubes, cubes with a mesh of routers.
 *
 * Each cube has rows x columns of routers, with a hole in their middle where the stack's own logic is. PEs, the
 * controllers of their HBM slices, the M_CPU and the SRAM hang on routers; each of the four sides has a UCIe port whose
 * connections lead to routers on that side, and ports that face each other are linked. The IO chiplet has a network to
 * which its PCIe end point, its IO_CPU and the connections of its own ports (PHYs) lead; each PHY faces a port of a
 * cube. End points meet in a switch, or are linked to each other; the host has a link to every end point, and one to
 * its memory, if it has any.
 *
 * This is KernBench's structure. What it does not publish is decided here, and said with every member. */
#ifndef TLMALLOC_TOPOLOGY_TOPOLOGY_SHAPE_H
#define TLMALLOC_TOPOLOGY_TOPOLOGY_SHAPE_H

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/topology/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the end points of SIPs are linked: by a switch, in a ring, in a grid with its ends joined, or in a grid. */
typedef enum tla_sip_topology {
    TLA_SIPS_SWITCH,
    TLA_SIPS_RING,
    TLA_SIPS_TORUS,
    TLA_SIPS_MESH,
    TLA_SIP_TOPOLOGY_COUNT
} tla_sip_topology;

/* "switch", "ring", "torus", "mesh"; NULL for a value that is none. */
const char *tla_sip_topology_name(tla_sip_topology topology);

/* What a way through a UCIe port weighs, of which paths have as little as they can.
 *
 * STRAIGHT: a port is entered only to leave the cube, and as if it stood at its first connection: to change to another
 * one is a little longer than the mesh on either side of it, so that nothing is won by it. Paths cross cubes along the
 * mesh, at first connections, and come into the cube where they end by the connection that is nearest.
 * FREE_PORTS: ports are no way at all, as KernBench's paths had it: they are shortcuts inside a cube, too. */
typedef enum tla_routing { TLA_ROUTE_STRAIGHT, TLA_ROUTE_FREE_PORTS, TLA_ROUTING_COUNT } tla_routing;

/* "straight", "free_ports"; NULL for a value that is none. */
const char *tla_routing_name(tla_routing routing);

enum { TLA_MESH_MAX = 16, TLA_CONNECTIONS_MAX = 16, TLA_PHYS_MAX = 16 };

/* Lists are texts, as a configuration writes them, with spaces between the parts. Bandwidths are in bytes/s. */
typedef struct tla_topology_shape {
    uint32_t sips, cube_mesh_width, cube_mesh_height, pes_per_cube; /* system.* */
    tla_sip_topology sip_topology;                                  /* system.sip_topology */
    uint32_t sip_grid_width;                                        /* torus, mesh; 0: as square as it can be */

    uint32_t mesh_columns, mesh_rows; /* cube.*: routers, 1 .. TLA_MESH_MAX */
    char mesh_hole[24];               /* "centre", "none", "r2c2..r3c3" */
    char pe_places[144];              /* "corners", or a router for each PE: "r0c0 r0c1" */
    char m_cpu_place[16];             /* "auto": row 0, a third of the way; or "r0c2" */
    char sram_place[16];              /* "auto": column 0, half way down; or "r3c0" */
    uint32_t connections;             /* of each side and of each PHY, 1 .. TLA_CONNECTIONS_MAX */
    char connection_places[64];       /* "spread", or places along a side: "0 2 3 5" */
    uint64_t router_pitch_um;
    uint64_t router_overhead_ps;

    char phy_faces[160]; /* io_chiplet.*: "west", or the side of a cube for each PHY: "cube0.W cube4.W" */
    uint64_t pcie_overhead_ps;
    uint64_t io_bandwidth; /* of every link in the chiplet */

    tla_routing routing; /* links.* */
    uint32_t flit;       /* bytes that links carry at a time; of no concern to the topology itself */
    uint64_t wire_ps_per_mm;
    uint64_t router_bandwidth, pe_bandwidth, hbm_bandwidth, sram_bandwidth;
    uint64_t connection_bandwidth, port_bandwidth, ucie_bandwidth;
    uint64_t ucie_length_um;
    uint64_t ucie_overhead_ps;
    uint64_t pcie_bandwidth;
    uint64_t switch_overhead_ps;
    uint64_t host_bandwidth;
    bool host_memory; /* whether the host has a memory */
    uint64_t host_memory_bandwidth;
} tla_topology_shape;

/* The topology of a shape. TLA_INVALID_ARGUMENT with a text for one that cannot work, TLA_NO_HOST_MEMORY; *topology is
 * NULL then. */
tla_status tla_topology_of_shape(const tla_topology_shape *shape, tla_topology **topology, tla_error *error);

/* What a wire of this length takes. */
uint64_t tla_topology_wire_ps(uint64_t length_um, uint64_t wire_ps_per_mm);

#ifdef __cplusplus
}
#endif
#endif
