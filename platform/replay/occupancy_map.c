/* A picture of a replay: which addresses were occupied when. */
#include "replay/occupancy_map.h"

#include "cli/occupancy_grid.h"

#include <stdlib.h>

static tla_status make_grid(const alloc_trace *trace, const replay_result *result, occupancy_grid *grid,
                            tla_error *error) {
    uint64_t lowest = UINT64_MAX, highest = 0, first = 0, last = 0;
    for (size_t i = 0; i < trace->allocation_count; i++) {
        const placement *placed = &result->placements[i];
        if (placed->offset == PLACEMENT_FAILED) continue;
        if (placed->offset < lowest) lowest = placed->offset;
        if (placed->offset + placed->granted_bytes > highest) highest = placed->offset + placed->granted_bytes;
    }
    if (trace->event_count) {
        first = trace->events[0].time_ns;
        last = trace->events[trace->event_count - 1].time_ns;
    }
    return occupancy_grid_create(first, last, highest ? lowest : 0, highest, grid, error);
}

static void cover_block(occupancy_grid *grid, const placement *placed, uint64_t from_ns, uint64_t to_ns) {
    occupancy_grid_cover(grid, placed->offset, placed->offset + placed->granted_bytes, from_ns, to_ns);
}

static tla_status cover(occupancy_grid *grid, const alloc_trace *trace, const replay_result *result, tla_error *error) {
    uint64_t *since = malloc((trace->allocation_count + 1) * sizeof *since); /* UINT64_MAX: covered already */
    if (!since) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the map");
    for (size_t i = 0; i < trace->event_count; i++) {
        const trace_event *e = &trace->events[i];
        const placement *placed = &result->placements[e->allocation];
        if (placed->offset == PLACEMENT_FAILED) {
            if (!e->is_free) occupancy_grid_mark(grid, e->time_ns);
        } else if (e->is_free) {
            cover_block(grid, placed, since[e->allocation], e->time_ns);
            since[e->allocation] = UINT64_MAX;
        } else {
            since[e->allocation] = e->time_ns;
        }
    }
    for (size_t i = 0; i < trace->allocation_count; i++) /* alive at the end */
        if (result->placements[i].offset != PLACEMENT_FAILED && since[i] != UINT64_MAX)
            cover_block(grid, &result->placements[i], since[i], grid->time.begin + grid->time.span);
    free(since);
    return TLA_OK;
}

tla_status occupancy_map_write(FILE *out, const char *title, const alloc_trace *trace, const replay_result *result,
                               tla_error *error) {
    const occupancy_labels labels = {title, "recorded time since the first event", "address", "failed", true};
    occupancy_grid grid;
    tla_status status = make_grid(trace, result, &grid, error);
    if (status) return status;
    status = cover(&grid, trace, result, error);
    if (!status) occupancy_grid_write(out, &grid, &labels);
    occupancy_grid_clear(&grid);
    return status;
}
