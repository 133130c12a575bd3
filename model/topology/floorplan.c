/* Where the parts of a shape stand: the texts of a shape read, and its defaults for any size. */
#include "topology/floorplan.h"

#include "base/phrase.h"

#include <inttypes.h>
#include <string.h>

/* ---- words ---- */

static bool take_number(const char **text, uint32_t *number) {
    const char *at = *text;
    if (*at < '0' || *at > '9') return false;
    for (*number = 0; *at >= '0' && *at <= '9'; at++) {
        if (*number > 999) return false;
        *number = 10 * *number + (uint32_t)(*at - '0');
    }
    *text = at;
    return true;
}

static bool take_text(const char **text, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) return false;
    *text += length;
    return true;
}

static bool take_place(const char **text, tla_mesh_place *place) {
    return take_text(text, "r") && take_number(text, &place->row) && take_text(text, "c") &&
           take_number(text, &place->column);
}

static const char letters[] = "EWNS";

static bool take_face(const char **text, tla_phy_face *face) {
    if (!take_text(text, "cube") || !take_number(text, &face->cube) || !take_text(text, ".")) return false;
    const char *letter = **text ? strchr(letters, **text) : NULL;
    if (!letter) return false;
    face->side = (tla_side)(letter - letters);
    ++*text;
    return true;
}

/* Reads the items of a list with spaces between them, up to `most`; how many, or 0 when the text is no such list. */
#define READ_LIST(name, type, take)                                                                                    \
    static uint32_t name(const char *text, type *items, uint32_t most) {                                               \
        uint32_t count = 0;                                                                                            \
        for (; *text; text += strspn(text, " "), count++)                                                              \
            if (count == most || !take(&text, &items[count]) || (*text && *text != ' ')) return 0;                     \
        return count;                                                                                                  \
    }

READ_LIST(read_places, tla_mesh_place, take_place)
READ_LIST(read_numbers, uint32_t, take_number)
READ_LIST(read_faces, tla_phy_face, take_face)

static bool read_hole(const char *text, tla_mesh_place *first, tla_mesh_place *last) {
    if (!take_place(&text, first)) return false;
    *last = *first;
    if (*text && (!take_text(&text, "..") || !take_place(&text, last))) return false;
    return !*text;
}

bool tla_floorplan_is_hole(const char *text) {
    tla_mesh_place first, last;
    return strcmp(text, "centre") == 0 || strcmp(text, "none") == 0 || read_hole(text, &first, &last);
}

bool tla_floorplan_is_pe_list(const char *text) {
    tla_mesh_place places[TLA_PE_COUNT];
    return strcmp(text, "corners") == 0 || read_places(text, places, TLA_PE_COUNT) > 0;
}

bool tla_floorplan_is_unit_place(const char *text) {
    tla_mesh_place place;
    return strcmp(text, "auto") == 0 || read_places(text, &place, 1) == 1;
}

bool tla_floorplan_is_connection_list(const char *text) {
    uint32_t places[TLA_CONNECTIONS_MAX];
    return strcmp(text, "spread") == 0 || read_numbers(text, places, TLA_CONNECTIONS_MAX) > 0;
}

bool tla_floorplan_is_face_list(const char *text) {
    tla_phy_face faces[TLA_PHYS_MAX];
    return strcmp(text, "west") == 0 || read_faces(text, faces, TLA_PHYS_MAX) > 0;
}

char tla_side_letter(tla_side side) {
    return letters[side];
}

/* ---- the mesh of routers ---- */

static bool in_mesh(const tla_topology_shape *shape, tla_mesh_place place) {
    return place.row < shape->mesh_rows && place.column < shape->mesh_columns;
}

static bool in_hole(const tla_floorplan *floorplan, tla_mesh_place place) {
    return floorplan->has_hole && place.row >= floorplan->hole_first.row && place.row <= floorplan->hole_last.row &&
           place.column >= floorplan->hole_first.column && place.column <= floorplan->hole_last.column;
}

bool tla_floorplan_is_router(const tla_topology_shape *shape, const tla_floorplan *floorplan, tla_mesh_place place) {
    return in_mesh(shape, place) && !in_hole(floorplan, place);
}

