/* The judgement of a sweep's file: existing names, possible values of their keys, and a size. */
#include "sweep_judge.h"

#include "constraint.h"
#include "figure_path.h"
#include "files.h"
#include "model/base/suggest.h"
#include "model/config/platform.h"
#include "model/config/timing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char *copy_of(judge *j, int text) {
    return j->r->texts[text].text ? sweep_copy(j->loader, j->r->texts[text].text) : NULL;
}

static char *beside_text(judge *j, int text) {
    const char *file = j->r->texts[text].text;
    return file ? sweep_beside(j->loader, j->s, file, &(sweep_path){0, strlen(file)}, 1) : NULL;
}

static bool read_number(judge *j, const sweep_written *text, const char *key, uint64_t low, uint64_t high,
                        uint64_t *number) {
    tla_error error;
    if (!text->text) return false;
    if (tla_number_parse(TLA_VALUE_COUNT, text->text, number, &error))
        FIND(j, text->at, "%s: %s", key, error.text);
    else if (*number < low || *number > high)
        FIND(j, text->at, "%s: found %s, expected %" PRIu64 " .. %" PRIu64, key, tla_quote(text->text).text, low, high);
    else
        return true;
    return false;
}

/* ---- the command and its files ---- */

static void find_command(judge *j) {
    const sweep_written *word = &j->r->texts[SWEEP_FILE_COMMAND];
    if (!word->text) {
        FIND(j, (tla_place){j->s->file, 1, 1}, "command is missing");
        return;
    }
    tla_nearest nearest = tla_nearest_to(word->text);
    tla_phrase names = {""};
    for (const sweep_command *c = j->r->commands; c->name; c++) {
        if (strcmp(c->name, word->text) == 0) j->s->command = c;
        tla_nearest_try(&nearest, c->name, strlen(c->name));
        names = tla_phrase_of("%s%s%s", names.text, *names.text ? ", " : "", c->name);
    }
    if (!j->s->command)
        FIND(j, word->at, "command: found %s, expected one of %s%s%s%s", tla_quote(word->text).text, names.text,
             nearest.found ? ", did you mean \"" : "", nearest.found ? nearest.name.text : "",
             nearest.found ? "\"?" : "");
}

/* A text that the command needs, or cannot have. */
static void need(judge *j, int text, const char *key, bool needed, bool allowed) {
    const sweep_written *found = &j->r->texts[text];
    if (found->text && !allowed)
        FIND(j, found->at, "%s: the command %s does not take this key", key, j->s->command->name);
    else if (!found->text && needed)
        FIND(j, j->r->texts[SWEEP_FILE_COMMAND].at, "the command %s needs %s", j->s->command->name, key);
}

static bool sweeps_input(const judge *j) {
    for (size_t i = 0; i < j->r->key_count; i++) {
        const char *key = j->r->keys[i].texts[SWEEP_ROW_KEY].text;
        if (key && strcmp(key, "input") == 0) return true;
    }
    return j->r->point_count > 0; /* every point may set it */
}

static void judge_command(judge *j) {
    sweep *s = j->s;
    find_command(j);
    if (!s->command) return;
    const sweep_command *c = s->command;
    need(j, SWEEP_FILE_PLATFORM, "platform", c->platform == SWEEP_PLATFORM_ARGUMENT && !c->experiment,
         c->platform != SWEEP_NO_PLATFORM);
    need(j, SWEEP_FILE_INPUT, "input", c->input_needed && !sweeps_input(j), c->input);
    need(j, SWEEP_FILE_WORKLOAD, "workload", c->experiment, c->experiment);
    s->platform = beside_text(j, SWEEP_FILE_PLATFORM);
    s->input = beside_text(j, SWEEP_FILE_INPUT);
    s->workload = copy_of(j, SWEEP_FILE_WORKLOAD);
    tla_hbm_config timing;
    s->platform_is_profile =
        c->timing_profile && s->platform && tla_timing_load(s->platform, NULL, 0, &timing, NULL, NULL) == TLA_OK;
}

/* ---- the size ---- */

static void judge_sample(judge *j) {
    sweep *s = j->s;
    const sweep_written *sample = &j->r->texts[SWEEP_FILE_SAMPLE];
    if (j->r->point_count) s->sample = SWEEP_LIST;
    if (!sample->text) return;
    uint64_t found = 0;
    while (sweep_sample_name(found) && strcmp(sweep_sample_name(found), sample->text) != 0)
        found++;
    if (!sweep_sample_name(found))
        FIND(j, sample->at, "sample: found %s, expected product, list, random or latin%s", tla_quote(sample->text).text,
             tla_did_you_mean(sample->text, sweep_sample_name).text);
    else if ((found == SWEEP_LIST) != (j->r->point_count > 0))
        FIND(j, sample->at, "sample: found %s, expected %s", sample->text,
             j->r->point_count ? "list, because the file has points" : "points too, one row for each point");
    else
        s->sample = (sweep_sample)found;
}

