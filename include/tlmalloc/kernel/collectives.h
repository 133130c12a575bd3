/* Collectives: joint operations of all ranks of a world, made of messages (KernBench ADR-0047, 0050, 0032).
 *
 * A world is a range of consecutive program numbers of a launch. Its programs form a grid, row-major by rank, and data
 * moves along the lines of its dimensions. The call tl_world_init selects the grid from the section `collectives` of
 * the configuration; ranks then equal program numbers:
 *
 * ring          one line of all ranks; its ends are joined
 * torus_2d      collectives.columns in a row; the ends of rows and columns are joined
 * mesh_2d       the same grid; its ends are not joined
 * hierarchical  the grid of SIPs (system.sip_topology), the cubes of a SIP, the PEs of a cube: five dimensions
 *
 * The key collectives.between_sips decides how the hierarchical all-reduce passes the SIPs: to the middle SIP and back,
 * or around rings. The key collectives.receives decides whether a rank in the middle of a line receives from both sides
 * at one time, or from one after the other.
 *
 * All ranks call the same collective with tiles of the same shape and type. The grid fixes the order of additions, and
 * each addition is rounded to the type. The bits of a result therefore do not depend on time. A vector is a contiguous
 * tile of one row. Part i of n of its elements is [i * columns / n, (i + 1) * columns / n), and may be empty.
 *
 * A failed collective returns the status of the failed call, and the contents of its tiles are then undefined. Two
 * receives may be outstanding at once; with pe.outstanding 1 that returns TLA_LIMIT. For a program that is not a rank
 * every collective returns TLA_OK and does nothing. */
#ifndef TLMALLOC_KERNEL_COLLECTIVES_H
#define TLMALLOC_KERNEL_COLLECTIVES_H

#include "tlmalloc/kernel/language.h"
#include "tlmalloc/kernel/messages.h"
#include "tlmalloc/kernel/pipeline.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_WORLD_DIMENSIONS_MAX = 5, TL_SIP_DIMENSIONS = 2 }; /* the outermost of a hierarchical world are of SIPs */

typedef struct tl_world {
    tl_algorithm algorithm;
    uint32_t first;                           /* the program that has rank 0 */
    uint32_t rank, size;                      /* rank >= size: this program does not participate */
    uint32_t dimensions;                      /* number of dimensions of the grid */
    uint32_t extent[TL_WORLD_DIMENSIONS_MAX]; /* outermost first; their product is `size` */
    tl_receipt_order receives;                /* of lines: collectives.receives */
    tl_between_sips between_sips;             /* hierarchical: collectives.between_sips */
    bool sips_joined;                         /* hierarchical: rows and columns of SIPs are rings */
} tl_world;

/* --- the world ------------------------------------------------------------------------------------------------------
 */

/* Returns a divisor with as many columns as rows, or slightly more columns. */
static inline uint32_t tl_square_columns(uint32_t size) {
    uint32_t columns = 1;
    while ((uint64_t)columns * columns < size || size % columns != 0)
        columns++;
    return columns;
}

/* The grid of places. It requires a program on every PE of the platform, in their order. */
static inline tla_status tl_world_of_places(tl_context *tl, uint32_t sip_columns, uint32_t wanted, tl_world *world) {
    const uint32_t programs = tl_num_programs(tl, TL_ALL), sips = tl_num_programs(tl, TL_SIP),
                   cubes = tl_num_programs(tl, TL_CUBE), pes = tl_num_programs(tl, TL_PE),
                   columns = tl_mesh_columns(tl);
    const uint64_t all = (uint64_t)sips * cubes * pes;
    if (programs != all || (wanted != 0 && wanted != all))
        return tl_refuse(
            tl,
            "tl_world_init: hierarchical with %u programs, collectives.world_size %u: launch a program on each of the "
            "%llu PEs, and set the key to 0 or %llu",
            programs, wanted, (unsigned long long)all, (unsigned long long)all);
    const uint32_t extent[] = {sips / sip_columns, sip_columns, cubes / columns, columns, pes};
    world->size = programs;
    world->dimensions = 5;
    memcpy(world->extent, extent, sizeof extent);
    return TLA_OK;
}

