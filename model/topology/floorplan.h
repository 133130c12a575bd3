/* Where the parts of a shape stand, worked out of its texts. Internal to the core. */
#ifndef TLMALLOC_TOPOLOGY_FLOORPLAN_H
#define TLMALLOC_TOPOLOGY_FLOORPLAN_H

#include "tlmalloc/topology/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_side { TLA_SIDE_E, TLA_SIDE_W, TLA_SIDE_N, TLA_SIDE_S, TLA_SIDE_COUNT } tla_side;

typedef struct tla_mesh_place {
    uint32_t row, column;
} tla_mesh_place;

typedef struct tla_phy_face {
    uint32_t cube;
    tla_side side;
} tla_phy_face;

typedef struct tla_floorplan {
    bool has_hole;
    tla_mesh_place hole_first, hole_last; /* corners of the hole, both in it */
    tla_mesh_place pe[TLA_PE_COUNT], m_cpu, sram;
    uint32_t connection_rows[TLA_CONNECTIONS_MAX];    /* of the connections of the sides E and W */
    uint32_t connection_columns[TLA_CONNECTIONS_MAX]; /* of N and S */
    uint32_t phys;
    tla_phy_face faces[TLA_PHYS_MAX];
    uint32_t sip_grid_width;
} tla_floorplan;

/* Each fills its members of the floorplan: TLA_INVALID_ARGUMENT with a text for an invalid value. All
 * but the last two need the floorplan of the hole. */
tla_status tla_floorplan_hole(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_pes(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_m_cpu(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_sram(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_connections(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_faces(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);
tla_status tla_floorplan_sips(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);

/* Whether the hole leaves routers that reach each other. */
tla_status tla_floorplan_check_mesh(const tla_topology_shape *shape, const tla_floorplan *floorplan, tla_error *error);

/* All of it. */
tla_status tla_floorplan_shape(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error);

bool tla_floorplan_is_router(const tla_topology_shape *shape, const tla_floorplan *floorplan, tla_mesh_place place);

/* Whether there is a cube beside this one, and which. */
bool tla_floorplan_neighbour(const tla_topology_shape *shape, uint32_t cube, tla_side side, uint32_t *neighbour);

char tla_side_letter(tla_side side);

/* Return whether a text is valid for a member of a shape; the places of the parts are checked elsewhere. */
bool tla_floorplan_is_hole(const char *text);
bool tla_floorplan_is_pe_list(const char *text);
bool tla_floorplan_is_unit_place(const char *text);
bool tla_floorplan_is_connection_list(const char *text);
bool tla_floorplan_is_face_list(const char *text);

#ifdef __cplusplus
}
#endif
#endif