static void judge_size(judge *j) {
    sweep *s = j->s;
    const sweep_written *count = &j->r->texts[SWEEP_FILE_COUNT];
    uint64_t limit = SWEEP_POINTS_DEFAULT;
    const bool drawn = s->sample == SWEEP_RANDOM || s->sample == SWEEP_LATIN;
    read_number(j, &j->r->texts[SWEEP_FILE_LIMIT], "limit", 1, SWEEP_POINTS_MAX, &limit);
    read_number(j, &j->r->texts[SWEEP_FILE_SEED], "seed", 0, UINT64_MAX, &s->seed);
    if (drawn && !count->text)
        FIND(j, j->r->texts[SWEEP_FILE_SAMPLE].at, "sample: %s needs count, the number of points",
             sweep_sample_name(s->sample));
    else if (!drawn && count->text)
        FIND(j, count->at, "count: found a count, but sample %s draws no points", sweep_sample_name(s->sample));
    else if (drawn)
        read_number(j, count, "count", 1, SWEEP_POINTS_MAX, &s->count);
    if (j->loader->findings) return;
    tla_phrase size = {""};
    bool overflow = false;
    if (s->sample == SWEEP_PRODUCT) {
        s->count = 1;
        for (size_t axis = 0; axis < s->axis_count; axis++) {
            overflow |= __builtin_mul_overflow(s->count, (uint64_t)s->axis_sizes[axis], &s->count);
            size = tla_phrase_of("%s%s%zu", size.text, axis ? " x " : "", s->axis_sizes[axis]);
        }
    }
    if (overflow)
        FIND(j, (tla_place){s->file, 1, 1}, "found %s points, more than 2^64, expected at most %" PRIu64 " (limit)",
             size.text, limit);
    else if (s->count > limit)
        FIND(j, (tla_place){s->file, 1, 1}, "found %" PRIu64 " points%s%s, expected at most %" PRIu64 " (limit)",
             s->count, *size.text ? ", " : "", size.text, limit);
}

/* ---- figures and the rest ---- */

/* Returns whether the column of a figure would have the name of another column: SQLite does not distinguish upper and
 * lower case. */
static bool is_column(const sweep *s, const char *name) {
    static const char *const own[] = {"point", "configuration", "version", "status", "message", "seconds"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcasecmp(own[i], name) == 0) return true;
    for (size_t i = 0; i < s->factor_count; i++)
        if (strcasecmp(s->factors[i].name, name) == 0) return true;
    for (size_t i = 0; i < s->figure_count; i++)
        if (strcasecmp(s->figures[i].name, name) == 0) return true;
    return false;
}

static void judge_figures(judge *j) {
    sweep *s = j->s;
    if (!j->r->figure_count) FIND(j, (tla_place){s->file, 1, 1}, "figures are missing: name at least one figure");
    for (size_t i = 0; i < j->r->figure_count; i++) {
        const sweep_written *w = &j->r->figures[i];
        tla_error error;
        if (i == SWEEP_FIGURES_MAX) {
            FIND(j, w->name_at, "%s: more figures than the limit of %d", w->name, SWEEP_FIGURES_MAX);
            return;
        }
        if (!s->command->experiment && figure_path_check(w->text, &error))
            FIND(j, w->at, "%s: %s", w->name, error.text);
        if (is_column(s, w->name)) FIND(j, w->name_at, "%s: another column has this name", w->name);
        char *name = sweep_copy(j->loader, w->name), *path = sweep_copy(j->loader, w->text);
        sweep_figure *grown = name && path ? sweep_grow(j->loader, s->figures, s->figure_count, sizeof *grown) : NULL;
        if (!grown) {
            free(name);
            free(path);
            return;
        }
        s->figures = grown;
        s->figures[s->figure_count++] = (sweep_figure){name, path, w->at};
    }
}

static void judge_constraints(judge *j) {
    sweep *s = j->s;
    const size_t count = j->r->constraint_count;
    s->constraints = calloc(count + 1, sizeof *s->constraints);
    s->constraint_places = calloc(count + 1, sizeof *s->constraint_places);
    j->loader->no_memory |= !s->constraints || !s->constraint_places;
    for (size_t i = 0; i < count && !j->loader->no_memory; i++) {
        s->constraints[s->constraint_count] = sweep_copy(j->loader, j->r->constraints[i].text);
        s->constraint_places[s->constraint_count++] = j->r->constraints[i].at;
    }
    if (j->loader->findings || j->loader->no_memory || !count) return;
    sweep_constraints *compiled;
    tla_error error;
    size_t bad = 0;
    const tla_status status = constraints_compile(s, &compiled, &bad, &error);
    if (status == TLA_NO_HOST_MEMORY)
        j->loader->no_memory = true;
    else if (status)
        FIND(j, s->constraint_places[bad], "constraints: %s", error.text);
    else
        constraints_free(compiled);
}