/* Determines the world of this program in KernBench's four steps: the configuration, the algorithm, the size of the
 * world, and its grid. The size is the algorithm's, else collectives.world_size, else the number of programs of the
 * launch. The slots of messages are allocated with the first message of each direction.
 *
 * TLA_INVALID_ARGUMENT, with a text, for a world that is larger than the launch, and for columns that do not divide it.
 * The same error reports `hierarchical` where programs do not run on all PEs of the platform. Costs nothing. */
static inline tla_status tl_world_init(tl_context *tl, tl_world *world) {
    tl_collective_settings settings;
    tl->calls->collective_settings(tl, &settings);
    const uint32_t programs = tl_num_programs(tl, TL_ALL);
    memset(world, 0, sizeof *world);
    world->algorithm = settings.algorithm;
    world->rank = tl_program_id(tl, TL_ALL);
    world->receives = settings.receives;
    world->between_sips = settings.between_sips;
    world->sips_joined = settings.sips_joined;
    if (settings.algorithm == TL_HIERARCHICAL)
        return tl_world_of_places(tl, settings.sip_columns, settings.world_size, world);
    world->size = settings.world_size ? settings.world_size : programs;
    if (world->size > programs)
        return tl_refuse(tl, "tl_world_init: collectives.world_size %u must be at most the %u programs of the launch",
                         world->size, programs);
    world->dimensions = settings.algorithm == TL_RING ? 1 : 2;
    const uint32_t columns = settings.algorithm == TL_RING ? world->size
                             : settings.columns            ? settings.columns
                                                           : tl_square_columns(world->size);
    if (world->size % columns != 0)
        return tl_refuse(tl, "tl_world_init: collectives.columns %u must divide the %u ranks", columns, world->size);
    world->extent[0] = world->dimensions == 1 ? columns : world->size / columns;
    world->extent[1] = world->dimensions == 1 ? 0 : columns;
    return TLA_OK;
}

/* Returns the programs on this SIP as a ring, in any configuration, for a launch on all PEs of the platform. Costs
 * nothing. */
static inline tl_world tl_of_sip(tl_context *tl) {
    tl_world world;
    memset(&world, 0, sizeof world);
    world.algorithm = TL_RING;
    world.size = world.extent[0] = tl_num_programs(tl, TL_ALL) / tl_num_programs(tl, TL_SIP);
    world.first = tl_program_id(tl, TL_SIP) * world.size;
    world.rank = tl_program_id(tl, TL_ALL) - world.first;
    world.dimensions = 1;
    return world;
}

/* Returns whether this program participates. */
static inline bool tl_is_rank(const tl_world *world) {
    return world->rank < world->size;
}

/* Returns whether all-reduces use rings; otherwise they reduce to the middle and broadcast back. */
static inline bool tl_goes_round(const tl_world *world) {
    return world->algorithm == TL_RING || world->algorithm == TL_TORUS_2D;
}

/* Returns the number of elements of the `room` for a vector of `columns`: with rings the longest part, rounded up, else
 * two vectors. */
static inline uint32_t tl_room(const tl_world *world, uint32_t columns) {
    return tl_goes_round(world) ? (uint32_t)tl_cdiv(columns, world->extent[0]) : 2 * columns;
}

/* The ranks that differ from a rank in one coordinate only: first, first + stride, ... */
typedef struct tl_line {
    uint32_t first, stride, size;
    uint32_t place;   /* place of this rank, below size */
    uint32_t program; /* the program that has rank 0 */
    tl_receipt_order receives;
} tl_line;

static inline tl_line tl_line_of(const tl_world *world, uint32_t dimension) {
    tl_line line = {0, 1, world->extent[dimension], 0, world->first, world->receives};
    for (uint32_t inner = dimension + 1; inner < world->dimensions; inner++)
        line.stride *= world->extent[inner];
    line.place = world->rank / line.stride % line.size;
    line.first = world->rank - line.place * line.stride;
    return line;
}

/* The program at a place of a line. */
static inline uint32_t tl_at(const tl_line *line, uint32_t place) {
    return line->program + line->first + place * line->stride;
}