/* Returns why a place is invalid: "which lies in the hole of the mesh". */
static tla_phrase why_no_router(const tla_topology_shape *shape, const tla_floorplan *floorplan, tla_mesh_place place) {
    return in_hole(floorplan, place) ? tla_phrase_of("in the hole of the mesh: name the place of a router")
                                     : tla_phrase_of("outside the mesh of %" PRIu32 " rows and %" PRIu32 " columns",
                                                     shape->mesh_rows, shape->mesh_columns);
}

/* The middle of a mesh has a hole from 6 x 6 routers on: 2 x 2 of them. */
tla_status tla_floorplan_hole(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    enum { HOLE_FROM = 6 };
    const char *text = shape->mesh_hole;
    const uint32_t rows = shape->mesh_rows, columns = shape->mesh_columns;
    floorplan->has_hole = strcmp(text, "none") != 0;
    if (strcmp(text, "centre") == 0) {
        floorplan->has_hole = rows >= HOLE_FROM && columns >= HOLE_FROM;
        floorplan->hole_first = (tla_mesh_place){rows / 2 - 1, columns / 2 - 1};
        floorplan->hole_last = (tla_mesh_place){rows / 2, columns / 2};
        return TLA_OK;
    }
    if (!floorplan->has_hole) return TLA_OK;
    if (!read_hole(text, &floorplan->hole_first, &floorplan->hole_last))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "invalid hole %s: write it as r2c2..r3c3",
                             tla_quote(text).text);
    if (floorplan->hole_first.row > floorplan->hole_last.row ||
        floorplan->hole_first.column > floorplan->hole_last.column)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "hole %s: write the upper left corner, then the lower right corner", text);
    if (!in_mesh(shape, floorplan->hole_last))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "hole %s reaches outside the mesh of %" PRIu32 " rows and %" PRIu32 " columns", text, rows,
                             columns);
    return TLA_OK;
}

/* A rectangle parts the mesh only where it reaches from one edge to the one opposite. */
tla_status tla_floorplan_check_mesh(const tla_topology_shape *shape, const tla_floorplan *floorplan, tla_error *error) {
    if (!floorplan->has_hole) return TLA_OK;
    const tla_mesh_place first = floorplan->hole_first, last = floorplan->hole_last;
    const bool all_rows = first.row == 0 && last.row + 1 == shape->mesh_rows;
    const bool all_columns = first.column == 0 && last.column + 1 == shape->mesh_columns;
    if (all_rows && all_columns)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "the hole covers all routers: at least one must remain");
    if (all_rows && first.column > 0 && last.column + 1 < shape->mesh_columns)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the hole covers all rows: r0c%" PRIu32 " and r0c%" PRIu32 " cannot reach each other",
                             first.column - 1, last.column + 1);
    if (all_columns && first.row > 0 && last.row + 1 < shape->mesh_rows)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the hole covers all columns: r%" PRIu32 "c0 and r%" PRIu32 "c0 cannot reach each other",
                             first.row - 1, last.row + 1);
    return TLA_OK;
}

/* ---- what hangs on routers ---- */

/* PEs stand in the four corners, 2 x 2 routers each: as KernBench's eight do, two in a corner. */
static tla_mesh_place corner_place(const tla_topology_shape *shape, uint32_t pe) {
    static const tla_mesh_place in_corner[4][4] = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}},
                                                   {{1, 0}, {1, 1}, {0, 0}, {0, 1}},
                                                   {{0, 0}, {0, 1}, {1, 0}, {1, 1}},
                                                   {{1, 0}, {1, 1}, {0, 0}, {0, 1}}};
    const uint32_t per_corner = (shape->pes_per_cube + 3) / 4, corner = pe / per_corner;
    tla_mesh_place place = in_corner[corner][pe % per_corner];
    if (corner >= 2) place.row += shape->mesh_rows - 2;
    if (corner % 2 == 1) place.column += shape->mesh_columns - 2;
    return place;
}

