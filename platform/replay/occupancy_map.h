/* A picture of a replay: which addresses were occupied when. */
#ifndef TLMALLOC_PLATFORM_REPLAY_OCCUPANCY_MAP_H
#define TLMALLOC_PLATFORM_REPLAY_OCCUPANCY_MAP_H

#include "replay/replay_result.h"

#include <stdio.h>

/* Writes an SVG: recorded time to the right, addresses upwards, from the lowest to the highest that was ever granted.
 * The picture is a grid of 600 x 300 cells, so that it stays below 2 MB for any trace; a cell is the darker, the larger
 * the part of its addresses and its time that was occupied. Failed allocations are marks above it. The same replay
 * gives the same bytes. TLA_NO_HOST_MEMORY; write errors stay in the stream. */
tla_status occupancy_map_write(FILE *out, const char *title, const alloc_trace *trace, const replay_result *result,
                               tla_error *error);

#endif
