/* Digits that stand for a point and for a sweep: of the command, its words, its configuration, and its files. */
#include "files.h"
#include "sweep.h"

#include "model/base/fnv.h"

#include <inttypes.h>
#include <string.h>

static void add_to_hash(uint64_t *hash, const char *text) {
    *hash = tla_fnv(*hash, text, strlen(text) + 1); /* its end too: "a" "bc" is not "ab" "c" */
}

static void add_number(uint64_t *hash, uint64_t number) {
    add_to_hash(hash, tla_phrase_of("%" PRIu64, number).text);
}

typedef struct digest {
    uint64_t hash;
    const sweep *s;
    int64_t point;
} digest;

/* Adds a value: the contents of a file, wherever it lies, or else the text. */
static void add_value(digest *d, sweep_kind kind, const char *name, const char *value) {
    sweep_path paths[SWEEP_PATHS_MAX];
    uint64_t contents;
    const char *rest = value;
    const size_t count = sweep_paths(d->s, kind, name, value, paths);
    for (size_t i = 0; i < count; i++) {
        if (!sweep_file_digest(d->s, sweep_path_text(value, paths[i]).text, &contents)) continue;
        d->hash = tla_fnv(d->hash, rest, (size_t)(value + paths[i].at - rest));
        add_number(&d->hash, contents);
        rest = value + paths[i].at + paths[i].length;
    }
    if (*rest || rest == value) add_to_hash(&d->hash, rest);
}

static void add_every_setting(void *context, sweep_kind kind, const char *name, const char *value) {
    digest *d = context;
    add_to_hash(&d->hash, name);
    add_value(d, kind, name, value);
}

static void add_setting(void *context, sweep_kind kind, const char *name, const char *value) {
    if (kind != SWEEP_KEY) add_every_setting(context, kind, name, value); /* keys are in the configuration */
}

static void add_config_key(void *context, const char *key, const char *text, bool is_number, uint64_t number) {
    (void)number;
    digest *d = context;
    uint64_t contents;
    add_to_hash(&d->hash, key);
    add_to_hash(&d->hash, text);
    if (!is_number && sweep_config_file_digest(d->s, d->point, key, text, &contents)) add_number(&d->hash, contents);
}

static tla_status add_point(digest *d) {
    const sweep *s = d->s;
    uint64_t contents;
    add_to_hash(&d->hash, s->command->name);
    add_to_hash(&d->hash, s->workload ? s->workload : "");
    const bool config_known = sweep_has_config(s);
    sweep_each_setting(s, d->point, config_known ? add_setting : add_every_setting, d);
    if (!config_known) {
        if (s->platform && sweep_file_digest(s, s->platform, &contents)) add_number(&d->hash, contents);
        return TLA_OK;
    }
    tla_config config;
    const tla_status status = sweep_config(s, d->point, &config, NULL);
    if (!status) tla_config_each(&config, add_config_key, d);
    return status;
}

tla_status sweep_hash(const sweep *s, int64_t point, char text[17]) {
    digest d = {TLA_FNV_BASIS, s, point};
    const tla_status status = add_point(&d);
    snprintf(text, 17, "%016" PRIx64, d.hash);
    return status;
}

tla_status sweep_fingerprint(const sweep *s, char text[17]) {
    digest d = {TLA_FNV_BASIS, s, SWEEP_BASE_POINT};
    tla_status status = add_point(&d);
    if (status == TLA_SYNTAX) status = TLA_OK; /* the base needs swept settings */
    for (size_t i = 0; i < s->factor_count; i++) {
        const sweep_factor *f = &s->factors[i];
        add_to_hash(&d.hash, f->name);
        add_number(&d.hash, f->axis);
        for (size_t value = 0; value < f->value_count; value++)
            add_value(&d, f->kind, f->name, f->values[value] ? f->values[value] : "");
        add_number(&d.hash, f->low);
        add_number(&d.hash, f->high);
        add_number(&d.hash, f->logarithmic);
    }
    add_to_hash(&d.hash, sweep_sample_name(s->sample));
    add_number(&d.hash, s->count);
    if (s->sample == SWEEP_RANDOM || s->sample == SWEEP_LATIN) add_number(&d.hash, s->seed);
    for (size_t i = 0; i < s->figure_count; i++) {
        add_to_hash(&d.hash, s->figures[i].name);
        add_to_hash(&d.hash, s->figures[i].path);
    }
    for (size_t i = 0; i < s->constraint_count; i++)
        add_to_hash(&d.hash, s->constraints[i]);
    snprintf(text, 17, "%016" PRIx64, d.hash);
    return status;
}
