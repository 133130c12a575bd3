/* The results of a sweep, read for a study. */
#include "study_read.h"
#include "model/base/grow.h"

#include "model/base/suggest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tla_status study_no_memory(const study *s, tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory for a study", s->path ? s->path : "");
}

tla_status study_prepare(const study *s, const char *sql, sqlite3_stmt **statement, tla_error *error) {
    *statement = NULL;
    if (!sql) return study_no_memory(s, error);
    if (sqlite3_prepare_v2(s->database, sql, -1, statement, NULL) == SQLITE_OK) return TLA_OK;
    return tla_error_set(error, TLA_IO, "%s: %s", s->path, sqlite3_errmsg(s->database));
}

tla_status study_ended(const study *s, int code, tla_error *error) {
    if (code == SQLITE_DONE || code == SQLITE_ROW) return TLA_OK;
    if (code == SQLITE_NOMEM) return study_no_memory(s, error);
    return tla_error_set(error, TLA_IO, "%s: %s", s->path, sqlite3_errmsg(s->database));
}

static const char *column_text(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

static tla_status read_names(study *s, const char *sql, char ***names, size_t **numbers, size_t *count,
                             tla_error *error) {
    sqlite3_stmt *statement;
    tla_status status = study_prepare(s, sql, &statement, error);
    int code = SQLITE_DONE;
    while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const bool room = tla_grow_by_one(names, *count, sizeof **names) &&
                          (!numbers || tla_grow_by_one(numbers, *count, sizeof **numbers));
        char *name = room ? strdup(column_text(statement, 0)) : NULL;
        if (!name) {
            status = study_no_memory(s, error);
            break;
        }
        (*names)[*count] = name;
        if (numbers) (*numbers)[*count] = (size_t)sqlite3_column_int64(statement, 1);
        ++*count;
    }
    if (!status) status = study_ended(s, code, error);
    sqlite3_finalize(statement);
    return status;
}

/* One factor for each axis, named by its keys. */
static tla_status make_factors(study *s, tla_error *error) {
    for (size_t i = 0; i < s->key_count; i++)
        if (s->key_axes[i] >= s->factor_count) s->factor_count = s->key_axes[i] + 1;
    if (s->factor_count > s->key_count) {
        s->factor_count = 0;
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: the results have axes without keys", s->path);
    }
    s->factors = calloc(s->factor_count + 1, sizeof *s->factors);
    if (!s->factors) return study_no_memory(s, error);
    for (size_t i = 0; i < s->key_count; i++) {
        study_factor *f = &s->factors[s->key_axes[i]];
        const size_t room = strlen(s->key_names[i]) + (f->name ? strlen(f->name) : 0) + 4;
        char *name = malloc(room);
        if (!name) return study_no_memory(s, error);
        snprintf(name, room, "%s%s%s", f->name ? f->name : "", f->name ? " + " : "", s->key_names[i]);
        free(f->name);
        f->name = name;
    }
    return TLA_OK;
}

tla_status study_open(const char *path, study *s, tla_error *error) {
    *s = (study){.path = strdup(path)};
    tla_status status = s->path ? results_open_to_read(path, &s->database, error) : study_no_memory(s, error);
    if (!status)
        status = read_names(s, "SELECT name, axis FROM key ORDER BY position", &s->key_names, &s->key_axes,
                            &s->key_count, error);
    if (!status)
        status =
            read_names(s, "SELECT name FROM figure ORDER BY position", &s->figure_names, NULL, &s->figure_count, error);
    if (!status) status = make_factors(s, error);
    if (status) study_close(s);
    return status;
}

static void clear_levels(study_factor *f) {
    for (size_t i = 0; i < f->level_count; i++)
        free(f->levels[i].text);
    free(f->levels);
    f->levels = NULL;
    f->level_count = 0;
}

