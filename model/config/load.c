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
static void set_nothing(tla_loader *l, size_t key, const char *quoted) {
    const tla_schema_key *k = &l->schema->keys[key];
    const tla_place at = {"--set", 0, 0};
    char none[1] = "";
    const bool is_list = k->form.type == TLA_VALUE_LIST;
    if (is_list)
        set_list(l, key, at, none);
    else if (k->default_text)
        (void)tla_schema_store(k, l->config, k->default_text, NULL);
    else
        tla_loader_find(l, at, "%s: %s: found null, expected a value, as the key has no default", quoted, k->key);
    l->origins[key] = (tla_origin){.bad = !is_list && !k->default_text};
}

static void apply_override(tla_loader *l, const char *override) {
    const tla_place at = {"--set", 0, 0};
    const char *equals = strchr(override, '=');
    tla_phrase quoted = tla_quote(override);
    char path[TLA_CONFIG_PATH_MAX], value[512];
    if (!equals || !copy_trimmed(override, (size_t)(equals - override), path, sizeof path) ||
        !copy_trimmed(equals + 1, strlen(equals + 1), value, sizeof value)) {
        tla_loader_find(l, at, "%s: expected KEY=VALUE, such as \"%s\"", quoted.text, l->schema->example);
        return;
    }
    const tla_schema *schema = l->schema;
    size_t key = tla_schema_find(schema, path);
    if (key == schema->count) {
        size_t section = tla_schema_find_section(schema, path);
        if (section < schema->count)
            tla_loader_find(l, at, "%s: found a section, expected one of its keys, such as %s", quoted.text,
                            schema->keys[section].key);
        else
            tla_loader_find(l, at, "%s: %s", quoted.text, tla_loader_unknown_key(l, path).text);
        return;
    }
    if (schema->descriptive && strcmp(value, "null") == 0) {
        set_nothing(l, key, quoted.text);
        return;
    }
    if (schema->keys[key].form.type == TLA_VALUE_LIST) {
        set_list(l, key, at, value);
        l->origins[key] = (tla_origin){.at = at, .override = override};
        return;
    }
    tla_error error;
    const bool good = tla_schema_store(&schema->keys[key], l->config, value, &error) == TLA_OK;
    if (!good) tla_loader_find(l, at, "%s: %s: %s", quoted.text, path, error.text);
    l->origins[key] = (tla_origin){.at = at, .override = override, .bad = !good};
}

tla_status tla_loader_parse(const tla_schema *schema, const char *text, size_t length, const char *name,
                            const char *const *overrides, size_t override_count, const tla_config_judge *judge,
                            void *config, tla_config_report report, void *context) {
    tla_loader l = {.file = name, .report = report, .context = context, .schema = schema, .judge = judge};
    l.config = calloc(1, schema->config_bytes);
    l.origins = calloc(schema->count, sizeof *l.origins);
    l.sections = calloc(schema->count, sizeof *l.sections);
    l.no_memory = !l.config || !l.origins || !l.sections;
    if (!l.no_memory) {
        tla_schema_set_defaults(schema, l.config);
        tla_loader_read_yaml(&l, text, length);
        for (size_t i = 0; i < override_count; i++)
            apply_override(&l, overrides[i]);
        schema->check(&l);
    }
    tla_status status = l.no_memory ? TLA_NO_HOST_MEMORY : l.findings ? TLA_SYNTAX : TLA_OK;
    if (status == TLA_OK) memcpy(config, l.config, schema->config_bytes);
    free(l.config);
    free(l.origins);
    free(l.sections);
    return status;
}

tla_phrase tla_loader_path_beside(const char *text, const tla_origin *origin) {
    const char *slash = origin->at.file && !origin->override ? strrchr(origin->at.file, '/') : NULL;
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

tla_status tla_loader_load(const tla_schema *schema, const char *path, const char *const *overrides,
                           size_t override_count, const tla_config_judge *judge, void *config, tla_config_report report,
                           void *context) {
    char *text = NULL;
    size_t length = 0;
    int problem = read_file(path, &text, &length);
    if (problem == ENOMEM) return TLA_NO_HOST_MEMORY;
    if (problem) {
        tla_phrase why = tla_cannot_read(problem);
        if (report) report(context, &(tla_config_finding){path, 0, 0, why.text});
        return TLA_IO;
    }
    tla_status status =
        tla_loader_parse(schema, text, length, path, overrides, override_count, judge, config, report, context);
    free(text);
    return status;
}
