/* The readers of requests, one for each form. */
#ifndef TLMALLOC_PLATFORM_SERVING_REQUESTS_READERS_H
#define TLMALLOC_PLATFORM_SERVING_REQUESTS_READERS_H

#include "serving/requests_builder.h"
#include "trace/file.h"

/* Lines of JSON, `text` from its first byte; `line` is the number of that. */
tla_status serving_read_json(serving_builder *builder, const char *text, size_t length, const char *name,
                             tla_error *error);

/* Whether a text begins with the header of a table of requests, and such a table. */
bool serving_is_table(const char *first, size_t length);
tla_status serving_read_table(serving_builder *builder, trace_file *file, tla_error *error);

/* The text for a number of tokens, and for a time that goes backwards. */
#define SERVING_TOKENS "tokens, 1 .. 2^31 - 1"
#define SERVING_ORDER "a time not before the previous line's"

#endif
