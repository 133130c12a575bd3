/* The energy of a run, by cause, for `tlmalloc explain REPORT`. */
#ifndef TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_ENERGY_H
#define TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_ENERGY_H

#include <jansson.h>
#include <stdio.h>

/* Prints the causes of the report's energy, the largest first; nothing if the report has no energy. */
void explain_energy_print(FILE *out, const json_t *report);

/* The same as an array; a new reference, empty if the report has no energy. */
json_t *explain_energy_json(const json_t *report);

#endif
