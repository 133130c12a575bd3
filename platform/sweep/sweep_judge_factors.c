/* The judgement of the settings and factors of a sweep: existing names, and possible values of their keys. */
#include "sweep_judge.h"

#include "files.h"
#include "model/base/suggest.h"
#include "model/config/platform.h"
#include "model/config/timing.h"

#include <stdlib.h>
#include <string.h>

static tla_schema schema_of(const sweep *s) {
    return s->platform_is_profile ? tla_timing_schema : tla_platform_schema();
}

static bool judge_option(judge *j, const char *name, tla_place at) {
    tla_nearest nearest = tla_nearest_to(name);
    for (const sweep_option *o = j->s->command->options; o->name; o++) {
        if (strcmp(o->name, name) == 0) return true;
        tla_nearest_try(&nearest, o->name, strlen(o->name));
    }
    FIND(j, at, "%s: the command %s has no such option to sweep%s%s%s", name, j->s->command->name,
         nearest.found ? ", did you mean \"" : "", nearest.found ? nearest.name.text : "", nearest.found ? "\"?" : "");
    return false;
}

static bool judge_key(judge *j, const char *name, tla_place at) {
    const tla_schema schema = schema_of(j->s);
    if (j->s->command->platform == SWEEP_NO_PLATFORM) {
        FIND(j, at, "%s: the command %s has no configuration; its options begin with --%s", name, j->s->command->name,
             j->s->command->settings ? ", its settings with \"setting.\"" : "");
        return false;
    }
    if (tla_schema_find(&schema, name) < schema.count) return true;
    const size_t section = tla_schema_find_section(&schema, name);
    if (section < schema.count) {
        FIND(j, at, "%s: found a section, expected one of its keys, such as %s", name, schema.keys[section].key);
        return false;
    }
    tla_phrase nearest;
    const bool near = tla_schema_suggest(&schema, name, &nearest);
    FIND(j, at, "unknown key %s%s%s%s", tla_quote(name).text, near ? ", did you mean \"" : "", near ? nearest.text : "",
         near ? "\"?" : "");
    return false;
}

/* Finds the kind of a name; false with a finding for an unknown name. */
static bool judge_name(judge *j, const char *name, tla_place at, sweep_kind *kind) {
    const sweep_command *c = j->s->command;
    if (begins(name, "--")) {
        *kind = SWEEP_OPTION;
        return judge_option(j, name, at);
    }
    if (strcmp(name, "input") == 0 && c->input) {
        *kind = SWEEP_INPUT;
        return true;
    }
    const char *const prefix = c->experiment ? "with." : c->settings ? "setting." : "parameter.";
    const bool any = c->experiment || c->settings;
    if (begins(name, prefix) && name[strlen(prefix)] &&
        (any || judge_option(j, "--parameter", at))) { /* which there are, who takes them knows */
        *kind = SWEEP_PARAMETER;
        return true;
    }
    *kind = SWEEP_KEY;
    return judge_key(j, name, at);
}

/* A value as it will be used, checked where its key is known; NULL with a finding. */
static char *judge_value(judge *j, sweep_kind kind, const char *name, const sweep_written *value) {
    if (kind == SWEEP_KEY) {
        const tla_schema schema = schema_of(j->s);
        const tla_schema_key *key = &schema.keys[tla_schema_find(&schema, name)];
        tla_error error;
        if (tla_schema_store(key, j->scratch, value->text, &error)) {
            FIND(j, value->at, "%s: %s", name, error.text);
            return NULL;
        }
    }
    sweep_path paths[SWEEP_PATHS_MAX];
    const size_t count = kind == SWEEP_KEY ? 0 : sweep_paths(j->s, kind, name, value->text, paths);
    char *made = sweep_beside(j->loader, j->s, value->text, paths, count);
    if (made && strlen(made) >= sizeof(tla_phrase)) {
        FIND(j, value->at, "%s: found a value of %zu bytes, expected at most %zu", name, strlen(made),
             sizeof(tla_phrase) - 1);
        free(made);
        return NULL;
    }
    return made;
}

void judge_settings(judge *j) {
    sweep *s = j->s;
    for (size_t i = 0; i < j->r->setting_count && !tla_loader_is_full(j->loader); i++) {
        const sweep_written *w = &j->r->settings[i];
        sweep_kind kind;
        if (!judge_name(j, w->name, w->name_at, &kind)) continue;
        char *value = judge_value(j, kind, w->name, w), *name = value ? sweep_copy(j->loader, w->name) : NULL;
        sweep_setting *grown = name ? sweep_grow(j->loader, s->settings, s->setting_count, sizeof *grown) : NULL;
        if (!grown) {
            free(value);
            free(name);
            continue;
        }
        s->settings = grown;
        s->settings[s->setting_count++] = (sweep_setting){name, value, kind, w->at};
    }
}

/* ---- factors ---- */

static sweep_factor *find_factor(const sweep *s, const char *name) {
    for (size_t i = 0; i < s->factor_count; i++)
        if (strcmp(s->factors[i].name, name) == 0) return &s->factors[i];
    return NULL;
}

