/* The causes of energy, by name and by the purpose of an access. */
#include "tlmalloc/base/energy_cause.h"

#include <stddef.h>

const char *tla_energy_cause_name(tla_energy_cause cause) {
    static const char *const names[] = {"loads",    "stores", "walks", "allocator", "mapping",   "moves",
                                        "messages", "host",   "links", "refreshes", "background"};
    return (unsigned)cause < TLA_ENERGY_CAUSE_COUNT ? names[cause] : NULL;
}

tla_energy_cause tla_energy_cause_of(tla_purpose purpose, bool write) {
    static const tla_energy_cause causes[TLA_PURPOSE_COUNT] = {
        TLA_ENERGY_LOADS, TLA_ENERGY_WALKS,    TLA_ENERGY_ALLOCATOR, TLA_ENERGY_MAPPING,
        TLA_ENERGY_MOVES, TLA_ENERGY_MESSAGES, TLA_ENERGY_HOST};
    return purpose == TLA_PURPOSE_KERNEL && write ? TLA_ENERGY_STORES : causes[purpose];
}