/* TLA_INVALID_ARGUMENT, with a text, for a tile that is not a vector, or not room for a vector. */
static inline tla_status tl_check_vector(tl_context *tl, const char *call, const tl_tile *vector) {
    if (vector->rows == 1 && vector->columns > 0) return TLA_OK;
    return tl_refuse(tl, "%s: a tile of %u x %u: must have one row and at least one column", call, vector->rows,
                     vector->columns);
}
static inline tla_status tl_check_room(tl_context *tl, const char *call, const tl_world *world, const tl_tile *vector,
                                       const tl_tile *room) {
    const uint32_t wanted = tl_room(world, vector->columns);
    if (room->rows == 1 && room->columns >= wanted && room->dtype == vector->dtype) return TLA_OK;
    return tl_refuse(tl, "%s: room of %u x %u: must be one row of at least %u elements of the vector's type", call,
                     room->rows, room->columns, wanted);
}

/* --- around rings ---------------------------------------------------------------------------------------------------
 */

/* Returns part `place` of a line as a view of a vector: the parts of all ranks with this place. Each dimension further
 * inside contributes one part per rank. Costs nothing. */
static inline tl_tile tl_part_of(tl_context *tl, const tl_world *world, const tl_line *line, const tl_tile *vector,
                                 uint32_t place) {
    const uint32_t base = line->first - line->first % line->stride;
    const uint64_t first = (uint64_t)(base + place * line->stride) * vector->columns / world->size,
                   end = (uint64_t)(base + (place + 1) * line->stride) * vector->columns / world->size;
    return tl_view(tl, vector, 0, (uint32_t)first, 1, (uint32_t)(end - first));
}

/* Sends one tile to the next place of a line, and receives another from the previous place. Empty tiles are not sent.
 * Even places send first and odd places receive first, so that no message is too long for the slots. */
static inline tla_status tl_ring_shift(tl_context *tl, const tl_line *line, const tl_tile *out, const tl_tile *in) {
    const uint32_t p = line->place, n = line->size;
    const uint32_t next = tl_at(line, (p + 1) % n), before = tl_at(line, (p + n - 1) % n);
    tla_status status = TLA_OK;
    if (p % 2 == 0 && out->columns > 0) status = tl_send(tl, next, out);
    if (status == TLA_OK && in->columns > 0) status = tl_recv(tl, before, in);
    if (status == TLA_OK && p % 2 != 0 && out->columns > 0) status = tl_send(tl, next, out);
    return status;
}

/* Sums the parts of a line: place p receives the sum of part p. */
static inline tla_status tl_ring_reduce_scatter(tl_context *tl, const tl_world *world, const tl_line *line,
                                                const tl_tile *vector, const tl_tile *room) {
    const uint32_t p = line->place, n = line->size;
    tla_status status = TLA_OK;
    for (uint32_t step = 1; status == TLA_OK && step < n; step++) {
        const tl_tile out = tl_part_of(tl, world, line, vector, (p + n - step) % n);
        const tl_tile mine = tl_part_of(tl, world, line, vector, (p + 2 * n - step - 1) % n);
        const tl_tile in = tl_view(tl, room, 0, 0, 1, mine.columns);
        status = tl_ring_shift(tl, line, &out, &in);
        if (status == TLA_OK && mine.columns > 0) status = tl_add(tl, &mine, &in, &mine);
    }
    return status;
}

/* Distributes the parts of a line, of which place p has part p: every place receives all parts. */
static inline tla_status tl_ring_all_gather(tl_context *tl, const tl_world *world, const tl_line *line,
                                            const tl_tile *vector) {
    const uint32_t p = line->place, n = line->size;
    tla_status status = TLA_OK;
    for (uint32_t step = 0; status == TLA_OK && step + 1 < n; step++) {
        const tl_tile out = tl_part_of(tl, world, line, vector, (p + n - step) % n);
        const tl_tile in = tl_part_of(tl, world, line, vector, (p + 2 * n - step - 1) % n);
        status = tl_ring_shift(tl, line, &out, &in);
    }
    return status;
}

/* Sums the vectors of a line at every place: each place sends on the vector of the place before it, and adds it to its
 * own. The sum of place p is own + that of place p - 1 + that of place p - 2 + ..., modulo their number. A receive
 * begins before the send of its round, so that no message is too long for the slots. `room` has two vectors. */
