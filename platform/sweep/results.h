/* The results of a sweep: a file of SQLite, a row for each point that has ended, its figures and how it ended. */
#ifndef TLMALLOC_PLATFORM_SWEEP_RESULTS_H
#define TLMALLOC_PLATFORM_SWEEP_RESULTS_H

#include "sweep.h"

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/* PRAGMA application_id ("tlms") and user_version of such a file. */
enum { RESULTS_APPLICATION = 0x746C6D73, RESULTS_VERSION = 1 };

/* Columns of the table `point` before those of the keys and of the figures. */
enum {
    RESULTS_POINT,
    RESULTS_CONFIGURATION,
    RESULTS_TLMALLOC,
    RESULTS_STATUS,
    RESULTS_MESSAGE,
    RESULTS_SECONDS,
    RESULTS_COLUMNS
};

/* How a point has ended. */
typedef struct sweep_row_result {
    int64_t point;
    char configuration[17];            /* sweep_hash; "" where the configuration cannot be */
    int status;                        /* the exit status, or 128 and the number of the signal */
    char message[512];                 /* why, in a line; "" for status 0 */
    double seconds;                    /* on the host */
    double figures[SWEEP_FIGURES_MAX]; /* NaN: the report has none */
} sweep_row_result;

typedef struct sweep_results {
    sqlite3 *database;
    sqlite3_stmt *insert, *find;
    char *path;
    bool created;     /* by this process */
    bool accepted;    /* it is whole and of this sweep, or was made */
    bool transaction; /* rows have been added and not committed */
} sweep_results;

/* Opens the file for the points of a sweep, or makes it. An existing file is accepted only with `resume`, and only if
 * it is of the same sweep (sweep_fingerprint), of this version of tlmalloc and complete (results_check.h).
 * TLA_INVALID_ARGUMENT for other files, and for a device, a pipe or a socket, with a text; TLA_IO when it cannot be
 * read or written, is a directory, or another process writes to it; TLA_NO_HOST_MEMORY. A rejected file is unchanged;
 * *r needs no results_close then. */
tla_status results_open(const char *path, const sweep *s, bool resume, sweep_results *r, tla_error *error);

/* Whether the file has the point. */
bool results_have(sweep_results *r, int64_t point);

/* Reads a figure of an existing point; false when the point failed or lacks it. */
bool results_figure(sweep_results *r, const sweep *s, int64_t point, size_t figure, double *value);

/* How many points it has, without the base, and how many of them have a status that is not 0. */
tla_status results_count(sweep_results *r, uint64_t *points, uint64_t *failed, tla_error *error);

/* Adds a row; it is in the file, and stays there whatever happens, when results_commit has returned. TLA_IO when the
 * file cannot be written: rows of earlier commits stay. TLA_NO_HOST_MEMORY: rows that were added before stay, too. */
tla_status results_add(sweep_results *r, const sweep *s, const sweep_row_result *row, tla_error *error);
tla_status results_commit(sweep_results *r, tla_error *error);

/* Forgets the rows that fail (status other than 0), so that they run again. */
tla_status results_forget_failed(sweep_results *r, tla_error *error);

/* Takes the rows of another file of the same sweep and version that are not there yet; they are in this file when it
 * returns. *rows: how many. *in_use: another process writes to that file, and nothing was taken. An empty file has no
 * rows. Errors as of results_open. */
tla_status results_take(sweep_results *r, const sweep *s, const char *path, uint64_t *rows, bool *in_use,
                        tla_error *error);

/* How long a point takes on average, in seconds; 0 when no point has a row. */
double results_mean_seconds(sweep_results *r);

/* Opens a file to read it: whatever sweep it is of. Errors as above. */
tla_status results_open_to_read(const char *path, sqlite3 **database, tla_error *error);

/* Returns a text that the file has about the sweep ("name", "command", "version", "text", ...); NULL for a missing
 * text, or without host memory. From malloc. */
char *results_about(sqlite3 *database, const char *what);

/* Closes the file. `discard`: removes it if it was made by this process. */
void results_close(sweep_results *r, bool discard);

#ifdef __cplusplus
}
#endif
#endif
