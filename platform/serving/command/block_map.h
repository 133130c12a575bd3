/* A picture of a serving run: which blocks of the cache were used when. */
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_BLOCK_MAP_H
#define TLMALLOC_PLATFORM_SERVING_COMMAND_BLOCK_MAP_H

#include "serving/scheduler.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When a block had a reference, from the first to the last. */
typedef struct block_use {
    uint32_t block;
    uint64_t from_ns, to_ns;
} block_use;

typedef struct block_map {
    uint32_t blocks; /* of the cache */
    uint32_t *references;
    uint64_t *since_ns;
    block_use *uses;
    uint64_t *refusals_ns;
    size_t use_count, use_room, refusal_count, refusal_room;
    bool no_memory; /* something was not noted */
} block_map;

/* TLA_NO_HOST_MEMORY; *map is empty then. */
tla_status block_map_create(uint32_t blocks, block_map *map, tla_error *error);
void block_map_clear(block_map *map); /* of an empty one too */

/* Notes a decision of the scheduler. */
void block_map_hear(block_map *map, uint64_t now_ns, const tla_block_decision *decision);

/* Writes an SVG: time to the right, blocks upwards, failures that preempted a request as marks above. The same run
 * gives the same bytes. TLA_NO_HOST_MEMORY, also for uses that could not be recorded; write errors stay in the stream.
 * */
tla_status block_map_write(FILE *out, const char *title, const block_map *map, uint64_t end_ns, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
