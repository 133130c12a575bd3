/* Profiles by name or by file, for any key that names one. */
#include "base/suggest.h"
#include "config/profiles.h"

#include <stdio.h>
#include <string.h>

const tla_built_in_profile *tla_profile_find(const tla_built_in_profile *profiles, const char *name) {
    while (profiles->name && strcmp(profiles->name, name) != 0)
        profiles++;
    return profiles->name ? profiles : NULL;
}

static bool is_file(const char *text) {
    const size_t length = strlen(text);
    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".yaml") == 0);
}

static tla_phrase names_of(const tla_profile_key *key) {
    tla_phrase names = tla_phrase_of("%s", key->none ? key->none : "");
    for (const tla_built_in_profile *p = key->profiles; p->name; p++)
        names = tla_phrase_of("%s%s%s", names.text, *names.text ? ", " : "", p->name);
    return names;
}

/* The names of all profiles are nearly a phrase already, so that `rest` and `hint` come apart. */
static void refuse(tla_loader *l, const tla_profile_key *key, tla_origin *origin, const char *found,
                   const char *expected, const char *rest, const char *hint) {
    char text[6 * sizeof(tla_phrase)];
    snprintf(text, sizeof text, "%s: found %s, expected %s%s%s", key->key, tla_quote(found).text, expected, rest, hint);
    origin->bad = true;
    tla_loader_find_at(l, origin, text);
}

bool tla_profile_read(tla_loader *l, const tla_profile_key *key, const char *value, void *filled) {
    tla_origin *origin = &l->origins[tla_schema_find(l->schema, key->key)];
    if (origin->bad || (key->none && strcmp(value, key->none) == 0)) return false;
    const tla_built_in_profile *profile = tla_profile_find(key->profiles, value);
    tla_status status;
    /* the built-in ones are as good as the build: only memory can be missing */
    if (profile) {
        status = key->parse(profile, filled);
    } else if (is_file(value)) {
        const tla_phrase path = tla_loader_path_beside(value, origin);
        status = key->load(path.text, filled, l->report, l->context);
        if (status == TLA_SYNTAX || status == TLA_IO)
            refuse(l, key, origin, value, "a file with a valid ", key->what, "");
    } else {
        status = TLA_SYNTAX;
        refuse(l, key, origin, value, names_of(key).text,
               tla_phrase_of(", or the file of %s %s (with a / or ending in .yaml)",
                             strchr("aeiou", key->what[0]) ? "an" : "a", key->what)
                   .text,
               tla_did_you_mean(value, key->name_at).text);
    }
    l->no_memory |= status == TLA_NO_HOST_MEMORY;
    return status == TLA_OK;
}
