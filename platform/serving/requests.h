/* Requests to a serving system: arrival, tokens of the prompt and of the output, and blocks of tokens that requests
 * share. Files plain or gzip; the beginning of a file identifies its form:
 *
 * - the measured run's JSON lines: {"id": 0, "arrival_s": 0.5, "input": 40, "output": 9, "blocks": [0, 1, 2]}, a number
 *   for each full block of prompt followed by output. A block has 16 tokens if that fits all lines, else the smallest
 *   power of two that fits;
 * - Mooncake's JSON lines: {"timestamp": 27000, "input_length": 700, "output_length": 52, "hash_ids": [46, 47]}, times
 *   in ms, a number for each 512 tokens of the prompt, the last block partial;
 * - Azure's tables: TIMESTAMP,ContextTokens,GeneratedTokens, times such as 2023-11-16 18:15:46.6805900, of UTC;
 * - BurstGPT's tables: any header with the columns Timestamp (seconds), Request tokens and Response tokens;
 * - lengths alone: input,output. All requests arrive at once.
 *
 * Names and values of tables may be in quotes. Other keys of JSON lines, and other columns of BurstGPT's tables, are
 * ignored. Lengths are at least one token: a request without output is an error, unless such requests are left out. A
 * file that is cut in the middle of a line is an error too, except for a plain table that ends inside its last
 * number. */
#ifndef TLMALLOC_PLATFORM_SERVING_REQUESTS_H
#define TLMALLOC_PLATFORM_SERVING_REQUESTS_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SERVING_REQUESTS_MAX = 1 << 24 };
#define TLA_SERVING_TOKENS_MAX (UINT32_MAX / 2) /* of a prompt, of an output: the sum of both fits in 32 bits */
#define TLA_SERVING_BLOCKS_MAX (UINT64_C(1) << 28)

typedef struct tla_serving_request {
    uint64_t id;            /* the file's own, no two are equal; where it has none, its index in the file */
    uint64_t arrival_ns;    /* after the first arrival, never decreasing */
    uint32_t prompt_tokens; /* 1 or more */
    uint32_t output_tokens; /* 1 or more */
    const uint64_t *blocks; /* one for each block: equal number, equal tokens from the start to the end of the block;
                               the file's own, or where one of those is 2^32 or more, as hashes are, their ranks */
    uint32_t block_count;   /* 0 where none are known */
    uint32_t line;          /* of the file; 0: unknown */
} tla_serving_request;

/* Requests of a file that were left out, each counted once: by the first cause that holds. */
typedef struct tla_serving_skipped {
    uint64_t no_output; /* the output has no token, as of requests that failed */
    uint64_t no_prompt; /* the prompt has no token */
    uint64_t too_long;  /* more tokens than the rules allow (tla_scheduler_skip) */
    uint64_t too_large; /* alone it needs more memory than the cache has (tla_scheduler_skip) */
} tla_serving_skipped;

typedef struct tla_serving_requests {
    tla_serving_request *items; /* in the order of the file */
    size_t count;               /* 1 or more; 0 only where requests were left out */
    uint32_t block_tokens;      /* tokens of a block in .blocks; 0: the file knows no blocks, or has none */
    bool blocks_of_prompt;      /* blocks are those of the prompt alone, and the last may be partial (Mooncake); else of
                                   prompt and output, full ones only */
    uint64_t *block_store;      /* what .blocks point into */
    tla_serving_skipped skipped;
} tla_serving_requests;

/* Reads a file. TLA_IO, TLA_NO_HOST_MEMORY; TLA_SYNTAX, TLA_LIMIT with file, line and column, the found and the
 * expected text; *out is empty then. */
tla_status tla_serving_requests_read(const char *path, tla_serving_requests *out, tla_error *error);

/* The same from memory; `name` stands for the file in messages. Not decompressed. */
tla_status tla_serving_requests_parse(const char *text, size_t length, const char *name, tla_serving_requests *out,
                                      tla_error *error);

/* As tla_serving_requests_read and tla_serving_requests_parse, but requests without a token of prompt or output are
 * left out and counted. The result is that of a file without their lines, except that ids which are indices count them.
 */
tla_status tla_serving_requests_read_skipping(const char *path, tla_serving_requests *out, tla_error *error);
tla_status tla_serving_requests_parse_skipping(const char *text, size_t length, const char *name,
                                               tla_serving_requests *out, tla_error *error);

/* Keeps the requests whose flag is true, in their order; arrivals count from the first of those. */
void tla_serving_requests_keep(tla_serving_requests *requests, const bool *kept);

/* Also for an empty one. */
void tla_serving_requests_free(tla_serving_requests *requests);

#ifdef __cplusplus
}
#endif
#endif
