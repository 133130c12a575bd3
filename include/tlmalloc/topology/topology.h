/* The nodes of a platform's fabric and the links between them, as data. Nodes have their place, links their length, and
 * both their costs. A topology is built from a shape of a few numbers, or from a file that lists every node and every
 * link (config.h). A simulator reads the two arrays.
 *
 * Names of nodes follow KernBench:
 *
 * - sip0.cube0.r2c5: a router of a cube's mesh, row 2, column 5
 * - sip0.cube0.pe3: a PE; sip0.cube0.hbm_ctrl.pe3: the controller of its HBM slice
 * - sip0.cube0.m_cpu, sip0.cube0.sram
 * - sip0.cube0.ucie-W: the UCIe port of the west side; sip0.cube0.ucie-W.conn0: one of its connections
 * - sip0.pcie_ep, sip0.io_cpu, sip0.io_noc: components of the IO chiplet
 * - sip0.io_ucie-0: a UCIe port (PHY) of the IO chiplet; sip0.io_ucie-0.conn0: one of its connections
 * - fabric.switch0, host, host.memory */
#ifndef TLMALLOC_TOPOLOGY_TOPOLOGY_H
#define TLMALLOC_TOPOLOGY_TOPOLOGY_H

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_node_kind {
    TLA_NODE_ROUTER,
    TLA_NODE_PE,
    TLA_NODE_HBM_CTRL,
    TLA_NODE_M_CPU,
    TLA_NODE_SRAM,
    TLA_NODE_CONN, /* a connection of a UCIe port, of a cube or of an IO chiplet */
    TLA_NODE_UCIE,
    TLA_NODE_IO_UCIE,
    TLA_NODE_IO_NOC,
    TLA_NODE_IO_CPU,
    TLA_NODE_PCIE_EP,
    TLA_NODE_SWITCH,
    TLA_NODE_HOST,
    TLA_NODE_HOST_MEMORY,
    TLA_NODE_KIND_COUNT
} tla_node_kind;

/* Returns the name "router", "pe", "hbm_ctrl", "m_cpu", "sram", "conn", "ucie", "io_ucie", "io_noc", "io_cpu",
 * "pcie_ep", "switch", "host", "host_memory"; NULL for an unknown value. */
const char *tla_node_kind_name(tla_node_kind kind);

enum { TLA_NODE_NAME_MAX = 48 };

#define TLA_NO_NODE UINT32_MAX

typedef struct tla_topology_node {
    char name[TLA_NODE_NAME_MAX]; /* letters, digits and _ - . */
    tla_node_kind kind;
    uint32_t sip, cube, index; /* its SIP and cube, and its number among its kind there; TLA_NO_NODE: none */
    uint64_t x_um, y_um;       /* place in micrometres, from the left and from the top: for pictures */
    uint64_t overhead_ps;      /* paid by the first flit of a transaction */
    bool store_and_forward;    /* collects a transaction before it forwards it */
    uint32_t rank;             /* decides between paths of equal routing (tla_fabric_node); 0 at all nodes: no ranks */
} tla_topology_node;

/* One direction of a connection between two nodes. Links form pairs: link 2n in one direction, link 2n + 1 in the
 * other. */
typedef struct tla_topology_link {
    uint32_t from, to;  /* numbers of nodes */
    uint64_t length_um; /* length of the wire */
    uint64_t routing;   /* the cost that paths minimize: micrometres, plus the additions of a shape (tla_routing) */
    uint64_t routing_at_end; /* replaces it in the cube where the path ends; with ranks, if it begins there, too */
    uint64_t latency_ps;
    uint64_t bandwidth; /* bytes/s, > 0 */
} tla_topology_link;

typedef struct tla_topology tla_topology;

/* ---- construction ---- */

/* Creates an empty topology for these numbers of SIPs, cubes in each SIP, and PEs in each cube. TLA_INVALID_ARGUMENT
 * for a number that addresses cannot express (phys_addr.h), TLA_NO_HOST_MEMORY; *topology is NULL then. */
tla_status tla_topology_create(uint32_t sips, uint32_t cubes, uint32_t pes, tla_topology **topology);
void tla_topology_destroy(tla_topology *topology); /* NULL is allowed */

/* Adds a node; its number is the previous tla_topology_node_count. Its name determines sip, cube and index. PEs, HBM
 * controllers, M_CPUs, SRAMs, IO_CPUs, PCIe end points and the host are found by their location. Their names must
 * follow the format above, with numbers that the platform has. TLA_OVERLAP for an existing name, TLA_INVALID_ARGUMENT
 * for an invalid name, with a text; TLA_NO_HOST_MEMORY. */
