/* Presets: values of keys that a tool has for an instance before it exists, under the instance's name (CCI parameters,
 * Lua, command lines of other simulators). A single module drops its own section from the names of keys:
 *
 *     top.controller.hbm_policy     controller.hbm_policy of the memory controller top.controller
 *     top.controller.hbm.timing     hbm.timing of the same
 *     top.npu.controller.hbm_policy controller.hbm_policy of the platform top.npu
 *
 * `section` names that section: "controller", "mmu", "hbm", "tcm"; NULL for a platform. A module has the keys of
 * TLA_KEYS_OF_MODULE, a platform those of TLA_KEYS_OF_PLATFORM (config/keys.h). */
#ifndef TLMALLOC_CONFIG_PRESETS_H
#define TLMALLOC_CONFIG_PRESETS_H

#include "tlmalloc/config/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scope of an instance's keys. */
tla_key_scope tla_preset_scope(const char *section);

/* The name that a key has below an instance: a part of `key`, without the instance's section. */
const char *tla_preset_name(const char *section, const char *key);

/* Finds the key of a name below an instance ("hbm.timing"). False for an unknown name; *key is unchanged then. */
bool tla_preset_find_key(const char *section, const char *name, tla_config_key *key);

/* Finds the name nearest to one below an instance, as tla_config_suggest does. False, with an empty text, if none is
 * near. */
bool tla_preset_suggest(const char *section, const char *name, tla_config_text *nearest);

/* One preset. */
typedef struct tla_preset {
    const char *name;  /* below the instance: "hbm_policy" */
    const char *value; /* as a file has it */
    const char *by;    /* who preset it, for messages: "platform.json"; NULL: unknown */
} tla_preset;

/* A line of a message about presets, cut if it is too long. */
typedef struct tla_preset_text {
    char text[1024];
} tla_preset_text;

/* Receives a finding about presets, one line: "top.controller.hbm_policy (preset by platform.json): ", and the text
 * that the same value has in a file. */
typedef void (*tla_presets_report)(void *context, const char *line);

/* Makes the configuration of an instance from its presets, with the defaults of all other keys; only a preset key
 * counts as set (va.page_size follows mmu.page_size).
 *
 * Reports every finding (report may be NULL); any finding makes the call fail with TLA_SYNTAX, and *config is unchanged
 * then. TLA_NO_HOST_MEMORY has no finding. A preset with an unknown name is a finding. */
tla_status tla_presets_load(const char *instance, const char *section, const tla_preset *presets, size_t count,
                            tla_config *config, tla_presets_report report, void *context);

/* Describes a preset whose name is no key: "top.controller.hbm_polcy (preset by platform.json): unknown key, did you
 * mean "top.controller.hbm_policy"?" */
tla_preset_text tla_preset_unknown(const char *instance, const char *section, const tla_preset *preset);

/* Describes a preset that nothing has used, with its full name, and the nearest of the names of parameters that exist:
 * "top.sclie.capacity = "1 GiB" (preset by platform.json) is no parameter, did you mean "top.slice.capacity"?" */
tla_preset_text tla_preset_unused(const tla_preset *preset, const char *const *parameters, size_t count);

#ifdef __cplusplus
}
#endif
#endif
