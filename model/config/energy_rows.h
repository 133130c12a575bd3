/* Rows of constants in energy profiles: the value, its standing and its source. For the tables of keys, which define
 * ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_ENERGY_ROWS_H
#define TLMALLOC_MODEL_CONFIG_ENERGY_ROWS_H

#include "row.h"

#include <string.h>

#define FJ_MAX UINT64_C(1000000000000) /* 1 mJ */
#define NONE "none: specific to the part"

NAMES_OF(tla_energy_standing)

static tla_status check_source(const char *text, tla_error *wrong) {
    (void)wrong;
    return strlen(text) < TLA_ENERGY_SOURCE_MAX ? TLA_OK : TLA_SYNTAX;
}

#define SOURCE .check = check_source, .expected = "a text of at most 163 bytes"
#define CONSTANT(name, KIND, unit, index, high, zero, meaning)                                                         \
    {KIND(name.unit, constants[index].value, high), NONE, zero, meaning},                                              \
        {NAMED(name.standing, constants[index].standing, tla_energy_standing), NONE, "unknown",                        \
         "whether the source measures the constant, or extrapolates it from other parts; or assumed"},                 \
    {                                                                                                                  \
        TEXT(name.source, constants[index].source, SOURCE), NONE, "", "where the constant is from"                     \
    }

#endif
