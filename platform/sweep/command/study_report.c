/* The report of a study: as text, as JSON and as CSV. */
#include "sweep/command/study_report.h"

#include "cli/config_json.h"
#include "cli/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *goal_name(const study *s) {
    return s->figure_names[s->goal.figure];
}

/* How much better than the base, in percent of it. */
static double gain_pct(const study *s, double goal) {
    const double gain = s->goal.most ? goal - s->base_goal : s->base_goal - goal;
    return s->base_goal != 0 ? 100 * gain / fabs(s->base_goal) : 0;
}

/* Removes the rest of rounding, which is no effect. */
static double without_rounding(double percent) {
    return fabs(percent) < 1e-9 ? 0 : percent;
}

static double percent_of_mean(const study *s, double effect) {
    return s->mean != 0 ? without_rounding(100 * effect / fabs(s->mean)) : 0;
}

static uint32_t best_level(const study *s, size_t factor) {
    return s->levels[s->best * s->factor_count + factor];
}

/* ---- for a person ---- */

static void print_best(FILE *out, const study *s) {
    const double best = s->goals[s->best];
    fprintf(out, "best: point %" PRId64 ", %.6g", s->points[s->best], best);
    if (s->has_base)
        fprintf(out, ", %.4g %% %s than the base's %.6g", fabs(gain_pct(s, best)),
                gain_pct(s, best) < 0 ? "worse" : "better", s->base_goal);
    fputc('\n', out);
    for (size_t i = 0; i < s->key_count; i++) {
        char *value = study_cell(s, s->points[s->best], s->key_names[i]);
        char *base = s->has_base ? study_cell(s, SWEEP_BASE_POINT, s->key_names[i]) : NULL;
        const study_return *back = &s->returns[s->key_axes[i]];
        const bool moved = base && value && strcmp(base, value) != 0;
        print_escaped(out, "  %-36s ", s->key_names[i]);
        if (moved)
            print_escaped(out, "%-12s base %s", value, base);
        else
            print_escaped(out, "%s", value ? value : "?");
        if (moved && back->known)
            fprintf(out, "; with the base's value it is %.6g, %+.4g %%", back->goal,
                    best != 0 ? 100 * (back->goal - best) / fabs(best) : 0);
        fputc('\n', out);
        free(value);
        free(base);
    }
}

