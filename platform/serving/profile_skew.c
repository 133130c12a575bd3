/* The correction for uneven lengths: rows of labels such as "n<=16", "sr>70%", "kvB<=4k", "kp=0". */
#include "model/base/grow.h"
#include "serving/profile_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK, DECODES, RATE, LARGEST, PREFILL, ALPHA, SAMPLES, LABELS = PREFILL };

/* The condition of a label on a number: at most `limit`, or more than that. The first label that holds counts. */
typedef struct label {
    bool above;
    double limit;
} label;

typedef struct profile_skew_row {
    double chunk;
    label labels[LABELS]; /* of the columns after the first */
    double alpha;         /* NAN: there was nothing to fit it to */
} row;

static const char *const names[LABELS] = {"n", "sr", "kvB", "kp"};
static const char *const examples[LABELS] = {"a label such as n<=16 or n>128", "a label such as sr<=15% or sr>70%",
                                             "a label such as kvB<=4k or kvB>16k", "a label such as kp=0 or kp<=2k"};

/* NAME=NUMBER, NAME<=NUMBER or NAME>NUMBER; a k is 1024, and a percent sign has no effect. */
static bool read_label(table_field field, const char *name, label *read) {
    const size_t length = strlen(name);
    if ((size_t)(field.end - field.begin) <= length || memcmp(field.begin, name, length) != 0) return false;
    const char *at = field.begin + length;
    read->above = *at == '>';
    if (at[0] == '<' && at + 1 < field.end && at[1] == '=')
        at += 2;
    else if (*at == '=' || *at == '>')
        at++;
    else
        return false;
    const char *end = field.end;
    double factor = 1;
    if (end > at && end[-1] == 'k') factor = 1024;
    if (end > at && (end[-1] == 'k' || end[-1] == '%')) end--;
    uint64_t number;
    if (!table_number((table_field){at, end}, &number)) return false;
    read->limit = factor * (double)number;
    return true;
}

static tla_status read_row(const trace_table *table, row *read, tla_error *error) {
    const table_field *fields = table->fields;
    uint64_t chunk;
    if (!table_number(fields[CHUNK], &chunk)) return table_found(table, fields[CHUNK], "a prefill_chunk", error);
    read->chunk = (double)chunk;
    for (int i = 0; i < LABELS; i++)
        if (!read_label(fields[DECODES + i], names[i], &read->labels[i]))
            return table_found(table, fields[DECODES + i], examples[i], error);
    read->alpha = NAN;
    if (fields[ALPHA].begin == fields[ALPHA].end || profile_number(fields[ALPHA], &read->alpha)) return TLA_OK;
    return table_found(table, fields[ALPHA], "a number, or nothing", error);
}

tla_status profile_skew_read(const char *path, profile_skew *skew, tla_error *error) {
    trace_file *file;
    trace_table table;
    bool more = true;
    tla_status status = trace_file_open(path, &file, error);
    if (status) return status;
    status = table_begin(&table, file, "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples", error);
    while (!status && (status = table_next(&table, &more, error)) == TLA_OK && more) {
        if (!tla_grow(&skew->rows, &skew->room, skew->count + 1, sizeof *skew->rows)) {
            status = tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
            break;
        }
        status = read_row(&table, &skew->rows[skew->count], error);
        skew->count += !status;
    }
    trace_file_close(file);
    return status;
}

void profile_skew_clear(profile_skew *skew) {
    free(skew->rows);
    *skew = (profile_skew){0};
}

static bool holds(label l, double x) {
    return l.above ? x > l.limit : x <= l.limit;
}

static bool comes_before(label a, label b) {
    return a.above == b.above ? a.limit < b.limit : !a.above;
}

/* The first label of a column that holds; false when none does. */
static bool first_that_holds(const profile_skew *skew, int column, double x, label *first) {
    bool found = false;
    for (size_t i = 0; i < skew->count; i++) {
        const label l = skew->rows[i].labels[column];
        if (!holds(l, x) || (found && !comes_before(l, *first))) continue;
        *first = l;
        found = true;
    }
    return found;
}

double profile_skew_at(const profile_skew *skew, const profile_skew_point *p, double otherwise) {
    const double x[LABELS] = {p->decodes, p->rate_percent, p->kv_largest, p->kv_prefill};
    label wanted[LABELS];
    for (int i = 0; i < LABELS; i++)
        if (!first_that_holds(skew, i, x[i], &wanted[i])) return otherwise;
    for (size_t i = 0; i < skew->count; i++) {
        const row *r = &skew->rows[i];
        bool same = r->chunk == p->prefill_chunk;
        for (int k = 0; k < LABELS; k++)
            same = same && r->labels[k].above == wanted[k].above && r->labels[k].limit == wanted[k].limit;
        if (same) return isnan(r->alpha) ? otherwise : r->alpha;
    }
    return otherwise;
}
