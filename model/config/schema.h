/* A table of keys: what a file may say, and where it is put. Internal to the core. */
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
    /* ANY: gets the value (name: the key's own). LIST: gets every value likewise, those of an override after its place
     * (text NULL), from which on what the file says does not count. PAIRS: gets every pair. ROWS: gets every row's
     * place before it is read (text NULL); rows has the keys of a row, and its check is called when the row has been
     * read. */
    void (*take)(struct tla_loader *loader, size_t key, const tla_written *name, const tla_written *value);
    const struct tla_schema *rows;
} tla_schema_key;

/* All keys of one kind of file. */
typedef struct tla_schema {
    const tla_schema_key *keys;
    size_t count;
    size_t config_bytes;                      /* of the struct that is read into */
    const char *example;                      /* of an override; NULL: there are none, and the keys are few */
    void (*check)(struct tla_loader *loader); /* what concerns several keys; called last, adds findings */
    bool descriptive; /* the file may have other keys, which are passed over, and null stands for a key not written */
} tla_schema;

/* Index of a key, or of the first key of a section ("hbm", "mmu.cost"); the schema's count when there is none. */
size_t tla_schema_find(const tla_schema *schema, const char *path);
size_t tla_schema_find_section(const tla_schema *schema, const char *path);

/* The key or section nearest to a path that is none, in `nearest`; false when nothing is near. */
bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *nearest);

/* Whether the values of a key are numbers with a range. */
bool tla_schema_is_number(const tla_schema_key *key);

/* Reads and writes the member of a key in the struct that the schema describes. */
tla_value tla_schema_get(const tla_schema_key *key, const void *config);
void tla_schema_set(const tla_schema_key *key, void *config, const tla_value *value);

/* Reads a value and puts it into the member; TLA_SYNTAX with what was found and expected, and nothing put. */
tla_status tla_schema_store(const tla_schema_key *key, void *config, const char *text, tla_error *error);

/* Puts every default into its member. */
void tla_schema_set_defaults(const tla_schema *schema, void *config);

#ifdef __cplusplus
}
#endif
#endif
