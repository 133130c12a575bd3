/* The picture of a study, by gnuplot: the goal by the values of each key, and the strongest pair. */
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "sweep/command/study_report.h"

#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

static void write_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++)
        fputc(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '_' : *text, out);
    fputc('"', out);
}

static size_t level_at(const study *s, size_t row, size_t factor) {
    return s->levels[row * s->factor_count + factor];
}

/* A level a line: its text, the mean by the model, the least and the largest goal. */
static void write_factor(FILE *out, const study *s, size_t factor) {
    const study_factor *f = &s->factors[factor];
    for (size_t level = 0; level < f->level_count; level++) {
        double least = 0, most = 0;
        bool any = false;
        for (size_t row = 0; row < s->row_count; row++) {
            if (level_at(s, row, factor) != level) continue;
            least = any && least < s->goals[row] ? least : s->goals[row];
            most = any && most > s->goals[row] ? most : s->goals[row];
            any = true;
        }
        write_text(out, f->levels[level].text);
        fprintf(out, " %.9g %.9g %.9g\n", s->mean + f->levels[level].effect, least, most);
    }
    fputs("\n\n", out);
}

/* A level of the first factor a line, the mean of the cell of each level of the second in a column. */
static void write_pair(FILE *out, const study *s, const study_pair *p) {
    const study_factor *a = &s->factors[p->first], *b = &s->factors[p->second];
    for (size_t i = 0; i < a->level_count; i++) {
        write_text(out, a->levels[i].text);
        for (size_t k = 0; k < b->level_count; k++) {
            double sum = 0;
            size_t count = 0;
            for (size_t row = 0; row < s->row_count; row++)
                if (level_at(s, row, p->first) == i && level_at(s, row, p->second) == k) sum += s->goals[row], count++;
            if (count)
                fprintf(out, " %.9g", sum / (double)count);
            else
                fprintf(out, " NaN");
        }
        fputc('\n', out);
    }
}

static void write_data(FILE *out, const study *s) {
    for (size_t i = 0; i < s->factor_count; i++)
        write_factor(out, s, i);
    if (s->pair_count) write_pair(out, s, &s->pairs[0]);
}

/* ---- script ---- */

/* A title in single quotes; keys have none, but figures and zipped values might. */
static void write_title(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++)
        fputc(*text == '\'' || (unsigned char)*text < ' ' ? '_' : *text, out);
    fputc('\'', out);
}

static void write_script(FILE *out, const study *s, const char *output, const char *data) {
    const size_t panels = s->factor_count + (s->pair_count > 0), columns = panels < 3 ? panels : 3;
    const size_t lines = (panels + columns - 1) / columns;
    const char *goal = s->figure_names[s->goal.figure];
    fprintf(out, "set terminal svg size %zu,%zu noenhanced\n%s", 420 * columns, 330 * lines, output);
    fprintf(out,
            "set xtics rotate by 30 right font ',9'\nset offsets 0.4,0.4,0,0\nset grid ytics\nset key font ',9'\n"
            "set multiplot layout %zu,%zu\nset ylabel ",
            lines, columns);
    write_title(out, goal);
    for (size_t i = 0; i < s->factor_count; i++) {
        fprintf(out, "\nset title ");
        write_title(out, s->factors[i].name);
        fprintf(out,
                "\nplot %s index %zu using 0:2:3:4:xtic(1) with yerrorbars lc 'gray' notitle, '' index %zu using 0:2 "
                "with linespoints pt 7 lc 'black' notitle",
                data, i, i);
    }
    if (s->pair_count) {
        const study_factor *a = &s->factors[s->pairs[0].first], *b = &s->factors[s->pairs[0].second];
        fprintf(out, "\nset title ");
        write_title(out, a->name);
        fprintf(out, "\nset key outside right title ");
        write_title(out, b->name);
        fprintf(out, "\nplot ");
        for (size_t k = 0; k < b->level_count; k++) {
            fprintf(out, "%s%s index %zu using 0:%zu:xtic(1) with linespoints title ", k ? ", " : "", k ? "''" : data,
                    s->factor_count, k + 2);
            write_title(out, b->levels[k].text);
        }
    }
    fprintf(out, "\nunset multiplot\n");
}

/* ---- files ---- */

static char *name_of(const study *s) {
    char *name = results_about(s->database, "name");
    return name && *name && !strpbrk(name, "/'\"") ? name : (free(name), NULL);
}

tla_status study_open_picture(const char *directory, const study *s, study_picture *made, tla_error *error) {
    static const char *const endings[] = {"dat", "gp", "svg"};
    FILE **files[] = {&made->data, &made->script, &made->picture};
    char *name = name_of(s), path[4096];
    tla_status status =
        name ? TLA_OK : tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: the sweep has no name", s->path);
    for (int i = 0; i < (gnuplot_is_there() ? 3 : 2) && !status; i++) {
        const int length = snprintf(path, sizeof path, "%s/%s.%s", directory, name, endings[i]);
        if (length < 0 || (size_t)length >= sizeof path)
            status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                                   "--plot: the path is longer than the limit of %zu bytes", sizeof path - 1);
        else
            status = output_open("--plot", path, files[i], error);
    }
    free(name);
    return status;
}

static bool draw(const study_picture *files, const study *s) {
    char *script = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&script, &length);
    if (!out) return false;
    fputs("$data << END_OF_DATA\n", out);
    write_data(out, s);
    fputs("END_OF_DATA\n", out);
    write_script(out, s, "", "$data");
    const bool good = fclose(out) == 0 && gnuplot_draw(script, files->picture);
    free(script);
    return good;
}

bool study_draw(const study_picture *files, const study *s) {
    char *name = name_of(s), output[512], data[512];
    snprintf(output, sizeof output, "set output '%.400s.svg'\n", name ? name : "");
    snprintf(data, sizeof data, "'%.400s.dat'", name ? name : "");
    write_data(files->data, s);
    write_script(files->script, s, output, data);
    free(name);
    if (!files->picture) {
        print_message("tlmalloc study: gnuplot is missing: the data and the script are written, .svg is not");
        return true;
    }
    if (draw(files, s)) return true;
    output_drop(files->picture);
    print_message("tlmalloc study: gnuplot failed on the script");
    return false;
}