tla_status tla_topology_add_node(tla_topology *topology, const tla_topology_node *node, tla_error *error);

/* Adds both directions of a link. TLA_INVALID_ARGUMENT for an unknown node, for one node twice, or no bandwidth;
 * TLA_NO_HOST_MEMORY. */
tla_status tla_topology_add_link(tla_topology *topology, const tla_topology_link *link, tla_error *error);

/* Checks that the topology has every node that the platform needs, and that all nodes reach each other.
 * TLA_INVALID_ARGUMENT with a text that names the missing node, or two nodes without a path between them.
 * TLA_NO_HOST_MEMORY. */
tla_status tla_topology_check(const tla_topology *topology, tla_error *error);

/* ---- contents ---- */

/* Return the numbers of nodes and links, and arrays of that many, which the topology owns. An array is valid until the
 * next node or link is added. */
uint32_t tla_topology_node_count(const tla_topology *topology);
uint32_t tla_topology_link_count(const tla_topology *topology);
const tla_topology_node *tla_topology_nodes(const tla_topology *topology);
const tla_topology_link *tla_topology_links(const tla_topology *topology);

/* Returns the number of a node by its name; TLA_NO_NODE for an unknown name. The second function then also reports the
 * closest name. */
uint32_t tla_topology_node_named(const tla_topology *topology, const char *name);
uint32_t tla_topology_find(const tla_topology *topology, const char *name, tla_error *error);

/* Returns the number of the node's cube in the platform, for tla_fabric_node.region (fabric.h); 0: no cube. */
uint32_t tla_topology_region(const tla_topology_node *node);

/* Returns the number of a node by its location; sip and cube are ignored for kinds outside them. Only for kinds that
 * are found by their location (tla_topology_add_node). TLA_NO_NODE when no such node exists. */
uint32_t tla_topology_node_of(const tla_topology *topology, tla_node_kind kind, uint32_t sip, uint32_t cube,
                              uint32_t index);

/* --- Shapes ---
 *
 * A topology from a few numbers: SIPs with an IO chiplet and a mesh of cubes, cubes with a mesh of routers.
 *
 * Each cube has rows x columns of routers, with a hole in their middle for the stack's own logic. PEs, the controllers
 * of their HBM slices, the M_CPU and the SRAM are attached to routers. Each of the four sides has a UCIe port whose
 * connections end at routers on that side, and ports that face each other are linked. The IO chiplet has a network that
 * connects its PCIe end point, its IO_CPU and the connections of its own ports (PHYs). Each PHY faces a port of a cube.
 * End points meet in a switch, or are linked to each other. The host has a link to every end point, and one to its
 * memory, if it has a memory.
 *
 * This is KernBench's structure. Unpublished details are decided here, and stated with every member. */

/* The links between the end points of SIPs: a switch, a ring, a torus (a grid with its ends joined), or a grid. */
typedef enum tla_sip_topology {
    TLA_SIPS_SWITCH,
    TLA_SIPS_RING,
    TLA_SIPS_TORUS,
    TLA_SIPS_MESH,
    TLA_SIP_TOPOLOGY_COUNT
} tla_sip_topology;

/* "switch", "ring", "torus", "mesh"; NULL for an unknown value. */
const char *tla_sip_topology_name(tla_sip_topology topology);

/* The routing cost of a path through a UCIe port, which paths minimize.
 *
 * STRAIGHT: a port is entered only to leave the cube, and counts as if it stood at its first connection. A change to
 * another connection is slightly longer than the mesh on either side, so that it offers no shortcut. Paths cross cubes
 * along the mesh, at first connections, and enter the cube where they end by the nearest connection.
 *
 * FREE_PORTS: ports have no length, as in KernBench's paths: they are shortcuts inside a cube, too.
 *
 * SHORTEST: the shortest way by length alone, as Dijkstra's algorithm finds it in KernBench. Ports and connections have
 * no length, ports of neighbours are 1 mm apart (ucie_length_um), and routers by their pitch. Ports are therefore
 * shortcuts inside a cube, too, but paths between two nodes of one cube stay on its mesh. The names of nodes in
 * descending order (of their bytes) are their ranks, which decide between ways of one length. An IO chiplet connects no
 * cubes, as with every routing. The order of names is a decision, fitted to KernBench's figures: the farthest cube
 * (573 ns, 13 routers and 18 ports), and seven of eight flows to the next cube that share one connection. */
typedef enum tla_routing {
    TLA_ROUTE_STRAIGHT,
    TLA_ROUTE_FREE_PORTS,
    TLA_ROUTE_SHORTEST,
    TLA_ROUTING_COUNT
} tla_routing;

/* "straight", "free_ports", "shortest"; NULL for an unknown value. */
const char *tla_routing_name(tla_routing routing);

