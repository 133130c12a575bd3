/* Times of layers by one number. */
#include "model/base/grow.h"
#include "serving/profile_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER, AXIS, TIME };

bool profile_number(table_field field, double *number) {
    char text[40], *end;
    const size_t length = (size_t)(field.end - field.begin);
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, field.begin, length);
    text[length] = '\0';
    if (strspn(text, "+-.0123456789eE") != length) return false;
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

profile_bracket profile_bracket_of(const double *values, size_t count, double x) {
    if (count == 1 || x <= values[0]) return (profile_bracket){0, 0, 0};
    size_t low = 0, end = count - 1; /* values[low] <= x */
    while (end - low > 1) {
        const size_t middle = low + (end - low) / 2;
        if (values[middle] <= x)
            low = middle;
        else
            end = middle;
    }
    return (profile_bracket){low, low + 1, (x - values[low]) / (values[low + 1] - values[low])};
}

double profile_curve_at(const profile_curve *curve, double x) {
    const profile_bracket b = profile_bracket_of(curve->x, curve->count, x);
    return curve->us[b.low] + b.weight * (curve->us[b.high] - curve->us[b.low]);
}

static profile_curve *find(const profile_curves *curves, const char *layer, size_t length) {
    for (size_t i = curves->count; i-- > 0;) /* rows of a layer stand together */
        if (strncmp(curves->items[i].layer, layer, length) == 0 && curves->items[i].layer[length] == '\0')
            return &curves->items[i];
    return NULL;
}

const profile_curve *profile_curves_find(const profile_curves *curves, const char *layer) {
    return find(curves, layer, strlen(layer));
}

static profile_curve *add_curve(profile_curves *curves, table_field layer) {
    if (!tla_grow(&curves->items, &curves->room, curves->count + 1, sizeof *curves->items)) return NULL;
    char *name = strndup(layer.begin, (size_t)(layer.end - layer.begin));
    if (!name) return NULL;
    profile_curve *added = &curves->items[curves->count++];
    *added = (profile_curve){.layer = name};
    return added;
}

static bool make_room(profile_curve *curve) {
    size_t room = curve->room;
    return tla_grow(&curve->x, &room, curve->count + 1, sizeof *curve->x) &&
           tla_grow(&curve->us, &curve->room, curve->count + 1, sizeof *curve->us);
}

/* Inserts a point at its place; rows are mostly in order. False when a point with this x exists. */
static bool insert(profile_curve *curve, double x, double us) {
    size_t at = curve->count;
    while (at > 0 && curve->x[at - 1] > x)
        at--;
    if (at > 0 && curve->x[at - 1] == x) return false;
    memmove(curve->x + at + 1, curve->x + at, (curve->count - at) * sizeof *curve->x);
    memmove(curve->us + at + 1, curve->us + at, (curve->count - at) * sizeof *curve->us);
    curve->x[at] = x;
    curve->us[at] = us;
    curve->count++;
    return true;
}

static tla_status read_row(const trace_table *table, const char *axis, profile_curves *curves, tla_error *error) {
    const table_field *fields = table->fields, layer = fields[LAYER];
    char expected[64];
    uint64_t x;
    double us;
    if (layer.begin == layer.end) return table_found(table, layer, "the name of a layer", error);
    snprintf(expected, sizeof expected, "a number of %s", axis);
    if (!table_number(fields[AXIS], &x)) return table_found(table, fields[AXIS], expected, error);
    if (!profile_number(fields[TIME], &us) || us < 0)
        return table_found(table, fields[TIME], "a time in us, from 0 on", error);
    profile_curve *curve = find(curves, layer.begin, (size_t)(layer.end - layer.begin));
    if (!curve) curve = add_curve(curves, layer);
    if (!curve || !make_room(curve))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", trace_file_name(table->file));
    if (insert(curve, (double)x, us)) return TLA_OK;
    return table_fail(table, fields[AXIS], TLA_SYNTAX, "found the same row again, expected it once", error);
}

tla_status profile_curves_read(const char *path, const char *axis, profile_curves *curves, tla_error *error) {
    trace_file *file;
    trace_table table;
    char header[64];
    bool more = true;
    snprintf(header, sizeof header, "layer,%s,time_us", axis);
    tla_status status = trace_file_open(path, &file, error);
    if (status) return status;
    status = table_begin(&table, file, header, error);
    while (!status && (status = table_next(&table, &more, error)) == TLA_OK && more)
        status = read_row(&table, axis, curves, error);
    trace_file_close(file);
    return status;
}

void profile_curves_clear(profile_curves *curves) {
    for (size_t i = 0; i < curves->count; i++) {
        free(curves->items[i].layer);
        free(curves->items[i].x);
        free(curves->items[i].us);
    }
    free(curves->items);
    *curves = (profile_curves){0};
}
