/* Memory events of PyTorch's profiler (Chrome JSON): block sizes and addresses, and the times of requested frees. They
 * show peaks, but not the actions of the allocator on its segments. */
#include "model/base/grow.h"
#include "torch/parts.h"
#include "trace/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reading one event */

static bool is_text(const data_value *value, const char *text) {
    return value && value->kind == DATA_TEXT && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

static tla_status wrong(const torch_reader *r, const data_value *at, const char *what, const char *expected) {
    return tla_error_set(r->error, TLA_SYNTAX, "%s: \"[memory]\" event: %s: found %s, expected %s",
                         torch_where_is(r->snapshot, at->position).text, what,
                         at->kind == DATA_DICT ? "none" : data_value_name(at), expected);
}

static tla_status get_number(const torch_reader *r, const data_value *args, const char *key, bool needed,
                             uint64_t *bits, bool *negative) {
    const data_value *value = data_get(args, key);
    if (!value) return needed ? wrong(r, args, key, "a number") : TLA_OK;
    if (value->kind != DATA_UNSIGNED && value->kind != DATA_NEGATIVE) return wrong(r, value, key, "a number");
    *bits = value->integer;
    *negative = value->kind == DATA_NEGATIVE;
    return TLA_OK;
}

tla_status torch_read_profile_event(torch_reader *r, const data_value *event) {
    torch_snapshot *s = r->snapshot;
    if (torch_is_segment(event))
        return tla_error_set(
            r->error, TLA_SYNTAX,
            "%s: found a segment (torch.cuda.memory_snapshot()), expected an event of the profiler, as "
            "before",
            torch_where_is(s, event->position).text);
    if (!is_text(data_get(event, "name"), "[memory]")) return TLA_OK;
    const data_value *args = data_get(event, "args"), *time = data_get(event, "ts");
    torch_profile_event e = {0};
    uint64_t device = 0, type = 0, bytes = 0;
    bool ignored = false, negative = false;
    if (!args || args->kind != DATA_DICT) return wrong(r, event, "args", "an object");
    if (!time) return wrong(r, event, "ts", "a number");
    if (time->kind != DATA_UNSIGNED && (time->kind != DATA_REAL || !isfinite(time->real)))
        return wrong(r, time, "ts", "a number");
    e.time_us = time->kind == DATA_REAL ? time->real : (double)time->integer;
    tla_status status = get_number(r, args, "Bytes", true, &bytes, &negative);
    if (!status) status = get_number(r, args, "Addr", true, &e.address, &ignored);
    if (!status) status = get_number(r, args, "Device Id", false, &device, &ignored);
    if (!status) status = get_number(r, args, "Device Type", false, &type, &ignored);
    if (!status) status = get_number(r, args, "Total Allocated", false, &e.allocated, &ignored);
    if (!status) status = get_number(r, args, "Total Reserved", false, &e.reserved, &ignored);
    if (status || bytes == 0) return status; /* of an empty tensor */
    e.is_free = negative;
    e.nbytes = negative ? 0 - bytes : bytes;
    e.on_gpu = type == 1;
    e.device = e.on_gpu && device < UINT32_MAX ? (uint32_t)device : 0;
    if (e.nbytes > TRACE_MAX_BYTES) return wrong(r, data_get(args, "Bytes"), "Bytes", "1 .. 2^63 bytes");
    if (!tla_grow(&s->profile, &s->profile_room, s->profile_count + 1, sizeof e)) return torch_no_memory(r);
    s->profile[s->profile_count++] = e;
    return TLA_OK;
}

/* The events of one device as a trace */

typedef struct profile_converter {
    trace_builder *builder;
    tla_error *error;
    const torch_profile_event **events; /* by time, in the order of the file among equals */
    const torch_profile_event **sorted; /* by address, then as above */
    size_t count;
    uint64_t older, dropped, peak_allocated, peak_reserved;
} profile_converter;

static int by_time(const void *a, const void *b) {
    const torch_profile_event *x = *(const torch_profile_event *const *)a, *y = *(const torch_profile_event *const *)b;
    if (x->time_us != y->time_us) return x->time_us < y->time_us ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_address(const void *a, const void *b) {
    const torch_profile_event *x = *(const torch_profile_event *const *)a, *y = *(const torch_profile_event *const *)b;
    return x->address != y->address ? (x->address < y->address ? -1 : 1) : by_time(a, b);
}

static bool choose_events(profile_converter *c, const torch_snapshot *s, bool gpu, uint32_t device) {
    c->events = malloc((s->profile_count + 1) * sizeof *c->events);
    c->sorted = malloc((s->profile_count + 1) * sizeof *c->sorted);
    if (!c->events || !c->sorted) return false;
    for (size_t i = 0; i < s->profile_count; i++)
        if (s->profile[i].on_gpu == gpu && s->profile[i].device == device) c->events[c->count++] = &s->profile[i];
    memcpy(c->sorted, c->events, c->count * sizeof *c->events);
    qsort(c->events, c->count, sizeof *c->events, by_time);
    qsort(c->sorted, c->count, sizeof *c->sorted, by_address);
    return true;
}

static uint64_t time_of(const profile_converter *c, const torch_profile_event *e) {
    double ns = (e->time_us - c->events[0]->time_us) * 1000;
    return ns > 0 && ns < 9e18 ? (uint64_t)llround(ns) : 0;
}

/* Blocks whose first event is their free. */
static tla_status append_older(profile_converter *c) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i < c->count && !status; i++) {
        if (i && c->sorted[i - 1]->address == c->sorted[i]->address) continue;
        if (!c->sorted[i]->is_free) continue;
        status = trace_builder_alloc(c->builder, 0, c->sorted[i]->address, c->sorted[i]->nbytes, 0, c->error);
        c->older++;
    }
    return status;
}

