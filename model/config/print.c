/* Printing: the resolved configuration, and the reference of all keys. */
#include "platform.h"
#include "timing.h"

#include <string.h>

void tla_config_each(const tla_config *config, tla_config_visit visit, void *context) {
    for (size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_schema_key *key = &tla_platform_keys[i];
        const tla_value value = tla_schema_get(key, config);
        visit(context, key->key, tla_value_print(&key->form, &value).text, tla_schema_is_number(key), value.number);
    }
}

typedef struct printer {
    FILE *out;
    const char *previous; /* key, whose sections are open */
} printer;

static void print_key(void *context, const char *key, const char *text, bool is_number, uint64_t number) {
    (void)is_number;
    (void)number;
    printer *p = context;
    bool open = true;
    int indent = 0;
    const char *name = key;
    for (const char *dot; (dot = strchr(name, '.')); name = dot + 1, indent += 2) {
        size_t length = (size_t)(dot + 1 - key);
        open = open && strncmp(p->previous, key, length) == 0;
        if (!open) fprintf(p->out, "%*s%.*s:\n", indent, "", (int)(dot - name), name);
    }
    fprintf(p->out, "%*s%s: %s\n", indent, "", name, text);
    p->previous = key;
}

tla_status tla_config_print(const tla_config *config, FILE *out) {
    tla_config_each(config, print_key, &(printer){.out = out, .previous = ""});
    return ferror(out) ? TLA_IO : TLA_OK;
}

static void print_range(const tla_schema_key *key, FILE *out) {
    if (tla_schema_is_number(key))
        fputs(tla_schema_range(key).text, out);
    else
        fputs(tla_value_expected(&key->form).text, out);
}

/* A table for the keys of a schema, or for those of each section under a heading. */
static tla_status print_reference(const tla_schema *schema, FILE *out) {
    size_t section = 0; /* length of the last key's section, its dot included */
    for (size_t i = 0; i < schema->count; i++) {
        const tla_schema_key *key = &schema->keys[i];
        if (i == 0 || strncmp(key->key, schema->keys[i - 1].key, section) != 0) {
            const char *dot = strchr(key->key, '.');
            section = dot ? (size_t)(dot + 1 - key->key) : 0;
            if (section) fprintf(out, "%s## %.*s\n\n", i ? "\n" : "", (int)section - 1, key->key);
            fputs("| key | unit and range | default | source of the default | meaning |\n|---|---|---|---|---|\n", out);
        }
        fprintf(out, "| `%s` | ", key->key);
        print_range(key, out);
        fprintf(out, " | %s | %s | %s |\n", key->default_text, key->source, key->meaning);
    }
    return ferror(out) ? TLA_IO : TLA_OK;
}

tla_status tla_config_print_reference(FILE *out) {
    const tla_schema schema = tla_platform_schema();
    return print_reference(&schema, out);
}

tla_status tla_timing_print_reference(FILE *out) {
    return print_reference(&tla_timing_schema, out);
}