void study_close(study *s) {
    for (size_t i = 0; s->factors && i < s->factor_count; i++) {
        clear_levels(&s->factors[i]);
        free(s->factors[i].name);
    }
    for (size_t i = 0; i < s->key_count; i++)
        free(s->key_names[i]);
    for (size_t i = 0; i < s->figure_count; i++)
        free(s->figure_names[i]);
    free(s->key_names);
    free(s->key_axes);
    free(s->figure_names);
    free(s->factors);
    free(s->pairs);
    free(s->points);
    free(s->goals);
    free(s->levels);
    free(s->returns);
    free(s->front);
    free(s->path);
    sqlite3_close(s->database);
    *s = (study){0};
}

tla_status study_find_goal(const char *where, const char *const *figures, size_t count, const char *text,
                           study_goal *goal, tla_error *error) {
    goal->most = strncmp(text, "max ", 4) == 0;
    if (goal->most || strncmp(text, "min ", 4) == 0) text += 4;
    tla_nearest nearest = tla_nearest_to(text);
    tla_phrase names = {""};
    for (goal->figure = 0; goal->figure < count; goal->figure++) {
        const char *name = figures[goal->figure];
        if (strcmp(name, text) == 0) return TLA_OK;
        tla_nearest_try(&nearest, name, strlen(name));
        names = tla_phrase_of("%s%s%s", names.text, *names.text ? ", " : "", name);
    }
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "found %s, expected a figure of %s: %s%s%s%s",
                         tla_quote(text).text, where, names.text, nearest.found ? ", did you mean \"" : "",
                         nearest.found ? nearest.name.text : "", nearest.found ? "\"?" : "");
}

tla_status study_parse_goal(const study *s, const char *text, study_goal *goal, tla_error *error) {
    return study_find_goal(s->path, (const char *const *)s->figure_names, s->figure_count, text, goal, error);
}

/* ---- levels ---- */

/* A value as every spelling of it is shown, and its number. */
static tla_phrase canonical(const char *text, bool *is_number, double *number) {
    uint64_t whole;
    char *end;
    for (tla_value_type type = TLA_VALUE_COUNT; type <= TLA_VALUE_LAST_NUMBER; type++)
        if (tla_number_parse(type, text, &whole, NULL) == TLA_OK) {
            *is_number = true;
            *number = (double)whole;
            return tla_number_print(type, whole);
        }
    *number = strtod(text, &end);
    *is_number = *text && !*end && isfinite(*number);
    return tla_phrase_of("%s", text);
}

/* Returns the label of a factor at the current row of a statement, whose columns of keys begin at `first`. */
static tla_phrase label(const study *s, size_t factor, sqlite3_stmt *row, int first, bool *is_number, double *number) {
    tla_phrase all = {""};
    bool found = false;
    for (size_t key = 0; key < s->key_count; key++) {
        bool numeric;
        double value;
        if (s->key_axes[key] != factor) continue;
        const tla_phrase text = canonical(column_text(row, first + (int)key), &numeric, &value);
        if (!found) *is_number = numeric, *number = value;
        all = found ? tla_phrase_of("%s, %s", all.text, text.text) : text;
        found = true;
    }
    return all;
}

static int compare_numbers(const void *a, const void *b) {
    const double x = ((const study_level *)a)->number, y = ((const study_level *)b)->number;
    return (x > y) - (x < y);
}

/* The levels of a factor by their texts, so that a row's is found at once. */
typedef struct level_index {
    uint32_t *order; /* levels, by text */
    uint32_t *group; /* the level that stands for it in the end */
    size_t count, room;
} level_index;