/* A finding of the base stands where its setting stands, else where the reader found it. */
static void report_base(void *context, const tla_config_finding *finding) {
    const judge *j = context;
    const sweep *s = j->s;
    for (size_t i = 0; i < s->setting_count; i++) {
        const tla_phrase set = tla_phrase_of("%s=%s", s->settings[i].name, s->settings[i].value);
        const tla_phrase quoted = tla_quote(set.text);
        if (strcmp(finding->file, "--set") == 0 && begins(finding->text, quoted.text)) {
            FIND(j, s->settings[i].at, "%s", finding->text);
            return;
        }
    }
    FIND(j, ((tla_place){finding->file, finding->line, finding->column}), "%s", finding->text);
}

/* The base must be a configuration by itself, unless keys are swept that it may need. */
static void judge_base(judge *j) {
    sweep *s = j->s;
    const char **words = calloc(s->setting_count + 1, sizeof *words);
    tla_phrase *texts = calloc(s->setting_count + 1, sizeof *texts);
    size_t count = 0;
    j->loader->no_memory |= !words || !texts;
    for (size_t i = 0; i < s->setting_count && !j->loader->no_memory; i++)
        if (s->settings[i].kind == SWEEP_KEY) {
            texts[count] = tla_phrase_of("%s=%s", s->settings[i].name, s->settings[i].value);
            words[count] = texts[count].text;
            count++;
        }
    tla_config config;
    tla_hbm_config timing;
    if (j->loader->no_memory)
        ;
    else if (s->platform_is_profile)
        tla_timing_load(s->platform, words, count, &timing, report_base, j);
    else if (s->command->platform != SWEEP_NO_PLATFORM)
        j->loader->no_memory |=
            tla_config_load(s->platform, words, count, &config, report_base, j) == TLA_NO_HOST_MEMORY;
    free(words);
    free(texts);
}

static void judge_time_limit(judge *j) {
    const sweep_written *limit = &j->r->texts[SWEEP_FILE_TIME_LIMIT];
    tla_error error;
    if (limit->text && tla_number_parse(TLA_VALUE_TIME, limit->text, &j->s->time_limit_ps, &error))
        FIND(j, limit->at, "time_limit: %s", error.text);
}

static void judge_name_of_sweep(judge *j) {
    const sweep_written *name = &j->r->texts[SWEEP_FILE_NAME];
    if (!name->text)
        FIND(j, (tla_place){j->s->file, 1, 1}, "name is missing");
    else if (strpbrk(name->text, "/'\""))
        FIND(j, name->at, "name: found %s, expected a file name without / and quotes", tla_quote(name->text).text);
}

static void judge_all(judge *j) {
    judge_name_of_sweep(j);
    judge_command(j);
    if (!j->s->command || j->loader->findings || j->loader->no_memory) return;
    judge_sample(j);
    judge_settings(j);
    if (j->r->point_count && j->r->key_count)
        FIND(j, j->r->keys[0].at, "keys: found both keys and points, expected one of them");
    for (size_t i = 0; i < j->r->key_count; i++)
        judge_row(j, &j->r->keys[i]);
    if (j->r->point_count && !j->r->key_count) judge_points(j);
    if (j->loader->no_memory) return; /* the contents may be incomplete */
    if (!j->loader->findings && !j->s->factor_count)
        FIND(j, (tla_place){j->s->file, 1, 1}, "keys and points are missing: name keys to sweep, or points");
    judge_figures(j);
    judge_time_limit(j);
    judge_size(j);
    if (!j->loader->findings && !j->loader->no_memory) judge_base(j);
    judge_constraints(j);
    if (!j->loader->findings && !j->loader->no_memory) j->loader->no_memory |= sweep_read_files(j->s) != TLA_OK;
}

void sweep_judge(tla_loader *loader, sweep_reading *r) {
    sweep *s = r->made;
    judge j = {.loader = loader, .r = r, .s = s};
    s->name = copy_of(&j, SWEEP_FILE_NAME);
    s->about = copy_of(&j, SWEEP_FILE_ABOUT);
    /* The larger of the two structs that a value can be tried on. */
    const size_t platform = tla_platform_schema().config_bytes, timing = tla_timing_schema.config_bytes;
    j.scratch = calloc(1, platform > timing ? platform : timing);
    loader->no_memory |= !j.scratch;
    if (!loader->no_memory) judge_all(&j);
    free(j.scratch);
}
