/* The resolved configuration as JSON, for reports. */
#include "cli/config_json.h"

#include "model/base/escape.h"

#include <stdlib.h>
#include <string.h>

json_t *json_from_u64(uint64_t value) {
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_from_text(const char *text) {
    const size_t length = strlen(text), room = 4 * length + 1; /* each byte as \xNN */
    if (tla_is_utf8(text, length)) return json_string(text);
    char *escaped = malloc(room);
    if (escaped) tla_escape(text, length, escaped, room);
    json_t *json = escaped ? json_string(escaped) : NULL;
    free(escaped);
    return json;
}

/* Finds the object for a key's name, and creates missing objects; *name is the text after the last dot. */
static json_t *find_parent(json_t *object, const char *key, const char **name) {
    const char *dot;
    while (object && (dot = strchr(key, '.'))) {
        char part[64];
        size_t length = (size_t)(dot - key) < sizeof part ? (size_t)(dot - key) : sizeof part - 1;
        memcpy(part, key, length);
        part[length] = 0;
        if (!json_object_get(object, part)) json_object_set_new(object, part, json_object());
        object = json_object_get(object, part);
        key = dot + 1;
    }
    *name = key;
    return object;
}

static json_t *value_to_json(const char *text) {
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return json_boolean(text[0] == 't');
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    return end != text && *end == 0 ? json_from_u64(number) : json_from_text(text);
}

static void add_key(void *context, const char *key, const char *text, bool is_number, uint64_t number) {
    (void)is_number;
    (void)number;
    const char *name;
    json_t *parent = find_parent(context, key, &name);
    json_object_set_new(parent, name, value_to_json(text));
}

json_t *config_to_json(const tla_config *config) {
    json_t *object = json_object();
    if (object) tla_config_each(config, add_key, object);
    return object;
}
