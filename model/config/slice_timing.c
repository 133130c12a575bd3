/* The timing profiles that hbm.timing and host_memory.timing name. */
#include "config/profiles.h"

static tla_status parse_profile(const tla_built_in_profile *profile, void *timing) {
    return tla_timing_parse((const char *)profile->text, profile->length, profile->name, NULL, 0, timing, NULL, NULL);
}

static tla_status load_profile(const char *path, void *timing, tla_config_report report, void *context) {
    return tla_timing_load(path, NULL, 0, timing, report, context);
}

static const char *name_at(uint64_t index) {
    return index == 0 ? "channels" : tla_timing_profiles[index - 1].name;
}

tla_status tla_timing_named(const char *name, tla_hbm_config *timing) {
    const tla_built_in_profile *profile = tla_profile_find(tla_timing_profiles, name);
    return profile ? parse_profile(profile, timing) : TLA_INVALID_ARGUMENT;
}

void tla_loader_resolve_timing(tla_loader *l, const char *key, tla_hbm_timing *timing) {
    const tla_profile_key form = {key,     "channels",    "timing profile", tla_timing_profiles,
                                  name_at, parse_profile, load_profile};
    timing->has_profile = tla_profile_read(l, &form, timing->name, &timing->profile);
}
