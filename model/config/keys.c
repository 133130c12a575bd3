/* The keys of configurations, as programs see them that offer them in another form. */
#include "tlmalloc/config/keys.h"

#include "loader.h"
#include "platform.h"

#include <assert.h>
#include <string.h>

static tla_schema schema_of(tla_key_scope scope) {
    return scope == TLA_KEYS_OF_MODULE ? tla_module_schema() : tla_platform_schema();
}

static tla_config_text text_of(tla_phrase phrase) {
    static_assert(sizeof(tla_config_text) == sizeof(tla_phrase), "any phrase fits");
    tla_config_text text;
    memcpy(text.text, phrase.text, sizeof text.text);
    return text;
}

tla_config_key tla_schema_describe(const tla_schema_key *row) {
    const bool is_number = tla_schema_is_number(row);
    return (tla_config_key){.name = row->key,
                            .unit = is_number ? tla_number_unit(row->form.type) : "",
                            .range = text_of(is_number ? tla_schema_range(row) : tla_value_expected(&row->form)),
                            .default_text = row->default_text,
                            .source = row->source,
                            .meaning = row->meaning,
                            .is_number = is_number,
                            .least = is_number ? row->min : 0,
                            .most = is_number ? row->max : 0,
                            .power_of_two = is_number && row->power_of_two};
}

void tla_config_each_key(tla_key_scope scope, tla_config_key_visit visit, void *context) {
    const tla_schema schema = schema_of(scope);
    for (size_t i = 0; i < schema.count; i++) {
        const tla_config_key key = tla_schema_describe(&schema.keys[i]);
        visit(context, &key);
    }
}

bool tla_config_find_key(tla_key_scope scope, const char *name, tla_config_key *key) {
    const tla_schema schema = schema_of(scope);
    const size_t found = tla_schema_find(&schema, name);
    if (found == schema.count) return false;
    *key = tla_schema_describe(&schema.keys[found]);
    return true;
}

bool tla_config_suggest(tla_key_scope scope, const char *name, tla_config_text *nearest) {
    const tla_schema schema = schema_of(scope);
    tla_phrase found = {""};
    const bool near = tla_schema_suggest(&schema, name, &found);
    *nearest = text_of(near ? found : (tla_phrase){""});
    return near;
}

tla_status tla_config_load_settings(tla_key_scope scope, const char *path, const tla_config_setting *settings,
                                    size_t setting_count, tla_config *config, tla_config_report report, void *context) {
    const tla_schema schema = schema_of(scope);
    return tla_loader_load_settings(&schema, path, settings, setting_count, config, report, context);
}

tla_status tla_config_get(const tla_config *config, const char *key, tla_config_text *text) {
    const tla_schema schema = tla_module_schema();
    const size_t found = tla_schema_find(&schema, key);
    *text = (tla_config_text){""};
    if (found == schema.count) return TLA_INVALID_ARGUMENT;
    const tla_value value = tla_schema_get(&schema.keys[found], config);
    *text = text_of(tla_value_print(&schema.keys[found].form, &value));
    return TLA_OK;
}
