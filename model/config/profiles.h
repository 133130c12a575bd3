/* Profiles that a configuration names: those of configs/timing, configs/costs, configs/energy and configs/energy/parts,
 * as the build found them, so that a name leads to one wherever a program runs; or files of users. Internal to the
 * core. */
#ifndef TLMALLOC_MODEL_CONFIG_PROFILES_H
#define TLMALLOC_MODEL_CONFIG_PROFILES_H

#include "loader.h"

#include <stddef.h>

typedef struct tla_built_in_profile {
    const char *name; /* NULL: the end of the list */
    const unsigned char *text;
    size_t length;
} tla_built_in_profile;

extern const tla_built_in_profile tla_timing_profiles[], tla_cost_profiles[], tla_energy_profiles[],
    tla_parts_profiles[];

/* Returns the profile of this name; NULL if none has it. */
const tla_built_in_profile *tla_profile_find(const tla_built_in_profile *profiles, const char *name);

/* A key whose value is the name of a profile, a file with a profile, or, if allowed, `none`. */
typedef struct tla_profile_key {
    const char *key;  /* "hbm.timing" */
    const char *none; /* "channels"; NULL: it always names a profile */
    const char *what; /* "timing profile" */
    const tla_built_in_profile *profiles;
    const char *(*name_at)(uint64_t index); /* `none`, then those of the profiles, then NULL */
    tla_status (*parse)(const tla_built_in_profile *profile, void *filled);
    tla_status (*load)(const char *path, void *filled, tla_config_report report, void *context);
} tla_profile_key;

/* Reads the profile that the key's value names into *filled. False for `none`, and for an unusable profile, which is a
 * finding. */
bool tla_profile_read(tla_loader *loader, const tla_profile_key *key, const char *value, void *filled);

/* Reads the timing profile that the key names, timing->name (slice_timing.c). */
void tla_loader_resolve_timing(tla_loader *loader, const char *key, tla_hbm_timing *timing);

/* Puts the energy profile that hbm.energy names into the configuration (slice_energy.c). */
void tla_loader_resolve_energy(tla_loader *loader);

/* Puts the energy profile that system.energy names into the configuration (parts_energy.c). */
void tla_loader_resolve_parts_energy(tla_loader *loader);

/* Checks `count` constants of an energy profile, whose first key has the index `first` (energy_constants.c). */
void tla_loader_check_constants(tla_loader *loader, size_t first, const tla_energy_constant *constants, size_t count);

/* Puts the prices of the profile that controller.cost.profile names into the configuration, where its keys are not
 * written, or written in a file while the profile is named by an override (cost_profile.c). */
void tla_loader_resolve_prices(tla_loader *loader);

#endif
