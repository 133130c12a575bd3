/* Reads a memory snapshot of PyTorch's caching allocator (torch.cuda.memory._dump_snapshot): the allocations and frees
 * in device_traces become events. A block is free when free_completed says so; free_requested comes earlier when a
 * stream still uses it. A trace is a ring, so it may begin with frees of blocks that are older than it: those are
 * allocated at its first moment. Names of keys and actions as in torch/csrc/cuda/memory_snapshot.cpp. */
#include "trace/builder.h"
#include "trace/pickle.h"
#include "trace/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum action { ALLOC, FREE, OTHER } action;

static const struct {
    const char *name;
    action action;
} actions[] = {{"alloc", ALLOC},         {"free_completed", FREE},     {"free_requested", OTHER},
               {"segment_alloc", OTHER}, {"segment_free", OTHER},      {"segment_map", OTHER},
               {"segment_unmap", OTHER}, {"snapshot", OTHER},          {"oom", OTHER},
               {"user_defined", OTHER},  {"workspace_snapshot", OTHER}};

/* An allocation or a free of one device. */
typedef struct block_event {
    uint64_t time_ns, address, nbytes;
    size_t position; /* of the entry in the pickle */
    bool is_free;
} block_event;

typedef struct snapshot {
    const char *name;
    block_event *events;
    size_t count;
    trace_builder *builder;
    tla_error *error;
} snapshot;

static tla_status read_snapshot(snapshot *s, const pickle_value *root);

tla_status trace_read_torch(const char *text, size_t length, const char *name, trace_builder *builder,
                            tla_error *error) {
    pickle_data *pickle;
    tla_status status = pickle_read(text, length, name, &pickle, error);
    if (status) return status;
    snapshot s = {.name = name, .builder = builder, .error = error};
    trace_builder_place_unit(builder, "byte");
    status = read_snapshot(&s, pickle_root(pickle));
    free(s.events);
    pickle_destroy(pickle);
    return status;
}

static tla_status wrong(const snapshot *s, const pickle_value *at, const char *what, const char *expected) {
    return tla_error_set(s->error, TLA_SYNTAX, "%s: byte %zu of the pickle: %s: found %s, expected %s", s->name,
                         at->position, what, pickle_kind_name(at->kind), expected);
}

static tla_status missing(const snapshot *s, const pickle_value *dict, const char *key) {
    return tla_error_set(s->error, TLA_SYNTAX,
                         "%s: byte %zu of the pickle: found %s without '%s', expected a memory snapshot of PyTorch",
                         s->name, dict->position, pickle_kind_name(dict->kind), key);
}

static tla_status get_number(const snapshot *s, const pickle_value *entry, const char *key, uint64_t *number) {
    const pickle_value *value = pickle_get(entry, key);
    if (!value) return missing(s, entry, key);
    if (value->kind != PICKLE_UNSIGNED) return wrong(s, value, key, "a number");
    *number = value->integer;
    return TLA_OK;
}

static tla_status get_action(const snapshot *s, const pickle_value *entry, action *found) {
    const pickle_value *value = pickle_get(entry, "action");
    if (!value) return missing(s, entry, "action");
    if (value->kind != PICKLE_TEXT) return wrong(s, value, "action", "a text");
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (value->count == strlen(actions[i].name) && memcmp(value->text, actions[i].name, value->count) == 0) {
            *found = actions[i].action;
            return TLA_OK;
        }
    return tla_error_set(
        s->error, TLA_SYNTAX,
        "%s: byte %zu of the pickle: found action '%s', expected alloc, free_completed or another that "
        "PyTorch records",
        s->name, value->position, table_show(value->text, value->text + value->count).text);
}

/* Reads one entry into s->events if it is an allocation or a free. Without time_us (PyTorch before 2.1) the place in
 * the trace stands for the time. Two entries may carry the same time or, the clock being coarse, step back a little;
 * their order is what counts. */
