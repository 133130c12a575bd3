/* Times of attention: a grid of slices, in each of which kv_prefill has lines of kv_decode. */
#include "model/base/grow.h"
#include "serving/profile_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK, KV_PREFILL, DECODES, KV_DECODE, TIME };

typedef struct profile_attention_row {
    double chunk, decodes, kv_prefill, kv_decode; /* rows are in this order */
    double us;
    uint64_t line; /* of the file */
} row;

/* Some rows that follow each other. */
struct profile_slice {
    double chunk, decodes;
    const row *begin, *end;
};

/* ---- reading ---- */

static int compare(const void *one, const void *other) {
    const row *a = one, *b = other;
    if (a->chunk != b->chunk) return a->chunk < b->chunk ? -1 : 1;
    if (a->decodes != b->decodes) return a->decodes < b->decodes ? -1 : 1;
    if (a->kv_prefill != b->kv_prefill) return a->kv_prefill < b->kv_prefill ? -1 : 1;
    if (a->kv_decode != b->kv_decode) return a->kv_decode < b->kv_decode ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

static int compare_numbers(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static tla_status read_row(const trace_table *table, row *read, tla_error *error) {
    double *const into[] = {&read->chunk, &read->kv_prefill, &read->decodes, &read->kv_decode};
    for (int i = CHUNK; i <= KV_DECODE; i++) {
        uint64_t number;
        if (!table_number(table->fields[i], &number))
            return table_found(table, table->fields[i], "a whole number", error);
        *into[i] = (double)number;
    }
    read->line = table->line_number;
    if (profile_number(table->fields[TIME], &read->us) && read->us >= 0) return TLA_OK;
    return table_found(table, table->fields[TIME], "a time in us, from 0 on", error);
}

static tla_status no_memory(const char *path, tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
}

static tla_status read_rows(const char *path, row **rows, size_t *count, tla_error *error) {
    trace_file *file;
    trace_table table;
    size_t room = 0;
    bool more = true;
    tla_status status = trace_file_open(path, &file, error);
    if (status) return status;
    status = table_begin(&table, file, "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", error);
    while (!status && (status = table_next(&table, &more, error)) == TLA_OK && more) {
        if (!tla_grow(rows, &room, *count + 1, sizeof **rows)) {
            status = no_memory(path, error);
            break;
        }
        status = read_row(&table, &(*rows)[*count], error);
        *count += !status;
    }
    trace_file_close(file);
    if (!status && *count == 0)
        status = tla_error_set(error, TLA_SYNTAX, "%s:2:1: found no row, expected at least one", path);
    return status;
}

static bool same_slice(const row *a, const row *b) {
    return a->chunk == b->chunk && a->decodes == b->decodes;
}

/* The different ones of `count` numbers, ascending. */
static size_t keep_different(double *numbers, size_t count) {
    size_t kept = 0;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || numbers[kept - 1] != numbers[i]) numbers[kept++] = numbers[i];
    return kept;
}

static tla_status make_slices(const char *path, size_t count, profile_attention *a, tla_error *error) {
    row *rows = a->rows;
    qsort(rows, count, sizeof *rows, compare);
    size_t slices = 0;
    for (size_t i = 0; i < count; i++) {
        slices += i == 0 || !same_slice(&rows[i - 1], &rows[i]);
        if (i && same_slice(&rows[i - 1], &rows[i]) && rows[i - 1].kv_prefill == rows[i].kv_prefill &&
            rows[i - 1].kv_decode == rows[i].kv_decode)
            return tla_error_set(error, TLA_SYNTAX, "%s:%llu:1: found the same row again, expected it once (line %llu)",
                                 path, (unsigned long long)rows[i].line, (unsigned long long)rows[i - 1].line);
    }
    a->slices = malloc(slices * sizeof *a->slices);
    a->chunks = malloc(slices * sizeof *a->chunks);
    a->decodes = malloc(slices * sizeof *a->decodes);
    if (!a->slices || !a->chunks || !a->decodes) return no_memory(path, error);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !same_slice(&rows[i - 1], &rows[i])) {
            a->chunks[a->slice_count] = rows[i].chunk;
            a->decodes[a->slice_count] = rows[i].decodes;
            a->slices[a->slice_count++] = (profile_slice){rows[i].chunk, rows[i].decodes, &rows[i], &rows[i]};
        }
        a->slices[a->slice_count - 1].end = &rows[i] + 1;
    }
    a->chunk_count = keep_different(a->chunks, slices);
    a->decode_count = keep_different(a->decodes, slices);
    return TLA_OK;
}

