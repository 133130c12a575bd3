/* The options of `tlmalloc sweep`. */
#include "sweep/command/sweep_options.h"

#include "sweep/command/sweep_pool.h"
#include "sweep/tune.h"

#include <string.h>

static void read_output(const struct argp_state *state, const option_row *option, const char *text, void *results) {
    if (!*text || *text == ':' || strcmp(text, "-") == 0)
        argument_error(state, "--%s: found '%s', expected the name of a file", option->name, text);
    *(const char **)results = text;
}

static void read_points(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    sweep_options *o = member;
    tla_error error;
    point_ranges_clear(&o->points);
    if (point_ranges_parse(text, &o->points, &error)) argument_error(state, "--%s: %s", option->name, error.text);
    o->ranged = true;
}

static void read_sbatch(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    slurm_options *o = member;
    bool good = strncmp(text, "-", 1) == 0;
    for (const char *c = text; *c; c++)
        good &= (unsigned char)*c >= ' ';
    if (!good) argument_error(state, "--%s: found '%s', expected an option of sbatch", option->name, text);
    if (o->sbatch_count == SLURM_OPTIONS_MAX)
        argument_error(state, "--%s: found more than %d options", option->name, SLURM_OPTIONS_MAX);
    o->sbatch[o->sbatch_count++] = text;
}

static void read_number(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    if (*text < '0' || *text > '9') argument_error(state, "--%s: found '%s', expected a number", option->name, text);
    option_number(state, option, text, member);
}

static void read_seed(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    sweep_options *o = member;
    option_number(state, option, text, &o->seed);
    o->seeded = true;
}

static void check_options(const struct argp_state *state, const void *read) {
    const sweep_options *o = read;
    const bool cluster = o->cluster.sbatch_count || o->cluster.task_points || o->dry_run;
    if (!o->path) argument_error(state, "expected a SWEEP.yaml");
    if (!o->results) argument_error(state, "expected -o FILE for the results");
    if (o->retry && !o->resume) argument_error(state, "--retry needs --resume");
    if (!o->tune && (o->budget || o->seeded)) argument_error(state, "--budget and --seed need --tune");
    if (o->tune && o->ranged) argument_error(state, "--tune and --points exclude each other");
    if (cluster && !o->slurm) argument_error(state, "--sbatch, --task-points and --dry-run need --slurm");
    if (o->tune && o->slurm) argument_error(state, "--tune and --slurm exclude each other");
    if (o->merge && (o->tune || o->slurm || o->retry))
        argument_error(state, "--merge excludes --tune, --slurm and --retry");
}

#define AT(member) offsetof(sweep_options, member)

static const option_row option_table[] = {
    {"output", 'o', "FILE", read_output, AT(results), "SQLite file for the results"},
    {"jobs", 'j', "N", read_number, AT(jobs), "processes at a time (default: the number of processors)", 1,
     SWEEP_JOBS_MAX},
    {"resume", 0, NULL, option_flag, AT(resume), "continue with an existing file, and skip its points"},
    {"retry", 0, NULL, option_flag, AT(retry), "with --resume: run failed points again"},
    {"points", 0, "LIST", read_points, 0, "only these points, without the base: 0-99, or 0-99,120,200-299"},
    {"slurm", 0, NULL, option_flag, AT(slurm),
     "run the points as jobs of Slurm, and wait for them (default of --jobs then: 1)"},
    {"sbatch", 0, "OPTION", read_sbatch, AT(cluster),
     "with --slurm: an option of sbatch, \"--partition=short\" (repeatable)"},
    {"task-points", 0, "N", read_number, AT(cluster.task_points),
     "with --slurm: points per task, 100 or more (default: as many as take 100 s)", SLURM_TASK_POINTS_MIN, UINT64_MAX,
     "100 or more"},
    {"dry-run", 0, NULL, option_flag, AT(dry_run), "with --slurm: print the job script, and run nothing"},
    {"merge", 0, NULL, option_flag, AT(merge), "collect the results of the tasks of --slurm, and run nothing"},
    {"tune", 0, "GOAL", option_text, AT(tune),
     "search for the point with the smallest figure (\"max FIGURE\": the largest), instead of running all points"},
    {"budget", 0, "N", read_number, AT(budget), "with --tune: points to run (default: a twentieth of all, 20 to 500)",
     1, TUNE_BUDGET_MAX},
    {"seed", 0, "N", read_seed, 0, "with --tune: seed of the search (default 1)", 0, UINT64_MAX, "a number"},
    {0}};

static const char description[] =
    "Runs a command at every point of a sweep, one process per point, and stores the figures of the reports.\v"
    "SWEEP.yaml names the command, a base platform, keys with values, and figures (platform/sweep/README.md). It alone "
    "determines the points and their order. A failed point becomes a row with its exit status and message. An "
    "interrupt loses only the running points; --resume continues.\n"
    "Exit status: 0 every point has a row, 1 a row is missing or the results cannot be written, 2 bad usage or a bad "
    "file.";

const command_line sweep_command_line = {
    "SWEEP.yaml", description, option_table, {"SWEEP.yaml", .read = argument_once, .member = AT(path)}, check_options};