static tla_status read_entry(snapshot *s, const pickle_value *entry, size_t place) {
    action what = OTHER;
    tla_status status = get_action(s, entry, &what);
    if (status || what == OTHER) return status;
    block_event event = {.position = entry->position, .is_free = what == FREE};
    uint64_t time_us = place;
    status = get_number(s, entry, "addr", &event.address);
    if (!status) status = get_number(s, entry, "size", &event.nbytes);
    if (!status && pickle_get(entry, "time_us")) status = get_number(s, entry, "time_us", &time_us);
    if (status) return status;
    if (event.nbytes == 0 || event.nbytes > TRACE_MAX_BYTES)
        return wrong(s, pickle_get(entry, "size"), "size", "1 .. 2^63 bytes");
    event.time_ns = time_us < UINT64_MAX / 1000 ? 1000 * time_us : UINT64_MAX;
    if (s->count && event.time_ns < s->events[s->count - 1].time_ns) event.time_ns = s->events[s->count - 1].time_ns;
    s->events[s->count++] = event;
    return TLA_OK;
}

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* By address, then in order. */
static int by_address(const void *a, const void *b) {
    const block_event *x = *(const block_event *const *)a, *y = *(const block_event *const *)b;
    int order = compare(x->address, y->address);
    return order ? order : (x > y) - (x < y);
}

/* Appends an allocation at the first moment for each free that no allocation precedes. */
static tla_status append_older_blocks(snapshot *s, uint64_t *older) {
    const block_event **sorted = malloc((s->count + 1) * sizeof *sorted);
    if (!sorted) return tla_error_set(s->error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", s->name);
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->events[i];
    qsort(sorted, s->count, sizeof *sorted, by_address);
    tla_status status = TLA_OK;
    for (size_t i = 0; i < s->count && !status; i++) {
        bool first = i == 0 || sorted[i - 1]->address != sorted[i]->address;
        if (!first || !sorted[i]->is_free) continue;
        status = trace_builder_alloc(s->builder, s->events[0].time_ns, sorted[i]->address, sorted[i]->nbytes,
                                     sorted[i]->position, s->error);
        ++*older;
    }
    free(sorted);
    return status;
}

static tla_status append_events(snapshot *s) {
    for (size_t i = 0; i < s->count; i++) {
        const block_event *e = &s->events[i];
        tla_error inner;
        tla_status status = (e->is_free ? trace_builder_free : trace_builder_alloc)(s->builder, e->time_ns, e->address,
                                                                                    e->nbytes, e->position, &inner);
        if (status)
            return tla_error_set(s->error, status, "%s: byte %zu of the pickle: %s", s->name, e->position, inner.text);
    }
    return TLA_OK;
}

/* The first device that recorded anything; *devices says how many did. */
static tla_status choose_device(const snapshot *s, const pickle_value *traces, size_t *device, size_t *devices) {
    *devices = 0;
    for (size_t i = traces->count; i > 0; i--) {
        const pickle_value *trace = traces->items[i - 1];
        if (trace->kind != PICKLE_LIST) return wrong(s, trace, "trace of a device", "a list");
        if (trace->count == 0) continue;
        *device = i - 1;
        ++*devices;
    }
    return TLA_OK;
}

static tla_status read_snapshot(snapshot *s, const pickle_value *root) {
    const pickle_value *traces = pickle_get(root, "device_traces");
    if (!traces) return missing(s, root, "device_traces");
    if (traces->kind != PICKLE_LIST) return wrong(s, traces, "device_traces", "a list");
    size_t device = 0, devices;
    tla_status status = choose_device(s, traces, &device, &devices);
    if (status) return status;
    if (devices == 0)
        return tla_error_set(s->error, TLA_SYNTAX, "%s: no device has a trace: the history was not recorded", s->name);
    const pickle_value *trace = traces->items[device];
    s->events = malloc(trace->count * sizeof *s->events);
    if (!s->events) return tla_error_set(s->error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", s->name);
    for (size_t i = 0; i < trace->count && !status; i++)
        status = read_entry(s, trace->items[i], i);
    uint64_t older = 0;
    if (!status) status = append_older_blocks(s, &older);
    if (!status) status = append_events(s);
    if (!status)
        trace_builder_remark(s->builder,
                             "PyTorch snapshot, device %zu of %zu with a trace; %" PRIu64 " blocks older than it",
                             device, devices, older);
    return status;
}
