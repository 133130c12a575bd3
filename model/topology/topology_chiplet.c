/* The IO chiplet of a SIP: end point, IO_CPU, network, and a PHY for each port of a cube that it faces. */
#include "topology/topology_build.h"

/* `out` micrometres away from the side of a cube, and `along` it from its middle. */
static tla_spot beside(const tla_topology_shape *shape, tla_spot cube, tla_side side, uint64_t out, int64_t along) {
    const uint64_t width = shape->mesh_columns * shape->router_pitch_um;
    const uint64_t height = shape->mesh_rows * shape->router_pitch_um;
    tla_spot at = {cube.x_um + width / 2, cube.y_um + height / 2};
    if (side == TLA_SIDE_E || side == TLA_SIDE_W) {
        at.x_um = side == TLA_SIDE_E ? cube.x_um + width + out : cube.x_um - out;
        at.y_um += (uint64_t)along;
    } else {
        at.y_um = side == TLA_SIDE_S ? cube.y_um + height + out : cube.y_um - out;
        at.x_um += (uint64_t)along;
    }
    return at;
}

static void add_phy(tla_topology_builder *b, uint32_t sip, tla_spot at, uint32_t phy, uint32_t noc,
                    const uint32_t *ports) {
    const tla_topology_shape *s = b->shape;
    const tla_phy_face face = b->floorplan.faces[phy];
    const tla_spot stride = tla_cube_stride(s);
    const tla_spot cube = {at.x_um + face.cube % s->cube_mesh_width * stride.x_um,
                           at.y_um + face.cube / s->cube_mesh_width * stride.y_um};
    const uint64_t pitch = s->router_pitch_um;
    const uint32_t node = tla_build_node(b, TLA_NODE_IO_UCIE, beside(s, cube, face.side, pitch, 0), s->ucie_overhead_ps,
                                         "sip%u.io_ucie-%u", sip, phy);
    for (uint32_t i = 0; i < s->connections; i++) {
        const int64_t along = ((int64_t)(2 * i + 1) - (int64_t)s->connections) * (int64_t)(pitch / 4);
        const uint32_t conn = tla_build_node(b, TLA_NODE_CONN, beside(s, cube, face.side, 2 * pitch, along), 0,
                                             "sip%u.io_ucie-%u.conn%u", sip, phy, i);
        /* The chiplet is no way from one cube to another. */
        tla_build_link(b, noc, conn, 0, b->through_chiplet, s->io_bandwidth);
        tla_build_link(b, conn, node, 0, 0, s->io_bandwidth);
    }
    const bool free_ports = s->routing == TLA_ROUTE_FREE_PORTS;
    tla_build_link(b, node, ports[face.cube * TLA_SIDE_COUNT + face.side], s->ucie_length_um,
                   free_ports ? 0 : s->ucie_length_um, s->ucie_bandwidth);
}

uint32_t tla_build_chiplet(tla_topology_builder *b, uint32_t sip, tla_spot at, const uint32_t *ports) {
    const tla_topology_shape *s = b->shape;
    const uint64_t pitch = s->router_pitch_um, middle = at.y_um + s->mesh_rows * pitch / 2;
    const uint32_t end_point = tla_build_node(b, TLA_NODE_PCIE_EP, (tla_spot){at.x_um - 4 * pitch, middle},
                                              s->pcie_overhead_ps, "sip%u.pcie_ep", sip);
    const uint32_t noc =
        tla_build_node(b, TLA_NODE_IO_NOC, (tla_spot){at.x_um - 3 * pitch, middle}, 0, "sip%u.io_noc", sip);
    const uint32_t cpu =
        tla_build_node(b, TLA_NODE_IO_CPU, (tla_spot){at.x_um - 3 * pitch, middle - pitch}, 0, "sip%u.io_cpu", sip);
    tla_build_link(b, end_point, noc, 0, 0, s->io_bandwidth);
    tla_build_link(b, cpu, noc, 0, 0, s->io_bandwidth);
    for (uint32_t phy = 0; phy < b->floorplan.phys; phy++)
        add_phy(b, sip, at, phy, noc, ports);
    return end_point;
}