static size_t place_of(const study_factor *f, const level_index *index, const char *text, bool *found) {
    size_t low = 0, high = index->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(f->levels[index->order[middle]].text, text);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

static bool grow(study_factor *f, level_index *index) {
    size_t room = index->room;
    return tla_grow(&f->levels, &room, index->count + 1, sizeof *f->levels) &&
           tla_grow(&index->order, &index->room, index->count + 1, sizeof *index->order);
}

/* The level of this text, added where it is new; UINT32_MAX without host memory. */
static uint32_t level_of(study_factor *f, level_index *index, const char *text, bool is_number, double number) {
    bool found;
    const size_t place = place_of(f, index, text, &found);
    if (found) return index->order[place];
    char *copy = grow(f, index) ? strdup(text) : NULL;
    if (!copy) return UINT32_MAX;
    memmove(&index->order[place + 1], &index->order[place], (index->count - place) * sizeof *index->order);
    index->order[place] = (uint32_t)index->count;
    f->levels[index->count++] = (study_level){.text = copy, .is_number = is_number, .number = number};
    f->level_count = index->count;
    return (uint32_t)(index->count - 1);
}

/* Sorts the levels of a factor whose values are numbers, and groups those of a drawn number; group maps each old level
 * to its new level. */
static bool make_groups(study *s, size_t factor, level_index *index) {
    study_factor *f = &s->factors[factor];
    const bool together = f->level_count > STUDY_LEVELS_MAX;
    for (size_t i = 0; i < f->level_count; i++) {
        if (!f->levels[i].is_number) return true;
        f->levels[i].effect = (double)i; /* the old place, while they are sorted */
    }
    qsort(f->levels, f->level_count, sizeof *f->levels, compare_numbers);
    study_level *groups = calloc(f->level_count + 1, sizeof *groups);
    index->group = calloc(f->level_count + 1, sizeof *index->group);
    if (!groups || !index->group) {
        free(groups);
        return false;
    }
    size_t seen = 0, made = 0, first = 0;
    bool good = true;
    for (size_t i = 0; i < f->level_count; i++) {
        study_level *g = &groups[made];
        index->group[(size_t)f->levels[i].effect] = (uint32_t)made;
        g->number += f->levels[i].number * (double)f->levels[i].points;
        g->points += f->levels[i].points;
        seen += f->levels[i].points;
        if (together && seen * STUDY_BINS < (made + 1) * s->row_count && i + 1 < f->level_count) continue;
        const tla_phrase text = tla_phrase_of("%.100s .. %.100s", f->levels[first].text, f->levels[i].text);
        g->text = strdup(first == i ? f->levels[i].text : text.text);
        good &= g->text != NULL;
        g->is_number = true;
        g->number /= (double)g->points;
        first = i + 1;
        made++;
    }
    clear_levels(f);
    f->levels = groups;
    f->level_count = made;
    f->together = together;
    return good;
}

/* ---- rows ---- */

static char *rows_sql(const study *s, bool base) {
    sqlite3_str *sql = sqlite3_str_new(s->database);
    sqlite3_str_appendf(sql, "SELECT point, \"%w\"", s->figure_names[s->goal.figure]);
    for (size_t i = 0; i < s->key_count; i++)
        sqlite3_str_appendf(sql, ", \"%w\"", s->key_names[i]);
    sqlite3_str_appendf(sql, " FROM point WHERE status = 0 AND \"%w\" IS NOT NULL AND point %s ORDER BY point",
                        s->figure_names[s->goal.figure], base ? "= -1" : ">= 0");
    return sqlite3_str_finish(sql);
}

static tla_status count_points(study *s, tla_error *error) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("SELECT count(*), coalesce(sum(status = 0 AND \"%w\" IS NOT NULL), 0) FROM point "
                                "WHERE point >= 0",
                                s->figure_names[s->goal.figure]);
    tla_status status = study_prepare(s, sql, &statement, error);
    sqlite3_free(sql);
    if (status) return status;
    status = study_ended(s, sqlite3_step(statement), error);
    s->point_count = (size_t)sqlite3_column_int64(statement, 0);
    s->row_count = (size_t)sqlite3_column_int64(statement, 1);
    s->failed_count = s->point_count - s->row_count;
    sqlite3_finalize(statement);
    return status;
}

static bool read_row(study *s, sqlite3_stmt *statement, size_t row, level_index *indices) {
    s->points[row] = sqlite3_column_int64(statement, 0);
    s->goals[row] = sqlite3_column_double(statement, 1);
    for (size_t factor = 0; factor < s->factor_count; factor++) {
        bool is_number = false;
        double number = 0;
        const tla_phrase text = label(s, factor, statement, 2, &is_number, &number);
        const uint32_t level = level_of(&s->factors[factor], &indices[factor], text.text, is_number, number);
        if (level == UINT32_MAX) return false;
        s->factors[factor].levels[level].points++;
        s->levels[row * s->factor_count + factor] = level;
    }
    return true;
}

