/* The timing of a pseudo-channel beside three cycle-accurate simulators (DRAMsim3, Ramulator 2.1, DRAMSys 5.5), and the
 * rate at which it is computed.
 *
 *   bench_hbm [--count=N] [--seed=N] [--repeat=N] [--json=FILE]
 *
 * The references hold for 100,000 bursts, seed 1 and map m3, the defaults. Rates count processor time, the best of
 * `repeat` runs. Exit status 1 when a reference point is missed by more than the goals allow. */
#include "tlmalloc/config.h"
#include "traffic/traffic.h"

#include "tests/data/hbm_references.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POINTS = HBM_REFERENCE_PARTS * TLA_TRAFFIC_PATTERN_COUNT };

static const double range_widened = 0.02;

struct options {
    size_t count, repeat;
    uint64_t seed;
    const char *json;
};

static error_t parse_option(int key, char *text, struct argp_state *state) {
    struct options *o = state->input;
    if (key == 'j') {
        o->json = text;
        return 0;
    }
    if (key != 'c' && key != 's' && key != 'r') return ARGP_ERR_UNKNOWN;
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number == 0)
        argp_error(state, "'%s' is no positive number", text);
    if (key == 'c')
        o->count = number;
    else if (key == 's')
        o->seed = number;
    else
        o->repeat = number;
    return 0;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void give_up(const char *what) {
    fprintf(stderr, "bench_hbm: %s\n", what);
    exit(2);
}

static void report_finding(void *context, const tla_config_finding *finding) {
    (void)context;
    fprintf(stderr, "%s:%zu:%zu: error: %s\n", finding->file, finding->line, finding->column, finding->text);
}

static tla_hbm_config timing_of(const char *part) {
    char path[512];
    snprintf(path, sizeof path, "%s/configs/timing/%s.yaml", TLMALLOC_SOURCE_DIR, part);
    tla_hbm_config timing;
    if (tla_timing_load(path, NULL, 0, &timing, report_finding, NULL) != TLA_OK) give_up("no timing profile");
    return timing;
}

static double peak_gb_s(const tla_hbm_config *timing) {
    return timing->burst_bytes * 1000.0 / ((double)timing->burst_cycles * timing->tck_ps);
}

static tla_traffic traffic_of(const tla_hbm_config *timing, tla_traffic_pattern pattern, const struct options *o) {
    const tla_traffic_geometry geometry = {
        .burst_bytes = timing->burst_bytes,
        .row_bytes = timing->row_bytes,
        .conflict_bytes = (uint64_t)timing->row_bytes * timing->bank_groups * timing->banks_per_group,
        .span_bytes = (uint64_t)timing->row_bytes * timing->bank_groups * timing->banks_per_group * timing->rows,
        .peak_bytes_per_s = (uint64_t)(peak_gb_s(timing) * 1e9)};
    tla_traffic traffic;
    if (tla_traffic_generate(pattern, o->seed, o->count, timing->window, &geometry, &traffic) != TLA_OK)
        give_up("the traffic cannot be made");
    return traffic;
}

struct point {
    double gb_s, deviation, latency_ns, latency_deviation, hit_rate, requests_per_s;
    bool in_range;
};