/* In a mesh that has no four corners of 2 x 2 routers, row by row. */
static bool default_place(const tla_topology_shape *shape, const tla_floorplan *floorplan, uint32_t pe,
                          tla_mesh_place *place) {
    if (shape->mesh_rows >= 4 && shape->mesh_columns >= 4) {
        *place = corner_place(shape, pe);
        return true;
    }
    for (uint32_t i = 0, routers = 0; i < shape->mesh_rows * shape->mesh_columns; i++) {
        *place = (tla_mesh_place){i / shape->mesh_columns, i % shape->mesh_columns};
        if (!in_hole(floorplan, *place) && routers++ == pe) return true;
    }
    return false;
}

tla_status tla_floorplan_pes(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    const bool listed = strcmp(shape->pe_places, "corners") != 0;
    const uint32_t pes = shape->pes_per_cube,
                   count = listed ? read_places(shape->pe_places, floorplan->pe, TLA_PE_COUNT) : pes;
    if (count != pes)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "places for %" PRIu32 " PEs, but a cube has %" PRIu32, count,
                             pes);
    for (uint32_t pe = 0; pe < pes; pe++) {
        tla_mesh_place *place = &floorplan->pe[pe];
        if (!listed && !default_place(shape, floorplan, pe, place))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%" PRIu32 " PEs of a cube: must be at most as many as its routers, %" PRIu32, pes,
                                 pe);
        if (!tla_floorplan_is_router(shape, floorplan, *place))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "PE %" PRIu32 " at r%" PRIu32 "c%" PRIu32 " is %s", pe,
                                 place->row, place->column, why_no_router(shape, floorplan, *place).text);
        for (uint32_t other = 0; other < pe; other++)
            if (floorplan->pe[other].row == place->row && floorplan->pe[other].column == place->column)
                return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                     "PE %" PRIu32 " and PE %" PRIu32 " are both at r%" PRIu32 "c%" PRIu32
                                     ": give them different routers",
                                     other, pe, place->row, place->column);
    }
    return TLA_OK;
}

static tla_status place_unit(const tla_topology_shape *shape, const tla_floorplan *floorplan, const char *unit,
                             const char *text, tla_mesh_place *place, tla_error *error) {
    if (strcmp(text, "auto") != 0 && read_places(text, place, 1) != 1)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "invalid place %s of the %s: write it as r0c2",
                             tla_quote(text).text, unit);
    if (!tla_floorplan_is_router(shape, floorplan, *place))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "the %s at r%" PRIu32 "c%" PRIu32 " is %s", unit, place->row,
                             place->column, why_no_router(shape, floorplan, *place).text);
    return TLA_OK;
}

tla_status tla_floorplan_m_cpu(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    floorplan->m_cpu = (tla_mesh_place){0, shape->mesh_columns / 3};
    return place_unit(shape, floorplan, "M_CPU", shape->m_cpu_place, &floorplan->m_cpu, error);
}

tla_status tla_floorplan_sram(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    floorplan->sram = (tla_mesh_place){shape->mesh_rows / 2, 0};
    return place_unit(shape, floorplan, "SRAM", shape->sram_place, &floorplan->sram, error);
}

/* `count` places from one end of a side to the other. */
static void spread(uint32_t length, uint32_t count, uint32_t *places) {
    for (uint32_t i = 0; i < count; i++)
        places[i] = count == 1 ? 0 : (i * (length - 1) + (count - 1) / 2) / (count - 1);
}

tla_status tla_floorplan_connections(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    const uint32_t count = shape->connections, rows = shape->mesh_rows, columns = shape->mesh_columns;
    spread(rows, count, floorplan->connection_rows);
    spread(columns, count, floorplan->connection_columns);
    if (strcmp(shape->connection_places, "spread") != 0) {
        const uint32_t found = read_numbers(shape->connection_places, floorplan->connection_rows, TLA_CONNECTIONS_MAX);
        if (found != count)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "places for %" PRIu32 " connections, but a side has %" PRIu32, found, count);
        memcpy(floorplan->connection_columns, floorplan->connection_rows, sizeof floorplan->connection_rows);
    }
    for (uint32_t i = 0; i < count; i++) {
        const tla_mesh_place ends[] = {{floorplan->connection_rows[i], columns - 1},
                                       {floorplan->connection_rows[i], 0},
                                       {0, floorplan->connection_columns[i]},
                                       {rows - 1, floorplan->connection_columns[i]}};
        for (int side = 0; side < TLA_SIDE_COUNT; side++)
            if (!tla_floorplan_is_router(shape, floorplan, ends[side]))
                return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                     "connection %" PRIu32 " of side %c at r%" PRIu32 "c%" PRIu32 " is %s", i,
                                     letters[side], ends[side].row, ends[side].column,
                                     why_no_router(shape, floorplan, ends[side]).text);
    }
    return TLA_OK;
}

