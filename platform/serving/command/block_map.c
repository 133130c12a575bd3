/* Uses of blocks, recorded during a run, and drawn when its end is known. */
#include "serving/command/block_map.h"

#include "cli/occupancy_grid.h"
#include "model/base/grow.h"

#include <stdlib.h>

tla_status block_map_create(uint32_t blocks, block_map *map, tla_error *error) {
    *map = (block_map){.blocks = blocks};
    map->references = calloc(blocks, sizeof *map->references);
    map->since_ns = calloc(blocks, sizeof *map->since_ns);
    if (map->references && map->since_ns) return TLA_OK;
    block_map_clear(map);
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the map");
}

void block_map_clear(block_map *map) {
    free(map->references);
    free(map->since_ns);
    free(map->uses);
    free(map->refusals_ns);
    *map = (block_map){0};
}

static void note_use(block_map *map, block_use use) {
    if (tla_grow(&map->uses, &map->use_room, map->use_count + 1, sizeof *map->uses))
        map->uses[map->use_count++] = use;
    else
        map->no_memory = true;
}

static void note_refusal(block_map *map, uint64_t now_ns) {
    if (tla_grow(&map->refusals_ns, &map->refusal_room, map->refusal_count + 1, sizeof *map->refusals_ns))
        map->refusals_ns[map->refusal_count++] = now_ns;
    else
        map->no_memory = true;
}

void block_map_hear(block_map *map, uint64_t now_ns, const tla_block_decision *decision) {
    if (decision->kind == TLA_BLOCKS_REFUSED) note_refusal(map, now_ns);
    if (decision->kind != TLA_BLOCKS_ALLOCATED && decision->kind != TLA_BLOCKS_RELEASED) return;
    for (uint32_t i = 0; i < decision->count; i++) {
        const uint32_t block = decision->blocks[i];
        if (decision->kind == TLA_BLOCKS_ALLOCATED && map->references[block]++ == 0)
            map->since_ns[block] = now_ns;
        else if (decision->kind == TLA_BLOCKS_RELEASED && --map->references[block] == 0)
            note_use(map, (block_use){block, map->since_ns[block], now_ns});
    }
}

tla_status block_map_write(FILE *out, const char *title, const block_map *map, uint64_t end_ns, tla_error *error) {
    const occupancy_labels labels = {title, "time since the first arrival", "block", "preempted", false};
    occupancy_grid grid;
    if (map->no_memory) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the map");
    const tla_status status = occupancy_grid_create(0, end_ns, 0, map->blocks, &grid, error);
    if (status) return status;
    for (size_t i = 0; i < map->use_count; i++) {
        const block_use *use = &map->uses[i];
        occupancy_grid_cover(&grid, use->block, (uint64_t)use->block + 1, use->from_ns, use->to_ns);
    }
    for (size_t i = 0; i < map->refusal_count; i++)
        occupancy_grid_mark(&grid, map->refusals_ns[i]);
    occupancy_grid_write(out, &grid, &labels);
    occupancy_grid_clear(&grid);
    return TLA_OK;
}