static struct point measure(const tla_hbm_config *timing, tla_traffic_pattern pattern, const struct hbm_reference *r,
                            const struct options *o) {
    tla_traffic traffic = traffic_of(timing, pattern, o);
    struct point point = {0};
    for (size_t i = 0; i < o->repeat; i++) {
        tla_traffic_result result;
        tla_error error;
        size_t bad;
        const double begin = processor_seconds();
        if (tla_traffic_run(timing, &traffic, &result, &bad, &error) != TLA_OK) give_up(error.text);
        const double rate = (double)traffic.count / (processor_seconds() - begin);
        if (rate > point.requests_per_s) point.requests_per_s = rate;
        point.gb_s = (double)result.nbytes * 1000.0 / (double)result.end_ps;
        point.latency_ns = tla_traffic_summarize(&result).mean_ns;
        point.hit_rate = (double)result.stats.row_hits / (double)traffic.count;
        tla_traffic_result_free(&result);
    }
    tla_traffic_free(&traffic);
    point.deviation = point.gb_s / r->gb_s - 1;
    point.in_range =
        point.gb_s >= r->gb_s_low * (1 - range_widened) && point.gb_s <= r->gb_s_high * (1 + range_widened);
    if (r->latency_ns > 0) point.latency_deviation = point.latency_ns / r->latency_ns - 1;
    return point;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank. */
static double percentile(double *values, size_t count, unsigned percent) {
    qsort(values, count, sizeof *values, by_value);
    return values[(count * percent + 99) / 100 - 1];
}

/* Requests a second of transfers that hit open rows only, 512 bursts each: in closed form, and burst by burst. */
static void open_row_rates(size_t transfers, double *closed, double *visited) {
    tla_hbm_config timing = timing_of("hbm2");
    timing.refresh = TLA_HBM_REFRESH_NONE; /* it would close the rows */
    tla_hbm_map_parse("m1", &timing, NULL);
    const uint64_t nbytes = (uint64_t)timing.row_bytes * timing.bank_groups * timing.banks_per_group;
    const uint64_t lines = nbytes / timing.burst_bytes;
    tla_hbm *hbm[2];
    tla_hbm_transfer transfer = {0};
    for (size_t i = 0; i < 2; i++) {
        if (tla_hbm_create(&timing, NULL, &hbm[i], NULL) != TLA_OK) give_up("no channel");
        tla_hbm_access(hbm[i], 0, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, nbytes, &transfer); /* opens the rows */
    }
    uint64_t at_ps = transfer.last_end_ps;
    double begin = processor_seconds();
    for (size_t i = 0; i < transfers; i++) {
        tla_hbm_access(hbm[0], at_ps, TLA_HBM_READ, TLA_PURPOSE_KERNEL, 0, nbytes, &transfer);
        at_ps = transfer.last_end_ps;
    }
    *closed = (double)(transfers * lines) / (processor_seconds() - begin);

    const size_t fewer = transfers / 16 + 1;
    uint64_t accepted_ps;
    at_ps = tla_hbm_drain(hbm[1]);
    begin = processor_seconds();
    for (size_t i = 0; i < fewer; i++) {
        for (uint64_t line = 0; line < lines; line++)
            tla_hbm_submit(hbm[1], &(tla_hbm_request){at_ps, line * timing.burst_bytes, 0, TLA_HBM_READ}, &accepted_ps);
        at_ps = tla_hbm_drain(hbm[1]);
    }
    *visited = (double)(fewer * lines) / (processor_seconds() - begin);
    if (tla_hbm_get_stats(hbm[0]).closed_form != transfers * lines) give_up("a transfer was not taken in closed form");
    tla_hbm_destroy(hbm[0]);
    tla_hbm_destroy(hbm[1]);
}

/* Share of peak of each of two pseudo-channels with random reads, on row-command buses of their own and on one. */
static void shared_row_bus(const struct options *o, double *alone, double *shared) {
    tla_hbm_config timing = timing_of("hbm2");
    for (uint32_t sharers = 1; sharers <= 2; sharers++) {
        timing.row_bus_sharers = sharers;
        tla_hbm_map_parse(sharers == 1 ? "m3" : "bg2,co5,ba2,ro14,pc1", &timing, NULL);
        tla_traffic traffic = traffic_of(&timing, TLA_TRAFFIC_RAND_RD1, o);
        traffic.window *= sharers;
        const uint64_t half = (uint64_t)timing.row_bytes * timing.bank_groups * timing.banks_per_group * timing.rows;
        for (size_t i = 0; sharers == 2 && i < traffic.count; i++)
            if (i % 2 == 1) traffic.accesses[i].address += half;
        tla_traffic_result result;
        size_t bad;
        tla_error error;
        if (tla_traffic_run(&timing, &traffic, &result, &bad, &error) != TLA_OK) give_up(error.text);
        *(sharers == 1 ? alone : shared) =
            (double)result.nbytes * 1000.0 / (double)result.end_ps / peak_gb_s(&timing) / sharers;
        tla_traffic_result_free(&result);
        tla_traffic_free(&traffic);
    }
}

int main(int argc, char **argv) {
    static const struct argp_option known[] = {
        {"count", 'c', "N", 0, "bursts of a trace (100000)", 0},
        {"seed", 's', "N", 0, "of the traces (1)", 0},
        {"repeat", 'r', "N", 0, "runs of each point, of which the fastest counts (3)", 0},
        {"json", 'j', "FILE", 0, "write all figures there", 0},
        {0}};
    static const struct argp argp = {.options = known, .parser = parse_option, .doc = "Benchmark of the HBM timing."};
    struct options o = {.count = 100000, .repeat = 3, .seed = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &o);

    double deviations[POINTS], latency_deviations[POINTS], log_rate = 0, slowest_sequential = INFINITY,
                                                           slowest_random = INFINITY;
    size_t in_range = 0, latencies = 0, points = 0;
    json_t *json_points = json_array();
    printf("| part | pattern | GB/s | reference | range | deviation | in range + 2 %% | read latency ns | reference | "
           "deviation | row hits | M requests/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t p = 0; p < HBM_REFERENCE_PARTS; p++) {
        const tla_hbm_config timing = timing_of(hbm_reference_parts[p].name);
        for (unsigned k = 0; k < TLA_TRAFFIC_PATTERN_COUNT; k++) {
            const struct hbm_reference *r = &hbm_reference_parts[p].references[k];
            const char *name = tla_traffic_pattern_name((tla_traffic_pattern)k);
            const struct point m = measure(&timing, (tla_traffic_pattern)k, r, &o);
            deviations[points++] = fabs(m.deviation);
            in_range += m.in_range;
            log_rate += log(m.requests_per_s);
            if (strncmp(name, "seq_", 4) == 0) slowest_sequential = fmin(slowest_sequential, m.requests_per_s);
            if (strncmp(name, "rand_", 5) == 0) slowest_random = fmin(slowest_random, m.requests_per_s);
            printf("| %s | `%s` | %.2f | %.2f | %.2f-%.2f | %+.1f %% | %s | ", hbm_reference_parts[p].name, name,
                   m.gb_s, r->gb_s, r->gb_s_low, r->gb_s_high, m.deviation * 100, m.in_range ? "yes" : "**no**");
            if (r->latency_ns > 0) {
                latency_deviations[latencies++] = fabs(m.latency_deviation);
                printf("%.1f | %.1f | %+.1f %% | ", m.latency_ns, r->latency_ns, m.latency_deviation * 100);
            } else if (m.latency_ns > 0) {
                printf("%.1f | saturated | - | ", m.latency_ns);
            } else {
                printf("- | - | - | ");
            }
            printf("%.2f | %.1f |\n", m.hit_rate, m.requests_per_s / 1e6);
            json_array_append_new(json_points,
                                  json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f, s:f, s:f}", "part",
                                            hbm_reference_parts[p].name, "pattern", name, "bandwidth_gb_s", m.gb_s,
                                            "reference_gb_s", r->gb_s, "reference_low_gb_s", r->gb_s_low,
                                            "reference_high_gb_s", r->gb_s_high, "deviation", m.deviation, "in_range",
                                            m.in_range, "latency_mean_ns", m.latency_ns, "reference_latency_ns",
                                            r->latency_ns, "latency_deviation", m.latency_deviation, "row_hit_rate",
                                            m.hit_rate, "requests_per_host_s", m.requests_per_s));
        }
    }
    const double median = percentile(deviations, points, 50);
    const double latency_median = percentile(latency_deviations, latencies, 50);
    const double latency_p90 = percentile(latency_deviations, latencies, 90);
    const double mean_rate = exp(log_rate / (double)points);
    double closed, visited, alone, shared;
    open_row_rates(o.count, &closed, &visited);
    shared_row_bus(&o, &alone, &shared);
    printf("\nbandwidth: %zu of %zu points in range, median deviation %.2f %%\n", in_range, points, median * 100);
    printf("mean read latency: median deviation %.2f %%, 90th percentile %.2f %%\n", latency_median * 100,
           latency_p90 * 100);
    printf("requests per second: geometric mean %.1f M, slowest sequential %.1f M, slowest random %.1f M\n",
           mean_rate / 1e6, slowest_sequential / 1e6, slowest_random / 1e6);
    printf("open rows, 512 bursts a transfer: closed form %.0f M bursts/s, burst by burst %.1f M, ratio %.0f\n",
           closed / 1e6, visited / 1e6, closed / visited);
    printf("random reads of two pseudo-channels: %.1f %% of peak alone, %.1f %% each on a shared row-command bus\n",
           alone * 100, shared * 100);
    const bool good = in_range * 100 >= points * 95 && median < 0.01 && latency_median < 0.02 && latency_p90 < 0.05;
    if (o.json != NULL) {
        json_t *root =
            json_pack("{s:o, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "points", json_points,
                      "in_range", (json_int_t)in_range, "point_count", (json_int_t)points, "deviation_median", median,
                      "latency_deviation_median", latency_median, "latency_deviation_p90", latency_p90,
                      "requests_per_host_s_geomean", mean_rate, "requests_per_host_s_sequential", slowest_sequential,
                      "requests_per_host_s_random", slowest_random, "open_row_closed_form_per_s", closed,
                      "open_row_by_burst_per_s", visited, "row_bus_alone_share", alone, "row_bus_shared_share", shared);
        if (root == NULL || json_dump_file(root, o.json, JSON_INDENT(2)) != 0)
            give_up("the JSON file cannot be written");
        json_decref(root);
    } else {
        json_decref(json_points);
    }
    const bool reference_run = o.count == 100000 && o.seed == 1;
    return reference_run && !good ? 1 : 0;
}
