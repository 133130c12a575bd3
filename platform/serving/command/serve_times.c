/* Times of requests, summed up, with their parts. */
#include "serving/command/serve.h"

#include <stdlib.h>

/* Returns a time of `waited` ns in the queue and the `spent` parts, divided by `by`. */
static serve_parts parts_of(uint64_t waited, const tla_step_time *spent, double by) {
    const double s = 1e-9 / by;
    serve_parts p = {.queue = s * (double)waited,
                     .allocation = s * (double)spent->allocation_ns,
                     .mapping = s * (double)spent->mapping_ns,
                     .transfer = s * (double)spent->transfer_ns,
                     .compute = s * (double)spent->compute_ns};
    const uint64_t total = waited + spent->allocation_ns + spent->mapping_ns + spent->transfer_ns + spent->compute_ns;
    p.total = s * (double)total;
    return p;
}

static tla_step_time difference(const tla_step_time *all, const tla_step_time *part) {
    return (tla_step_time){all->allocation_ns - part->allocation_ns, all->mapping_ns - part->mapping_ns,
                           all->transfer_ns - part->transfer_ns, all->compute_ns - part->compute_ns};
}

static int compare(const void *one, const void *other) {
    const double a = ((const serve_parts *)one)->total, b = ((const serve_parts *)other)->total;
    return a < b ? -1 : a > b;
}

/* Sorts the items. */
static serve_summary sum_up(serve_parts *items, size_t count) {
    serve_summary s = {0};
    if (count == 0) return s;
    for (size_t i = 0; i < count; i++) {
        s.mean.total += items[i].total / (double)count;
        s.mean.queue += items[i].queue / (double)count;
        s.mean.allocation += items[i].allocation / (double)count;
        s.mean.mapping += items[i].mapping / (double)count;
        s.mean.transfer += items[i].transfer / (double)count;
        s.mean.compute += items[i].compute / (double)count;
    }
    qsort(items, count, sizeof *items, compare);
    s.p50 = items[(count - 1) / 2];
    s.p99 = items[(99 * count + 99) / 100 - 1];
    return s;
}

tla_status serve_times_of(const tla_serving_requests *requests, const tla_served *served, serve_times *times) {
    serve_parts *items = malloc(requests->count * sizeof *items);
    if (!items) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < requests->count; i++)
        items[i] = parts_of(served[i].waited_first_ns, &served[i].first, 1);
    times->ttft = sum_up(items, requests->count);
    size_t count = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const tla_step_time after = difference(&served[i].all, &served[i].first);
        const uint32_t tokens = requests->items[i].output_tokens - 1;
        if (tokens) items[count++] = parts_of(served[i].waited_ns - served[i].waited_first_ns, &after, tokens);
    }
    times->tpot = sum_up(items, count);
    for (size_t i = 0; i < requests->count; i++) {
        const uint64_t taking_in = served[i].queued_ns - requests->items[i].arrival_ns;
        items[i] = parts_of(taking_in + served[i].waited_ns, &served[i].all, 1);
    }
    times->latency = sum_up(items, requests->count);
    free(items);
    return TLA_OK;
}
