/* The points of a sweep that no other is better than. */
#include "model/base/grow.h"
#include "study_read.h"

#include <stdlib.h>
#include <string.h>

/* Figures of a candidate, the smaller the better. */
typedef struct candidate {
    int64_t point;
    double figures[SWEEP_FIGURES_MAX];
} candidate;

/* At least as good in all. */
static bool covers(const candidate *a, const candidate *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (a->figures[i] > b->figures[i]) return false;
    return true;
}

/* By the first figure; of equal ones the earlier point. */
static int compare(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->figures[0] != y->figures[0]) return x->figures[0] < y->figures[0] ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

/* Adds a candidate to the front unless a member covers it, and removes the members that it covers. If two are equal in
 * all figures, the earlier stays. */
static size_t take(candidate *front, size_t count, const candidate *c, size_t figures) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (covers(&front[i], c, figures)) return count;
    for (size_t i = 0; i < count; i++)
        if (!covers(c, &front[i], figures)) front[kept++] = front[i];
    front[kept] = *c;
    return kept + 1;
}

static char *front_sql(const study *s, const study_goal *goals, size_t count) {
    sqlite3_str *sql = sqlite3_str_new(s->database);
    sqlite3_str_appendall(sql, "SELECT point");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, ", %s\"%w\"", goals[i].most ? "-" : "", s->figure_names[goals[i].figure]);
    sqlite3_str_appendall(sql, " FROM point WHERE status = 0 AND point >= 0");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, " AND \"%w\" IS NOT NULL", s->figure_names[goals[i].figure]);
    sqlite3_str_appendall(sql, " ORDER BY point");
    return sqlite3_str_finish(sql);
}

tla_status study_pareto(study *s, const study_goal *goals, size_t goal_count, tla_error *error) {
    sqlite3_stmt *statement;
    char *sql = front_sql(s, goals, goal_count);
    tla_status status = study_prepare(s, sql, &statement, error);
    sqlite3_free(sql);
    candidate *front = NULL;
    size_t count = 0, room = 0;
    int code = SQLITE_DONE;
    while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        candidate c = {.point = sqlite3_column_int64(statement, 0)};
        for (size_t i = 0; i < goal_count; i++)
            c.figures[i] = sqlite3_column_double(statement, (int)i + 1);
        if (!tla_grow(&front, &room, count + 1, sizeof *front)) {
            status = study_no_memory(s, error);
            break;
        }
        count = take(front, count, &c, goal_count);
    }
    if (!status) status = study_ended(s, code, error);
    sqlite3_finalize(statement);
    free(s->front);
    s->front = status ? NULL : calloc(count + 1, sizeof *s->front);
    s->front_count = s->front ? count : 0;
    if (!status && !s->front) status = study_no_memory(s, error);
    if (s->front_count) qsort(front, count, sizeof *front, compare);
    for (size_t i = 0; i < s->front_count; i++)
        s->front[i] = front[i].point;
    free(front);
    return status;
}
