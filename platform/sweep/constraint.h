/* Constraints of a sweep: expressions of SQLite over keys, which a point must meet. */
#ifndef TLMALLOC_PLATFORM_SWEEP_CONSTRAINT_H
#define TLMALLOC_PLATFORM_SWEEP_CONSTRAINT_H

#include "sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sweep_constraints sweep_constraints;

/* Compiles the constraints of a sweep, which must live as long. In an expression a key of the configuration, swept or
 * not, and a swept option stand for their values: numbers in bytes, picoseconds, bytes a second and so on, texts for
 * named values. A quantity with its unit (64 KiB) is also allowed. The rest is SQL: and, or, not, <=, +, *, in (...),
 * between, case, min(), max() and other functions of numbers and short texts. SELECT and functions that match patterns
 * or make large texts are excluded, so that every expression ends. TLA_SYNTAX with *bad, the number of the wrong
 * constraint; TLA_NO_HOST_MEMORY. */
tla_status constraints_compile(const sweep *s, sweep_constraints **made, size_t *bad, tla_error *error);

/* Returns whether a point meets all constraints. Constraints over keys that the point sets itself come first and need
 * no configuration. Keys with one value at all points are read from the first valid configuration; the configuration of
 * a point is read for other keys only. A point whose configuration is invalid meets those constraints: it is then
 * reported as a failure, not skipped. NULL: every point meets them. */
bool constraints_hold(sweep_constraints *c, int64_t point);

void constraints_free(sweep_constraints *c);

#ifdef __cplusplus
}
#endif
#endif
