/* A constant of an energy profile has a standing and a source, or it is 0 and unknown. */
#include "config/profiles.h"

#include <string.h>

enum { KEYS_OF_CONSTANT = 3 }; /* energy_rows.h */

void tla_loader_check_constants(tla_loader *l, size_t first, const tla_energy_constant *constants, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tla_origin *of = &l->origins[first + i * KEYS_OF_CONSTANT];
        const char *const value = l->schema->keys[first + i * KEYS_OF_CONSTANT].key;
        const int length = (int)strcspn(value, ".");
        const bool is_known = constants[i].standing != TLA_ENERGY_UNKNOWN;
        if (of[0].bad || of[1].bad || of[2].bad) continue;
        if (!is_known && constants[i].value != 0)
            tla_loader_find_at(l, &of[0],
                               tla_phrase_of("%s: a constant needs a standing: set %.*s.standing to assumed, "
                                             "extrapolated or measured",
                                             value, length, value)
                                   .text);
        else if (is_known && of[0].at.file == NULL)
            tla_loader_find_at(l, &of[1],
                               tla_phrase_of("%.*s.standing: %s is not written: write it", length, value, value).text);
        else if (is_known && constants[i].source[0] == '\0')
            tla_loader_find_at(l, &of[1],
                               tla_phrase_of("%.*s.standing: a known constant needs a source: set %.*s.source", length,
                                             value, length, value)
                                   .text);
    }
}