/* A factor without values; NULL with a finding, or without host memory. */
static sweep_factor *add_factor(judge *j, const char *name, tla_place at) {
    sweep *s = j->s;
    sweep_kind kind;
    if (!judge_name(j, name, at, &kind)) return NULL;
    if (s->factor_count == SWEEP_FACTORS_MAX) {
        FIND(j, at, "%s: more keys than the limit of %d", name, SWEEP_FACTORS_MAX);
        return NULL;
    }
    char *own = sweep_copy(j->loader, name);
    sweep_factor *grown = own ? sweep_grow(j->loader, s->factors, s->factor_count, sizeof *grown) : NULL;
    if (!grown) {
        free(own);
        return NULL;
    }
    s->factors = grown;
    sweep_factor *f = &grown[s->factor_count++];
    *f = (sweep_factor){.name = own, .kind = kind, .type = TLA_VALUE_COUNT, .at = at};
    if (kind == SWEEP_KEY) {
        const tla_schema schema = schema_of(s);
        const tla_schema_key *key = &schema.keys[tla_schema_find(&schema, name)];
        f->type = key->form.type;
        f->power_of_two = key->power_of_two;
    }
    return f;
}

static void judge_values(judge *j, const sweep_row *row, sweep_factor *f) {
    f->values = calloc(row->value_count, sizeof *f->values);
    j->loader->no_memory |= !f->values;
    for (size_t i = 0; i < row->value_count && f->values; i++) {
        for (size_t before = 0; before < i && !f->zip; before++)
            if (strcmp(row->values[before].text, row->values[i].text) == 0)
                FIND(j, row->values[i].at, "%s: found the value %s again, expected it once", f->name,
                     tla_quote(row->values[i].text).text);
        f->values[f->value_count] = judge_value(j, f->kind, f->name, &row->values[i]);
        f->value_count += f->values[f->value_count] != NULL;
    }
}

static void judge_range(judge *j, const sweep_row *row, sweep_factor *f) {
    const sweep_written *ends[] = {&row->texts[SWEEP_ROW_FROM], &row->texts[SWEEP_ROW_TO]};
    uint64_t *into[] = {&f->low, &f->high};
    const sweep_written *scale = &row->texts[SWEEP_ROW_SCALE];
    f->ranged = true;
    if (f->kind == SWEEP_KEY && f->type > TLA_VALUE_LAST_NUMBER) {
        FIND(j, row->at, "%s: found a range of a key without numbers, expected values", f->name);
        return;
    }
    for (int i = 0; i < 2; i++) {
        tla_error error;
        char *checked = judge_value(j, f->kind, f->name, ends[i]);
        if (checked && tla_number_parse(f->type, checked, into[i], &error))
            FIND(j, ends[i]->at, "%s: %s", f->name, error.text);
        free(checked);
    }
    if (f->low > f->high) FIND(j, ends[1]->at, "%s: found a range whose end is below its start", f->name);
    f->logarithmic = scale->text && strcmp(scale->text, "log") == 0;
    if (scale->text && !f->logarithmic && strcmp(scale->text, "linear") != 0)
        FIND(j, scale->at, "scale: found %s, expected linear or log", tla_quote(scale->text).text);
    if (f->logarithmic && f->low == 0)
        FIND(j, ends[0]->at, "%s: found a range from 0 on, expected a start above 0 for scale: log", f->name);
}

static void judge_axis(judge *j, sweep_factor *f) {
    sweep *s = j->s;
    for (const sweep_factor *other = s->factors; f->zip && other < f; other++) {
        if (!other->zip || strcmp(other->zip, f->zip) != 0) continue;
        f->axis = other->axis;
        if (other->ranged || f->ranged)
            FIND(j, f->at, "%s: found a range with zip, expected values", f->name);
        else if (other->value_count != f->value_count)
            FIND(j, f->at, "%s: found %zu values, expected %zu, as %s has in the same zip", f->name, f->value_count,
                 other->value_count, other->name);
        return;
    }
    f->axis = s->axis_count++;
    s->axis_sizes[f->axis] = f->value_count;
}

void judge_row(judge *j, const sweep_row *row) {
    const sweep_written *key = &row->texts[SWEEP_ROW_KEY];
    const bool from = row->texts[SWEEP_ROW_FROM].text, to = row->texts[SWEEP_ROW_TO].text;
    if (!key->text) {
        FIND(j, row->at, "key is missing");
        return;
    }
    if (find_factor(j->s, key->text)) {
        FIND(j, key->at, "%s: found the key again, expected it once", key->text);
        return;
    }
    if (from != to || from == (row->value_count > 0) || (!from && row->texts[SWEEP_ROW_SCALE].text)) {
        FIND(j, row->at, "%s: expected values, or from and to with a scale", key->text);
        return;
    }
    sweep_factor *f = add_factor(j, key->text, key->at);
    if (!f) return;
    if (row->texts[SWEEP_ROW_ZIP].text) f->zip = sweep_copy(j->loader, row->texts[SWEEP_ROW_ZIP].text);
    if (from)
        judge_range(j, row, f);
    else
        judge_values(j, row, f);
    judge_axis(j, f);
    if (f->ranged && (j->s->sample == SWEEP_PRODUCT || j->s->sample == SWEEP_LIST))
        FIND(j, row->at, "%s: a range needs sample: random or latin", f->name);
}

void judge_points(judge *j) {
    sweep *s = j->s;
    const size_t count = j->r->point_count;
    for (size_t point = 0; point < count; point++)
        for (size_t i = 0; i < j->r->points[point].value_count; i++) {
            const sweep_written *w = &j->r->points[point].values[i];
            sweep_factor *f = find_factor(s, w->name);
            if (!f && !(f = add_factor(j, w->name, w->name_at))) continue;
            if (!f->values) {
                f->values = calloc(count, sizeof *f->values);
                f->value_count = count;
                f->axis = s->axis_count++;
                s->axis_sizes[f->axis] = count;
            }
            if (!f->values)
                j->loader->no_memory = true;
            else
                f->values[point] = judge_value(j, f->kind, f->name, w);
        }
    s->count = count;
}
