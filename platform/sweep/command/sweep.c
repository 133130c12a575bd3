/* `tlmalloc sweep SWEEP.yaml -o results.sqlite`: runs a command at many points and keeps their figures. */
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "sweep/command/slurm_job.h"
#include "sweep/command/sweep_commands.h"
#include "sweep/command/sweep_idle.h"
#include "sweep/command/sweep_options.h"
#include "sweep/command/sweep_pool.h"
#include "sweep/command/sweep_slurm.h"
#include "sweep/constraint.h"
#include "sweep/study.h"
#include "sweep/tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 24 };

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
    point_ranges points; /* to run; of all of them, without --points */
    size_t range;
    uint64_t next;            /* point, once it is in the range */
    uint64_t before, skipped; /* already in the file; excluded by a constraint */
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
    for (; r->range < r->points.count; r->range++) {
        const point_range *in = &r->points.at[r->range];
        if (r->next < in->first) r->next = in->first;
        while (r->next <= in->last) {
            *point = (int64_t)r->next++;
            if (results_have(&r->results, *point)) continue;
            if (constraints_hold(r->constraints, *point)) return POOL_POINT;
            r->skipped++;
        }
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
    const uint64_t total = r->search ? r->budget : point_ranges_total(&r->points),
                   done = (r->search ? 0 : r->before) + r->done + r->skipped;
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

static unsigned jobs_here(const sweep_options *o) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->jobs) return (unsigned)o->jobs;
    return processors < 1 ? 1 : processors > SWEEP_JOBS_MAX ? SWEEP_JOBS_MAX : (unsigned)processors;
}

