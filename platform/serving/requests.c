/* Requests to a serving system: recognises the form of a file, and keeps what its reader finds. */
#include "serving/requests_readers.h"
#include "trace/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The array of blocks does not move any more, and the first request is known. */
static void complete(tla_serving_requests *out) {
    const uint64_t *next = out->block_store, first_ns = out->count ? out->items[0].arrival_ns : 0;
    for (size_t i = 0; i < out->count; i++) {
        tla_serving_request *request = &out->items[i];
        request->arrival_ns -= first_ns;
        if (request->block_count == 0) continue;
        request->blocks = next;
        next += request->block_count;
    }
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Replaces numbers as large as hashes by their ranks, with the same equalities: content.c then has room for its own
 * numbers. */
static tla_status rank_blocks(uint64_t *blocks, size_t count) {
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if (blocks[i] > largest) largest = blocks[i];
    if (largest <= UINT32_MAX) return TLA_OK;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted) return TLA_NO_HOST_MEMORY;
    memcpy(sorted, blocks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_number);
    size_t different = 0;
    for (size_t i = 0; i < count; i++)
        if (different == 0 || sorted[i] != sorted[different - 1]) sorted[different++] = sorted[i];
    for (size_t i = 0; i < count; i++) {
        const uint64_t *at = bsearch(&blocks[i], sorted, different, sizeof *sorted, by_number);
        blocks[i] = (uint64_t)(at - sorted);
    }
    free(sorted);
    return TLA_OK;
}

static tla_status read_lines(serving_builder *b, trace_file *file, tla_error *error) {
    char *text = NULL;
    size_t length;
    tla_status status = trace_file_rest(file, &text, &length, error);
    if (!status) status = serving_read_json(b, text, length, trace_file_name(file), error);
    free(text);
    return status;
}

static tla_status read_any(serving_builder *b, trace_file *file, tla_error *error) {
    size_t length, blank = 0;
    const char *first = trace_file_peek(file, &length);
    if (serving_is_table(first, length)) return serving_read_table(b, file, error);
    while (blank < length && (first[blank] == ' ' || first[blank] == '\t'))
        blank++;
    if (blank < length && first[blank] == '{') return read_lines(b, file, error);
    const char *newline = memchr(first, '\n', length), *end = newline ? newline : first + length;
    if (end > first && end[-1] == '\r') end--;
    return tla_error_set(error, TLA_SYNTAX,
                         "%s:1:1: found '%s', expected a JSON object (the measured run's or Mooncake's lines), or a "
                         "header line: TIMESTAMP,ContextTokens,GeneratedTokens; input,output; or one with Timestamp, "
                         "Request tokens and Response tokens",
                         trace_file_name(file), table_show(first, end).text);
}

static tla_status read_file(trace_file *file, bool skips, tla_serving_requests *out, tla_error *error) {
    serving_builder b = {.out = out, .skips = skips};
    tla_status status = read_any(&b, file, error);
    if (!status) status = rank_blocks(out->block_store, b.block_count);
    if (status == TLA_NO_HOST_MEMORY)
        tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file));
    if (status) return trace_file_blame(file, status, error);
    complete(out);
    return TLA_OK;
}

static tla_status read_path(const char *path, bool skips, tla_serving_requests *out, tla_error *error) {
    *out = (tla_serving_requests){0};
    trace_file *file;
    tla_status status = trace_file_open(path, &file, error);
    if (!status) status = read_file(file, skips, out, error);
    trace_file_close(file);
    if (status) tla_serving_requests_free(out);
    return status;
}

tla_status tla_serving_requests_read(const char *path, tla_serving_requests *out, tla_error *error) {
    return read_path(path, false, out, error);
}

tla_status tla_serving_requests_read_skipping(const char *path, tla_serving_requests *out, tla_error *error) {
    return read_path(path, true, out, error);
}

static tla_status read_memory(const char *text, size_t length, const char *name, bool skips, tla_serving_requests *out,
                              tla_error *error) {
    *out = (tla_serving_requests){0};
    trace_file *file;
    tla_status status = trace_file_of_text(text, length, name, &file, error);
    if (!status) status = read_file(file, skips, out, error);
    trace_file_close(file);
    if (status) tla_serving_requests_free(out);
    return status;
}

tla_status tla_serving_requests_parse(const char *text, size_t length, const char *name, tla_serving_requests *out,
                                      tla_error *error) {
    return read_memory(text, length, name, false, out, error);
}

tla_status tla_serving_requests_parse_skipping(const char *text, size_t length, const char *name,
                                               tla_serving_requests *out, tla_error *error) {
    return read_memory(text, length, name, true, out, error);
}

void tla_serving_requests_keep(tla_serving_requests *requests, const bool *kept) {
    size_t count = 0;
    for (size_t i = 0; i < requests->count; i++)
        if (kept[i]) requests->items[count++] = requests->items[i];
    requests->count = count;
    for (size_t i = count; i > 0; i--)
        requests->items[i - 1].arrival_ns -= requests->items[0].arrival_ns;
}

void tla_serving_requests_free(tla_serving_requests *requests) {
    free(requests->items);
    free(requests->block_store);
    *requests = (tla_serving_requests){0};
}
