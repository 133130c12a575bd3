/* Loading: defaults, the file, overrides, then the rules between keys. */
#include "loader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

void tla_loader_find(tla_loader *l, tla_place at, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    l->findings++;
    if (l->report) l->report(l->context, &(tla_config_finding){at.file, at.line, at.column, text});
}

bool tla_loader_store(tla_loader *l, size_t key, const char *text, tla_error *error) {
    const tla_schema_key *k = &l->schema->keys[key];
    tla_value value;
    if (tla_value_parse(k->type, text, &value, error) != TLA_OK) return false;
    bool ranged = k->type <= TLA_VALUE_RATE;
    if (ranged && (value.number < k->min || value.number > k->max)) {
        tla_error_set(error, TLA_SYNTAX, "found %s, expected %s .. %s", tla_quote(text).text,
                      tla_value_print(k->type, &(tla_value){.number = k->min}).text,
                      tla_value_print(k->type, &(tla_value){.number = k->max}).text);
        return false;
    }
    if (k->power_of_two && (value.number & (value.number - 1)) != 0) {
        tla_error_set(error, TLA_SYNTAX, "found %s, expected a power of two", tla_quote(text).text);
        return false;
    }
    tla_schema_set(k, l->config, &value);
    return true;
}

tla_phrase tla_loader_unknown_key(const tla_loader *l, const char *path) {
    tla_phrase nearest;
    if (!tla_schema_suggest(l->schema, path, &nearest)) return tla_phrase_of("unknown key %s", tla_quote(path).text);
    return tla_phrase_of("unknown key %s, did you mean \"%s\"?", tla_quote(path).text, nearest.text);
}

static void set_defaults(tla_loader *l) {
    for (size_t key = 0; key < l->schema->count; key++) {
        const tla_schema_key *k = &l->schema->keys[key];
        tla_error error;
        if (!tla_loader_store(l, key, k->default_text, &error))
            tla_loader_find(l, (tla_place){"defaults", 0, 0}, "%s: %s", k->key, error.text);
    }
}

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
    tla_error error;
    bool good = tla_loader_store(l, key, value, &error);
    if (!good) tla_loader_find(l, at, "%s: %s: %s", quoted.text, path, error.text);
    l->origins[key] = (tla_origin){.at = at, .override = override, .bad = !good};
}

/* ADR-0048 D4's dual default: the context hands the MMU's page size to the VA allocator when the topology writes one,
 * else it falls back to 4 KiB, va.page_size's own default, whatever the MMU's class default is. */
static void resolve_va_page_size(tla_loader *l) {
    size_t mmu = tla_schema_find(l->schema, "mmu.page_size"), va = tla_schema_find(l->schema, "va.page_size");
    tla_config *config = l->config;
    if (!l->origins[va].at.file && l->origins[mmu].at.file) {
        config->va.page_size = config->mmu.page_size;
        l->origins[va].bad = l->origins[mmu].bad;
    }
}

/* A finding about a value, where it was written; origin NULL: nowhere. */
static void find_at_origin(tla_loader *l, const tla_origin *origin, const char *text) {
    if (!origin || !origin->at.file)
        tla_loader_find(l, (tla_place){"defaults", 0, 0}, "%s", text);
    else if (origin->override)
        tla_loader_find(l, origin->at, "%s: %s", tla_quote(origin->override).text, text);
    else
        tla_loader_find(l, origin->at, "%s", text);
}

static void check_rule(tla_loader *l, const tla_schema_rule *rule) {
    const tla_origin *written = NULL;
    bool bad = false;
    for (const char *const *key = rule->keys; *key; key++) {
        const tla_origin *o = &l->origins[tla_schema_find(l->schema, *key)];
        bad |= o->bad;
        if (o->at.file && !written) written = o;
    }
    tla_phrase text;
    if (!bad && rule->broken(l->config, &text)) find_at_origin(l, written, text.text);
}

static void check_platform(tla_loader *l) {
    resolve_va_page_size(l);
    if (!l->incomplete) tla_loader_resolve_timing(l);
    for (size_t i = 0; i < tla_platform_rule_count && !l->incomplete; i++)
        check_rule(l, &tla_platform_rules[i]);
    if (!l->judge || l->incomplete) return;
    const tla_origin *judged = &l->origins[tla_schema_find(l->schema, l->judge->key)];
    tla_error why;
    if (!judged->bad && !l->judge->accepts(l->config, &why))
        find_at_origin(l, judged, tla_phrase_of("%s: %s", l->judge->key, why.text).text);
}

const tla_schema tla_platform_schema = {tla_platform_keys, TLA_PLATFORM_KEYS, sizeof(tla_config), "hbm.burst=256 B",
                                        check_platform};

tla_status tla_loader_parse(const tla_schema *schema, const char *text, size_t length, const char *name,
                            const char *const *overrides, size_t override_count, const tla_config_judge *judge,
                            void *config, tla_config_report report, void *context) {
    tla_loader l = {.file = name, .report = report, .context = context, .schema = schema, .judge = judge};
    l.config = calloc(1, schema->config_bytes);
    l.origins = calloc(schema->count, sizeof *l.origins);
    l.sections = calloc(schema->count, sizeof *l.sections);
    l.no_memory = !l.config || !l.origins || !l.sections;
    if (!l.no_memory) {
        set_defaults(&l);
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

tla_status tla_config_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_config *config, tla_config_report report, void *context) {
    return tla_loader_parse(&tla_platform_schema, text, length, name, overrides, override_count, NULL, config, report,
                            context);
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
        tla_phrase why = tla_phrase_of("cannot be read: %s", strerror(problem));
        if (report) report(context, &(tla_config_finding){path, 0, 0, why.text});
        return TLA_IO;
    }
    tla_status status =
        tla_loader_parse(schema, text, length, path, overrides, override_count, judge, config, report, context);
    free(text);
    return status;
}

tla_status tla_config_load_judged(const char *path, const char *const *overrides, size_t override_count,
                                  const tla_config_judge *judge, tla_config *config, tla_config_report report,
                                  void *context) {
    const tla_schema *schema = &tla_platform_schema;
    if (!path)
        return tla_loader_parse(schema, "", 0, "defaults", overrides, override_count, judge, config, report, context);
    return tla_loader_load(schema, path, overrides, override_count, judge, config, report, context);
}

tla_status tla_config_load(const char *path, const char *const *overrides, size_t override_count, tla_config *config,
                           tla_config_report report, void *context) {
    return tla_config_load_judged(path, overrides, override_count, NULL, config, report, context);
}
