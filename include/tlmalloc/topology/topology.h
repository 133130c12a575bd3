/* The parts of a platform's fabric and the links between them, as data: nodes with their place, links with their
 * length, and what both cost. A shape of a few numbers gives one (topology_shape.h), or a file that lists every node
 * and every link (config.h); whoever simulates takes the two arrays.
 *
 * Names of nodes follow KernBench:
 *
 *   sip0.cube0.r2c5              a router of a cube's mesh: row 2, column 5
 *   sip0.cube0.pe3               a PE;  sip0.cube0.hbm_ctrl.pe3  the controller of its HBM slice
 *   sip0.cube0.m_cpu             sip0.cube0.sram
 *   sip0.cube0.ucie-W            the UCIe port of the west side;  sip0.cube0.ucie-W.conn0  one of its connections
 *   sip0.pcie_ep                 sip0.io_cpu    sip0.io_noc    of the IO chiplet
 *   sip0.io_ucie-0               a UCIe port (PHY) of the IO chiplet;  sip0.io_ucie-0.conn0  one of its connections
 *   fabric.switch0               host               host.memory */
#ifndef TLMALLOC_TOPOLOGY_TOPOLOGY_H
#define TLMALLOC_TOPOLOGY_TOPOLOGY_H

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

/* "router", "pe", "hbm_ctrl", "m_cpu", "sram", "conn", "ucie", "io_ucie", "io_noc", "io_cpu", "pcie_ep", "switch",
 * "host", "host_memory"; NULL for a value that is none. */
const char *tla_node_kind_name(tla_node_kind kind);

enum { TLA_NODE_NAME_MAX = 48 };

#define TLA_NO_NODE UINT32_MAX

typedef struct tla_topology_node {
    char name[TLA_NODE_NAME_MAX]; /* letters, digits and _ - . */
    tla_node_kind kind;
    uint32_t sip, cube, index; /* of which SIP and cube, and which of its kind there; TLA_NO_NODE where it is of none */
    uint64_t x_um, y_um;       /* place in micrometres, from the left and from the top: for pictures */
    uint64_t overhead_ps;      /* that the first flit of a transaction pays */
    bool store_and_forward;    /* collects a transaction before it passes it on */
} tla_topology_node;

/* One direction of a connection between two nodes. They stand in pairs: link 2n leads there, link 2n + 1 back. */
typedef struct tla_topology_link {
    uint32_t from, to;  /* numbers of nodes */
    uint64_t length_um; /* of the wire */
    uint64_t routing; /* what paths have as little of as they can: micrometres, with what a shape adds (tla_routing) */
    uint64_t routing_at_end; /* instead, in the cube where the path ends */
    uint64_t latency_ps;
    uint64_t bandwidth; /* bytes/s, > 0 */
} tla_topology_link;

typedef struct tla_topology tla_topology;

/* ---- making one ---- */

/* An empty one for so many SIPs, cubes in each, and PEs in each of these. TLA_INVALID_ARGUMENT for a number that no
 * address has (phys_addr.h), TLA_NO_HOST_MEMORY; *topology is NULL then. */
tla_status tla_topology_create(uint32_t sips, uint32_t cubes, uint32_t pes, tla_topology **topology);
void tla_topology_destroy(tla_topology *topology); /* NULL is allowed */

/* Adds a node, which gets the number that tla_topology_node_count was. sip, cube and index are taken from its name. Of
 * PEs, HBM controllers, M_CPUs, SRAMs, IO_CPUs, PCIe end points and the host, which are found by where they are, the
 * name must be as above, and one that the platform has. TLA_OVERLAP for a name that is there already,
 * TLA_INVALID_ARGUMENT for one that cannot be used, with a text; TLA_NO_HOST_MEMORY. */
tla_status tla_topology_add_node(tla_topology *topology, const tla_topology_node *node, tla_error *error);

/* Adds both directions of a link. TLA_INVALID_ARGUMENT for a node that is none, for one node twice, or no bandwidth;
 * TLA_NO_HOST_MEMORY. */
tla_status tla_topology_add_link(tla_topology *topology, const tla_topology_link *link, tla_error *error);

/* Whether everything is there that the platform needs, and everything reaches everything else: TLA_INVALID_ARGUMENT
 * with a text that names what is missing, or two nodes between which there is no way. TLA_NO_HOST_MEMORY. */
tla_status tla_topology_check(const tla_topology *topology, tla_error *error);

/* ---- what is in it ---- */

uint32_t tla_topology_node_count(const tla_topology *topology);
uint32_t tla_topology_link_count(const tla_topology *topology);
const tla_topology_node *tla_topology_nodes(const tla_topology *topology);
const tla_topology_link *tla_topology_links(const tla_topology *topology);

/* The number of a node by its name; TLA_NO_NODE when there is none. find tells so, with the nearest name. */
uint32_t tla_topology_node_named(const tla_topology *topology, const char *name);
uint32_t tla_topology_find(const tla_topology *topology, const char *name, tla_error *error);

/* Of which cube of the platform a node is one, for tla_fabric_node.region (fabric.h); 0: of none. */
uint32_t tla_topology_region(const tla_topology_node *node);

/* The number of a node by where it is: sip and cube are ignored for kinds that are in none. Only of kinds that are
 * found in this way (tla_topology_add_node). TLA_NO_NODE when there is none. */
uint32_t tla_topology_node_of(const tla_topology *topology, tla_node_kind kind, uint32_t sip, uint32_t cube,
                              uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
