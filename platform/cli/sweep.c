/* `tlmalloc sweep SWEEP.yaml -o results.sqlite`: runs a command at many points and keeps their figures. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "cli/sweep_commands.h"
#include "cli/sweep_pool.h"
#include "sweep/constraint.h"
#include "sweep/study.h"
#include "sweep/tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 24 };

typedef struct sweep_options {
    const char *path, *results, *tune;
    unsigned jobs;
    bool resume, retry, ranged, seeded;
    uint64_t first, last;  /* points to run, both of them too, if ranged */
    uint64_t budget, seed; /* of the search; budget 0: a twentieth of the points */
} sweep_options;

/* The command line */

enum { KEY_RESUME = 256, KEY_RETRY, KEY_POINTS, KEY_TUNE, KEY_BUDGET, KEY_SEED };

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "the results, a file of SQLite", 0},
    {"jobs", 'j', "N", 0, "processes at a time (default: the processors of this machine)", 0},
    {"resume", KEY_RESUME, 0, 0, "go on with a file that is there: its points are not run again", 0},
    {"retry", KEY_RETRY, 0, 0, "with --resume: run the points that failed once more", 0},
    {"points", KEY_POINTS, "FIRST-LAST", 0, "only these points, without the base", 0},
    {"tune", KEY_TUNE, "GOAL", 0,
     "search for the point where a figure is the smallest (\"max FIGURE\": the largest), in place of all points", 0},
    {"budget", KEY_BUDGET, "N", 0, "with --tune: points to run (default: a twentieth of all, 20 to 500)", 0},
    {"seed", KEY_SEED, "N", 0, "with --tune: of the search (default 1)", 0},
    {0}};

static uint64_t parse_number(const struct argp_state *state, const char *option, const char *text, const char **end) {
    char *stop;
    const unsigned long long number = strtoull(text, &stop, 10);
    if (*text < '0' || *text > '9') argument_error(state, "%s: found '%s', expected a number", option, text);
    *end = stop;
    return number;
}

