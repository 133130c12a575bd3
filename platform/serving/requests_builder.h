/* Requests while they are read. */
#ifndef TLMALLOC_PLATFORM_SERVING_REQUESTS_BUILDER_H
#define TLMALLOC_PLATFORM_SERVING_REQUESTS_BUILDER_H

#include "serving/requests.h"

#include <stdbool.h>

/* The contents of a line of a file. */
typedef struct serving_line {
    uint64_t id, arrival_ns, prompt_tokens, output_tokens, block_count, number;
} serving_line;

/* Requests while they are read: those of `out` have no pointers to their blocks yet. */
typedef struct serving_builder {
    tla_serving_requests *out;
    size_t room, block_count, block_room;
    bool skips;       /* requests without a token of prompt or output are left out */
    uint64_t read;    /* requests so far, with those that were left out */
    uint64_t last_ns; /* arrival of the last one, as the file has it */
} serving_builder;

#define SERVING_ARRIVAL_NS_MAX ((uint64_t)INT64_MAX)

/* Whether a request is one that is left out: its blocks are not to be appended. */
bool serving_is_skipped(const serving_builder *builder, const serving_line *line);

/* Appends one, whose blocks have been appended before, or counts it if it is left out. TLA_NO_HOST_MEMORY, TLA_LIMIT
 * for more requests than TLA_SERVING_REQUESTS_MAX, without a text. */
tla_status serving_append(serving_builder *builder, const serving_line *line);
bool serving_append_block(serving_builder *builder, uint64_t block);

#endif
