/* A table of keys: the allowed contents of a file, and the members of a struct for them. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_SCHEMA_H
#define TLMALLOC_MODEL_CONFIG_SCHEMA_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tla_loader;
struct tla_schema;

typedef struct tla_place {
    const char *file;    /* or "--set" */
    size_t line, column; /* from 1; 0 = none */
} tla_place;

/* A text as it stands in a file. */
typedef struct tla_written {
    const char *text;
    tla_place at;
} tla_written;

/* A key, as row.h writes it. */
typedef struct tla_schema_key {
    const char *key;     /* "hbm.burst" */
    size_t offset, size; /* of the member in the struct that is read into; a text fills all of it */
    tla_value_form form;
    uint64_t min, max;  /* of a number, both allowed; ignored for forms whose values have names or are texts */
    bool power_of_two;  /* the number must be one */
    const char *source; /* where the default comes from */
    const char *default_text;
    const char *meaning;
    /* ANY: receives the value (name: the key's own). LIST: receives every value likewise; for an override first its
     * place (text NULL), after which the file's values do not count. PAIRS: receives every pair. ROWS: receives every
     * row's place before it is read (text NULL); `rows` has the keys of a row, and its check is called when the row has
     * been read. */
    void (*take)(struct tla_loader *loader, size_t key, const tla_written *name, const tla_written *value);
    const struct tla_schema *rows;
} tla_schema_key;

/* All keys of one kind of file. */
typedef struct tla_schema {
    const tla_schema_key *keys;
    size_t count;
    size_t config_bytes; /* of the struct that is read into */
    const char *example; /* of an override; NULL: overrides are not allowed, and the keys are few */
    void (*check)(struct tla_loader *loader); /* what concerns several keys; called last, adds findings */
    bool descriptive; /* the file may have other keys, which are passed over, and null stands for a key not written */
} tla_schema;

/* Returns the index of a key, or of the first key of a section ("hbm", "mmu.cost"); the schema's count for an unknown
 * path. */
size_t tla_schema_find(const tla_schema *schema, const char *path);
size_t tla_schema_find_section(const tla_schema *schema, const char *path);

/* Finds the key or section closest to an unknown path, in `nearest`; false when none is close. */
bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *nearest);

/* Whether the values of a key are numbers with a range. */
bool tla_schema_is_number(const tla_schema_key *key);

/* The values of such a key, as a message states them: "4 KiB .. 1 GiB, a power of two". */
tla_phrase tla_schema_range(const tla_schema_key *key);

/* Reads and writes the member of a key in the struct that the schema describes. */
tla_value tla_schema_get(const tla_schema_key *key, const void *config);
void tla_schema_set(const tla_schema_key *key, void *config, const tla_value *value);

/* Reads a value and stores it in the member; TLA_SYNTAX with the found and the expected text, and nothing stored. */
tla_status tla_schema_store(const tla_schema_key *key, void *config, const char *text, tla_error *error);

/* Puts every default into its member. */
void tla_schema_set_defaults(const tla_schema *schema, void *config);

#ifdef __cplusplus
}
#endif
#endif
