/* The tables of all configuration keys: the platform, and the timing of a pseudo-channel. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_SCHEMA_H
#define TLMALLOC_MODEL_CONFIG_SCHEMA_H

#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_schema_key {
    const char *key; /* "hbm.burst" */
    size_t offset;   /* of the member in the struct that is read into */
    tla_value_type type;
    uint64_t min, max;  /* of the number, both allowed; ignored for types whose values have names */
    bool power_of_two;  /* the number must be one */
    const char *source; /* where the default comes from */
    const char *default_text;
    const char *meaning;
} tla_schema_key;

struct tla_loader;

/* All keys of one kind of file. */
typedef struct tla_schema {
    const tla_schema_key *keys;
    size_t count;
    size_t config_bytes;                      /* of the struct that is read into */
    const char *example;                      /* of an override */
    void (*check)(struct tla_loader *loader); /* what concerns several keys; called last, adds findings */
} tla_schema;

enum { TLA_PLATFORM_KEYS = 108 };
extern const tla_schema_key tla_platform_keys[TLA_PLATFORM_KEYS]; /* of tla_config */
extern const tla_schema tla_platform_schema;
extern const tla_schema tla_timing_schema;

/* Index of a key, or of the first key of a section ("hbm", "mmu.cost"); the schema's count when there is none. */
size_t tla_schema_find(const tla_schema *schema, const char *path);
size_t tla_schema_find_section(const tla_schema *schema, const char *path);

/* The key or section nearest to a path that is none, in `nearest`; false when nothing is near. */
bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *nearest);

/* Reads and writes the member of a key in the struct that the schema describes. */
tla_value tla_schema_get(const tla_schema_key *key, const void *config);
void tla_schema_set(const tla_schema_key *key, void *config, const tla_value *value);

/* A rule that concerns several keys of the platform. */
typedef struct tla_schema_rule {
    const char *keys[5]; /* the keys it reads, NULL-terminated: a finding stands at the first that was written */
    bool (*broken)(const tla_config *config, tla_phrase *text); /* true: broken, the text says how */
} tla_schema_rule;

extern const tla_schema_rule tla_platform_rules[];
extern const size_t tla_platform_rule_count;

#ifdef __cplusplus
}
#endif
#endif
