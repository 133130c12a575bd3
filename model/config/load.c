/* Loading by a schema: defaults, the file, overrides, then the check of what concerns several keys. */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 24 };

/* Copies [text, text + length) without the spaces around it; false when it is too long for the buffer. */
static bool copy_trimmed(const char *text, size_t length, char *buffer, size_t size) {
    while (length && *text == ' ')
        text++, length--;
    while (length && text[length - 1] == ' ')
        length--;
    if (length >= size) return false;
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return true;
}

/* The texts of an override of a list, with spaces between them; `texts` is used up. */
static void set_list(tla_loader *l, size_t key, tla_place at, char *texts) {
    const tla_schema_key *k = &l->schema->keys[key];
    const tla_written name = {k->key, at};
    k->take(l, key, &name, &(tla_written){NULL, at});
    for (char *rest = texts, *text; (text = strtok_r(rest, " ", &rest));)
        k->take(l, key, &name, &(tla_written){text, at});
}

/* JSON's word for nothing: as if the key were not written. */
static void set_nothing(tla_loader *l, size_t key, const tla_origin *said) {
    const tla_schema_key *k = &l->schema->keys[key];
    char none[1] = "";
    const bool is_list = k->form.type == TLA_VALUE_LIST;
    if (is_list)
        set_list(l, key, said->at, none);
    else if (k->default_text)
        (void)tla_schema_store(k, l->config, k->default_text, NULL);
    else
        tla_loader_find_at(l, said,
                           tla_phrase_of("%s: found null, expected a value, as the key has no default", k->key).text);
    l->origins[key] = (tla_origin){.bad = !is_list && !k->default_text};
}

enum { OVERRIDE_VALUE_MAX = 512 };

/* Stores the value of an override or a setting; `value` is used up. */
static void apply(tla_loader *l, tla_origin said, const char *path, char *value) {
    const tla_schema *schema = l->schema;
    const size_t key = tla_schema_find(schema, path);
    if (key == schema->count) {
        const size_t section = tla_schema_find_section(schema, path);
        tla_loader_find_at(
            l, &said,
            section < schema->count
                ? tla_phrase_of("found a section, expected one of its keys, such as %s", schema->keys[section].key).text
                : tla_loader_unknown_key(l, path).text);
        return;
    }
    const tla_schema_key *k = &schema->keys[key];
    said.key = k->key;
    if (schema->descriptive && strcmp(value, "null") == 0) {
        set_nothing(l, key, &said);
        return;
    }
    tla_error error;
    if (k->form.type == TLA_VALUE_LIST) {
        set_list(l, key, said.at, value);
    } else if (tla_schema_store(k, l->config, value, &error) != TLA_OK) {
        char text[2 * sizeof error.text];
        snprintf(text, sizeof text, "%s: %s", path, error.text);
        tla_loader_find_at(l, &said, text);
        said.bad = true;
    }
    l->origins[key] = said;
}

static void apply_override(tla_loader *l, const char *override, size_t number) {
    const tla_origin said = {.at = {"--set", 0, 0}, .number = number, .override = override};
    const char *equals = strchr(override, '=');
    char path[TLA_CONFIG_PATH_MAX], value[OVERRIDE_VALUE_MAX];
    if (equals && copy_trimmed(override, (size_t)(equals - override), path, sizeof path) &&
        copy_trimmed(equals + 1, strlen(equals + 1), value, sizeof value))
        apply(l, said, path, value);
    else
        tla_loader_find_at(l, &said, tla_phrase_of("expected KEY=VALUE, such as \"%s\"", l->schema->example).text);
}

static void apply_setting(tla_loader *l, const tla_config_setting *setting, size_t number) {
    tla_origin said = {.at = {"--set", 0, 0}, .number = number};
    char path[TLA_CONFIG_PATH_MAX], value[OVERRIDE_VALUE_MAX];
    if (!copy_trimmed(setting->key, strlen(setting->key), path, sizeof path)) {
        tla_loader_find_at(l, &said, tla_loader_unknown_key(l, setting->key).text);
    } else if (!copy_trimmed(setting->value, strlen(setting->value), value, sizeof value)) {
        const size_t key = tla_schema_find(l->schema, path);
        if (key < l->schema->count) said.key = l->schema->keys[key].key;
        tla_loader_find_at(l, &said,
                           tla_phrase_of("%s: found a text of %zu characters, expected at most %d", path,
                                         strlen(setting->value), OVERRIDE_VALUE_MAX - 1)
                               .text);
        if (said.key) l->origins[key] = (tla_origin){.at = said.at, .key = said.key, .number = number, .bad = true};
    } else {
        apply(l, said, path, value);
    }
}