/* ---- cubes and SIPs ---- */

bool tla_floorplan_neighbour(const tla_topology_shape *shape, uint32_t cube, tla_side side, uint32_t *neighbour) {
    const uint32_t width = shape->cube_mesh_width, x = cube % width, y = cube / width;
    switch (side) {
    case TLA_SIDE_E:
        *neighbour = cube + 1;
        return x + 1 < width;
    case TLA_SIDE_W:
        *neighbour = cube - 1;
        return x > 0;
    case TLA_SIDE_N:
        *neighbour = cube - width;
        return y > 0;
    default:
        *neighbour = cube + width;
        return y + 1 < shape->cube_mesh_height;
    }
}

/* The PHYs face the west sides of the first column's cubes, of which cube 0 is one: four at most. */
tla_status tla_floorplan_faces(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    enum { PHYS_BY_DEFAULT = 4 };
    const uint32_t cubes = shape->cube_mesh_width * shape->cube_mesh_height;
    const bool listed = strcmp(shape->phy_faces, "west") != 0;
    floorplan->phys = shape->cube_mesh_height < PHYS_BY_DEFAULT ? shape->cube_mesh_height : PHYS_BY_DEFAULT;
    for (uint32_t i = 0; i < floorplan->phys && !listed; i++)
        floorplan->faces[i] = (tla_phy_face){i * shape->cube_mesh_width, TLA_SIDE_W};
    if (listed && (floorplan->phys = read_faces(shape->phy_faces, floorplan->faces, TLA_PHYS_MAX)) == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "invalid sides of cubes %s: write them as cube0.W",
                             tla_quote(shape->phy_faces).text);
    for (uint32_t i = 0; i < floorplan->phys; i++) {
        const tla_phy_face face = floorplan->faces[i];
        uint32_t neighbour;
        if (face.cube >= cubes)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "cube%" PRIu32 ".%c: the cube must be 0 .. %" PRIu32,
                                 face.cube, letters[face.side], cubes - 1);
        if (tla_floorplan_neighbour(shape, face.cube, face.side, &neighbour))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "cube%" PRIu32 ".%c faces cube%" PRIu32 ": name a side at the edge of the cubes",
                                 face.cube, letters[face.side], neighbour);
        for (uint32_t other = 0; other < i; other++)
            if (floorplan->faces[other].cube == face.cube && floorplan->faces[other].side == face.side)
                return tla_error_set(error, TLA_INVALID_ARGUMENT, "cube%" PRIu32 ".%c appears twice", face.cube,
                                     letters[face.side]);
    }
    return TLA_OK;
}

tla_status tla_floorplan_sips(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    const bool grid = shape->sip_topology == TLA_SIPS_TORUS || shape->sip_topology == TLA_SIPS_MESH;
    uint32_t width = grid ? shape->sip_grid_width : 0;
    if (width == 0) /* of all whole rows the ones that are as long as columns, or little longer */
        for (width = 1; width * width < shape->sips || shape->sips % width != 0;)
            width++;
    floorplan->sip_grid_width = width;
    if (shape->sips % width != 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "a grid of width %" PRIu32 " for %" PRIu32 " SIPs: all rows must be complete", width,
                             shape->sips);
    return TLA_OK;
}

tla_status tla_floorplan_shape(const tla_topology_shape *shape, tla_floorplan *floorplan, tla_error *error) {
    tla_status (*const steps[])(const tla_topology_shape *, tla_floorplan *, tla_error *) = {
        tla_floorplan_hole,        tla_floorplan_pes,   tla_floorplan_m_cpu, tla_floorplan_sram,
        tla_floorplan_connections, tla_floorplan_faces, tla_floorplan_sips};
    memset(floorplan, 0, sizeof *floorplan);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const tla_status status = steps[i](shape, floorplan, error);
        if (status) return status;
    }
    return tla_floorplan_check_mesh(shape, floorplan, error);
}