static void parse_points(const struct argp_state *state, const char *text, sweep_options *o) {
    const char *end;
    o->first = parse_number(state, "--points", text, &end);
    o->last = *end == '-' ? parse_number(state, "--points", end + 1, &end) : o->first;
    if (*end || o->first > o->last)
        argument_error(state, "--points: found '%s', expected FIRST-LAST, such as 0-99", text);
    o->ranged = true;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    sweep_options *o = state->input;
    const char *end;
    uint64_t jobs;
    switch (key) {
    case 'o':
        if (!*text || *text == ':' || strcmp(text, "-") == 0)
            argument_error(state, "--output: found '%s', expected the name of a file", text);
        o->results = text;
        return 0;
    case 'j':
        jobs = parse_number(state, "--jobs", text, &end);
        if (*end || jobs < 1 || jobs > SWEEP_JOBS_MAX)
            argument_error(state, "--jobs: found '%s', expected 1 .. %d", text, SWEEP_JOBS_MAX);
        o->jobs = (unsigned)jobs;
        return 0;
    case KEY_RESUME:
        o->resume = true;
        return 0;
    case KEY_RETRY:
        o->retry = true;
        return 0;
    case KEY_POINTS:
        parse_points(state, text, o);
        return 0;
    case KEY_TUNE:
        o->tune = text;
        return 0;
    case KEY_BUDGET:
        o->budget = parse_number(state, "--budget", text, &end);
        if (*end || o->budget < 1 || o->budget > TUNE_BUDGET_MAX)
            argument_error(state, "--budget: found '%s', expected 1 .. %d", text, TUNE_BUDGET_MAX);
        return 0;
    case KEY_SEED:
        o->seed = parse_number(state, "--seed", text, &end);
        if (*end) argument_error(state, "--seed: found '%s', expected a number", text);
        o->seeded = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->path) argument_error(state, "found a second argument '%s', expected one SWEEP.yaml", text);
        o->path = text;
        return 0;
    case ARGP_KEY_END:
        if (!o->path) argument_error(state, "expected a SWEEP.yaml");
        if (!o->results) argument_error(state, "expected -o FILE, where the results go");
        if (o->retry && !o->resume) argument_error(state, "--retry needs --resume");
        if (!o->tune && (o->budget || o->seeded)) argument_error(state, "--budget and --seed need --tune");
        if (o->tune && o->ranged) argument_error(state, "found both --tune and --points, expected one");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char description[] =
    "Runs a command at every point of a sweep, a process for each, and keeps the figures of their reports.\v"
    "SWEEP.yaml names the command, a base platform, keys with values, and figures (platform/sweep/README.md). The "
    "points "
    "and their order follow from it alone. A point that fails is a row with its exit status and message; an interrupt "
    "loses the points under way and nothing else, and --resume goes on.\n"
    "Exit status: 0 every point has a row, 1 the results cannot be written, 2 bad usage or a bad file.";

/* The points */

typedef struct running {
    const sweep_options *options;
    const sweep *s;
    sweep_constraints *constraints;
    sweep_results results;
    tuner *search; /* NULL: all points */
    study_goal goal;
    size_t budget;
    bool base_asked;
    uint64_t next, end;       /* points */
    uint64_t before, skipped; /* in the file already; refused by a constraint */
    uint64_t done, failed;    /* by this process, without the base */
    double begun;
    char note[400];
    progress_line progress;
} running;

/* A point of the search that is not in the file yet; the others are answered from there. */
static pool_answer next_trial(running *r, int64_t *point) {
    uint64_t trial;
    for (;;) {
        switch (tune_ask(r->search, &trial)) {
        case TUNE_END:
            return POOL_END;
        case TUNE_WAIT:
            return POOL_WAIT;
        case TUNE_POINT:
            break;
        }
        *point = (int64_t)trial;
        if (!results_have(&r->results, *point)) return POOL_POINT;
        double goal;
        const bool good = results_figure(&r->results, r->s, *point, r->goal.figure, &goal);
        tune_tell(r->search, trial, good, goal);
    }
}

static pool_answer next_point(void *context, int64_t *point) {
    running *r = context;
    if (!r->base_asked) {
        r->base_asked = true;
        *point = SWEEP_BASE_POINT;
        if (!r->options->ranged && sweep_has_base(r->s) && !results_have(&r->results, *point)) return POOL_POINT;
    }
    if (r->search) return next_trial(r, point);
    for (; r->next < r->end; r->next++) {
        *point = (int64_t)r->next;
        if (results_have(&r->results, *point)) continue;
        if (constraints_hold(r->constraints, *point)) {
            r->next++;
            return POOL_POINT;
        }
        r->skipped++;
    }
    return POOL_END;
}

/* "3 h 12 min", two units. */
static tla_phrase duration(double seconds) {
    const uint64_t s = seconds < 0 ? 0 : seconds > 1e9 ? UINT64_C(1000000000) : (uint64_t)(seconds + 0.5);
    if (s >= 3600) return tla_phrase_of("%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    return s >= 60 ? tla_phrase_of("%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60) : tla_phrase_of("%" PRIu64 " s", s);
}

static void tell_progress(running *r) {
    const double elapsed = host_seconds() - r->begun;
    const uint64_t all = r->end - (r->options->ranged ? r->options->first : 0);
    const uint64_t total = r->search ? r->budget : all, done = (r->search ? 0 : r->before) + r->done + r->skipped;
    const double rate = elapsed > 0 ? (double)r->done / elapsed : 0;
    const uint64_t left = total > done ? total - done : 0;
    snprintf(r->note, sizeof r->note, ", %" PRIu64 " of %" PRIu64 " points, %" PRIu64 " failed, %.3g a second, %s left",
             done, total, r->failed, rate, rate > 0 ? duration((double)left / rate).text : "?");
    r->progress.note = r->note;
    progress_update(&r->progress, done, total);
}

static tla_status take_row(void *context, const sweep_row_result *row, tla_error *error) {
    running *r = context;
    if (row->point >= 0) {
        r->done++;
        r->failed += row->status != 0;
        if (r->search)
            tune_tell(r->search, (uint64_t)row->point, row->status == 0 && !isnan(row->figures[r->goal.figure]),
                      row->figures[r->goal.figure]);
    }
    return results_add(&r->results, r->s, row, error);
}

static tla_status settle(void *context, tla_error *error) {
    running *r = context;
    tell_progress(r);
    return results_commit(&r->results, error);
}

static tla_status run_points(running *r, size_t *figure, tla_error *error) {
    const pool_work work = {
        .s = r->s, .jobs = r->options->jobs, .next = next_point, .take = take_row, .settle = settle, .context = r};
    r->begun = host_seconds();
    r->progress = progress_begin("the sweep", "points");
    tell_progress(r);
    const tla_status status = pool_run(&work, figure, error);
    progress_end(&r->progress);
    return status;
}

static void tell_best(const running *r) {
    uint64_t point;
    double goal;
    printf("%zu of %" PRIu64 " points tried", tune_asked(r->search), r->s->count);
    if (!tune_best(r->search, &point, &goal)) {
        printf(", none of them good\n");
        return;
    }
    print_escaped(stdout, "; best: point %" PRIu64 ", %s %.6g", point, r->s->figures[r->goal.figure].name, goal);
    printf("\n");
    for (size_t i = 0; i < r->s->factor_count; i++) {
        tla_phrase value;
        if (!sweep_value(r->s, (int64_t)point, i, &value)) continue;
        print_escaped(stdout, "  %-36s %s", r->s->factors[i].name, value.text);
        printf("\n");
    }
}

static tla_status tell(running *r, tla_error *error) {
    uint64_t points, failed;
    const tla_status status = results_count(&r->results, &points, &failed, error);
    const double seconds = host_seconds() - r->begun;
    if (status) return status;
    print_escaped(stdout, "%s: %" PRIu64 " points, %" PRIu64 " of them now", r->s->name, points, r->done);
    if (r->done) printf(" in %s, %.3g a second", duration(seconds).text, seconds > 0 ? (double)r->done / seconds : 0);
    printf("; %" PRIu64 " failed", failed);
    if (r->s->constraint_count) printf("; %" PRIu64 " skipped by constraints", r->skipped);
    printf("\n");
    if (r->search) tell_best(r);
    return TLA_OK;
}

static int fail(const char *command, tla_status status, const tla_error *error) {
    print_message("%s: %s", command, error->text);
    return cli_exit_status(status);
}

static bool is_allowed(void *context, uint64_t point) {
    return constraints_hold(context, (int64_t)point);
}

/* The search that --tune asks for. */
static tla_status begin_search(running *r, tla_error *error) {
    enum { BUDGET_LEAST = 20 };
    const sweep_options *o = r->options;
    const char *names[SWEEP_FIGURES_MAX];
    tla_error why;
    if (!o->tune) return TLA_OK;
    for (size_t i = 0; i < r->s->figure_count; i++)
        names[i] = r->s->figures[i].name;
    const tla_status status = study_find_goal(r->s->file, names, r->s->figure_count, o->tune, &r->goal, &why);
    if (status) return tla_error_set(error, status, "--tune: %s", why.text);
    if (r->s->sample != SWEEP_PRODUCT)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "--tune: found points of a %s, expected a product",
                             sweep_sample_name(r->s->sample));
    const uint64_t share = r->s->count / 20;
    r->budget = o->budget              ? (size_t)o->budget
                : share < BUDGET_LEAST ? BUDGET_LEAST
                                       : (size_t)(share < TUNE_BUDGET_MAX ? share : TUNE_BUDGET_MAX);
    if (r->budget > r->s->count) r->budget = (size_t)r->s->count;
    if (tune_create(r->s, r->goal.most, r->budget, o->seeded ? o->seed : 1, is_allowed, r->constraints, &r->search))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a search");
    return TLA_OK;
}