static tla_status append_events(profile_converter *c) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i < c->count && !status; i++) {
        const torch_profile_event *e = c->events[i];
        status = (e->is_free ? trace_builder_free : trace_builder_alloc)(c->builder, time_of(c, e), e->address,
                                                                         e->nbytes, i, c->error);
        if (e->allocated > c->peak_allocated) c->peak_allocated = e->allocated;
        if (e->reserved > c->peak_reserved) c->peak_reserved = e->reserved;
    }
    return status;
}

tla_status torch_convert_profile(const torch_snapshot *s, int device, trace_builder *builder, tla_error *error) {
    profile_converter c = {.builder = builder, .error = error};
    uint32_t number = device < 0 ? 0 : (uint32_t)device;
    bool gpu = device >= 0;
    for (size_t i = s->profile_count; i > 0; i--) /* the first device of a GPU, else the host */
        if (device < 0 && s->profile[i - 1].on_gpu && (!gpu || s->profile[i - 1].device <= number)) {
            gpu = true;
            number = s->profile[i - 1].device;
        }
    bool good = choose_events(&c, s, gpu, number);
    tla_error inner = {0};
    c.error = &inner;
    tla_status status = TLA_OK;
    if (!good)
        status = tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", s->name);
    else if (c.count == 0)
        status = tla_error_set(error, device < 0 ? TLA_SYNTAX : TLA_OUT_OF_RANGE,
                               "%s: found no \"[memory]\" events%s, expected a profile with profile_memory=True",
                               s->name, device < 0 ? "" : " of that device");
    if (!status) {
        trace_builder_place_unit(builder, "memory event");
        status = append_older(&c);
        if (!status) status = append_events(&c);
        if (status) tla_error_set(error, status, "%s: %s", s->name, inner.text);
    }
    if (!status)
        trace_builder_remark(
            builder,
            "PyTorch profiler, %s %" PRIu32 "; recorded peaks: %" PRIu64 " bytes allocated, %" PRIu64
            " reserved; %" PRIu64
            " blocks older than the trace; sizes of blocks, not requests; no streams, segments or addresses to compare",
            gpu ? "GPU" : "host", number, c.peak_allocated, c.peak_reserved, c.older);
    free(c.events);
    free(c.sorted);
    return status;
}
