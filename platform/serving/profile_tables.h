/* Tables of measured times, and how they are read between their points: along every axis linear between neighbours,
 * below the first point its value, above the last on the line through the last two. */
#ifndef TLMALLOC_PLATFORM_SERVING_PROFILE_TABLES_H
#define TLMALLOC_PLATFORM_SERVING_PROFILE_TABLES_H

#include "tlmalloc/base/status.h"
#include "trace/table.h"

/* Between which two of some ascending values x lies: y = y[low] + weight * (y[high] - y[low]). */
typedef struct profile_bracket {
    size_t low, high;
    double weight;
} profile_bracket;

profile_bracket profile_bracket_of(const double *values, size_t count, double x);

/* Times of one layer by tokens or sequences, ascending. */
typedef struct profile_curve {
    char *layer;
    double *x, *us;
    size_t count, room;
} profile_curve;

typedef struct profile_curves {
    profile_curve *items;
    size_t count, room;
} profile_curves;

/* Reads a table `layer,AXIS,time_us`; TLA_SYNTAX with file, line and column, TLA_IO, TLA_NO_HOST_MEMORY. *curves, empty
 * before, is to be cleared after an error too. */
tla_status profile_curves_read(const char *path, const char *axis, profile_curves *curves, tla_error *error);
void profile_curves_clear(profile_curves *curves);

/* Returns the curve of a layer; NULL for an unknown layer. */
const profile_curve *profile_curves_find(const profile_curves *curves, const char *layer);
double profile_curve_at(const profile_curve *curve, double x);

/* The coordinates of measurements of attention. */
typedef struct profile_attention_point {
    double prefill_chunk, kv_prefill, decodes, kv_decode;
} profile_attention_point;

typedef struct profile_slice profile_slice; /* the times of one prefill_chunk and one number of decodes */

typedef struct profile_attention {
    profile_slice *slices;
    size_t slice_count;
    double *chunks, *decodes; /* their values, ascending */
    size_t chunk_count, decode_count;
    struct profile_attention_row *rows;
} profile_attention;

/* Reads attention.csv, as profile_curves_read. */
tla_status profile_attention_read(const char *path, profile_attention *attention, tla_error *error);
void profile_attention_clear(profile_attention *attention);

/* The time in microseconds. A slice that was not measured is replaced by the nearest one: by the sum of the distances
 * along both axes, of equally near ones the one of the smaller prefill_chunk. */
double profile_attention_at(const profile_attention *attention, const profile_attention_point *point);

/* The additional time of attention over uneven lengths, as a share of the difference between the time of the mean and
 * that of the longest. */
typedef struct profile_skew {
    struct profile_skew_row *rows;
    size_t count, room;
} profile_skew;

typedef struct profile_skew_point {
    double prefill_chunk, decodes, rate_percent, kv_largest, kv_prefill;
} profile_skew_point;

/* Reads skew_fit.csv, as profile_curves_read. */
tla_status profile_skew_read(const char *path, profile_skew *skew, tla_error *error);
void profile_skew_clear(profile_skew *skew);

/* The share of the row whose prefill_chunk is the point's and whose labels are the first, of all in their column, that
 * hold; `otherwise` when there is no such row. */
double profile_skew_at(const profile_skew *skew, const profile_skew_point *point, double otherwise);

/* A number as C writes it, finite; false when the field is none. */
bool profile_number(table_field field, double *number);

#endif
