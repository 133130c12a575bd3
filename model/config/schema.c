/* A table of keys: finding one, and its member in the struct that the table describes. */
#include "schema.h"

#include "base/suggest.h"

#include <string.h>

size_t tla_schema_find(const tla_schema *schema, const char *path) {
    size_t key = 0;
    while (key < schema->count && strcmp(schema->keys[key].key, path) != 0)
        key++;
    return key;
}

size_t tla_schema_find_section(const tla_schema *schema, const char *path) {
    size_t key = 0, length = strlen(path);
    while (key < schema->count &&
           !(strncmp(schema->keys[key].key, path, length) == 0 && length > 0 && schema->keys[key].key[length] == '.'))
        key++;
    return key;
}

/* The keys whose last word is the path, for a key without its section: `a.x" or "b.x`. */
static tla_phrase keys_that_end_with(const tla_schema *schema, const char *path) {
    tla_phrase all = {""};
    for (size_t key = 0; key < schema->count; key++) {
        const char *name = schema->keys[key].key, *dot = strrchr(name, '.');
        if (!dot || strcmp(dot + 1, path) != 0) continue;
        all = tla_phrase_of("%s%s%s", all.text, all.text[0] ? "\" or \"" : "", name);
    }
    return all;
}

bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *found) {
    *found = keys_that_end_with(schema, path);
    if (found->text[0]) return true;
    tla_nearest nearest = tla_nearest_to(path);
    for (size_t key = 0; key < schema->count; key++) {
        const char *name = schema->keys[key].key;
        for (size_t end = 1; name[end - 1]; end++) {
            if (name[end] && name[end] != '.') continue; /* sections, and the whole key */
            bool section = name[end] == '.';
            if (section && strncmp(path, name, end) == 0 && path[end] == '.') continue; /* it stands in there already */
            tla_nearest_try(&nearest, name, end);
        }
    }
    if (nearest.found) *found = nearest.name;
    return nearest.found;
}

bool tla_schema_is_number(const tla_schema_key *key) {
    return key->form.type <= TLA_VALUE_LAST_NUMBER;
}

tla_value tla_schema_get(const tla_schema_key *key, const void *config) {
    tla_value value = {0};
    const char *member = (const char *)config + key->offset;
    uint32_t number;
    if (key->form.type == TLA_VALUE_TEXT) {
        memcpy(value.text, member, key->size);
    } else if (key->size == sizeof number) { /* enumerations have its size too */
        memcpy(&number, member, sizeof number);
        value.number = number;
    } else if (key->size == sizeof(bool)) {
        value.number = *(const bool *)member;
    } else {
        memcpy(&value.number, member, sizeof value.number);
    }
    return value;
}

void tla_schema_set(const tla_schema_key *key, void *config, const tla_value *value) {
    char *member = (char *)config + key->offset;
    const uint32_t number = (uint32_t)value->number;
    if (key->form.type == TLA_VALUE_TEXT)
        memcpy(member, value->text, key->size);
    else if (key->size == sizeof number)
        memcpy(member, &number, sizeof number);
    else if (key->size == sizeof(bool))
        *(bool *)member = value->number != 0;
    else
        memcpy(member, &value->number, sizeof value->number);
}

tla_phrase tla_schema_range(const tla_schema_key *key) {
    return tla_phrase_of("%s .. %s%s", tla_number_print(key->form.type, key->min).text,
                         tla_number_print(key->form.type, key->max).text, key->power_of_two ? ", a power of two" : "");
}

tla_status tla_schema_store(const tla_schema_key *key, void *config, const char *text, tla_error *error) {
    tla_value value;
    const tla_status status = tla_value_parse(&key->form, text, &value, error);
    if (status != TLA_OK) return status;
    if (tla_schema_is_number(key) && (value.number < key->min || value.number > key->max ||
                                      (key->power_of_two && (value.number & (value.number - 1)) != 0)))
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s", tla_quote(text).text,
                             tla_schema_range(key).text);
    tla_schema_set(key, config, &value);
    return TLA_OK;
}

void tla_schema_set_defaults(const tla_schema *schema, void *config) {
    for (size_t key = 0; key < schema->count; key++)
        if (schema->keys[key].default_text)
            (void)tla_schema_store(&schema->keys[key], config, schema->keys[key].default_text, NULL); /* tested */
}