static inline tla_status tl_ring_sum(tl_context *tl, const tl_line *line, const tl_tile *vector, const tl_tile *room) {
    const uint32_t p = line->place, n = line->size;
    const uint32_t next = tl_at(line, (p + 1) % n), before = tl_at(line, (p + n - 1) % n);
    tl_tile out = *vector;
    tla_status status = TLA_OK;
    for (uint32_t round = 1; status == TLA_OK && round < n; round++) {
        const tl_tile in = tl_view(tl, room, 0, round % 2 * vector->columns, 1, vector->columns);
        tl_handle handle = {0};
        status = tl_recv_async(tl, before, &in, &handle);
        if (status == TLA_OK) status = tl_send(tl, next, &out);
        const tla_status received = tl_wait(tl, handle);
        if (status == TLA_OK) status = received;
        if (status == TLA_OK) status = tl_add(tl, vector, vector, &in);
        out = in;
    }
    return status;
}

/* --- to the middle and back -----------------------------------------------------------------------------------------
 */

/* Receives the vectors of both sides of a place at one time, and adds them. The sides are `from`. */
static inline tla_status tl_line_receive_both(tl_context *tl, const tl_line *line, const bool from[2],
                                              const tl_tile *vector, const tl_tile *room) {
    tl_handle handles[2] = {{0}, {0}};
    tla_status status = TLA_OK;
    for (uint32_t side = 0; status == TLA_OK && side < 2; side++) {
        if (!from[side]) continue;
        const tl_tile in = room ? tl_view(tl, room, 0, side * vector->columns, 1, vector->columns) : *vector;
        status = tl_recv_async(tl, tl_at(line, side == 0 ? line->place - 1 : line->place + 1), &in, &handles[side]);
    }
    for (uint32_t side = 0; side < 2; side++) {
        const tla_status received = tl_wait(tl, handles[side]);
        if (status == TLA_OK) status = received;
        if (status != TLA_OK || !from[side] || !room) continue;
        const tl_tile in = tl_view(tl, room, 0, side * vector->columns, 1, vector->columns);
        status = tl_add(tl, vector, vector, &in);
    }
    return status;
}

/* Receives the vector of the side before and adds it, then that of the side behind. */
static inline tla_status tl_line_receive_in_order(tl_context *tl, const tl_line *line, const bool from[2],
                                                  const tl_tile *vector, const tl_tile *room) {
    tla_status status = TLA_OK;
    for (uint32_t side = 0; status == TLA_OK && side < 2; side++) {
        if (!from[side]) continue;
        const tl_tile in = room ? tl_view(tl, room, 0, 0, 1, vector->columns) : *vector;
        status = tl_recv(tl, tl_at(line, side == 0 ? line->place - 1 : line->place + 1), &in);
        if (status == TLA_OK && room) status = tl_add(tl, vector, vector, &in);
    }
    return status;
}

/* Sums the vectors of a line at place `root`. The sum proceeds place by place from both ends to the root, in this
 * order: (own + those of lower places) + those of higher places. Without `room` nothing is added: the root learns only
 * that all places have begun. */
static inline tla_status tl_line_reduce(tl_context *tl, const tl_line *line, uint32_t root, const tl_tile *vector,
                                        const tl_tile *room) {
    const uint32_t p = line->place;
    const bool from[2] = {p > 0 && p <= root, p + 1 < line->size && p >= root};
    tla_status status = line->receives == TL_RECEIVE_IN_ORDER ? tl_line_receive_in_order(tl, line, from, vector, room)
                                                              : tl_line_receive_both(tl, line, from, vector, room);
    if (status == TLA_OK && p != root) status = tl_send(tl, tl_at(line, p < root ? p + 1 : p - 1), vector);
    return status;
}

/* Copies the tile of place `root` to all places of a line, from the root to both ends. */
static inline tla_status tl_line_broadcast(tl_context *tl, const tl_line *line, uint32_t root, const tl_tile *tile) {
    const uint32_t p = line->place;
    tla_status status = TLA_OK;
    if (p != root) status = tl_recv(tl, tl_at(line, p < root ? p + 1 : p - 1), tile);
    if (status == TLA_OK && p > 0 && p <= root) status = tl_send(tl, tl_at(line, p - 1), tile);
    if (status == TLA_OK && p + 1 < line->size && p >= root) status = tl_send(tl, tl_at(line, p + 1), tile);
    return status;
}

