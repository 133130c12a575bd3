/* The table of all configuration keys. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_SCHEMA_H
#define TLMALLOC_MODEL_CONFIG_SCHEMA_H

#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_schema_key {
    const char *key; /* "hbm.burst" */
    size_t offset;   /* of the member in tla_config */
    tla_value_type type;
    uint64_t min, max;  /* of the number, both allowed; ignored for types whose values have names */
    bool power_of_two;  /* the number must be one */
    const char *source; /* where the default comes from */
    const char *default_text;
    const char *meaning;
} tla_schema_key;

enum { TLA_SCHEMA_KEYS = 66 };
extern const tla_schema_key tla_schema[TLA_SCHEMA_KEYS];

/* Index of a key, or of the first key of a section ("hbm", "mmu.cost"); TLA_SCHEMA_KEYS when there is none. */
size_t tla_schema_find(const char *path);
size_t tla_schema_find_section(const char *path);

/* The key or section nearest to a path that is none, in `nearest`; false when nothing is near. */
bool tla_schema_suggest(const char *path, tla_phrase *nearest);

/* Reads and writes the member of a key. */
tla_value tla_schema_get(const tla_config *config, size_t key);
void tla_schema_set(tla_config *config, size_t key, const tla_value *value);

/* A rule that concerns several keys. */
typedef struct tla_schema_rule {
    const char *keys[4]; /* the keys it reads, NULL-terminated: a finding stands at the first that was written */
    bool (*broken)(const tla_config *config, tla_phrase *text); /* true: broken, the text says how */
} tla_schema_rule;

extern const tla_schema_rule tla_schema_rules[];
extern const size_t tla_schema_rule_count;

#ifdef __cplusplus
}
#endif
#endif
