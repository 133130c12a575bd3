/* Constraints of a sweep: expressions of SQLite over keys, which a point must meet. */
#ifndef TLMALLOC_PLATFORM_SWEEP_CONSTRAINT_H
#define TLMALLOC_PLATFORM_SWEEP_CONSTRAINT_H

#include "sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sweep_constraints sweep_constraints;

/* Compiles the constraints of a sweep, which must live as long. In an expression a key of the configuration, swept or
 * not, and a swept option stands for its value: numbers in bytes, picoseconds, bytes a second and so on, texts for what
 * has a name; so does a quantity with its unit (64 KiB). All else is SQLite's: and, or, not, <=, +, *, in (...),
 * between, case, min(), max() and other functions of numbers and short texts; no SELECT, and nothing that matches
 * patterns or makes large texts, so that every expression ends. TLA_SYNTAX with *bad, the number of the constraint that
 * is wrong; TLA_NO_HOST_MEMORY. */
tla_status constraints_compile(const sweep *s, sweep_constraints **made, size_t *bad, tla_error *error);

/* Whether a point meets all of them. Constraints over keys that the point sets itself come first and need no
 * configuration. Of keys that have one value at all points that is known from the first configuration that can be; the
 * configuration of a point is read for the others alone. Where it cannot be the point meets those: it is to be told as
 * a failure, not passed over. NULL: every point does. */
bool constraints_hold(sweep_constraints *c, int64_t point);

void constraints_free(sweep_constraints *c);

#ifdef __cplusplus
}
#endif
#endif
