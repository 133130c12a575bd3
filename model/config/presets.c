/* Presets of an instance: names of keys below it, its configuration, and messages with who preset a value. */
#include "tlmalloc/config/presets.h"

#include "base/suggest.h"
#include "loader.h"
#include "platform.h"

#include <stdlib.h>
#include <string.h>

tla_key_scope tla_preset_scope(const char *section) {
    return section ? TLA_KEYS_OF_MODULE : TLA_KEYS_OF_PLATFORM;
}

static tla_schema schema_of(const char *section) {
    return section ? tla_module_schema() : tla_platform_schema();
}

const char *tla_preset_name(const char *section, const char *key) {
    const size_t length = section ? strlen(section) : 0;
    return length > 0 && strncmp(key, section, length) == 0 && key[length] == '.' ? key + length + 1 : key;
}

/* The index of the key with this name below an instance; the schema's count for an unknown name. */
static size_t find(const tla_schema *schema, const char *section, const char *name) {
    size_t key = 0;
    while (key < schema->count && strcmp(tla_preset_name(section, schema->keys[key].key), name) != 0)
        key++;
    return key;
}

bool tla_preset_find_key(const char *section, const char *name, tla_config_key *key) {
    const tla_schema schema = schema_of(section);
    const size_t found = find(&schema, section, name);
    if (found == schema.count) return false;
    *key = tla_schema_describe(&schema.keys[found]);
    return true;
}

bool tla_preset_suggest(const char *section, const char *name, tla_config_text *nearest) {
    tla_schema schema = schema_of(section);
    *nearest = (tla_config_text){""};
    const size_t whole = tla_schema_find(&schema, name);
    tla_schema_key *local = malloc(schema.count * sizeof *local);
    tla_phrase found = {""};
    bool near = false;
    if (local) {
        memcpy(local, schema.keys, schema.count * sizeof *local);
        for (size_t i = 0; i < schema.count; i++)
            local[i].key = tla_preset_name(section, local[i].key);
        if ((near = whole < schema.count)) /* with its section, which is to be dropped */
            found = tla_phrase_of("%s", local[whole].key);
        schema.keys = local;
        near = near || tla_schema_suggest(&schema, name, &found);
    }
    free(local);
    if (near) memcpy(nearest->text, found.text, sizeof found.text);
    return near;
}

static const char *or_unknown(const char *by) {
    return by ? by : "an unknown originator";
}

/* Names come from other tools, and may have any characters; a message is one line without control characters. */
static void keep_one_line(tla_preset_text *line) {
    for (char *at = line->text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
}

/* The place of a preset: "top.controller.hbm_policy (preset by platform.json)". */
static tla_preset_text place_of(const char *instance, const tla_preset *preset) {
    tla_preset_text place;
    snprintf(place.text, sizeof place.text, "%s.%s (preset by %s)", instance, preset->name, or_unknown(preset->by));
    keep_one_line(&place);
    return place;
}

/* The names of tla_preset_suggest, each below the instance: `top.c.hbm.capacity" or "top.c.sram.capacity`. Without the
 * instance where its name is so long that they would be cut. */
static tla_preset_text below(const char *instance, const char *names) {
    static const char between[] = "\" or \"";
    enum { NAMES_MAX = 390 };
    tla_preset_text all = {""};
    size_t used = 0;
    for (const char *at = names, *end; at; at = end ? end + strlen(between) : NULL) {
        end = strstr(at, between);
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        const int added = snprintf(all.text + used, sizeof all.text - used, "%s%s.%.*s", used ? between : "", instance,
                                   (int)length, at);
        used += (size_t)added;
        if (used <= NAMES_MAX) continue;
        snprintf(all.text, sizeof all.text, "%s", names);
        break;
    }
    keep_one_line(&all);
    return all;
}

tla_preset_text tla_preset_unknown(const char *instance, const char *section, const tla_preset *preset) {
    tla_config_text nearest;
    tla_preset_text line;
    const tla_preset_text place = place_of(instance, preset);
    if (tla_preset_suggest(section, preset->name, &nearest))
        snprintf(line.text, sizeof line.text, "%.600s: unknown key, did you mean \"%.390s\"?", place.text,
                 below(instance, nearest.text).text);
    else
        snprintf(line.text, sizeof line.text, "%.900s: unknown key", place.text);
    return line;
}

tla_preset_text tla_preset_unused(const tla_preset *preset, const char *const *parameters, size_t count) {
    tla_nearest nearest = tla_nearest_to(preset->name);
    tla_preset_text line;
    for (size_t i = 0; i < count; i++)
        tla_nearest_try(&nearest, parameters[i], strlen(parameters[i]));
    snprintf(line.text, sizeof line.text, "%.300s = %s (preset by %.100s) is no parameter%s%s%s", preset->name,
             tla_quote(preset->value).text, or_unknown(preset->by), nearest.found ? ", did you mean \"" : "",
             nearest.found ? nearest.name.text : "", nearest.found ? "\"?" : "");
    keep_one_line(&line);
    return line;
}

/* Settings, and which preset each is of. */
typedef struct loading {
    const char *instance;
    const tla_preset *presets;
    tla_presets_report report;
    void *context;
    tla_config_setting *settings;
    size_t *presets_of;
    size_t count;
    tla_config *config; /* of a call that fails for an unknown name, but has all other findings too */
} loading;

static void report_line(void *context, const tla_config_finding *finding) {
    const loading *l = context;
    char line[3 * sizeof(tla_preset_text)];
    if (finding->override)
        snprintf(line, sizeof line, "%s: %s",
                 place_of(l->instance, &l->presets[l->presets_of[finding->override - 1]]).text, finding->text);
    else if (finding->line)
        snprintf(line, sizeof line, "%s:%zu:%zu: %s", finding->file, finding->line, finding->column, finding->text);
    else
        snprintf(line, sizeof line, "%s: %s", finding->file, finding->text);
    l->report(l->context, line);
}

/* Makes settings of the presets, and reports those with unknown names. */
static void name_keys(loading *l, const char *section, size_t count) {
    const tla_schema schema = schema_of(section);
    for (size_t i = 0; i < count; i++) {
        const size_t key = find(&schema, section, l->presets[i].name);
        if (key < schema.count) {
            l->presets_of[l->count] = i;
            l->settings[l->count++] = (tla_config_setting){schema.keys[key].key, l->presets[i].value};
        } else if (l->report) {
            l->report(l->context, tla_preset_unknown(l->instance, section, &l->presets[i]).text);
        }
    }
}

tla_status tla_presets_load(const char *instance, const char *section, const tla_preset *presets, size_t count,
                            tla_config *config, tla_presets_report report, void *context) {
    loading l = {.instance = instance, .presets = presets, .report = report, .context = context};
    l.settings = malloc((count + 1) * sizeof *l.settings);
    l.presets_of = malloc((count + 1) * sizeof *l.presets_of);
    l.config = malloc(sizeof *l.config);
    tla_status status = TLA_NO_HOST_MEMORY;
    if (l.settings && l.presets_of && l.config) {
        name_keys(&l, section, count);
        status = tla_config_load_settings(tla_preset_scope(section), NULL, l.settings, l.count, l.config,
                                          report ? report_line : NULL, &l);
        if (!status && l.count < count) status = TLA_SYNTAX;
        if (!status) *config = *l.config;
    }
    free(l.settings);
    free(l.presets_of);
    free(l.config);
    return status;
}
