/* Plans for lifetimes that are known: heights over the lower bound, processor time and memory of every method.
 *
 *   bench_plan [--buffers=N] [--live=N] [--seed=N] [--minimalloc=FOLDER] [--time-limit=S] [--json=FILE]
 *
 * Random instances of N buffers, of which some `live` live at once, are planned by what takes about n log n time; those
 * of the MiniMalloc benchmark, where their folder is given, by every method, by search at 1 MiB, and minimised for S
 * seconds each. Every row is a process of its own, and its plan has passed the checker. */
#include "tlmalloc/plan/plan.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MINIMALLOC_CAPACITY = 1 << 20, EXACT = TLA_PLAN_METHOD_COUNT, MINIMIZE, METHOD_COUNT };

struct options {
    uint64_t buffers, live, seed;
    double time_limit;
    const char *minimalloc, *json;
};

typedef struct instance {
    const char *name;
    tla_lifetime *buffers;
    size_t count;
} instance;

/* What a row's process says. */
typedef struct row {
    uint64_t height, bound, peak_rss;
    double seconds;
    tla_status status;
} row;

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct options *o = state->input;
    if (key == 'j' || key == 'm') {
        *(key == 'j' ? &o->json : &o->minimalloc) = text;
        return 0;
    }
    if (key != 'b' && key != 'l' && key != 's' && key != 't') return ARGP_ERR_UNKNOWN;
    char *end = NULL;
    const double number = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end != '\0' || (key != 't' && (number < 1 || number > 3e7)))
        argp_error(state, "'%s' is no number that will do", text);
    if (key == 't')
        o->time_limit = number;
    else
        *(key == 'b' ? &o->buffers : key == 'l' ? &o->live : &o->seed) = (uint64_t)number;
    return 0;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *get(size_t nbytes) {
    void *made = malloc(nbytes);
    if (made) return made;
    fprintf(stderr, "bench_plan: no host memory\n");
    exit(2);
}

/* Instances */

static uint64_t state;

static double uniform(void) { /* xorshift, in (0, 1] */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)((state >> 11) + 1) * 0x1p-53;
}

/* Buffers that come at random; lifetimes are exponential, or of many magnitudes; sizes of 64 B to 10 MB, of all
 * magnitudes alike, or multiples of 64 B up to 4 KiB. */
static instance random_instance(const struct options *o, const char *name, bool wide, bool small) {
    instance made = {name, get(o->buffers * sizeof *made.buffers), o->buffers};
    state = o->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (size_t i = 0; i < made.count; i++) {
        const uint64_t lower = (uint64_t)(uniform() * (double)o->buffers);
        const double spread = wide ? exp(4 * (uniform() + uniform() + uniform() - 1.5)) : -log(uniform());
        const double size = small ? 64 * ceil(64 * uniform()) : 64 * exp(12 * uniform());
        made.buffers[i] = (tla_lifetime){lower, lower + 1 + (uint64_t)((double)o->live * spread), (uint64_t)size};
    }
    return made;
}

static instance read_instance(const char *folder, const char *name) {
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/%s.%d.csv", folder, name, MINIMALLOC_CAPACITY);
    FILE *in = fopen(path, "r");
    if (!in || !fgets(line, sizeof line, in)) {
        fprintf(stderr, "bench_plan: %s cannot be read\n", path);
        exit(2);
    }
    instance made = {name, get(1000 * sizeof *made.buffers), 0};
    while (made.count < 1000 && fgets(line, sizeof line, in)) {
        tla_lifetime *b = &made.buffers[made.count];
        made.count += sscanf(line, "%*[^,],%" SCNu64 ",%" SCNu64 ",%" SCNu64, &b->lower, &b->upper, &b->nbytes) == 3;
    }
    fclose(in);
    return made;
}

/* Rows */

static double search_end;

static bool is_over(void *context) {
    (void)context;
    return processor_seconds() >= search_end;
}

static uint64_t height_of(const tla_plan_problem *problem, const uint64_t *offsets) {
    uint64_t height = 0;
    for (size_t i = 0; i < problem->n; i++)
        if (offsets[i] + problem->tensors[i].nbytes > height) height = offsets[i] + problem->tensors[i].nbytes;
    return height;
}

static tla_status plan(const tla_plan_problem *problem, int method, double time_limit, uint64_t *offsets,
                       uint64_t *height) {
    const tla_plan_limits limits = {0, is_over, NULL};
    tla_plan_range range;
    search_end = processor_seconds() + time_limit;
    if (method < EXACT) return tla_plan_place((tla_plan_method)method, problem, offsets, height);
    if (method == EXACT) {
        const tla_status status = tla_plan_exact(problem, MINIMALLOC_CAPACITY, &limits, offsets, NULL);
        if (!status) *height = height_of(problem, offsets);
        return status;
    }
    tla_status status = tla_plan_best(problem, offsets, height, NULL, NULL);
    if (!status) status = tla_plan_minimize(problem, &limits, offsets, &range);
    if (!status || status == TLA_LIMIT) *height = range.height;
    return status;
}

