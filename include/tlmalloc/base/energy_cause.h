/* The causes of energy. Every picojoule of a platform belongs to exactly one of them. */
#ifndef TLMALLOC_BASE_ENERGY_CAUSE_H
#define TLMALLOC_BASE_ENERGY_CAUSE_H

#include "tlmalloc/base/purpose.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_energy_cause {
    TLA_ENERGY_LOADS,     /* a kernel's reads */
    TLA_ENERGY_STORES,    /* a kernel's writes */
    TLA_ENERGY_WALKS,     /* this and the next five: accesses of the purpose of this name */
    TLA_ENERGY_ALLOCATOR, /* and commands */
    TLA_ENERGY_MAPPING,   /* and commands */
    TLA_ENERGY_MOVES,
    TLA_ENERGY_MESSAGES,
    TLA_ENERGY_HOST,
    TLA_ENERGY_LINKS,      /* whatever they carry */
    TLA_ENERGY_REFRESHES,  /* above the background */
    TLA_ENERGY_BACKGROUND, /* of memories, whatever they do */
    TLA_ENERGY_CAUSE_COUNT
} tla_energy_cause;

/* "loads", "stores", "walks", "allocator", "mapping", "moves", "messages", "host", "links", "refreshes", "background";
 * a null pointer for another value. */
const char *tla_energy_cause_name(tla_energy_cause cause);

/* The cause of an access to memory. */
tla_energy_cause tla_energy_cause_of(tla_purpose purpose, bool write);

#ifdef __cplusplus
}
#endif
#endif
