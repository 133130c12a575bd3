/* A topology of a shape: cubes and their IO chiplet make a SIP, SIPs and the host the platform. */
#include "tlmalloc/topology/topology.h"

#include "topology/topology_build.h"

const char *tla_sip_topology_name(tla_sip_topology topology) {
    static const char *const names[] = {"switch", "ring", "torus", "mesh"};
    return (unsigned)topology < TLA_SIP_TOPOLOGY_COUNT ? names[topology] : NULL;
}

const char *tla_routing_name(tla_routing routing) {
    static const char *const names[] = {"straight", "free_ports", "shortest"};
    return (unsigned)routing < TLA_ROUTING_COUNT ? names[routing] : NULL;
}

static void weigh(tla_topology_builder *b) {
    const tla_topology_shape *s = b->shape;
    const uint64_t routers = (uint64_t)s->mesh_rows * s->mesh_columns, pitch = s->router_pitch_um;
    const uint64_t cubes = (uint64_t)s->cube_mesh_width * s->cube_mesh_height;
    b->through_port = routers * pitch + 1;
    /* All links of a SIP's cubes, a way through which has each of them once at most. */
    const uint64_t port = b->through_port + (TLA_MESH_MAX + 1) * (pitch + 1);
    b->through_chiplet =
        cubes * (2 * routers * pitch + TLA_SIDE_COUNT * (s->connections * port + s->ucie_length_um)) + 1;
    b->through_host = s->sips * 2 * (1 + (uint64_t)b->floorplan.phys * s->connections) * b->through_chiplet;
}

/* Room on all sides of the cubes for PHYs, and to the left for the rest of the chiplet. */
static uint64_t margin(const tla_topology_shape *shape) {
    return 5 * shape->router_pitch_um;
}

static uint32_t add_sip(tla_topology_builder *b, uint32_t sip) {
    const tla_topology_shape *s = b->shape;
    const uint32_t cubes = s->cube_mesh_width * s->cube_mesh_height;
    const tla_spot stride = tla_cube_stride(s);
    const uint64_t wide = s->cube_mesh_width * stride.x_um + 2 * margin(s);
    const uint64_t high = s->cube_mesh_height * stride.y_um + 2 * margin(s);
    const uint32_t grid = b->floorplan.sip_grid_width;
    const tla_spot at = {sip % grid * wide + margin(s), sip / grid * high + margin(s)};
    uint32_t ports[TLA_CUBE_DIE_COUNT * TLA_SIDE_COUNT];
    for (uint32_t cube = 0; cube < cubes; cube++) {
        const tla_spot here = {at.x_um + cube % s->cube_mesh_width * stride.x_um,
                               at.y_um + cube / s->cube_mesh_width * stride.y_um};
        tla_build_cube(b, sip, cube, here, &ports[cube * TLA_SIDE_COUNT]);
    }
    static const tla_side facing[][2] = {{TLA_SIDE_E, TLA_SIDE_W}, {TLA_SIDE_S, TLA_SIDE_N}};
    for (int direction = 0; direction < 2; direction++)
        for (uint32_t cube = 0; cube < cubes; cube++) {
            uint32_t other;
            if (tla_floorplan_neighbour(s, cube, facing[direction][0], &other))
                tla_build_link(b, ports[cube * TLA_SIDE_COUNT + facing[direction][0]],
                               ports[other * TLA_SIDE_COUNT + facing[direction][1]], s->ucie_length_um,
                               s->routing == TLA_ROUTE_FREE_PORTS ? 0 : s->ucie_length_um, s->ucie_bandwidth);
        }
    return tla_build_chiplet(b, sip, at, ports);
}

static void link_end_points(tla_topology_builder *b, uint32_t from, uint32_t to) {
    tla_build_link(b, from, to, 0, 0, b->shape->pcie_bandwidth);
}

/* A line of `count` end points, `step` apart; `closed`: with its ends joined, of two only once. */
static void link_line(tla_topology_builder *b, const uint32_t *end_points, uint32_t count, uint32_t step, bool closed) {
    for (uint32_t i = 0; i + 1 < count; i++)
        link_end_points(b, end_points[i * step], end_points[(i + 1) * step]);
    if (closed && count > 2) link_end_points(b, end_points[(count - 1) * step], end_points[0]);
}

