/* Whether a file can be the results of a sweep. */
#include "results_check.h"

#include "model/base/phrase.h"
#include "results.h"
#include "tlmalloc/version.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- where it lies ---- */

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "a device";
}

/* SQLite makes, empties and removes files of its own beside a database: none of them may be something else's. */
static tla_status check_journals(const char *path, bool exists, tla_error *error) {
    static const char *const ends[] = {"-journal", "-wal", "-shm"};
    char real[PATH_MAX], journal[PATH_MAX + 16];
    if (!exists || !realpath(path, real)) snprintf(real, sizeof real, "%s", path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct stat found;
        snprintf(journal, sizeof journal, "%s%s", real, ends[i]);
        if (lstat(journal, &found) != 0) continue;
        if (!S_ISREG(found.st_mode))
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s: %s is in the place of a journal of the results: move it away, or name other results", journal,
                kind_of(found.st_mode));
        if (!exists)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s: a file is in the place of a journal of the new results: move it away, or name other results",
                journal);
    }
    return TLA_OK;
}

tla_status results_check_place(const char *path, bool *exists, tla_error *error) {
    struct stat found;
    *exists = stat(path, &found) == 0;
    if (!*exists && errno != ENOENT) return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    if (*exists && S_ISDIR(found.st_mode))
        return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(EISDIR).text);
    if (*exists && !S_ISREG(found.st_mode))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found %s, expected a regular file for results", path,
                             kind_of(found.st_mode));
    return check_journals(path, *exists, error);
}

/* ---- whether it is whole ---- */

static tla_status damaged(const char *path, const char *how, tla_error *error) {
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s: the file is damaged (%.200s): move it away to rerun its points", path, how);
}

tla_status results_told(sqlite3 *database, const char *path, tla_error *error) {
    const int code = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
    if (code == SQLITE_NOMEM) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    if (code == SQLITE_NOTADB)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: not a results file of tlmalloc sweep: name another file",
                             path);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return tla_error_set(error, TLA_IO, "%s: another process writes to it: wait until it has ended", path);
    if (code == SQLITE_CANTOPEN && sqlite3_system_errno(database))
        return tla_error_set(error, TLA_IO, "%s: cannot be opened: %s", path, strerror(sqlite3_system_errno(database)));
    if (code == SQLITE_CORRUPT) return damaged(path, sqlite3_errmsg(database), error);
    return tla_error_set(error, TLA_IO, "%s: %s", path, sqlite3_errmsg(database));
}

bool results_number(sqlite3 *database, const char *sql, sqlite3_int64 *number) {
    sqlite3_stmt *statement = NULL;
    const bool found =
        sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW;
    if (found) *number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return found;
}

char *results_about(sqlite3 *database, const char *what) {
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    if (sqlite3_prepare_v2(database, "SELECT value FROM sweep WHERE name = ?1", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, what, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        text = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* Whether pages, rows and indices agree. */
static tla_status check_pages(sqlite3 *database, const char *path, tla_error *error) {
    sqlite3_stmt *statement = NULL;
    tla_status status = TLA_OK;
    if (sqlite3_prepare_v2(database, "PRAGMA integrity_check(1)", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        status = results_told(database, path, error);
    } else {
        const char *const said = (const char *)sqlite3_column_text(statement, 0);
        if (!said || strcmp(said, "ok") != 0) status = damaged(path, said ? said : "unknown reason", error);
    }
    sqlite3_finalize(statement);
    return status;
}

/* ---- of which sweep it is ---- */

tla_status results_check_kind(sqlite3 *database, const char *path, tla_error *error) {
    sqlite3_int64 application = 0, version = 0;
    if (!results_number(database, "PRAGMA application_id", &application) ||
        !results_number(database, "PRAGMA user_version", &version))
        return results_told(database, path, error);
    if (application != RESULTS_APPLICATION)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: not a results file of tlmalloc sweep: name another file",
                             path);
    if (version != RESULTS_VERSION)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: the file has version %d, expected version %d: run the sweep into another file", path,
                             (int)version, RESULTS_VERSION);
    return check_pages(database, path, error);
}

/* Damage that SQLite does not see: a row's number, or its status, is another one. */
static tla_status check_rows(sqlite3 *database, const char *path, const sweep *s, tla_error *error) {
    sqlite3_int64 bad = 0;
    const tla_phrase sql = tla_phrase_of("SELECT count(*) FROM point WHERE point NOT BETWEEN %lld AND %lld OR "
                                         "typeof(status) != 'integer'",
                                         (long long)SWEEP_BASE_POINT, (long long)s->count - 1);
    if (!results_number(database, sql.text, &bad)) return results_told(database, path, error);
    return bad ? damaged(path, "it has rows of points that the sweep does not have", error) : TLA_OK;
}

tla_status results_check_sweep(sqlite3 *database, const char *path, const sweep *s, const char *fingerprint,
                               tla_error *error) {
    char *version = results_about(database, "version"), *sweep_is = results_about(database, "fingerprint");
    tla_status status = TLA_OK;
    sqlite3_int64 known = 0;
    if (!version || !sweep_is)
        status =
            !results_number(database, "SELECT count(*) FROM sweep WHERE name IN ('version', 'fingerprint')", &known)
                ? results_told(database, path, error)
            : known == 2 ? tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path)
                         : tla_error_set(error, TLA_INVALID_ARGUMENT,
                                         "%s: not a results file of tlmalloc sweep: name another file", path);
    else if (strcmp(version, tla_version()) != 0)
        status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                               "%s: the results were written by tlmalloc %s, expected %s: use that version, or run the "
                               "sweep into another file",
                               path, version, tla_version());
    else if (strcmp(sweep_is, fingerprint) != 0)
        status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                               "%s: the results belong to another sweep, or the sweep or one of its files has changed "
                               "since: run the sweep into another file",
                               path);
    free(version);
    free(sweep_is);
    return status ? status : check_rows(database, path, s, error);
}