static tla_status run_points(running *r, size_t *figure, tla_error *error) {
    const pool_work work = {
        .s = r->s, .jobs = jobs_here(r->options), .next = next_point, .take = take_row, .settle = settle, .context = r};
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
        printf(", none completed\n");
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
    print_escaped(stdout, "%s: %" PRIu64 " points, %" PRIu64 " of them in this run", r->s->name, points, r->done);
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
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "--tune needs sample: product, not %s",
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

/* ---- on Slurm ---- */

static tla_status find_missing(void *context, point_ranges *missing, tla_error *error) {
    running *r = context;
    int64_t point;
    r->range = 0;
    r->next = 0;
    r->skipped = 0;
    while (next_point(r, &point) == POOL_POINT)
        if (!point_ranges_add(missing, (uint64_t)point, (uint64_t)point))
            return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the missing points");
    return TLA_OK;
}

static tla_status take_file(void *context, const char *path, uint64_t *rows, bool *in_use, tla_error *error) {
    running *r = context;
    const tla_status status = results_take(&r->results, r->s, path, rows, in_use, error);
    r->done += *rows;
    return status;
}

static void watch_job(void *context, size_t tasks_running, size_t waiting) {
    running *r = context;
    snprintf(r->note, sizeof r->note, ", %zu tasks run, %zu wait", tasks_running, waiting);
    r->progress.note = r->note;
    progress_update(&r->progress, r->before + r->done, point_ranges_total(&r->points));
}

static slurm_work work_of(running *r) {
    return (slurm_work){.sweep_path = r->options->path,
                        .results_path = r->options->results,
                        .options = &r->options->cluster,
                        .point_seconds = r->results.database ? results_mean_seconds(&r->results) : 0,
                        .missing = find_missing,
                        .take = take_file,
                        .watch = watch_job,
                        .context = r};
}

static uint64_t point_at(const point_ranges *points, uint64_t position) {
    for (size_t i = 0; i < points->count; i++) {
        const uint64_t count = points->at[i].last - points->at[i].first + 1;
        if (position < count) return points->at[i].first + position;
        position -= count;
    }
    return points->at[points->count - 1].last;
}

/* Runs some points here, with the base, to measure their times and to check their figures. */
static tla_status measure(running *r, size_t *figure, tla_error *error) {
    enum { MEASURED = 8 };
    const point_ranges all = r->points;
    const uint64_t total = point_ranges_total(&all), count = total < MEASURED ? total : MEASURED;
    tla_status status = TLA_OK;
    r->points = (point_ranges){0};
    for (uint64_t i = 0; !status && i < count; i++) {
        const uint64_t point = point_at(&all, count > 1 ? (total - 1) * i / (count - 1) : 0);
        if (!point_ranges_add(&r->points, point, point))
            status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for points");
    }
    if (!status) status = run_points(r, figure, error);
    point_ranges_clear(&r->points);
    r->points = all;
    return status;
}

static tla_status run_on_slurm(running *r, size_t *figure, tla_error *error) {
    uint64_t rows, failed;
    size_t in_use;
    slurm_work work = work_of(r);
    tla_status status = slurm_merge(&work, &rows, &in_use, error);
    if (!status) status = measure(r, figure, error);
    if (!status) status = results_count(&r->results, &r->before, &failed, error);
    if (status) return status;
    r->before -= r->done;
    r->progress = progress_begin("the jobs of Slurm", "points");
    work = work_of(r);
    status = slurm_run(&work, error);
    progress_end(&r->progress);
    return status;
}

static tla_status merge_only(running *r, tla_error *error) {
    uint64_t rows;
    size_t in_use;
    point_ranges missing = {0};
    const slurm_work work = work_of(r);
    r->begun = host_seconds();
    r->base_asked = true;
    tla_status status = slurm_merge(&work, &rows, &in_use, error);
    if (!status) status = find_missing(r, &missing, error);
    const uint64_t left = point_ranges_total(&missing);
    point_ranges_clear(&missing);
    if (!status && left)
        status = tla_error_set(error, TLA_BUSY, "%" PRIu64 " points have no row yet, and %zu tasks are still writing",
                               left, in_use);
    return status;
}

/* Prints the script for the missing points. */
static tla_status print_script(running *r, tla_error *error) {
    point_ranges missing = {0};
    tla_status status = TLA_OK;
    const bool there = r->options->resume && access(r->options->results, F_OK) == 0;
    r->base_asked = true;
    if (there) status = results_open(r->options->results, r->s, true, &r->results, error);
    if (!status) {
        const slurm_work work = work_of(r);
        status = there ? find_missing(r, &missing, error) : TLA_OK;
        if (!status) status = slurm_write_script(&work, there ? &missing : &r->points, stdout, error);
    }
    point_ranges_clear(&missing);
    results_close(&r->results, false);
    return status;
}

/* ---- a sweep ---- */

static tla_status run_all(running *r, size_t *figure, tla_error *error) {
    uint64_t failed;
    if (r->options->slurm && r->options->dry_run) return print_script(r, error);
    tla_status status = r->options->slurm ? slurm_is_there(error) : TLA_OK;
    if (!status)
        status = results_open(r->options->results, r->s, r->options->resume || r->options->merge, &r->results, error);
    if (status) return status;
    if (r->options->retry) status = results_forget_failed(&r->results, error);
    if (!status) status = results_count(&r->results, &r->before, &failed, error);
    if (!status)
        status = r->options->merge   ? merge_only(r, error)
                 : r->options->slurm ? run_on_slurm(r, figure, error)
                                     : run_points(r, figure, error);
    if (!status) status = tell(r, error);
    results_close(&r->results, *figure != SIZE_MAX && r->done == 0);
    return status;
}

/* The points of the command line, which are `running`'s from now, or all; CLI_OK, or an exit status with a message. */
static int find_points(running *r, const char *command) {
    if (!r->options->ranged && !point_ranges_add(&r->points, 0, r->s->count - 1)) {
        print_message("%s: no host memory for points", command);
        return CLI_FAILED;
    }
    if (!r->options->ranged) return CLI_OK;
    r->points = r->options->points;
    const uint64_t last = r->points.at[r->points.count - 1].last;
    if (last < r->s->count) return CLI_OK;
    print_message("%s: --points: found %" PRIu64 ", expected a point below %" PRIu64 ", the number of points", command,
                  last, r->s->count);
    return CLI_BAD_INPUT;
}

static int run(const char *command, const sweep_options *options, const sweep *s) {
    running r = {.options = options, .s = s};
    tla_error error = {0};
    size_t bad = 0, figure = SIZE_MAX;
    const int found = find_points(&r, command);
    if (found != CLI_OK) {
        point_ranges_clear(&r.points);
        return found;
    }
    tla_status status = constraints_compile(s, &r.constraints, &bad, &error);
    if (!status) status = begin_search(&r, &error);
    if (!status) status = run_all(&r, &figure, &error);
    tune_free(r.search);
    constraints_free(r.constraints);
    point_ranges_clear(&r.points);
    if (figure != SIZE_MAX) {
        print_finding(
            NULL, &(tla_config_finding){s->file, s->figures[figure].at.line, s->figures[figure].at.column, error.text});
        return CLI_BAD_INPUT;
    }
    if (status == TLA_BUSY) {
        print_message("%s: %s; continue with --resume", command, error.text);
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
    if (!status) {
        const cli_command *found = cli_find_command(s->command->name);
        if (!found->run)
            status = tla_error_set(&error, TLA_UNSUPPORTED, "%s: command: %s: %s", options->path, found->name,
                                   found->missing);
        if (status) sweep_clear(s);
    }
    if (status && status != TLA_SYNTAX) print_message("%s: %s", command, error.text);
    return status;
}

int tlmalloc_sweep(int argc, char **argv) {
    sweep_options options = {0};
    command_line_read(&sweep_command_line, argc, argv, &options);
    options.cluster.jobs = options.jobs ? (unsigned)options.jobs : 1;
    sweep s;
    const tla_status status = load(&options, &s, argv[0]);
    if (status) {
        point_ranges_clear(&options.points);
        return cli_exit_status(status);
    }
    sweep_warn_of_idle_keys(&s);
    const int exit_status = run(argv[0], &options, &s);
    sweep_clear(&s);
    return exit_status;
}