enum { TLA_MESH_MAX = 16, TLA_CONNECTIONS_MAX = 16, TLA_PHYS_MAX = 16 };

/* Lists are texts in the format of a configuration, with spaces between the items. Bandwidths are in bytes/s. */
typedef struct tla_topology_shape {
    uint32_t sips, cube_mesh_width, cube_mesh_height, pes_per_cube; /* system.* */
    tla_sip_topology sip_topology;                                  /* system.sip_topology */
    uint32_t sip_grid_width;                                        /* torus, mesh; 0: as square as possible */

    uint32_t mesh_columns, mesh_rows; /* cube.*: routers, 1 .. TLA_MESH_MAX */
    char mesh_hole[24];               /* "centre", "none", "r2c2..r3c3" */
    char pe_places[144];              /* "corners", or a router for each PE: "r0c0 r0c1" */
    char m_cpu_place[16];             /* "auto": row 0, at a third of the width; or "r0c2" */
    char sram_place[16];              /* "auto": column 0, at half the height; or "r3c0" */
    uint32_t connections;             /* connections of each side and of each PHY, 1 .. TLA_CONNECTIONS_MAX */
    char connection_places[64];       /* "spread", or places along a side: "0 2 3 5" */
    uint64_t router_pitch_um;
    uint64_t router_overhead_ps;

    char phy_faces[160]; /* io_chiplet.*: "west", or the side of a cube for each PHY: "cube0.W cube4.W" */
    uint64_t pcie_overhead_ps;
    uint64_t io_bandwidth; /* bandwidth of every link in the chiplet */

    tla_routing routing; /* links.* */
    uint32_t flit;       /* bytes that links carry at a time; not used by the topology itself */
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

/* Builds the topology of a shape. TLA_INVALID_ARGUMENT with a text for an impossible shape, TLA_NO_HOST_MEMORY;
 * *topology is NULL then. */
tla_status tla_topology_of_shape(const tla_topology_shape *shape, tla_topology **topology, tla_error *error);

/* Returns the latency of a wire of this length. */
uint64_t tla_topology_wire_ps(uint64_t length_um, uint64_t wire_ps_per_mm);

/* --- Times of a path ---
 *
 * The time of data over a path without other traffic, and its components.
 *
 * The rules are those of the fabric. Data travel as flits, and a link carries one flit after the other. A node forwards
 * a complete flit. The first flit of a transaction waits for the overhead of every node from the first to the last. A
 * node that stores and forwards collects all data before it pays and forwards. */

/* A node of a path, and the link that leaves it. */
typedef struct tla_path_hop {
    uint64_t overhead_ps;
    bool store_and_forward; /* without effect at the end of the path, which forwards nothing */
    uint64_t latency_ps;    /* latency of the link; 0 at the end of the path */
    uint64_t bandwidth;     /* bytes/s; 0 at the end of the path */
} tla_path_hop;

/* end_ps = fill_ps + overhead_ps + wire_ps + collected_ps + drain_ps - hidden_ps. */
typedef struct tla_path_terms {
    uint64_t fill_ps;      /* a flit's time on every link: the arrival of the first flit */
    uint64_t overhead_ps;  /* overhead of every node */
    uint64_t wire_ps;      /* latency of every link */
    uint64_t collected_ps; /* waits of nodes that store and forward: for the other flits, at the slowest link before */
    uint64_t drain_ps;     /* the other flits after the first, at the slowest link of the rest of the path */
    uint64_t hidden_ps;    /* overhead and fill after the slowest link, which later flits do not wait for because they
                              arrive later */
    uint64_t end_ps;       /* arrival of the last byte: computed flit by flit, and exact */
} tla_path_terms;

/* Computes the terms of a transaction of nbytes (0: a message without data) that leaves the first of `count` nodes at
 * time 0. It travels in flits of `flit` bytes, of which the last may be shorter. Takes flits x nodes steps.
 * TLA_INVALID_ARGUMENT for no node, no flit, a link without bandwidth or more than 2^32 flits, TLA_NO_HOST_MEMORY. */
tla_status tla_path_terms_of(const tla_path_hop *hops, size_t count, uint64_t flit, uint64_t nbytes,
                             tla_path_terms *terms);

/* The same where data are one item (TLA_TRANSPORT_ONCE of fabric.h). It is at the next node after the overhead and the
 * latency alone, and no node collects. drain_ps is its time on the slowest link, at the end of the path. Errors as
 * above, but for flits. */
tla_status tla_path_terms_once(const tla_path_hop *hops, size_t count, uint64_t nbytes, tla_path_terms *terms);

#ifdef __cplusplus
}
#endif
#endif
