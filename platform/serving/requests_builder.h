/* Requests while they are read. */
#ifndef TLMALLOC_PLATFORM_SERVING_REQUESTS_BUILDER_H
#define TLMALLOC_PLATFORM_SERVING_REQUESTS_BUILDER_H

#include "serving/requests.h"

#include <stdbool.h>

/* The contents of a line of a file. */
typedef struct serving_line {
    uint64_t id, arrival_ns, prompt_tokens, output_tokens, block_count;
} serving_line;

/* Requests while they are read: those of `out` have no pointers to their blocks yet. */
typedef struct serving_builder {
    tla_serving_requests *out;
    size_t room, block_count, block_room;
    uint64_t first_ns, last_ns; /* arrivals of the first and the last one, as the file has them */
} serving_builder;

#define SERVING_ARRIVAL_NS_MAX ((uint64_t)INT64_MAX)

/* Appends one, whose blocks have been appended before. False without host memory. */
bool serving_append(serving_builder *builder, const serving_line *line);
bool serving_append_block(serving_builder *builder, uint64_t block);

#endif
