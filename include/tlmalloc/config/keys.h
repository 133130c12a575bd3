/* The keys of configurations, for programs that offer them in another form (CCI parameters, a plugin's settings, a
 * dialog): every key with its range and meaning, values by name and text, and the key nearest to an unknown name. */
#ifndef TLMALLOC_CONFIG_KEYS_H
#define TLMALLOC_CONFIG_KEYS_H

#include "tlmalloc/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose keys. A module that stands alone, outside a platform, has all keys of a platform and two more:
 *
 *     hbm.capacity   size of its HBM slice. By default hbm.capacity_per_cube / system.pes_per_cube, and only one of the
 *                    two capacities may be set.
 *     tcm.present    true, or false for a controller without a TCM: its bytes and its reserve are 0 then. */
typedef enum tla_key_scope { TLA_KEYS_OF_PLATFORM, TLA_KEYS_OF_MODULE } tla_key_scope;

/* A text of a configuration, in one line. */
typedef struct tla_config_text {
    char text[256];
} tla_config_text;

/* One key. The texts stay valid. */
typedef struct tla_config_key {
    const char *name;         /* "hbm.burst" */
    const char *unit;         /* of its number in tla_config: "bytes", "picoseconds"; "" for a count or no number */
    tla_config_text range;    /* the values as a file has them: "1 B .. 64 KiB, a power of two", "true or false" */
    const char *default_text; /* "256 B" */
    const char *source;       /* where the default comes from */
    const char *meaning;
    bool is_number;       /* it has a range; else it is true or false, a name or a text */
    uint64_t least, most; /* of a number, in its unit, both allowed; else 0 */
    bool power_of_two;    /* the number must be one */
} tla_config_key;

/* Calls visit for every key, in the order of the reference (tlmalloc check --reference); the two keys of a module are
 * last. The key is valid during the call. */
typedef void (*tla_config_key_visit)(void *context, const tla_config_key *key);
void tla_config_each_key(tla_key_scope scope, tla_config_key_visit visit, void *context);

/* Finds a key by its name. False for an unknown name; *key is unchanged then. */
bool tla_config_find_key(tla_key_scope scope, const char *name, tla_config_key *key);

/* Finds the key or section nearest to a name that is no key, as findings suggest it. For a key without its section
 * these are all keys that end with it, with `" or "` between them. False, with an empty text, if none is near. */
bool tla_config_suggest(tla_key_scope scope, const char *name, tla_config_text *nearest);

/* A key and the text of its value, as a file would have them: {"hbm.burst", "256 B"}. A value has at most 511
 * characters. Spaces around it are ignored. */
typedef struct tla_config_setting {
    const char *key, *value;
} tla_config_setting;

/* As tla_config_load, with settings in place of overrides: reads the file (path NULL: defaults alone), then applies the
 * settings, then defaults, then the checks that concern several keys. The last of several settings of one key counts.
 *
 * Any finding makes the call fail (TLA_SYNTAX, or TLA_IO if the file cannot be read), and *config is unchanged then.
 * TLA_NO_HOST_MEMORY has no finding. A finding about a setting has the file "--set", its number from 1 in
 * `override`, and the text that the same value has in a file. For an unknown key it has no `key`. */
tla_status tla_config_load_settings(tla_key_scope scope, const char *path, const tla_config_setting *settings,
                                    size_t setting_count, tla_config *config, tla_config_report report, void *context);

/* Returns the resolved value of a key as a file has it ("6 GiB"), of either scope. TLA_INVALID_ARGUMENT for an unknown
 * key; *text is empty then. tla_config_each reads all keys of a platform. */
tla_status tla_config_get(const tla_config *config, const char *key, tla_config_text *text);

#ifdef __cplusplus
}
#endif
#endif