tla_status profile_attention_read(const char *path, profile_attention *attention, tla_error *error) {
    size_t count = 0;
    const tla_status status = read_rows(path, &attention->rows, &count, error);
    return status ? status : make_slices(path, count, attention, error);
}

void profile_attention_clear(profile_attention *attention) {
    free(attention->rows);
    free(attention->slices);
    free(attention->chunks);
    free(attention->decodes);
    *attention = (profile_attention){0};
}

/* ---- between the points ---- */

/* The two of ascending rows between which the value lies, as profile_bracket_of. */
static double between(double x, double x0, double y0, double x1, double y1) {
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

/* Along kv_decode; rows of one kv_prefill. */
static double line_at(const row *begin, const row *end, double kv_decode) {
    if (end - begin == 1 || kv_decode <= begin->kv_decode) return begin->us;
    const row *high = begin + 1;
    while (high + 1 < end && high->kv_decode <= kv_decode)
        high++;
    return between(kv_decode, high[-1].kv_decode, high[-1].us, high->kv_decode, high->us);
}

static const row *line_end(const row *begin, const row *end) {
    const row *at = begin;
    while (at < end && at->kv_prefill == begin->kv_prefill)
        at++;
    return at;
}

/* Along kv_prefill. */
static double slice_at(const profile_slice *slice, const profile_attention_point *p) {
    const row *low = slice->begin, *low_end = line_end(low, slice->end);
    if (low_end == slice->end || p->kv_prefill <= low->kv_prefill) return line_at(low, low_end, p->kv_decode);
    const row *high = low_end, *high_end = line_end(high, slice->end);
    while (high_end < slice->end && high->kv_prefill <= p->kv_prefill) {
        low = high;
        low_end = high = high_end;
        high_end = line_end(high, slice->end);
    }
    return between(p->kv_prefill, low->kv_prefill, line_at(low, low_end, p->kv_decode), high->kv_prefill,
                   line_at(high, high_end, p->kv_decode));
}

static double corner_at(const profile_attention *a, double chunk, double decodes, const profile_attention_point *p) {
    const profile_slice *nearest = a->slices;
    double distance = INFINITY;
    for (size_t i = 0; i < a->slice_count && distance > 0; i++) {
        const double d = fabs(a->slices[i].chunk - chunk) + fabs(a->slices[i].decodes - decodes);
        if (d >= distance) continue;
        distance = d;
        nearest = &a->slices[i];
    }
    return slice_at(nearest, p);
}

double profile_attention_at(const profile_attention *a, const profile_attention_point *p) {
    const profile_bracket c = profile_bracket_of(a->chunks, a->chunk_count, p->prefill_chunk);
    const profile_bracket d = profile_bracket_of(a->decodes, a->decode_count, p->decodes);
    double at[2];
    for (int high = 0; high < 2; high++) {
        const double chunk = a->chunks[high ? c.high : c.low];
        const double low_us = corner_at(a, chunk, a->decodes[d.low], p);
        at[high] = d.weight == 0 ? low_us : low_us + d.weight * (corner_at(a, chunk, a->decodes[d.high], p) - low_us);
        if (c.weight == 0) return at[0];
    }
    return at[0] + c.weight * (at[1] - at[0]);
}