/* Returns the rank in the middle, the target of reductions. In a hierarchical world that is KernBench's root cube, at
 * (height / 2, width / 2) of SIPs and cubes, and its first PE. */
static inline uint32_t tl_middle(const tl_world *world) {
    uint32_t rank = 0;
    for (uint32_t d = 0; d < world->dimensions; d++)
        rank = rank * world->extent[d] + (world->algorithm == TL_HIERARCHICAL && d == 4 ? 0 : world->extent[d] / 2);
    return rank;
}

/* Returns the place of a rank on a line of this dimension. */
static inline uint32_t tl_coordinate(const tl_line *line, uint32_t rank) {
    return rank / line->stride % line->size;
}

/* Reduces line by line, from the innermost dimension to `outermost`, to `root`, or to the rank with its coordinates in
 * these dimensions. Only a rank that received its line's sum participates in the next dimension. */
static inline tla_status tl_grid_reduce(tl_context *tl, const tl_world *world, uint32_t outermost, uint32_t root,
                                        const tl_tile *vector, const tl_tile *room) {
    for (uint32_t d = world->dimensions; d-- > outermost;) {
        const tl_line line = tl_line_of(world, d);
        const tla_status status = tl_line_reduce(tl, &line, tl_coordinate(&line, root), vector, room);
        if (status != TLA_OK || line.place != tl_coordinate(&line, root)) return status;
    }
    return TLA_OK;
}

/* Broadcasts in the reverse order, beginning with dimension `outermost`. */
static inline tla_status tl_grid_broadcast(tl_context *tl, const tl_world *world, uint32_t outermost, uint32_t root,
                                           const tl_tile *tile) {
    tla_status status = TLA_OK;
    for (uint32_t d = outermost; status == TLA_OK && d < world->dimensions; d++) {
        const tl_line line = tl_line_of(world, d);
        if (world->rank % line.stride != root % line.stride) continue; /* this line does not have the tile */
        status = tl_line_broadcast(tl, &line, tl_coordinate(&line, root), tile);
    }
    return status;
}

/* Sums the vectors of all SIPs at every SIP, between their roots: along rows, then along columns. Around rings, or, on
 * a mesh, to the middle of each line and back. A rank that is not the root of its SIP does nothing. */
static inline tla_status tl_sips_sum(tl_context *tl, const tl_world *world, uint32_t root, const tl_tile *vector,
                                     const tl_tile *room) {
    tla_status status = TLA_OK;
    for (uint32_t d = TL_SIP_DIMENSIONS; status == TLA_OK && d-- > 0;) {
        const tl_line line = tl_line_of(world, d);
        const uint32_t middle = tl_coordinate(&line, root);
        if (d + 1 == TL_SIP_DIMENSIONS && world->rank % line.stride != root % line.stride) return TLA_OK;
        if (world->sips_joined) {
            status = tl_ring_sum(tl, &line, vector, room);
        } else {
            status = tl_line_reduce(tl, &line, middle, vector, room);
            if (status == TLA_OK) status = tl_line_broadcast(tl, &line, middle, vector);
        }
    }
    return status;
}

/* --- collectives ----------------------------------------------------------------------------------------------------
 */

/* Rejects mesh_2d and hierarchical, which have no rings, with a text. */
static inline tla_status tl_check_rings(tl_context *tl, const char *call, const tl_world *world) {
    if (tl_goes_round(world)) return TLA_OK;
    char text[160];
    snprintf(text, sizeof text,
             "%s: unsupported collectives.algorithm %s: must be ring or torus_2d, which split the sums", call,
             tl_algorithm_name(world->algorithm));
    return tl_fail(tl, TLA_UNSUPPORTED, text);
}

/* Sums the vectors of all ranks: rank p receives the sum of part p in its own vector; its other parts hold partial
 * sums. `room` is a vector of at least tl_room elements of the same type. ring: part i is x[i + 1] + x[i + 2] + ... +
 * x[i], by ranks modulo their number. torus_2d: in the same way along the column, then along the row. TLA_UNSUPPORTED
 * for other algorithms. */
