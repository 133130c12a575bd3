/* A memory snapshot of PyTorch as a trace: blocks that lived before the first entry are allocated at its moment, by
 * address; then the allocations and frees in device_traces become events. A block is free at free_completed;
 * free_requested is earlier when a stream still uses it. */
#include "torch/parts.h"
#include "trace/builder.h"

#include "tlmalloc/segments/segment_cache.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct converter {
    const torch_snapshot *snapshot;
    size_t number; /* of the device */
    const torch_device *device;
    trace_builder *builder;
    tla_error *error;
    uint64_t time_ns; /* of the event before */
} converter;

static tla_status append(converter *c, bool is_free, uint64_t address, uint64_t nbytes, uint64_t stream,
                         const void *source) {
    tla_error inner = {0};
    size_t place = source ? torch_place(c->snapshot, source) : 0;
    tla_status status =
        (is_free ? trace_builder_free : trace_builder_alloc)(c->builder, c->time_ns, address, nbytes, place, &inner);
    if (status) return tla_error_set(c->error, status, "%s: %s", torch_where_is(c->snapshot, place).text, inner.text);
    if (!is_free) trace_builder_stream(c->builder, stream);
    return TLA_OK;
}

/* By address, each with the stream of its segment. */
static tla_status append_older(converter *c, const torch_start *start) {
    tla_status status = TLA_OK;
    size_t segment = 0;
    for (size_t i = 0; i < start->block_count && !status; i++) {
        const torch_start_block *b = &start->blocks[i];
        while (segment + 1 < start->segment_count && start->segments[segment + 1].address <= b->address)
            segment++;
        uint64_t stream = start->segment_count ? start->segments[segment].stream : 0;
        status = append(c, false, b->address, b->requested ? b->requested : b->nbytes, stream, b->source);
    }
    return status;
}

/* Two entries may carry the same time or, the clock being coarse, step back a little; their order is what counts. */
static void advance(converter *c, const torch_entry *e) {
    uint64_t time_ns = e->time_us < UINT64_MAX / 1000 ? 1000 * e->time_us : UINT64_MAX;
    if (time_ns > c->time_ns) c->time_ns = time_ns;
}

static tla_status append_entries(converter *c) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i < c->device->entry_count && !status; i++) {
        const torch_entry *e = &c->device->entries[i];
        bool is_free = e->action == TORCH_FREE_COMPLETED;
        if (!is_free && e->action != TORCH_ALLOC) continue;
        advance(c, e);
        status = append(c, is_free, e->address, e->nbytes, e->stream, e->source);
    }
    return status;
}

/* The parts of the recording that a replay uses, and its other parts. */

typedef struct remark {
    char text[TRACE_REMARK_MAX];
    size_t used;
} remark;

static void say(remark *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(remark *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(r->text + r->used, sizeof r->text - r->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        r->used += (size_t)length < sizeof r->text - r->used ? (size_t)length : sizeof r->text - r->used - 1;
}

static size_t count_traces(const torch_snapshot *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->device_count; i++)
        count += s->devices[i].comparable > 0;
    return count;
}

/* More than one stream took memory. */
static bool has_streams(const torch_device *d) {
    uint64_t first = 0;
    bool any = false;
    for (size_t i = 0; i < d->entry_count; i++) {
        if (d->entries[i].action != TORCH_ALLOC) continue;
        if (any && d->entries[i].stream != first) return true;
        first = d->entries[i].stream;
        any = true;
    }
    return false;
}

static size_t count_failed(const torch_device *d) {
    size_t count = 0;
    for (size_t i = 0; i < d->entry_count; i++)
        count += d->entries[i].action == TORCH_OOM;
    return count;
}

static void add_remark(const converter *c, const torch_start *start) {
    const torch_snapshot *s = c->snapshot;
    remark r = {.used = 0};
    char settings[TRACE_SETTINGS_MAX];
    say(&r, "PyTorch snapshot, device %zu of %zu with a trace; %" PRIu64 " blocks older than the trace", c->number,
        count_traces(s), start->older);
    if (c->device->comparable == 1) say(&r, "; one entry only: the history was not recorded");
    tla_segment_settings_print(&s->settings, settings, sizeof settings);
    if (settings[0]) say(&r, "; settings %s%s", settings, s->has_settings ? "" : " (inferred from the segments)");
    if (settings[0] || has_streams(c->device))
        say(&r, "; only segment_cache uses %s%s%s", settings[0] ? "settings" : "",
            settings[0] && has_streams(c->device) ? " and " : "", has_streams(c->device) ? "streams" : "");
    if (s->pool_count > 2) say(&r, "; the replay merges pools of graphs");
    if (s->has_segments) say(&r, "; the replay places segments in its arena, not at their recorded addresses");
    if (count_failed(c->device))
        say(&r, "; %zu requests that failed in the recording (oom) are left out: see explain", count_failed(c->device));
    if (c->device->unknown)
        say(&r, "; %" PRIu64 " entries of unknown actions left out (%s)", c->device->unknown, c->device->unknown_name);
    if (start->contradictions) say(&r, "; %" PRIu64 " contradictions: %s", start->contradictions, start->contradiction);
    trace_builder_remark(c->builder, "%s", r.text);
    trace_builder_settings(c->builder, settings);
}

static tla_status convert(torch_snapshot *s, size_t number, trace_builder *builder, tla_error *error) {
    converter c = {.snapshot = s, .number = number, .device = &s->devices[number], .builder = builder, .error = error};
    torch_start start;
    tla_status status = torch_start_find(s, number, &start, error);
    if (status) return status;
    trace_builder_place_unit(builder, "byte");
    if (c.device->entry_count) advance(&c, &c.device->entries[0]);
    status = append_older(&c, &start);
    if (!status) status = append_entries(&c);
    if (!status) add_remark(&c, &start);
    torch_start_clear(&start);
    return status;
}

tla_status torch_read_trace(const char *text, size_t length, const char *name, int device, trace_builder *builder,
                            tla_error *error) {
    torch_snapshot s;
    size_t number = 0;
    tla_status status = torch_snapshot_read(text, length, name, &s, error);
    if (status) return status;
    if (s.is_profile) {
        status = torch_convert_profile(&s, device, builder, error);
        torch_snapshot_clear(&s);
        return status;
    }
    status = torch_choose_device(&s, device, &number, error);
    if (!status) status = torch_check_history(&s, number, error);
    if (!status) status = convert(&s, number, builder, error);
    torch_snapshot_clear(&s);
    return status;
}
