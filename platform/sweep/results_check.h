/* Whether a file can be the results of a sweep: where it lies, whether it is whole, and of which sweep it is. */
#ifndef TLMALLOC_PLATFORM_SWEEP_RESULTS_CHECK_H
#define TLMALLOC_PLATFORM_SWEEP_RESULTS_CHECK_H

#include "sweep.h"

#include <sqlite3.h>

/* Checks the place of the file: only a regular file is opened, or made if missing; *exists: it exists.
 * TLA_IO for a directory; TLA_INVALID_ARGUMENT for a device, a pipe or a socket, also behind symbolic links, and if a
 * journal that SQLite makes and removes beside the file would be another file. Nothing is changed. */
tla_status results_check_place(const char *path, bool *exists, tla_error *error);

/* Whether a database has results, all of its pages and rows agree, and this program knows its version. Reads all of it.
 * TLA_INVALID_ARGUMENT; TLA_IO when it cannot be read or another process writes to it; TLA_NO_HOST_MEMORY. */
tla_status results_check_kind(sqlite3 *database, const char *path, tla_error *error);

/* Whether results are of this sweep and of this version of tlmalloc, and have rows of its points only. Errors as above.
 */
tla_status results_check_sweep(sqlite3 *database, const char *path, const sweep *s, const char *fingerprint,
                               tla_error *error);

/* The status and text of the database's last error. */
tla_status results_told(sqlite3 *database, const char *path, tla_error *error);

/* The number that a statement of one row and column gives; false when it gives none. */
bool results_number(sqlite3 *database, const char *sql, sqlite3_int64 *number);

#endif
