/* Printing: the resolved configuration, and the reference of all keys. */
#include "schema.h"

#include <string.h>

void tla_config_each(const tla_config *config, tla_config_visit visit, void *context) {
    for (size_t key = 0; key < TLA_PLATFORM_KEYS; key++) {
        tla_value_type type = tla_platform_keys[key].type;
        tla_value value = tla_schema_get(&tla_platform_keys[key], config);
        visit(context, tla_platform_keys[key].key, tla_value_print(type, &value).text, type <= TLA_VALUE_RATE,
              value.number);
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
    switch (key->type) {
    case TLA_VALUE_BOOLEAN:
    case TLA_VALUE_POLICY:
    case TLA_VALUE_UNMAPPED:
    case TLA_VALUE_MAP_ACK:
    case TLA_VALUE_WALK:
    case TLA_VALUE_REPLACEMENT:
    case TLA_VALUE_GUARD:
    case TLA_VALUE_FREE_LIST:
    case TLA_VALUE_TIME_STYLE:
    case TLA_VALUE_HBM_MODEL:
    case TLA_VALUE_REFRESH:
    case TLA_VALUE_PAGE_POLICY:
    case TLA_VALUE_NAME:
    case TLA_VALUE_ADDRESS_MAP:
    case TLA_VALUE_TIMING:
    case TLA_VALUE_FAULTS:
        fputs(tla_value_expected(key->type).text, out);
        break;
    default:
        fprintf(out, "%s .. %s%s", tla_value_print(key->type, &(tla_value){.number = key->min}).text,
                tla_value_print(key->type, &(tla_value){.number = key->max}).text,
                key->power_of_two ? ", a power of two" : "");
    }
}

static tla_status print_reference(const tla_schema *schema, FILE *out) {
    fputs("| key | unit and range | default | source of the default | meaning |\n|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < schema->count; i++) {
        const tla_schema_key *key = &schema->keys[i];
        fprintf(out, "| `%s` | ", key->key);
        print_range(key, out);
        fprintf(out, " | %s | %s | %s |\n", key->default_text, key->source, key->meaning);
    }
    return ferror(out) ? TLA_IO : TLA_OK;
}

tla_status tla_config_print_reference(FILE *out) {
    return print_reference(&tla_platform_schema, out);
}

tla_status tla_timing_print_reference(FILE *out) {
    return print_reference(&tla_timing_schema, out);
}
