/* A picture of occupancy: time to the right, places upwards. */
#ifndef TLMALLOC_PLATFORM_CLI_OCCUPANCY_GRID_H
#define TLMALLOC_PLATFORM_CLI_OCCUPANCY_GRID_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* A stretch of one axis: what lies at its beginning, and how long it is. */
typedef struct map_axis {
    uint64_t begin, span; /* span > 0 */
    unsigned shift;       /* span >> shift is small enough to be multiplied by subcells */
} map_axis;

/* A grid of 600 x 300 cells, so that a picture stays below 2 MB whatever is in it; a cell is the darker, the larger the
 * part of its places and its time that was occupied. */
typedef struct occupancy_grid {
    map_axis time, place;
    uint32_t *covered; /* of every cell */
    bool *marked;      /* of every column */
    uint64_t marks;
} occupancy_grid;

/* The labels; the texts are plain except for the title. */
typedef struct occupancy_labels {
    const char *title, *time, *place;
    const char *mark; /* meaning of a mark above the grid */
    bool bytes;       /* places are bytes; else plain numbers */
} occupancy_labels;

/* For times first_ns .. last_ns and places lowest .. highest. TLA_NO_HOST_MEMORY; *grid is empty then. */
tla_status occupancy_grid_create(uint64_t first_ns, uint64_t last_ns, uint64_t lowest, uint64_t highest,
                                 occupancy_grid *grid, tla_error *error);
void occupancy_grid_clear(occupancy_grid *grid); /* of an empty one too */

/* Places low .. high - 1 are occupied from from_ns until to_ns, by nothing else: all of it lies in the grid. */
void occupancy_grid_cover(occupancy_grid *grid, uint64_t low, uint64_t high, uint64_t from_ns, uint64_t to_ns);

/* A mark above the grid. */
void occupancy_grid_mark(occupancy_grid *grid, uint64_t time_ns);

/* Writes an SVG. The same grid gives the same bytes; write errors stay in the stream. */
void occupancy_grid_write(FILE *out, const occupancy_grid *grid, const occupancy_labels *labels);

#endif
