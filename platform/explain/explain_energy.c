/* The causes of a report's energy, the largest first. */
#include "explain/explain_energy.h"

#include "cli/config_json.h"
#include "tlmalloc/base/energy_cause.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct cause_share {
    tla_energy_cause cause;
    uint64_t fj;
} cause_share;

typedef struct energy_shares {
    cause_share of[TLA_ENERGY_CAUSE_COUNT]; /* those with energy */
    size_t count;
    double total_fj; /* the numbers of a report that was changed may exceed 64 bits together */
} energy_shares;

static int by_energy(const void *left, const void *right) {
    const cause_share *const a = left, *const b = right;
    if (a->fj != b->fj) return a->fj > b->fj ? -1 : 1;
    return a->cause < b->cause ? -1 : 1;
}

static energy_shares read_energy(const json_t *report) {
    const json_t *const causes = json_object_get(json_object_get(report, "energy"), "by_cause_fj");
    energy_shares shares = {0};
    for (int i = 0; i < TLA_ENERGY_CAUSE_COUNT; i++) {
        const tla_energy_cause cause = (tla_energy_cause)i;
        const json_int_t fj = json_integer_value(json_object_get(causes, tla_energy_cause_name(cause)));
        if (fj <= 0) continue;
        shares.of[shares.count++] = (cause_share){cause, (uint64_t)fj};
        shares.total_fj += (double)fj;
    }
    qsort(shares.of, shares.count, sizeof *shares.of, by_energy);
    return shares;
}

static double percent(const energy_shares *shares, uint64_t fj) {
    return 100 * (double)fj / shares->total_fj;
}

/* Names of constants; another text is of a report that was changed. */
static const char *word_of(const json_t *text) {
    const char *const word = json_string_value(text);
    return word && word[strspn(word, "abcdefghijklmnopqrstuvwxyz_")] == '\0' ? word : NULL;
}

/* Prints the unknown constants of a part that count, each after `before`; returns what stands before the next one. */
static const char *print_unknown(FILE *out, const json_t *part, const char *before) {
    const char *const of = word_of(json_object_get(part, "part"));
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(part, "unknown"), i, name) {
        const char *const word = word_of(name);
        if (of == NULL || word == NULL) continue;
        fprintf(out, "%s%s.%s", before, of, word);
        before = ", ";
    }
    return before;
}

static void print_all_unknown(FILE *out, const json_t *report) {
    const char *const first = "unknown, and in no sum: ", *before = first;
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(json_object_get(report, "energy"), "parts"), i, part) {
        before = print_unknown(out, part, before);
    }
    if (before != first) fputc('\n', out);
}

void explain_energy_print(FILE *out, const json_t *report) {
    const energy_shares shares = read_energy(report);
    if (shares.count == 0) return;
    fprintf(out, "\n%-34s %12s %8s\n", "energy of the whole run", "uJ", "%");
    for (size_t i = 0; i < shares.count; i++)
        fprintf(out, "%-34s %12.3f %8.2f\n", tla_energy_cause_name(shares.of[i].cause), (double)shares.of[i].fj * 1e-9,
                percent(&shares, shares.of[i].fj));
    fprintf(out, "%-34s %12.3f\n", "all", shares.total_fj * 1e-9);
    print_all_unknown(out, report);
}

json_t *explain_energy_json(const json_t *report) {
    const energy_shares shares = read_energy(report);
    json_t *list = json_array();
    for (size_t i = 0; i < shares.count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "cause", json_string(tla_energy_cause_name(shares.of[i].cause)));
        json_object_set_new(row, "fj", json_from_u64(shares.of[i].fj));
        json_object_set_new(row, "share_pct", json_real(percent(&shares, shares.of[i].fj)));
        json_array_append_new(list, row);
    }
    return list;
}