/* The factors by their shares, the largest first. */
static void sort_factors(const study *s, size_t order[SWEEP_FACTORS_MAX]) {
    for (size_t i = 0; i < s->factor_count && i < SWEEP_FACTORS_MAX; i++) {
        size_t at = i;
        for (; at > 0 && s->factors[order[at - 1]].share < s->factors[i].share; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* One value after the other, in lines of the same beginning. */
static void print_effects(FILE *out, const study *s, const study_factor *f) {
    enum { BEGINNING = 61, COLUMNS = 119 };
    size_t column = BEGINNING;
    for (size_t level = 0; level < f->level_count; level++) {
        const tla_phrase text =
            tla_phrase_of(" %s %+.3g%s", f->levels[level].text, percent_of_mean(s, f->levels[level].effect),
                          level + 1 < f->level_count ? "," : "");
        if (column + strlen(text.text) > COLUMNS && column > BEGINNING) {
            fprintf(out, "\n%*s", BEGINNING, "");
            column = BEGINNING;
        }
        print_escaped(out, "%s", text.text);
        column += strlen(text.text);
    }
    fputc('\n', out);
}

static void print_factors(FILE *out, const study *s) {
    size_t order[SWEEP_FACTORS_MAX];
    sort_factors(s, order);
    fprintf(out, "%-38s %9s %11s  %s\n", "key", "share, %", "elasticity", "effects, % of the mean");
    for (size_t i = 0; i < s->factor_count; i++) {
        const study_factor *f = &s->factors[order[i]];
        print_escaped(out, "%-38s %9.2f ", f->name, 100 * f->share);
        if (f->has_elasticity)
            fprintf(out, "%11.4f ", f->elasticity);
        else
            fprintf(out, "%11s ", "-");
        print_effects(out, s, f);
    }
    enum { PAIRS_SHOWN = 5 };
    for (size_t i = 0; i < s->pair_count && i < PAIRS_SHOWN; i++) {
        print_escaped(out, "%s x %s: %.2f %%", s->factors[s->pairs[i].first].name, s->factors[s->pairs[i].second].name,
                      100 * s->pairs[i].share);
        fputc('\n', out);
    }
    if (s->factor_count > 2)
        fprintf(out, "interactions of three or more keys, and differences inside bins: %.2f %%\n",
                without_rounding(100 * s->rest));
}

static void print_front(FILE *out, const study *s, const study_front *front) {
    enum { POINTS_SHOWN = 20 };
    fprintf(out, "Pareto front: %zu points\n%8s", s->front_count, "point");
    for (size_t i = 0; i < front->count; i++)
        print_escaped(out, " %16s", s->figure_names[front->goals[i].figure]);
    for (size_t i = 0; i < s->key_count; i++)
        print_escaped(out, "  %s", s->key_names[i]);
    fputc('\n', out);
    for (size_t point = 0; point < s->front_count && point < POINTS_SHOWN; point++) {
        fprintf(out, "%8" PRId64, s->front[point]);
        for (size_t i = 0; i < front->count + s->key_count; i++) {
            const bool figure = i < front->count;
            char *text = study_cell(s, s->front[point],
                                    figure ? s->figure_names[front->goals[i].figure] : s->key_names[i - front->count]);
            print_escaped(out, figure ? " %16s" : "  %s", text ? text : "?");
            free(text);
        }
        fputc('\n', out);
    }
    if (s->front_count > POINTS_SHOWN) fprintf(out, "     ... (--json has all)\n");
}

void study_print(FILE *out, const study *s, const study_front *front) {
    char *name = results_about(s->database, "name"), *command = results_about(s->database, "command");
    print_escaped(out, "%s: %zu points of `%s', %zu failed; %s, the %s the better", name ? name : "?", s->point_count,
                  command ? command : "?", s->failed_count, goal_name(s), s->goal.most ? "larger" : "smaller");
    fputc('\n', out);
    free(name);
    free(command);
    fprintf(out, "mean %.6g, standard deviation %.4g %%\n", s->mean, percent_of_mean(s, sqrt(s->variance)));
    print_best(out, s);
    print_factors(out, s);
    if (front->count) print_front(out, s, front);
}

/* ---- JSON ---- */

static json_t *real_or_null(bool known, double value) {
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *best_to_json(const study *s) {
    json_t *best = json_object(), *settings = json_array();
    for (size_t i = 0; i < s->key_count; i++) {
        char *value = study_cell(s, s->points[s->best], s->key_names[i]);
        json_t *setting = json_object();
        json_object_set_new(setting, "key", json_from_text(s->key_names[i]));
        json_object_set_new(setting, "value", json_from_text(value ? value : ""));
        json_array_append_new(settings, setting);
        free(value);
    }
    json_object_set_new(best, "point", json_integer(s->points[s->best]));
    json_object_set_new(best, "goal", json_real(s->goals[s->best]));
    json_object_set_new(best, "gain_pct", real_or_null(s->has_base, gain_pct(s, s->goals[s->best])));
    json_object_set_new(best, "settings", settings);
    return best;
}

static json_t *factor_to_json(const study *s, size_t factor) {
    const study_factor *f = &s->factors[factor];
    json_t *object = json_object(), *levels = json_array();
    for (size_t i = 0; i < f->level_count; i++) {
        json_t *level = json_object();
        json_object_set_new(level, "value", json_from_text(f->levels[i].text));
        json_object_set_new(level, "points", json_from_u64(f->levels[i].points));
        json_object_set_new(level, "effect", json_real(f->levels[i].effect));
        json_array_append_new(levels, level);
    }
    json_object_set_new(object, "factor", json_from_text(f->name));
    json_object_set_new(object, "share", json_real(f->share));
    json_object_set_new(object, "elasticity", real_or_null(f->has_elasticity, f->elasticity));
    json_object_set_new(object, "base",
                        f->base_level != SIZE_MAX ? json_from_text(f->levels[f->base_level].text) : json_null());
    json_object_set_new(object, "best", json_from_text(f->levels[best_level(s, factor)].text));
    json_object_set_new(object, "goal_at_base", real_or_null(s->returns[factor].known, s->returns[factor].goal));
    json_object_set_new(object, "levels", levels);
    return object;
}

static json_t *front_to_json(const study *s, const study_front *front) {
    json_t *list = json_array();
    for (size_t i = 0; i < s->front_count; i++) {
        json_t *object = json_object(), *figures = json_array();
        for (size_t figure = 0; figure < front->count; figure++) {
            char *text = study_cell(s, s->front[i], s->figure_names[front->goals[figure].figure]);
            json_array_append_new(figures, json_real(text ? strtod(text, NULL) : 0));
            free(text);
        }
        json_object_set_new(object, "point", json_integer(s->front[i]));
        json_object_set_new(object, "figures", figures);
        json_array_append_new(list, object);
    }
    return list;
}

static void add_about(json_t *report, const study *s, const char *what) {
    char *text = results_about(s->database, what);
    json_object_set_new(report, what, json_from_text(text ? text : ""));
    free(text);
}

json_t *study_to_json(const study *s, const study_front *front) {
    json_t *report = json_object(), *factors = json_array(), *pairs = json_array(), *figures = json_array();
    add_about(report, s, "name");
    add_about(report, s, "command");
    add_about(report, s, "version");
    for (size_t i = 0; i < s->factor_count; i++)
        json_array_append_new(factors, factor_to_json(s, i));
    for (size_t i = 0; i < s->pair_count; i++) {
        json_t *pair = json_object();
        json_object_set_new(pair, "first", json_from_text(s->factors[s->pairs[i].first].name));
        json_object_set_new(pair, "second", json_from_text(s->factors[s->pairs[i].second].name));
        json_object_set_new(pair, "share", json_real(s->pairs[i].share));
        json_array_append_new(pairs, pair);
    }
    for (size_t i = 0; i < front->count; i++)
        json_array_append_new(figures, json_from_text(s->figure_names[front->goals[i].figure]));
    json_object_set_new(report, "points", json_from_u64(s->point_count));
    json_object_set_new(report, "failed", json_from_u64(s->failed_count));
    json_object_set_new(report, "figure", json_from_text(goal_name(s)));
    json_object_set_new(report, "direction", json_string(s->goal.most ? "max" : "min"));
    json_object_set_new(report, "mean", json_real(s->mean));
    json_object_set_new(report, "deviation", json_real(sqrt(s->variance)));
    json_object_set_new(report, "base", real_or_null(s->has_base, s->base_goal));
    json_object_set_new(report, "best", best_to_json(s));
    json_object_set_new(report, "factors", factors);
    json_object_set_new(report, "pairs", pairs);
    json_object_set_new(report, "rest", json_real(s->rest));
    json_object_set_new(report, "front_figures", figures);
    json_object_set_new(report, "front", front_to_json(s, front));
    return report;
}

/* ---- CSV ---- */

static void write_cell(FILE *out, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

tla_status study_write_csv(const study *s, FILE *out, tla_error *error) {
    sqlite3_str *sql = sqlite3_str_new(s->database);
    sqlite3_stmt *statement = NULL;
    sqlite3_str_appendall(sql, "SELECT point, configuration, status, message");
    for (size_t i = 0; i < s->key_count + s->figure_count; i++)
        sqlite3_str_appendf(sql, ", \"%w\"", i < s->key_count ? s->key_names[i] : s->figure_names[i - s->key_count]);
    sqlite3_str_appendall(sql, " FROM point ORDER BY point");
    char *text = sqlite3_str_finish(sql);
    const bool good = text && sqlite3_prepare_v2(s->database, text, -1, &statement, NULL) == SQLITE_OK;
    sqlite3_free(text);
    const int columns = good ? sqlite3_column_count(statement) : 0;
    for (int i = 0; i < columns; i++) {
        if (i) fputc(',', out);
        write_cell(out, sqlite3_column_name(statement, i));
    }
    fputc('\n', out);
    int code = SQLITE_ERROR;
    while (good && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            const char *cell = (const char *)sqlite3_column_text(statement, i);
            if (i) fputc(',', out);
            write_cell(out, cell ? cell : "");
        }
        fputc('\n', out);
    }
    const tla_status status =
        code == SQLITE_DONE ? TLA_OK : tla_error_set(error, TLA_IO, "%s: %s", s->path, sqlite3_errmsg(s->database));
    sqlite3_finalize(statement);
    return status;
}
