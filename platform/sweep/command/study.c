/* `tlmalloc study results.sqlite`: the conclusions from the points of a sweep. */
#include "cli/commands.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "sweep/command/study_report.h"

#include <stdlib.h>
#include <string.h>

typedef struct study_options {
    const char *path, *goal, *pareto, *json, *csv, *plot;
} study_options;

static void check_arguments(const struct argp_state *state, const void *read) {
    const study_options *o = read;
    if (!o->path) argument_error(state, "expected a FILE that `tlmalloc sweep' wrote");
}

#define AT(member) offsetof(study_options, member)

static const option_row option_table[] = {
    {"goal", 0, "FIGURE", option_text, AT(goal),
     "figure to minimise, or to maximise with \"max FIGURE\" (default: the first figure)"},
    {"pareto", 0, "FIGURE,...", option_text, AT(pareto),
     "print the points that are best in these figures together; each figure may have max"},
    {"json", 0, "FILE", option_text, AT(json), "write the study as JSON"},
    {"csv", 0, "FILE", option_text, AT(csv), "write the points in order, without host times"},
    {"plot", 0, "DIR", option_text, AT(plot), "write data, a gnuplot script and, if gnuplot is installed, an SVG"},
    {0}};

static const char description[] =
    "Prints which keys of a sweep affect a figure, how they interact, and the gain of the best point over the base.\v"
    "The share of a key is the part of the figure's variance that its values explain. The share of two keys is the "
    "part that they explain together beyond their own shares. An elasticity is the change of the figure in percent "
    "when the key grows by one percent. Failed points are left out.\n"
    "Exit status: 0 the study was made, 1 no point has the figure, or a file cannot be read or written, 2 bad usage, "
    "or a file that no sweep wrote.";

static const command_line parser = {
    "FILE", description, option_table, {"FILE", .read = argument_once, .member = AT(path)}, check_arguments};

/* The words of a list with commas between them. */
static tla_status parse_front(const study *s, const char *text, study_front *front, tla_error *error) {
    while (text) {
        const char *comma = strchr(text, ',');
        const size_t length = comma ? (size_t)(comma - text) : strlen(text);
        const size_t spaces = strspn(text, " ");
        const tla_phrase word = tla_phrase_of("%.*s", (int)(length - (spaces < length ? spaces : length)),
                                              text + (spaces < length ? spaces : length));
        if (front->count == SWEEP_FIGURES_MAX)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "more figures than the limit of %d", SWEEP_FIGURES_MAX);
        const tla_status status = study_parse_goal(s, word.text, &front->goals[front->count], error);
        if (status) return status;
        front->count++;
        text = comma ? comma + 1 : NULL;
    }
    return TLA_OK;
}

typedef struct study_files {
    FILE *json, *csv;
    study_picture picture;
} study_files;

static tla_status open_files(const study_options *o, const study *s, study_files *files, tla_error *error) {
    output_protect(o->path);
    tla_status status = output_open("--json", o->json, &files->json, error);
    if (!status) status = output_open("--csv", o->csv, &files->csv, error);
    if (!status && o->plot) status = output_make_directory(o->plot, error);
    if (status || !o->plot) return status;
    return study_open_picture(o->plot, s, &files->picture, error);
}

static tla_status write_files(const study_options *o, const study *s, const study_front *front, study_files *files,
                              tla_error *error) {
    tla_status status = TLA_OK;
    if (files->json) {
        json_t *report = study_to_json(s, front);
        status = json_write(report, 9, files->json, error);
        json_decref(report);
    }
    if (!status && files->csv) status = study_write_csv(s, files->csv, error);
    if (!status && o->plot && !study_draw(&files->picture, s))
        status = tla_error_set(error, TLA_IO, "%s: the plot failed", o->plot);
    return status;
}

static tla_status run(const study_options *o, study *s, tla_error *error) {
    study_front front = {.count = 0};
    study_files files = {NULL, NULL, {NULL, NULL, NULL}};
    tla_error why;
    tla_status status = TLA_OK;
    if (!s->figure_count) return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: the sweep has no figures", s->path);
    if (o->goal && (status = study_parse_goal(s, o->goal, &s->goal, &why)))
        return tla_error_set(error, status, "--goal: %s", why.text);
    if (o->pareto && (status = parse_front(s, o->pareto, &front, &why)))
        return tla_error_set(error, status, "--pareto: %s", why.text);
    status = open_files(o, s, &files, error);
    FILE *table = output_table();
    progress_begin("the study", NULL);
    if (!status) status = study_work_out(s, error);
    if (!status && front.count) status = study_pareto(s, front.goals, front.count, error);
    if (!status) status = write_files(o, s, &front, &files, error);
    if (!status) study_print(table, s, &front);
    return status ? status : output_commit(error);
}

int tlmalloc_study(int argc, char **argv) {
    study_options options = {0};
    command_line_read(&parser, argc, argv, &options);
    study s;
    tla_error error = {0};
    tla_status status = study_open(options.path, &s, &error);
    if (!status) {
        status = run(&options, &s, &error);
        study_close(&s);
    }
    if (!status) return CLI_OK;
    print_message("%s: %s", argv[0], error.text);
    return status == TLA_NOT_FOUND ? CLI_FAILED : cli_exit_status(status);
}