static row measure(const instance *on, int method, double time_limit) {
    const tla_plan_problem problem = {.tensors = on->buffers, .n = on->count};
    uint64_t *offsets = get((on->count + 1) * sizeof *offsets);
    row made = {.status = TLA_OK};
    const double begin = processor_seconds();
    made.status = plan(&problem, method, time_limit, offsets, &made.height);
    made.seconds = processor_seconds() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    made.peak_rss = (uint64_t)usage.ru_maxrss * 1024;
    if (made.height && tla_plan_check_problem(&problem, offsets, made.height, NULL, NULL)) made.status = TLA_OVERLAP;
    tla_plan_bound(&problem, &made.bound, NULL, NULL);
    free(offsets);
    return made;
}

/* In a process of its own, so that its memory is its own. */
static row measure_alone(const instance *on, int method, double time_limit) {
    int ends[2];
    row made = {.status = TLA_IO};
    if (pipe(ends) != 0) return made;
    const pid_t child = fork();
    if (child == 0) {
        made = measure(on, method, time_limit);
        _exit(write(ends[1], &made, sizeof made) == (ssize_t)sizeof made ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &made, sizeof made) != (ssize_t)sizeof made) made = (row){.status = TLA_IO};
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return made;
}

static const char *method_name(int method) {
    return method == EXACT ? "exact" : method == MINIMIZE ? "minimize" : tla_plan_method_name((tla_plan_method)method);
}

/* False: the plan is none. */
static bool add_row(json_t *rows, const instance *on, int method, double time_limit) {
    const row made = measure_alone(on, method, time_limit);
    const double over = made.bound ? 100.0 * ((double)made.height / (double)made.bound - 1) : 0;
    printf("%-12s %-17s %20" PRIu64 " %+9.2f %% %9.3f s %8.1f MB  %s\n", on->name, method_name(method), made.height,
           over, made.seconds, 1e-6 * (double)made.peak_rss, tla_status_name(made.status));
    fflush(stdout);
    json_t *object = json_object();
    json_object_set_new(object, "instance", json_string(on->name));
    json_object_set_new(object, "method", json_string(method_name(method)));
    json_object_set_new(object, "height", made.height ? json_integer((json_int_t)made.height) : json_null());
    json_object_set_new(object, "lower_bound", json_integer((json_int_t)made.bound));
    json_object_set_new(object, "seconds", json_real(made.seconds));
    json_object_set_new(object, "status", json_string(tla_status_name(made.status)));
    json_object_set_new(object, "buffers", json_integer((json_int_t)on->count));
    json_object_set_new(object, "peak_rss_bytes", json_integer((json_int_t)made.peak_rss));
    json_array_append_new(rows, object);
    return made.status == TLA_OK || made.status == TLA_LIMIT;
}

static bool run_random(const struct options *o, json_t *rows) {
    static const struct {
        const char *name;
        bool wide, small;
    } kinds[] = {{"exponential", false, false}, {"wide", true, false}, {"small", true, true}};
    bool good = true;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const instance made = random_instance(o, kinds[k].name, kinds[k].wide, kinds[k].small);
        good = add_row(rows, &made, TLA_PLAN_LOWEST_FIRST, 0) && good;
        free(made.buffers);
    }
    return good;
}

static bool run_minimalloc(const struct options *o, json_t *rows) {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"};
    bool good = true;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const instance made = read_instance(o->minimalloc, names[k]);
        for (int method = 0; method < METHOD_COUNT; method++)
            good = add_row(rows, &made, method, o->time_limit) && good;
        free(made.buffers);
    }
    return good;
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"buffers", 'b', "N", 0, "of the random instances (default 1000000)", 0},
        {"live", 'l', "N", 0, "of them at once, about (default 1000)", 0},
        {"seed", 's', "N", 0, "default 1", 0},
        {"minimalloc", 'm', "FOLDER", 0, "with A.1048576.csv to K.1048576.csv", 0},
        {"time-limit", 't', "S", 0, "of each search (default 10)", 0},
        {"json", 'j', "FILE", 0, "write rows[]", 0},
        {0}};
    const struct argp parser = {options, parse_option, NULL, "Heights, time and memory of plans.", 0, 0, 0};
    struct options o = {.buffers = 1000000, .live = 1000, .seed = 1, .time_limit = 10};
    argp_parse(&parser, argc, argv, 0, NULL, &o);
    json_t *rows = json_array();
    printf("%-12s %-17s %20s   over bound  processor     memory\n", "instance", "method", "height");
    bool good = run_random(&o, rows);
    if (o.minimalloc) good = run_minimalloc(&o, rows) && good;
    json_t *report = json_pack("{s:o}", "rows", rows);
    if (o.json && json_dump_file(report, o.json, JSON_INDENT(2)) != 0) {
        fprintf(stderr, "bench_plan: %s cannot be written\n", o.json);
        good = false;
    }
    json_decref(report);
    return good ? 0 : 1;
}