/* What is applied after a file: overrides, or settings; of the other there are none. */
typedef struct more_values {
    const char *const *overrides;
    const tla_config_setting *settings;
    size_t count;
} more_values;

static tla_status parse(const tla_schema *schema, const char *text, size_t length, const char *name, more_values more,
                        const tla_config_judge *judge, void *config, tla_config_report report, void *context) {
    tla_loader l = {.file = name, .report = report, .context = context, .schema = schema, .judge = judge};
    l.config = calloc(1, schema->config_bytes);
    l.origins = calloc(schema->count, sizeof *l.origins);
    l.sections = calloc(schema->count, sizeof *l.sections);
    l.no_memory = !l.config || !l.origins || !l.sections;
    if (!l.no_memory) {
        tla_schema_set_defaults(schema, l.config);
        tla_loader_read_yaml(&l, text, length);
        for (size_t i = 0; i < more.count; i++)
            if (more.overrides)
                apply_override(&l, more.overrides[i], i + 1);
            else
                apply_setting(&l, &more.settings[i], i + 1);
        schema->check(&l);
    }
    tla_status status = l.no_memory ? TLA_NO_HOST_MEMORY : l.findings ? TLA_SYNTAX : TLA_OK;
    if (status == TLA_OK) memcpy(config, l.config, schema->config_bytes);
    free(l.config);
    free(l.origins);
    free(l.sections);
    return status;
}

tla_status tla_loader_parse(const tla_schema *schema, const char *text, size_t length, const char *name,
                            const char *const *overrides, size_t override_count, const tla_config_judge *judge,
                            void *config, tla_config_report report, void *context) {
    const more_values more = {.overrides = overrides, .count = override_count};
    return parse(schema, text, length, name, more, judge, config, report, context);
}

tla_phrase tla_loader_path_beside(const char *text, const tla_origin *origin) {
    const char *slash = origin->at.file && !origin->number ? strrchr(origin->at.file, '/') : NULL;
    if (*text == '/' || !slash) return tla_phrase_of("%s", text);
    return tla_phrase_of("%.*s%s", (int)(slash + 1 - origin->at.file), origin->at.file, text);
}

/* Reads a whole file of at most FILE_BYTES_MAX into malloc'd *text; 0 or an errno. */
static int read_file(const char *path, char **text, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return errno;
    char *buffer = malloc(FILE_BYTES_MAX + 1);
    int problem = buffer ? 0 : ENOMEM;
    if (buffer) {
        *length = fread(buffer, 1, FILE_BYTES_MAX + 1, file);
        if (ferror(file))
            problem = errno;
        else if (*length > FILE_BYTES_MAX)
            problem = EFBIG;
    }
    fclose(file);
    if (problem)
        free(buffer);
    else
        *text = buffer;
    return problem;
}

static tla_status load(const tla_schema *schema, const char *path, more_values more, const tla_config_judge *judge,
                       void *config, tla_config_report report, void *context) {
    char *text = NULL;
    size_t length = 0;
    int problem = read_file(path, &text, &length);
    if (problem == ENOMEM) return TLA_NO_HOST_MEMORY;
    if (problem) {
        tla_phrase why = tla_cannot_read(problem);
        if (report) report(context, &(tla_config_finding){.file = path, .text = why.text});
        return TLA_IO;
    }
    tla_status status = parse(schema, text, length, path, more, judge, config, report, context);
    free(text);
    return status;
}

tla_status tla_loader_load(const tla_schema *schema, const char *path, const char *const *overrides,
                           size_t override_count, const tla_config_judge *judge, void *config, tla_config_report report,
                           void *context) {
    const more_values more = {.overrides = overrides, .count = override_count};
    return load(schema, path, more, judge, config, report, context);
}

tla_status tla_loader_load_settings(const tla_schema *schema, const char *path, const tla_config_setting *settings,
                                    size_t setting_count, void *config, tla_config_report report, void *context) {
    const more_values more = {.settings = settings, .count = setting_count};
    return path ? load(schema, path, more, NULL, config, report, context)
                : parse(schema, "", 0, "defaults", more, NULL, config, report, context);
}
