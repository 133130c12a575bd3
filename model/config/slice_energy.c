/* The energy profile that hbm.energy names, and the timing profiles for which a profile holds. */
#include "config/profiles.h"

#include <string.h>

static tla_status parse_profile(const tla_built_in_profile *profile, void *energy) {
    return tla_dram_energy_named(profile->name, energy);
}

static tla_status load_profile(const char *path, void *energy, tla_config_report report, void *context) {
    return tla_dram_energy_load(path, energy, report, context);
}

static const char *name_at(uint64_t index) {
    return index == 0 ? "none" : tla_dram_energy_name_at(index - 1);
}

void tla_loader_resolve_energy(tla_loader *l) {
    static const tla_profile_key key = {"hbm.energy", "none",        "energy profile", tla_energy_profiles,
                                        name_at,      parse_profile, load_profile};
    tla_hbm_energy *energy = &((tla_config *)l->config)->hbm_energy;
    energy->has_profile = tla_profile_read(l, &key, energy->name, &energy->profile);
}

/* "configs/timing/hbm4.yaml" is hbm4. */
static tla_phrase name_of_timing(const char *timing) {
    const char *const slash = strrchr(timing, '/'), *const name = slash ? slash + 1 : timing;
    const size_t length = strlen(name);
    const bool is_file = length > 5 && strcmp(name + length - 5, ".yaml") == 0;
    return tla_phrase_of("%.*s", (int)(length - (is_file ? 5 : 0)), name);
}

/* The built-in profiles that hold for a timing; "" if none does. */
static tla_phrase profiles_for(const char *timing) {
    tla_phrase list = {""};
    const char *name;
    for (uint64_t i = 0; (name = tla_dram_energy_name_at(i)) != NULL; i++) {
        tla_dram_energy profile;
        if (tla_dram_energy_named(name, &profile) == TLA_OK && tla_dram_energy_is_for(&profile, timing))
            list = tla_phrase_of("%s%s%s", list.text, list.text[0] ? ", " : "", name);
    }
    return list;
}

bool tla_dram_energy_suits(const tla_dram_energy *profile, const char *name, const char *timing, tla_error *why) {
    const tla_phrase of = name_of_timing(timing);
    if (tla_dram_energy_is_for(profile, of.text)) return true;
    const tla_phrase others = profiles_for(of.text);
    if (profile->timing[0] == '\0') {
        tla_error_set(why, TLA_INVALID_ARGUMENT, "%s names no timing: write `timing: %s` if its constants hold for it",
                      name, of.text);
        return false;
    }
    tla_error_set(why, TLA_INVALID_ARGUMENT, "%s holds for '%s', not for the timing '%s': %s%s", name, profile->timing,
                  of.text, others.text[0] ? "use " : "write a profile whose `timing` names it", others.text);
    return false;
}
