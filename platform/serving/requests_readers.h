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

/* The texts for a number of tokens (the second where requests without one are left out), for a time that goes
 * backwards, and for too many requests. */
#define SERVING_TOKENS "tokens, 1 .. 2^31 - 1"
#define SERVING_TOKENS_OR_NONE "tokens, 0 .. 2^31 - 1"
#define SERVING_LEAVE_OUT "; --skip-unservable leaves out such requests"
#define SERVING_TOO_MANY "more requests than the limit of 2^24"
#define SERVING_ORDER "a time not before the previous line's"

#endif
