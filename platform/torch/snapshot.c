/* A snapshot as a whole: which format it is, and its devices. */
#include "model/base/grow.h"
#include "torch/parts.h"
#include "torch/pickle.h"
#include "trace/file.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pickle, whose values are all there at once */

static tla_status wrong(const torch_reader *r, const data_value *at, const char *what, const char *expected) {
    return tla_error_set(r->error, TLA_SYNTAX, "%s: %s: found %s, expected %s",
                         torch_where_is(r->snapshot, at->position).text, what, data_value_name(at), expected);
}

static tla_status read_traces(torch_reader *r, const data_value *traces) {
    if (traces->kind != DATA_LIST) return wrong(r, traces, "device_traces", "a list");
    tla_status status = TLA_OK;
    for (size_t i = 0; i < traces->count && !status; i++) {
        const data_value *trace = traces->items[i];
        torch_device *device;
        if (trace->kind != DATA_LIST) return wrong(r, trace, "trace of a device", "a list");
        status = torch_reader_device(r, i, trace->position, &device);
        for (size_t k = 0; k < trace->count && !status; k++)
            status = torch_read_entry(r, i, trace->items[k]);
    }
    return status;
}

static tla_status read_segments(torch_reader *r, const data_value *segments) {
    if (segments->kind != DATA_LIST) return wrong(r, segments, "segments", "a list");
    tla_status status = TLA_OK;
    for (size_t i = 0; i < segments->count && !status; i++)
        status = torch_read_segment(r, segments->items[i]);
    return status;
}

static tla_status read_pickle(torch_reader *r) {
    torch_snapshot *s = r->snapshot;
    pickle_data *pickle;
    tla_status status = pickle_read(s->text, s->length, s->name, &pickle, r->error);
    if (status) return status;
    s->pickle = pickle;
    const data_value *root = pickle_root(pickle);
    s->is_list = root->kind == DATA_LIST;
    s->has_segments = s->is_list;
    if (s->is_list) return read_segments(r, root);
    const data_value *traces = data_get(root, "device_traces"), *segments = data_get(root, "segments"),
                     *settings = data_get(root, "allocator_settings");
    if (!traces && !segments)
        return tla_error_set(
            r->error, TLA_SYNTAX,
            "%s: found %s without 'device_traces' and 'segments', expected a memory snapshot of PyTorch",
            torch_where_is(s, root->position).text, data_value_name(root));
    s->has_segments = segments != NULL;
    if (settings) status = torch_read_settings(r, settings);
    if (!status && segments) status = read_segments(r, segments);
    if (!status && traces) status = read_traces(r, traces);
    return status;
}

/* Both */

/* Older files lack their settings: expandable segments imply one. */
static void guess_settings(torch_snapshot *s) {
    for (size_t i = 0; i < s->device_count; i++)
        for (size_t k = 0; k < s->devices[i].segment_count; k++)
            if (s->devices[i].segments[k].expandable) s->settings.expandable = true;
    for (size_t i = 0; i < s->device_count; i++)
        for (size_t k = 0; k < s->devices[i].entry_count; k++)
            if (s->devices[i].entries[k].action == TORCH_SEGMENT_MAP) s->settings.expandable = true;
}

static tla_status add_gone_pool(torch_reader *r) {
    torch_snapshot *s = r->snapshot;
    if (!tla_grow_by_one(&s->pools, s->pool_count, sizeof *s->pools)) return torch_no_memory(r);
    s->pools[s->pool_count++] = (torch_pool){UINT64_MAX, UINT64_MAX};
    return TLA_OK;
}

tla_status torch_snapshot_read(const char *text, size_t length, const char *name, torch_snapshot *s, tla_error *error) {
    *s = (torch_snapshot){.name = name, .text = text, .length = length};
    torch_reader r = {.snapshot = s, .error = error};
    s->pools = calloc(1, sizeof *s->pools); /* (0, 0) first */
    s->pool_count = 1;
    tla_status status = s->pools ? TLA_OK : torch_no_memory(&r);
    if (!status) status = trace_pickle_begins(text, length) ? read_pickle(&r) : torch_read_json(&r);
    if (!status) status = add_gone_pool(&r);
    if (!status && !s->has_settings) guess_settings(s);
    free(r.slots);
    if (status) torch_snapshot_clear(s);
    return status;
}

tla_status torch_snapshot_load(const char *path, torch_snapshot *s, tla_error *error) {
    char *text = NULL;
    size_t length = 0;
    trace_file *file;
    *s = (torch_snapshot){0};
    tla_status status = trace_file_open(path, &file, error);
    if (!status) status = trace_file_rest(file, &text, &length, error);
    if (!status) {
        status = torch_snapshot_read(text, length, path, s, error);
        if (status) status = trace_file_blame(file, status, error);
    }
    trace_file_close(file);
    if (status)
        free(text);
    else
        s->own_text = text;
    return status;
}

void torch_snapshot_clear(torch_snapshot *s) {
    for (size_t i = 0; i < s->device_count; i++) {
        free(s->devices[i].entries);
        free(s->devices[i].segments);
        free(s->devices[i].blocks);
    }
    free(s->devices);
    free(s->profile);
    free(s->pools);
    free(s->conf);
    pickle_destroy(s->pickle);
    free(s->own_text);
    *s = (torch_snapshot){0};
}

/* What a snapshot without history is good for. */
static tla_status no_history(const torch_snapshot *s, bool one, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX,
                         "%.150s: found %s, but no events, because the history was not recorded: use `tlmalloc "
                         "explain', which reports the memory of the segments; for events call "
                         "torch.cuda.memory._record_memory_history() before the program allocates, and then "
                         "_dump_snapshot()",
                         s->name,
                         s->is_list ? "a list of segments (torch.cuda.memory_snapshot())"
                         : one      ? "segments and one entry"
                                    : "segments");
}

tla_status torch_check_history(const torch_snapshot *s, size_t device, tla_error *error) {
    return s->has_segments && s->devices[device].comparable < 2 ? no_history(s, true, error) : TLA_OK;
}

/* "0, 2": the devices with a trace. */
static void list_devices(const torch_snapshot *s, char *text, size_t room) {
    size_t used = 0;
    for (size_t i = 0; i < s->device_count && used + 8 < room; i++)
        if (s->devices[i].comparable) used += (size_t)snprintf(text + used, room - used, "%s%zu", used ? ", " : "", i);
}

tla_status torch_choose_device(const torch_snapshot *s, int device, size_t *chosen, tla_error *error) {
    char devices[64] = "";
    if (s->is_profile)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: found a trace of the profiler, which has peaks but no segments, streams and frees in "
                             "two steps, expected a memory snapshot of PyTorch",
                             s->name);
    list_devices(s, devices, sizeof devices);
    if (!devices[0] && s->has_segments) return no_history(s, false, error);
    if (!devices[0])
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: no device has a trace with an allocation or a free: call "
                             "torch.cuda.memory._record_memory_history() before the program allocates",
                             s->name);
    if (device >= 0) {
        *chosen = (size_t)device;
        if (*chosen < s->device_count && s->devices[*chosen].comparable) return TLA_OK;
        return tla_error_set(error, TLA_OUT_OF_RANGE, "%s: device %d has no trace, expected one of: %s", s->name,
                             device, devices);
    }
    for (size_t least = 2; least > 0; least--)
        for (*chosen = 0; *chosen < s->device_count; ++*chosen)
            if (s->devices[*chosen].comparable >= least) return TLA_OK;
    return TLA_OK;
}