static void link_sips(tla_topology_builder *b, const uint32_t *end_points, uint32_t middle) {
    const tla_topology_shape *s = b->shape;
    const uint32_t width = b->floorplan.sip_grid_width, height = s->sips / width;
    const bool torus = s->sip_topology == TLA_SIPS_TORUS;
    switch (s->sip_topology) {
    case TLA_SIPS_SWITCH:
        for (uint32_t sip = 0; sip < s->sips; sip++)
            link_end_points(b, middle, end_points[sip]);
        break;
    case TLA_SIPS_RING:
        link_line(b, end_points, s->sips, 1, true);
        break;
    default:
        for (uint32_t row = 0; row < height; row++)
            link_line(b, end_points + row * width, width, 1, torus);
        for (uint32_t column = 0; column < width; column++)
            link_line(b, end_points + column, height, width, torus);
    }
}

static void add_all(tla_topology_builder *b) {
    const tla_topology_shape *s = b->shape;
    const uint32_t host = tla_build_node(b, TLA_NODE_HOST, (tla_spot){margin(s), margin(s) / 10}, 0, "host");
    if (s->host_memory) {
        const tla_spot beside = {margin(s) * 2, margin(s) / 10};
        tla_build_link(b, host, tla_build_node(b, TLA_NODE_HOST_MEMORY, beside, 0, "host.memory"), 0, 0,
                       s->host_memory_bandwidth);
    }
    uint32_t middle = TLA_NO_NODE, end_points[TLA_SIP_COUNT];
    if (s->sip_topology == TLA_SIPS_SWITCH)
        middle = tla_build_node(b, TLA_NODE_SWITCH, (tla_spot){margin(s), margin(s) * 3 / 10}, s->switch_overhead_ps,
                                "fabric.switch0");
    for (uint32_t sip = 0; sip < s->sips; sip++)
        end_points[sip] = add_sip(b, sip);
    link_sips(b, end_points, middle);
    for (uint32_t sip = 0; sip < s->sips; sip++)
        tla_build_link(b, host, end_points[sip], 0, b->through_host, s->host_bandwidth);
}

/* Checks the ranges of a configuration, and the sizes of the arrays here. */
static bool is_in_range(const tla_topology_shape *s) {
    const uint64_t length_max = UINT64_C(1) << 20;
    return s->sips >= 1 && s->sips <= TLA_SIP_COUNT && s->cube_mesh_width >= 1 && s->cube_mesh_height >= 1 &&
           s->cube_mesh_width <= TLA_CUBE_DIE_COUNT && s->cube_mesh_height <= TLA_CUBE_DIE_COUNT &&
           s->cube_mesh_width * s->cube_mesh_height <= TLA_CUBE_DIE_COUNT && s->pes_per_cube >= 1 &&
           s->pes_per_cube <= TLA_PE_COUNT && s->mesh_columns >= 1 && s->mesh_columns <= TLA_MESH_MAX &&
           s->mesh_rows >= 1 && s->mesh_rows <= TLA_MESH_MAX && s->connections >= 1 &&
           s->connections <= TLA_CONNECTIONS_MAX && (unsigned)s->sip_topology < TLA_SIP_TOPOLOGY_COUNT &&
           (unsigned)s->routing < TLA_ROUTING_COUNT && s->router_pitch_um <= length_max &&
           s->ucie_length_um <= length_max && s->wire_ps_per_mm <= length_max;
}

tla_status tla_topology_of_shape(const tla_topology_shape *shape, tla_topology **topology, tla_error *error) {
    *topology = NULL;
    if (!is_in_range(shape)) return tla_error_set(error, TLA_INVALID_ARGUMENT, "the shape has a number out of range");
    tla_topology_builder b = {.shape = shape, .error = error};
    b.status = tla_floorplan_shape(shape, &b.floorplan, error);
    if (b.status) return b.status;
    const uint32_t cubes = shape->cube_mesh_width * shape->cube_mesh_height;
    b.status = tla_topology_create(shape->sips, cubes, shape->pes_per_cube, &b.topology);
    if (b.status) return tla_error_set(error, b.status, "%s", tla_status_text(b.status));
    weigh(&b);
    add_all(&b);
    if (shape->routing == TLA_ROUTE_SHORTEST) tla_build_ranks(&b);
    if (!b.status) b.status = tla_topology_check(b.topology, error);
    if (b.status)
        tla_topology_destroy(b.topology);
    else
        *topology = b.topology;
    return b.status;
}
