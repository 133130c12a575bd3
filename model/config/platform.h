/* The configuration of a platform: its keys, the members that follow from several keys, and the rules between keys.
 * Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_PLATFORM_H
#define TLMALLOC_MODEL_CONFIG_PLATFORM_H

#include "schema.h"
#include "tlmalloc/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* platform_keys.c: every key, of tla_config; those of a module that stands alone only follow those of a platform. */
extern const tla_schema_key tla_platform_keys[];
extern const size_t tla_platform_key_count, tla_module_key_count;

/* Returns the keys, with the steps that concern several keys: the timing profile, derived members, the rules, and the
 * judge. */
tla_schema tla_platform_schema(void);

/* The same for a module that stands alone. */
tla_schema tla_module_schema(void);

/* Whether a key that is not written may have another value because of `leader`: the VA manager's pages because of the
 * MMU's, prices because of the profile and of the clock. */
bool tla_platform_key_follows(const char *key, const char *leader);

/* A rule that concerns several keys of the platform. */
typedef struct tla_platform_rule {
    const char *keys[15]; /* the keys it reads, NULL-terminated: a finding stands at the first that was written */
    bool (*broken)(const tla_config *config,
                   tla_phrase *text); /* true: the rule is broken, and the text has the cause */
} tla_platform_rule;

extern const tla_platform_rule tla_platform_rules[], tla_controller_rules[];
extern const size_t tla_platform_rule_count, tla_controller_rule_count;

/* key_effects.c: keys that have no effect where a condition does not hold. Several conditions of a key must all hold.
 */
typedef struct tla_key_condition {
    const char *keys;                        /* a key, or a section with its dot: all keys in it */
    bool (*holds)(const tla_config *config); /* true: the keys may have an effect */
    const char *by[2];                       /* the keys that decide, one or two */
    const char *wanted;                      /* the required values: "flat or memory" */
} tla_key_condition;

extern const tla_key_condition tla_key_conditions[];
extern const size_t tla_key_condition_count;

bool tla_key_condition_is_of(const tla_key_condition *condition, const char *key);

/* A size in the text of a rule. */
static inline tla_phrase tla_size_text(uint64_t nbytes) {
    return tla_number_print(TLA_VALUE_SIZE, nbytes);
}

#ifdef __cplusplus
}
#endif
#endif