static inline tla_status tl_reduce_scatter(tl_context *tl, const tl_world *world, const tl_tile *vector,
                                           const tl_tile *room) {
    if (!tl_is_rank(world)) return TLA_OK;
    tla_status status = tl_check_rings(tl, "tl_reduce_scatter", world);
    if (status == TLA_OK) status = tl_check_vector(tl, "tl_reduce_scatter", vector);
    if (status == TLA_OK) status = tl_check_room(tl, "tl_reduce_scatter", world, vector, room);
    for (uint32_t d = 0; status == TLA_OK && d < world->dimensions; d++) {
        const tl_line line = tl_line_of(world, d);
        status = tl_ring_reduce_scatter(tl, world, &line, vector, room);
    }
    return status;
}

/* Copies part p of the vector of every rank p to the vectors of all ranks. TLA_UNSUPPORTED except for ring and
 * torus_2d. */
static inline tla_status tl_all_gather(tl_context *tl, const tl_world *world, const tl_tile *vector) {
    if (!tl_is_rank(world)) return TLA_OK;
    tla_status status = tl_check_rings(tl, "tl_all_gather", world);
    if (status == TLA_OK) status = tl_check_vector(tl, "tl_all_gather", vector);
    for (uint32_t d = world->dimensions; status == TLA_OK && d-- > 0;) {
        const tl_line line = tl_line_of(world, d);
        status = tl_ring_all_gather(tl, world, &line, vector);
    }
    return status;
}

/* Sums the vectors of all ranks; every rank receives the sum with the same bits. For `room` see tl_reduce_scatter. With
 * ring and torus_2d: tl_reduce_scatter, then tl_all_gather. With mesh_2d and hierarchical: line by line from the
 * innermost dimension to the outermost to the middle, and back. A rank in the middle adds the vectors of lower places
 * of its line to its own, then those of higher places.
 *
 * With hierarchical and rings between SIPs: to the middle of every SIP, around the rings of SIPs (tl_ring_sum, rows
 * first), and back inside every SIP. All ranks of a SIP receive the same bits. Each SIP begins its additions with its
 * own vector, so that floating-point sums of different SIPs may differ by their rounding. On a mesh of SIPs, all ranks
 * have the same bits. */
static inline tla_status tl_all_reduce(tl_context *tl, const tl_world *world, const tl_tile *vector,
                                       const tl_tile *room) {
    if (!tl_is_rank(world)) return TLA_OK;
    tla_status status = TLA_OK;
    if (tl_goes_round(world)) {
        status = tl_reduce_scatter(tl, world, vector, room);
        return status == TLA_OK ? tl_all_gather(tl, world, vector) : status;
    }
    status = tl_check_vector(tl, "tl_all_reduce", vector);
    if (status == TLA_OK) status = tl_check_room(tl, "tl_all_reduce", world, vector, room);
    const bool around = world->algorithm == TL_HIERARCHICAL && world->between_sips == TL_SIPS_RINGS;
    const uint32_t outermost = around ? TL_SIP_DIMENSIONS : 0, root = tl_middle(world);
    if (status == TLA_OK) status = tl_grid_reduce(tl, world, outermost, root, vector, room);
    if (status == TLA_OK && around) status = tl_sips_sum(tl, world, root, vector, room);
    return status == TLA_OK ? tl_grid_broadcast(tl, world, outermost, root, vector) : status;
}

/* Copies the tile of rank `root` to all ranks, along the lines of the grid. TLA_INVALID_ARGUMENT, with a text, for a
 * root that does not exist. */
static inline tla_status tl_broadcast(tl_context *tl, const tl_world *world, uint32_t root, const tl_tile *tile) {
    if (!tl_is_rank(world)) return TLA_OK;
    if (root >= world->size) return tl_refuse(tl, "tl_broadcast: rank %u must be less than %u", root, world->size);
    return tl_grid_broadcast(tl, world, 0, root, tile);
}

/* Returns when all ranks have called it: tokens move to the middle and back. `token` is any tile of one element, and
 * its bytes are sent. */
static inline tla_status tl_barrier(tl_context *tl, const tl_world *world, const tl_tile *token) {
    if (!tl_is_rank(world)) return TLA_OK;
    const tla_status status = tl_grid_reduce(tl, world, 0, tl_middle(world), token, 0);
    return status == TLA_OK ? tl_grid_broadcast(tl, world, 0, tl_middle(world), token) : status;
}

#ifdef __cplusplus
}
#endif
#endif
