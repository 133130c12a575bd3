/* What the readers of requests share. */
#ifndef TLMALLOC_PLATFORM_SERVING_REQUESTS_PARTS_H
#define TLMALLOC_PLATFORM_SERVING_REQUESTS_PARTS_H

#include "serving/requests.h"
#include "trace/file.h"

/* What a line of a file says. */
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

/* Lines of JSON, `text` from its first byte; `line` is the number of that. */
tla_status serving_read_json(serving_builder *builder, const char *text, size_t length, const char *name,
                             tla_error *error);

/* Whether a text begins with the header of a table of requests, and such a table. */
bool serving_is_table(const char *first, size_t length);
tla_status serving_read_table(serving_builder *builder, trace_file *file, tla_error *error);

/* The text for a number of tokens, and for a time that goes backwards. */
#define SERVING_TOKENS "tokens, 1 .. 2^31 - 1"
#define SERVING_ORDER "a time that is not before that of the line before"

#endif
