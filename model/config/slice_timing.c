/* The timing profile that hbm.timing names: one that is built in, or a file. */
#include "base/suggest.h"
#include "config/timing_profiles.h"
#include "loader.h"

#include <string.h>

static const tla_timing_profile *find_profile(const char *name) {
    const tla_timing_profile *profile = tla_timing_profiles;
    while (profile->name && strcmp(profile->name, name) != 0)
        profile++;
    return profile->name ? profile : NULL;
}

static tla_status parse_profile(const tla_timing_profile *profile, tla_hbm_config *timing) {
    return tla_timing_parse((const char *)profile->text, profile->length, profile->name, NULL, 0, timing, NULL, NULL);
}

tla_status tla_timing_named(const char *name, tla_hbm_config *timing) {
    const tla_timing_profile *profile = find_profile(name);
    return profile ? parse_profile(profile, timing) : TLA_INVALID_ARGUMENT;
}

static bool is_file(const char *text) {
    const size_t length = strlen(text);
    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".yaml") == 0);
}

/* "channels", then the profiles. */
static const char *name_of_profile(uint64_t index) {
    return index == 0 ? "channels" : tla_timing_profiles[index - 1].name;
}

static tla_phrase names_of_profiles(void) {
    tla_phrase names = tla_phrase_of("channels");
    for (const tla_timing_profile *p = tla_timing_profiles; p->name; p++)
        names = tla_phrase_of("%s, %s", names.text, p->name);
    return names;
}

static void refuse(tla_loader *l, tla_origin *origin, const char *found, const char *expected) {
    origin->bad = true;
    tla_loader_find_at(l, origin,
                       tla_phrase_of("hbm.timing: found %s, expected %s", tla_quote(found).text, expected).text);
}

void tla_loader_resolve_timing(tla_loader *l) {
    tla_hbm_timing *timing = &((tla_config *)l->config)->hbm_timing;
    const char *text = timing->name;
    tla_origin *origin = &l->origins[tla_schema_find(l->schema, "hbm.timing")];
    if (origin->bad || strcmp(text, "channels") == 0) return;
    const tla_timing_profile *profile = find_profile(text);
    tla_status status;
    /* the built-in ones are as good as the build: only memory can be missing */
    if (profile) {
        status = parse_profile(profile, &timing->profile);
    } else if (is_file(text)) {
        const tla_phrase path = tla_loader_path_beside(text, origin);
        status = tla_timing_load(path.text, NULL, 0, &timing->profile, l->report, l->context);
        if (status == TLA_SYNTAX || status == TLA_IO)
            refuse(l, origin, text, "a file with a timing profile that can be used");
    } else {
        status = TLA_SYNTAX;
        refuse(l, origin, text,
               tla_phrase_of("%s, or the file of a timing profile (with a / or ending in .yaml)%s",
                             names_of_profiles().text, tla_did_you_mean(text, name_of_profile).text)
                   .text);
    }
    l->no_memory |= status == TLA_NO_HOST_MEMORY;
    timing->has_profile = status == TLA_OK;
}
