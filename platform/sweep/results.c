/* The results of a sweep in a file of SQLite. */
#include "results.h"

#include "model/base/phrase.h"
#include "results_check.h"
#include "tlmalloc/version.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tla_status execute(sqlite3 *database, const char *path, const char *sql, tla_error *error) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ? TLA_OK : results_told(database, path, error);
}

/* ---- making ---- */

static void put_about(sqlite3 *database, const char *what, const char *text) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, "INSERT INTO sweep VALUES (?1, ?2)", -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, what, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement); /* what failed is in the transaction, whose commit fails */
}

static void put_name(sqlite3 *database, const char *sql, size_t position, const char *name, const char *other) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)position);
        sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, other, -1, SQLITE_STATIC);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
}

/* Columns have the names of keys and of figures, quoted. */
static char *table_sql(const sweep *s) {
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "CREATE TABLE point (point INTEGER PRIMARY KEY, configuration TEXT, version TEXT, "
                               "status INTEGER, message TEXT, seconds REAL");
    for (size_t i = 0; i < s->factor_count; i++)
        sqlite3_str_appendf(sql, ", \"%w\" NUMERIC", s->factors[i].name);
    for (size_t i = 0; i < s->figure_count; i++)
        sqlite3_str_appendf(sql, ", \"%w\" NUMERIC", s->figures[i].name);
    sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

static tla_status make(sweep_results *r, const sweep *s, const char *fingerprint, tla_error *error) {
    char *table = table_sql(s);
    if (!table) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", r->path);
    const tla_phrase pragmas =
        tla_phrase_of("PRAGMA application_id = %d; PRAGMA user_version = %d", RESULTS_APPLICATION, RESULTS_VERSION);
    tla_status status = execute(r->database, r->path, "BEGIN EXCLUSIVE", error);
    if (!status) status = execute(r->database, r->path, pragmas.text, error);
    if (!status)
        status = execute(r->database, r->path,
                         "CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT);"
                         "CREATE TABLE key (position INTEGER PRIMARY KEY, name TEXT, axis INTEGER);"
                         "CREATE TABLE figure (position INTEGER PRIMARY KEY, name TEXT, path TEXT)",
                         error);
    if (!status) status = execute(r->database, r->path, table, error);
    sqlite3_free(table);
    if (status) return status;
    put_about(r->database, "name", s->name);
    put_about(r->database, "about", s->about ? s->about : "");
    put_about(r->database, "command", s->command->name);
    put_about(r->database, "sample", sweep_sample_name(s->sample));
    put_about(r->database, "points", tla_phrase_of("%llu", (unsigned long long)s->count).text);
    put_about(r->database, "version", tla_version());
    put_about(r->database, "fingerprint", fingerprint);
    put_about(r->database, "text", s->text);
    for (size_t i = 0; i < s->factor_count; i++)
        put_name(r->database, "INSERT INTO key VALUES (?1, ?2, ?3)", i, s->factors[i].name,
                 tla_phrase_of("%zu", s->factors[i].axis).text);
    for (size_t i = 0; i < s->figure_count; i++)
        put_name(r->database, "INSERT INTO figure VALUES (?1, ?2, ?3)", i, s->figures[i].name, s->figures[i].path);
    return execute(r->database, r->path, "COMMIT", error);
}

/* ---- opening ---- */

static tla_status prepare(sweep_results *r, const sweep *s, tla_error *error) {
    sqlite3_str *sql = sqlite3_str_new(NULL);
    const size_t columns = RESULTS_COLUMNS + s->factor_count + s->figure_count;
    sqlite3_str_appendall(sql, "INSERT INTO point VALUES (?");
    for (size_t i = 1; i < columns; i++)
        sqlite3_str_appendall(sql, ", ?");
    sqlite3_str_appendall(sql, ")");
    char *insert = sqlite3_str_finish(sql);
    const bool good =
        insert && sqlite3_prepare_v2(r->database, insert, -1, &r->insert, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(r->database, "SELECT 1 FROM point WHERE point = ?1", -1, &r->find, NULL) == SQLITE_OK;
    sqlite3_free(insert);
    return good ? TLA_OK : results_told(r->database, r->path, error);
}

/* Whether an older file is whole and of this sweep; nothing is written to it before. */
static tla_status accept(sweep_results *r, const sweep *s, const char *fingerprint, bool resume, tla_error *error) {
    tla_status status = results_check_kind(r->database, r->path, error);
    if (!status && !resume)
        status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                               "%s: the results exist already: add --resume, or name another file", r->path);
    if (!status) status = results_check_sweep(r->database, r->path, s, fingerprint, error);
    return status ? status : execute(r->database, r->path, "BEGIN EXCLUSIVE; COMMIT", error);
}