static tla_status read_points(study *s, level_index *indices, tla_error *error) {
    sqlite3_stmt *statement;
    char *sql = rows_sql(s, false);
    tla_status status = study_prepare(s, sql, &statement, error);
    sqlite3_free(sql);
    size_t row = 0;
    int code = SQLITE_DONE;
    for (; !status && row < s->row_count && (code = sqlite3_step(statement)) == SQLITE_ROW; row++)
        if (!read_row(s, statement, row, indices)) status = study_no_memory(s, error);
    if (!status) status = study_ended(s, code, error);
    sqlite3_finalize(statement);
    return status;
}

/* The base's goal and, of every factor that has its value among its levels, which one it is. */
static tla_status read_base(study *s, level_index *indices, tla_error *error) {
    sqlite3_stmt *statement;
    char *sql = rows_sql(s, true);
    tla_status status = study_prepare(s, sql, &statement, error);
    sqlite3_free(sql);
    const int code = status ? SQLITE_DONE : sqlite3_step(statement);
    if (!status) status = study_ended(s, code, error);
    s->has_base = !status && code == SQLITE_ROW;
    if (s->has_base) s->base_goal = sqlite3_column_double(statement, 1);
    for (size_t factor = 0; factor < s->factor_count; factor++) {
        bool is_number, found = false;
        double number;
        s->factors[factor].base_level = SIZE_MAX;
        if (!s->has_base) continue;
        const tla_phrase text = label(s, factor, statement, 2, &is_number, &number);
        const size_t place = place_of(&s->factors[factor], &indices[factor], text.text, &found);
        if (found) s->factors[factor].base_level = indices[factor].order[place];
    }
    sqlite3_finalize(statement);
    return status;
}

/* Levels by the numbers that they have now; group NULL: those of before. */
static void renumber(study *s, size_t factor, const uint32_t *group) {
    study_factor *f = &s->factors[factor];
    for (size_t row = 0; row < s->row_count && group; row++) {
        uint32_t *level = &s->levels[row * s->factor_count + factor];
        *level = group[*level];
    }
    if (group && f->base_level != SIZE_MAX) f->base_level = f->together ? SIZE_MAX : group[f->base_level];
}

tla_status study_read(study *s, tla_error *error) {
    tla_status status = count_points(s, error);
    if (status) return status;
    if (!s->row_count)
        return tla_error_set(error, TLA_NOT_FOUND,
                             "%s: none of %zu points has the figure %s: see status and message in its table point",
                             s->path, s->point_count, s->figure_names[s->goal.figure]);
    level_index *indices = calloc(s->factor_count + 1, sizeof *indices);
    s->points = calloc(s->row_count, sizeof *s->points);
    s->goals = calloc(s->row_count, sizeof *s->goals);
    s->levels = calloc(s->row_count * s->factor_count + 1, sizeof *s->levels);
    if (!indices || !s->points || !s->goals || !s->levels) status = study_no_memory(s, error);
    if (!status) status = read_points(s, indices, error);
    if (!status) status = read_base(s, indices, error);
    for (size_t factor = 0; factor < s->factor_count && !status; factor++)
        if (make_groups(s, factor, &indices[factor]))
            renumber(s, factor, indices[factor].group);
        else
            status = study_no_memory(s, error);
    for (size_t factor = 0; indices && factor < s->factor_count; factor++) {
        free(indices[factor].order);
        free(indices[factor].group);
    }
    free(indices);
    return status;
}

char *study_cell(const study *s, int64_t point, const char *column) {
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT \"%w\" FROM point WHERE point = ?1", column), *text = NULL;
    if (sql && sqlite3_prepare_v2(s->database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, point) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        text = strdup(column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return text;
}
