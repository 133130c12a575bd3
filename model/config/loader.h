/* The state of reading a file by a schema. Internal to the core and the command line. */
#ifndef TLMALLOC_MODEL_CONFIG_LOADER_H
#define TLMALLOC_MODEL_CONFIG_LOADER_H

#include "schema.h"
#include "tlmalloc/config.h"
#include "tlmalloc/config/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_CONFIG_PATH_MAX = 128, TLA_CONFIG_SECTIONS_DEEP = 4 };

/* Where the sections are written that have the same first key: a section, a section in it, and so on. */
typedef struct tla_sections {
    tla_place at[TLA_CONFIG_SECTIONS_DEEP];
} tla_sections;

/* Where the value of a key comes from. */
typedef struct tla_origin {
    tla_place at;         /* file NULL: not written, the default */
    const char *key;      /* as the schema has it; NULL: not written */
    size_t number;        /* of the override or setting in the call, from 1; 0: the key stands in the file */
    const char *override; /* its text, "key=value"; NULL for a setting */
    bool bad;             /* it has had a finding: rules that read it are not checked */
} tla_origin;

typedef struct tla_loader {
    const char *file;
    tla_config_report report;
    void *context;
    size_t findings;
    bool incomplete; /* the file could not be read to its end */
    bool no_memory;
    const tla_schema *schema;
    const tla_config_judge *judge; /* of a platform's kernel; NULL: no judge */
    void *config;                  /* the struct that the schema describes */
    tla_origin *origins;           /* of every key */
    tla_sections *sections;        /* of the sections written, at the index of their first key */
} tla_loader;

/* The maximum number of reported findings of one file; the next finding states this, and the reading ends. */
enum { TLA_FINDINGS_MAX = 100 };

/* Whether there were more. */
bool tla_loader_is_full(const tla_loader *loader);

/* Reports a finding that is not about a single key. */
void tla_loader_find(tla_loader *loader, tla_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A finding about a value, where it was written; origin NULL: nowhere. An override stands in front of the text. */
void tla_loader_find_at(tla_loader *loader, const tla_origin *origin, const char *text);

/* Passes on the same text and place as a warning, which is not a finding. */
void tla_loader_warn_at(const tla_loader *loader, const tla_origin *origin, const char *text);

/* "unknown key ...", with what may have been meant. */
tla_phrase tla_loader_unknown_key(const tla_loader *loader, const char *path);

/* Where a file is that a value names: one that a file names stands beside it, one that the command line names is found
 * from where that was given. Cut where it is too long. */
tla_phrase tla_loader_path_beside(const char *text, const tla_origin *origin);

/* A row of a schema, as programs see it. */
tla_config_key tla_schema_describe(const tla_schema_key *row);

/* Walks a YAML text and stores its values. */
void tla_loader_read_yaml(tla_loader *loader, const char *text, size_t length);

/* tla_config_parse and tla_config_load for any schema; config is the struct of the schema. */
tla_status tla_loader_parse(const tla_schema *schema, const char *text, size_t length, const char *name,
                            const char *const *overrides, size_t override_count, const tla_config_judge *judge,
                            void *config, tla_config_report report, void *context);
tla_status tla_loader_load(const tla_schema *schema, const char *path, const char *const *overrides,
                           size_t override_count, const tla_config_judge *judge, void *config, tla_config_report report,
                           void *context);

/* As tla_loader_load, with settings in place of overrides; path NULL: defaults alone. */
tla_status tla_loader_load_settings(const tla_schema *schema, const char *path, const tla_config_setting *settings,
                                    size_t setting_count, void *config, tla_config_report report, void *context);

#ifdef __cplusplus
}
#endif
#endif
