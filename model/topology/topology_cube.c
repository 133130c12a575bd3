/* A cube: its mesh of routers, what hangs on them, and its four UCIe ports. */
#include "topology/topology_build.h"

typedef struct cube_builder {
    tla_topology_builder *b;
    uint32_t sip, cube;
    tla_spot at;
    uint32_t routers[TLA_MESH_MAX][TLA_MESH_MAX];
} cube_builder;

tla_spot tla_cube_stride(const tla_topology_shape *shape) {
    const uint64_t pitch = shape->router_pitch_um; /* a pitch lies between cubes: room for their ports */
    return (tla_spot){(shape->mesh_columns + 1) * pitch, (shape->mesh_rows + 1) * pitch};
}

/* A router stands in the middle of its field of the mesh. KernBench's M_CPU lies at 7.5 mm and its SRAM at 1.5 mm,
 * which are columns 2 and 0 with a pitch of 3 mm. */
static tla_spot router_spot(const cube_builder *c, tla_mesh_place place) {
    const uint64_t pitch = c->b->shape->router_pitch_um;
    return (tla_spot){c->at.x_um + place.column * pitch + pitch / 2, c->at.y_um + place.row * pitch + pitch / 2};
}

static uint32_t router(const cube_builder *c, tla_mesh_place place) {
    return c->routers[place.row][place.column];
}

/* Links of rows come before those of columns: of two ways that are equally long, paths take the one along the row. */
static void add_mesh(cube_builder *c) {
    const tla_topology_shape *s = c->b->shape;
    for (uint32_t row = 0; row < s->mesh_rows; row++)
        for (uint32_t column = 0; column < s->mesh_columns; column++) {
            const tla_mesh_place place = {row, column};
            if (tla_floorplan_is_router(s, &c->b->floorplan, place))
                c->routers[row][column] =
                    tla_build_node(c->b, TLA_NODE_ROUTER, router_spot(c, place), s->router_overhead_ps,
                                   "sip%u.cube%u.r%uc%u", c->sip, c->cube, row, column);
        }
    for (int down = 0; down < 2; down++)
        for (uint32_t row = 0; row < s->mesh_rows; row++)
            for (uint32_t column = 0; column < s->mesh_columns; column++) {
                const tla_mesh_place here = {row, column}, next = {row + (down ? 1 : 0), column + (down ? 0 : 1)};
                if (tla_floorplan_is_router(s, &c->b->floorplan, here) &&
                    tla_floorplan_is_router(s, &c->b->floorplan, next))
                    tla_build_link(c->b, router(c, here), router(c, next), s->router_pitch_um, s->router_pitch_um,
                                   s->router_bandwidth);
            }
}

/* A part of a router stands beside it, a quarter of the pitch away; no wire lies between the two. */
static void hang(cube_builder *c, tla_mesh_place place, int right, int down, tla_node_kind kind, const char *name,
                 uint32_t index, uint64_t bandwidth) {
    const uint64_t quarter = c->b->shape->router_pitch_um / 4;
    tla_spot at = router_spot(c, place);
    at.x_um = right ? at.x_um + quarter : at.x_um - quarter;
    at.y_um = down ? at.y_um + quarter : at.y_um - quarter;
    const uint32_t node = kind == TLA_NODE_PE || kind == TLA_NODE_HBM_CTRL
                              ? tla_build_node(c->b, kind, at, 0, "sip%u.cube%u.%s%u", c->sip, c->cube, name, index)
                              : tla_build_node(c->b, kind, at, 0, "sip%u.cube%u.%s", c->sip, c->cube, name);
    tla_build_link(c->b, router(c, place), node, 0, 0, bandwidth);
}

static void add_units(cube_builder *c) {
    const tla_topology_shape *s = c->b->shape;
    const tla_floorplan *floorplan = &c->b->floorplan;
    for (uint32_t pe = 0; pe < s->pes_per_cube; pe++)
        hang(c, floorplan->pe[pe], 0, 0, TLA_NODE_PE, "pe", pe, s->pe_bandwidth);
    for (uint32_t pe = 0; pe < s->pes_per_cube; pe++)
        hang(c, floorplan->pe[pe], 1, 0, TLA_NODE_HBM_CTRL, "hbm_ctrl.pe", pe, s->hbm_bandwidth);
    hang(c, floorplan->m_cpu, 0, 1, TLA_NODE_M_CPU, "m_cpu", 0, s->pe_bandwidth);
    hang(c, floorplan->sram, 1, 1, TLA_NODE_SRAM, "sram", 0, s->sram_bandwidth);
}

/* Returns the routing cost of a connection beside the other connections of its port (tla_routing). */
static uint64_t port_routing(const cube_builder *c, const uint32_t *places, uint32_t connection) {
    const tla_topology_builder *b = c->b;
    if (b->shape->routing != TLA_ROUTE_STRAIGHT) return 0;
    const uint64_t from = places[0], to = places[connection];
    return b->through_port + (b->shape->router_pitch_um + 1) * (from < to ? to - from : from - to);
}

/* The wire of a connection leads from its router to the edge of the cube; the port is as wide as its side. */
static uint32_t add_port(cube_builder *c, tla_side side) {
    const tla_topology_shape *s = c->b->shape;
    const uint64_t half = s->router_pitch_um / 2, width = s->mesh_columns * s->router_pitch_um,
                   height = s->mesh_rows * s->router_pitch_um;
    const bool vertical = side == TLA_SIDE_E || side == TLA_SIDE_W, far = side == TLA_SIDE_E || side == TLA_SIDE_S;
    const uint32_t *places = vertical ? c->b->floorplan.connection_rows : c->b->floorplan.connection_columns;
    const char letter = tla_side_letter(side);
    tla_spot edge = c->at;
    edge.x_um += vertical ? (far ? width : 0) : width / 2;
    edge.y_um += vertical ? height / 2 : (far ? height : 0);
    const uint32_t port =
        tla_build_node(c->b, TLA_NODE_UCIE, edge, s->ucie_overhead_ps, "sip%u.cube%u.ucie-%c", c->sip, c->cube, letter);
    for (uint32_t i = 0; i < s->connections; i++) {
        const tla_mesh_place place = vertical ? (tla_mesh_place){places[i], far ? s->mesh_columns - 1 : 0}
                                              : (tla_mesh_place){far ? s->mesh_rows - 1 : 0, places[i]};
        tla_spot at = router_spot(c, place);
        if (vertical)
            at.x_um = far ? at.x_um + half * 2 / 3 : at.x_um - half * 2 / 3;
        else
            at.y_um = far ? at.y_um + half * 2 / 3 : at.y_um - half * 2 / 3;
        const uint32_t conn =
            tla_build_node(c->b, TLA_NODE_CONN, at, 0, "sip%u.cube%u.ucie-%c.conn%u", c->sip, c->cube, letter, i);
        tla_build_link(c->b, router(c, place), conn, half, s->routing == TLA_ROUTE_STRAIGHT ? half : 0,
                       s->connection_bandwidth);
        tla_build_weighed_link(c->b, conn, port, 0, port_routing(c, places, i),
                               s->routing == TLA_ROUTE_FREE_PORTS ? 0 : c->b->through_port, s->port_bandwidth);
    }
    return port;
}

void tla_build_cube(tla_topology_builder *builder, uint32_t sip, uint32_t cube, tla_spot at, uint32_t *ports) {
    cube_builder c = {.b = builder, .sip = sip, .cube = cube, .at = at};
    add_mesh(&c);
    add_units(&c);
    for (int side = 0; side < TLA_SIDE_COUNT; side++)
        ports[side] = add_port(&c, (tla_side)side);
}