tla_status results_open(const char *path, const sweep *s, bool resume, sweep_results *r, tla_error *error) {
    *r = (sweep_results){.path = strdup(path)};
    char fingerprint[17];
    bool exists = false;
    if (!r->path || sweep_fingerprint(s, fingerprint) == TLA_NO_HOST_MEMORY) {
        results_close(r, false);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    }
    tla_status status = results_check_place(path, &exists, error);
    if (!status && sqlite3_open_v2(path, &r->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        status = results_told(r->database, path, error);
    sqlite3_int64 pages = 0;
    if (!status) {
        sqlite3_db_config(r->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);      /* an error changes nothing */
        sqlite3_exec(r->database, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL); /* from its first lock on */
        r->created = !exists;
        /* A process may have been killed before it had made more than an empty file. */
        const bool empty = !exists || (results_number(r->database, "PRAGMA page_count", &pages) && pages == 0);
        status = empty ? make(r, s, fingerprint, error) : accept(r, s, fingerprint, resume, error);
    }
    r->accepted = !status;
    if (r->accepted) sqlite3_db_config(r->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    /* Commits then do not wait for the disk: committed rows survive the end of the process, and after a power failure
     * the file is consistent up to some commit. With the lock above no memory is shared, so any file system is
     * suitable. */
    if (!status)
        status = execute(r->database, r->path, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", error);
    if (!status) status = prepare(r, s, error);
    if (status) results_close(r, r->created);
    return status;
}

tla_status results_open_to_read(const char *path, sqlite3 **database, tla_error *error) {
    bool exists;
    *database = NULL;
    tla_status status = results_check_place(path, &exists, error);
    if (!status && access(path, R_OK) != 0)
        status = tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    if (status) return status;
    if (sqlite3_open_v2(path, database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) /* a journal may be left */
        status = results_told(*database, path, error);
    else
        status = results_check_kind(*database, path, error);
    if (status) {
        sqlite3_close(*database);
        *database = NULL;
    }
    return status;
}

/* ---- rows ---- */

bool results_have(sweep_results *r, int64_t point) {
    sqlite3_reset(r->find);
    sqlite3_bind_int64(r->find, 1, point);
    const bool found = sqlite3_step(r->find) == SQLITE_ROW;
    sqlite3_reset(r->find);
    return found;
}

bool results_figure(sweep_results *r, const sweep *s, int64_t point, size_t figure, double *value) {
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT \"%w\" FROM point WHERE point = %lld AND status = 0 AND \"%w\" IS NOT NULL",
                                s->figures[figure].name, (long long)point, s->figures[figure].name);
    const bool found = sql && sqlite3_prepare_v2(r->database, sql, -1, &statement, NULL) == SQLITE_OK &&
                       sqlite3_step(statement) == SQLITE_ROW;
    *value = found ? sqlite3_column_double(statement, 0) : 0;
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return found;
}

tla_status results_count(sweep_results *r, uint64_t *points, uint64_t *failed, tla_error *error) {
    sqlite3_int64 all = 0, bad = 0;
    if (!results_number(r->database, "SELECT count(*) FROM point WHERE point >= 0", &all) ||
        !results_number(r->database, "SELECT count(*) FROM point WHERE point >= 0 AND status != 0", &bad))
        return results_told(r->database, r->path, error);
    *points = (uint64_t)all;
    *failed = (uint64_t)bad;
    return TLA_OK;
}

static tla_status roll_back(sweep_results *r, tla_error *error) {
    const tla_status status = results_told(r->database, r->path, error);
    sqlite3_reset(r->insert);
    sqlite3_exec(r->database, "ROLLBACK", NULL, NULL, NULL);
    r->transaction = false;
    return status;
}

tla_status results_add(sweep_results *r, const sweep *s, const sweep_row_result *row, tla_error *error) {
    tla_phrase values[SWEEP_FACTORS_MAX];
    bool has[SWEEP_FACTORS_MAX];
    for (size_t i = 0; i < s->factor_count; i++) {
        const tla_status status = sweep_shown_value(s, row->point, i, &values[i], &has[i]);
        if (status) return tla_error_set(error, status, "%s: no host memory", r->path);
    }
    const tla_status begun = r->transaction ? TLA_OK : execute(r->database, r->path, "BEGIN", error);
    if (begun) return begun;
    r->transaction = true;
    sqlite3_stmt *insert = r->insert;
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    sqlite3_bind_int64(insert, RESULTS_POINT + 1, row->point);
    if (*row->configuration)
        sqlite3_bind_text(insert, RESULTS_CONFIGURATION + 1, row->configuration, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, RESULTS_TLMALLOC + 1, tla_version(), -1, SQLITE_STATIC);
    sqlite3_bind_int(insert, RESULTS_STATUS + 1, row->status);
    if (*row->message) sqlite3_bind_text(insert, RESULTS_MESSAGE + 1, row->message, -1, SQLITE_STATIC);
    sqlite3_bind_double(insert, RESULTS_SECONDS + 1, row->seconds);
    int column = RESULTS_COLUMNS + 1;
    for (size_t i = 0; i < s->factor_count; i++, column++)
        if (has[i]) sqlite3_bind_text(insert, column, values[i].text, -1, SQLITE_STATIC);
    for (size_t i = 0; i < s->figure_count; i++, column++)
        if (!isnan(row->figures[i])) sqlite3_bind_double(insert, column, row->figures[i]);
    if (sqlite3_step(insert) != SQLITE_DONE) return roll_back(r, error);
    sqlite3_reset(insert);
    return TLA_OK;
}

tla_status results_commit(sweep_results *r, tla_error *error) {
    if (!r->transaction) return TLA_OK;
    if (sqlite3_exec(r->database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) return roll_back(r, error);
    r->transaction = false;
    return TLA_OK;
}

tla_status results_forget_failed(sweep_results *r, tla_error *error) {
    return execute(r->database, r->path, "DELETE FROM point WHERE status != 0", error);
}

/* ---- another file's rows ---- */

/* Whether the rows of the file can be taken; its journal is in it then. */
static tla_status check_other(const char *path, const sweep *s, const char *fingerprint, bool *empty, bool *in_use,
                              tla_error *error) {
    sqlite3 *other = NULL;
    sqlite3_int64 pages = 0;
    bool exists;
    tla_status status = results_check_place(path, &exists, error);
    if (status) return status;
    /* The lock exists before the journal is read, so that no memory is shared: any file system is suitable. */
    bool good = sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK &&
                results_number(other, "PRAGMA page_count", &pages);
    *empty = good && pages == 0;
    if (good && !*empty) {
        sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        status = results_check_kind(other, path, error);
        if (!status) status = results_check_sweep(other, path, s, fingerprint, error);
        good = !status && sqlite3_exec(other, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; COMMIT", NULL, NULL,
                                       NULL) == SQLITE_OK;
    }
    if (!good) {
        const int code = other ? sqlite3_errcode(other) : SQLITE_NOMEM;
        *in_use = code == SQLITE_BUSY || code == SQLITE_LOCKED;
        if (*in_use)
            status = TLA_OK;
        else if (!status)
            status = results_told(other, path, error);
    }
    sqlite3_close(other);
    return status;
}

tla_status results_take(sweep_results *r, const sweep *s, const char *path, uint64_t *rows, bool *in_use,
                        tla_error *error) {
    char fingerprint[17];
    bool empty = false;
    *rows = 0;
    *in_use = false;
    if (sweep_fingerprint(s, fingerprint) == TLA_NO_HOST_MEMORY)
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    tla_status status = check_other(path, s, fingerprint, &empty, in_use, error);
    if (status || empty || *in_use) return status;
    char *attach = sqlite3_mprintf("ATTACH DATABASE %Q AS task", path);
    status = attach ? results_commit(r, error) : tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    if (!status) status = execute(r->database, path, attach, error);
    sqlite3_free(attach);
    if (status) return status;
    status = execute(r->database, r->path, "INSERT OR IGNORE INTO main.point SELECT * FROM task.point", error);
    *rows = status ? 0 : (uint64_t)sqlite3_changes64(r->database);
    sqlite3_exec(r->database, "DETACH DATABASE task", NULL, NULL, NULL);
    /* The other file may be removed now: the rows must not be in a journal alone. */
    return status ? status : execute(r->database, r->path, "PRAGMA wal_checkpoint(TRUNCATE)", error);
}

double results_mean_seconds(sweep_results *r) {
    sqlite3_stmt *statement = NULL;
    double mean = 0;
    if (sqlite3_prepare_v2(r->database, "SELECT avg(seconds) FROM point WHERE point >= 0", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        mean = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return mean;
}

void results_close(sweep_results *r, bool discard) {
    if (r->transaction) sqlite3_exec(r->database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_finalize(r->insert);
    sqlite3_finalize(r->find);
    if (r->accepted) sqlite3_exec(r->database, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL); /* one file again */
    sqlite3_close(r->database);
    char file[PATH_MAX]; /* behind symbolic links, which stay */
    if (discard && r->created && r->path && realpath(r->path, file)) unlink(file);
    free(r->path);
    *r = (sweep_results){0};
}
