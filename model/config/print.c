/* Printing: the resolved configuration, and the reference of all keys. */
#include "loader.h"
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

typedef struct reference {
    FILE *out;
    const char *previous; /* key; NULL: none yet */
    size_t section;       /* length of the section of `previous`, its dot included */
} reference;

/* A row of the reference; the first key of a section begins a table under its heading. */
static void print_row(void *context, const tla_config_key *key) {
    reference *r = context;
    if (!r->previous || strncmp(key->name, r->previous, r->section) != 0) {
        const char *dot = strchr(key->name, '.');
        r->section = dot ? (size_t)(dot + 1 - key->name) : 0;
        if (r->section) fprintf(r->out, "%s## %.*s\n\n", r->previous ? "\n" : "", (int)r->section - 1, key->name);
        fputs("| key | unit and range | default | source of the default | meaning |\n|---|---|---|---|---|\n", r->out);
    }
    fprintf(r->out, "| `%s` | %s | %s | %s | %s |\n", key->name, key->range.text, key->default_text, key->source,
            key->meaning);
    r->previous = key->name;
}

tla_status tla_config_print_reference(FILE *out) {
    tla_config_each_key(TLA_KEYS_OF_PLATFORM, print_row, &(reference){.out = out});
    return ferror(out) ? TLA_IO : TLA_OK;
}

tla_status tla_timing_print_reference(FILE *out) {
    reference r = {.out = out};
    for (size_t i = 0; i < tla_timing_schema.count; i++) {
        const tla_config_key key = tla_schema_describe(&tla_timing_schema.keys[i]);
        print_row(&r, &key);
    }
    return ferror(out) ? TLA_IO : TLA_OK;
}