static int run(const char *command, const sweep_options *options, const sweep *s) {
    running r = {.options = options, .s = s, .next = options->first, .end = s->count};
    tla_error error = {0};
    size_t bad = 0, figure = SIZE_MAX;
    uint64_t failed;
    if (options->ranged && options->last >= s->count) {
        print_message("%s: --points: found %" PRIu64 ", expected less than %" PRIu64 ", the number of points", command,
                      options->last, s->count);
        return CLI_BAD_INPUT;
    }
    if (options->ranged) r.end = options->last + 1;
    tla_status status = constraints_compile(s, &r.constraints, &bad, &error);
    if (status) return fail(command, status, &error);
    status = begin_search(&r, &error);
    if (!status) status = results_open(options->results, s, options->resume, &r.results, &error);
    if (!status) {
        if (options->retry) status = results_forget_failed(&r.results, &error);
        if (!status) status = results_count(&r.results, &r.before, &failed, &error);
        if (!status) status = run_points(&r, &figure, &error);
        if (!status) status = tell(&r, &error);
        results_close(&r.results, figure != SIZE_MAX && r.done == 0);
    }
    tune_free(r.search);
    constraints_free(r.constraints);
    if (figure != SIZE_MAX) {
        print_finding(
            NULL, &(tla_config_finding){s->file, s->figures[figure].at.line, s->figures[figure].at.column, error.text});
        return CLI_BAD_INPUT;
    }
    if (status == TLA_BUSY) {
        print_message("%s: %s; --resume goes on", command, error.text);
        return CLI_FAILED;
    }
    return status ? fail(command, status, &error) : CLI_OK;
}

static tla_status load(const sweep_options *options, sweep *s, const char *command) {
    char *text;
    size_t length;
    tla_error error;
    output_protect(options->path);
    tla_status status = read_text(options->path, FILE_BYTES_MAX, &text, &length, &error);
    if (!status) {
        status = sweep_parse(options->path, text, length, sweep_commands, s, print_finding, NULL);
        free(text);
        if (status == TLA_NO_HOST_MEMORY) tla_error_set(&error, status, "no host memory for the sweep");
    }
    if (status && status != TLA_SYNTAX) print_message("%s: %s", command, error.text);
    return status;
}

int tlmalloc_sweep(int argc, char **argv) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    sweep_options options = {.jobs = processors < 1                ? 1
                                     : processors > SWEEP_JOBS_MAX ? SWEEP_JOBS_MAX
                                                                   : (unsigned)processors};
    const struct argp parser = {option_table, parse_option, "SWEEP.yaml", description, 0, 0, 0};
    parse_arguments(&parser, argc, argv, &options);
    sweep s;
    const tla_status status = load(&options, &s, argv[0]);
    if (status) return cli_exit_status(status);
    const int exit_status = run(argv[0], &options, &s);
    sweep_clear(&s);
    return exit_status;
}
