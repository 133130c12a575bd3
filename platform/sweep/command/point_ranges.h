/* Sets of points, as stretches in ascending order: "0-99,120,200-299". */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_POINT_RANGES_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_POINT_RANGES_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both ends are in it. */
typedef struct point_range {
    uint64_t first, last;
} point_range;

typedef struct point_ranges {
    point_range *at;
    size_t count;
} point_ranges;

/* TLA_SYNTAX with the found and the expected text, TLA_NO_HOST_MEMORY; *ranges is empty then. */
tla_status point_ranges_parse(const char *text, point_ranges *ranges, tla_error *error);

/* Adds a stretch behind the last one; false without host memory, and nothing is changed. */
bool point_ranges_add(point_ranges *ranges, uint64_t first, uint64_t last);

uint64_t point_ranges_total(const point_ranges *ranges);
void point_ranges_clear(point_ranges *ranges);

#endif
