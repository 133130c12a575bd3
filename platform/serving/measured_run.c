/* A measured run: its tables, and a run of ours beside it. */
#include "serving/measured_run.h"
#include "model/base/grow.h"

#include "serving/profile_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char seconds_header[] = "until_s,prompt_tokens,generated_tokens,running,waiting,kv_cache_pct",
                  requests_header[] = "id,queued_s,scheduled_s,first_token_s,last_token_s";
enum { UNTIL, PROMPTS, GENERATED, RUNNING, WAITING, KV_CACHE, SECOND_COLUMNS };
enum { ID, QUEUED, SCHEDULED, FIRST, LAST, REQUEST_COLUMNS };
static const double equal_work_from_s = 5; /* earlier seconds contain the cold start of the run */

static tla_status no_memory(const trace_table *table, tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", trace_file_name(table->file));
}

/* All fields of the line that are numbers from 0 on. */
static tla_status numbers_of(const trace_table *table, int first, int count, double *numbers, tla_error *error) {
    for (int i = first; i < count; i++)
        if (!profile_number(table->fields[i], &numbers[i]) || numbers[i] < 0)
            return table_found(table, table->fields[i], "a number from 0 on", error);
    return TLA_OK;
}

static tla_status read_second(const trace_table *table, tla_measured_run *run, tla_error *error) {
    double n[SECOND_COLUMNS];
    const tla_status status = numbers_of(table, 0, SECOND_COLUMNS, n, error);
    if (status) return status;
    if (run->second_count && n[UNTIL] <= run->seconds[run->second_count - 1].until_s)
        return table_found(table, table->fields[UNTIL], "a time after the previous line's", error);
    if (!tla_grow_by_one(&run->seconds, run->second_count, sizeof *run->seconds)) return no_memory(table, error);
    run->seconds[run->second_count++] =
        (tla_measured_second){n[UNTIL], n[GENERATED], n[RUNNING], n[WAITING], n[KV_CACHE]};
    return TLA_OK;
}

static tla_status read_request(const trace_table *table, tla_measured_run *run, tla_error *error) {
    double n[REQUEST_COLUMNS];
    uint64_t id;
    if (!table_number(table->fields[ID], &id)) return table_found(table, table->fields[ID], "an id", error);
    const tla_status status = numbers_of(table, QUEUED, REQUEST_COLUMNS, n, error);
    if (status) return status;
    if (n[FIRST] < n[QUEUED]) return table_found(table, table->fields[FIRST], "a time not before queued_s", error);
    if (!tla_grow_by_one(&run->requests, run->request_count, sizeof *run->requests)) return no_memory(table, error);
    run->requests[run->request_count++] = (tla_measured_request){id, n[QUEUED], n[FIRST]};
    return TLA_OK;
}

static tla_status read_table(const char *path, const char *header,
                             tla_status (*row)(const trace_table *, tla_measured_run *, tla_error *),
                             tla_measured_run *run, tla_error *error) {
    trace_file *file;
    trace_table table;
    bool more = true;
    tla_status status = trace_file_open(path, &file, error);
    if (status) return status;
    status = table_begin(&table, file, header, error);
    while (!status && (status = table_next(&table, &more, error)) == TLA_OK && more)
        status = row(&table, run, error);
    trace_file_close(file);
    return status;
}

tla_status tla_measured_run_read(const char *seconds_path, const char *requests_path, tla_measured_run *run,
                                 tla_error *error) {
    *run = (tla_measured_run){0};
    tla_status status = read_table(seconds_path, seconds_header, read_second, run, error);
    if (!status) status = read_table(requests_path, requests_header, read_request, run, error);
    if (!status && !run->second_count)
        status = tla_error_set(error, TLA_SYNTAX, "%s: the file has no per-second rows", seconds_path);
    if (status) tla_measured_run_clear(run);
    return status;
}

void tla_measured_run_clear(tla_measured_run *run) {
    free(run->seconds);
    free(run->requests);
    *run = (tla_measured_run){0};
}

static int compare(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

/* Sorts the values; 0 of none. */
static double median(double *values, size_t count) {
    if (!count) return 0;
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : 0;
}

static double use_pct(const tla_served_step *step) {
    return 100 * (double)step->used_blocks / (double)step->usable_blocks;
}

static void compare_work(const tla_measured_run *run, const tla_served_step *steps, size_t step_count,
                         double *deviations, tla_measured_deviation *d) {
    double generated = 0, wanted = 0;
    size_t at = 0, count = 0; /* the steps up to `at` have made no more than was wanted */
    for (size_t i = 0; i < run->second_count; i++) {
        const tla_measured_second *second = &run->seconds[i];
        wanted += second->generated_tokens;
        while (at < step_count && generated + steps[at].generated_tokens <= wanted)
            generated += steps[at++].generated_tokens;
        if (second->until_s >= equal_work_from_s)
            deviations[count++] = fabs((at ? use_pct(&steps[at - 1]) : 0) - second->kv_cache_pct);
    }
    d->equal_work_mean = mean(deviations, count);
    d->equal_work_median = median(deviations, count);
}

static void compare_clock(const tla_measured_run *run, double shift_s, const tla_served_step *steps, size_t step_count,
                          tla_measured_deviation *d) {
    const double each = 1 / (double)run->second_count;
    size_t done = 0;
    for (size_t i = 0; i < run->second_count; i++) {
        const tla_measured_second *second = &run->seconds[i];
        while (done < step_count && 1e-9 * (double)steps[done].end_ns < second->until_s - shift_s)
            done++;
        const tla_served_step *last = &steps[done ? done - 1 : 0];
        d->use += each * fabs(use_pct(last) - second->kv_cache_pct);
        d->running += each * fabs(last->running - second->running);
        d->waiting += each * fabs(last->waiting - second->waiting);
    }
}

static tla_status check_requests(const tla_measured_run *run, const tla_serving_requests *requests, tla_error *error) {
    if (run->request_count != requests->count)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the run has %zu requests, the trace %zu: compare a run of this trace", run->request_count,
                             requests->count);
    for (size_t i = 0; i < requests->count; i++)
        if (run->requests[i].id != requests->items[i].id)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "measured request %zu has id %" PRIu64 ", the request of the trace %" PRIu64
                                 ": give both the same order",
                                 i, run->requests[i].id, requests->items[i].id);
    return TLA_OK;
}

tla_status tla_measured_run_compare(const tla_measured_run *run, double shift_s, const tla_served_step *steps,
                                    size_t step_count, const tla_serving_requests *requests, const tla_served *served,
                                    tla_measured_deviation *deviation, tla_error *error) {
    *deviation = (tla_measured_deviation){0};
    if (!step_count) return tla_error_set(error, TLA_INVALID_ARGUMENT, "the run has no steps");
    const tla_status status = check_requests(run, requests, error);
    if (status) return status;
    const size_t most = run->second_count > run->request_count ? run->second_count : run->request_count;
    double *deviations = malloc(most * sizeof *deviations);
    if (!deviations) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory to compare the runs");
    compare_work(run, steps, step_count, deviations, deviation);
    compare_clock(run, shift_s, steps, step_count, deviation);
    for (size_t i = 0; i < run->request_count; i++) {
        const double ttft_s = 1e-9 * (double)(served[i].first_ns - served[i].queued_ns);
        deviations[i] = fabs(ttft_s - (run->requests[i].first_token_s - run->requests[i].queued_s));
    }
    deviation->ttft_median_s = median(deviations, run->request_count);
    free(deviations);
    return TLA_OK;
}
