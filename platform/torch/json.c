/* A snapshot in JSON, one entry, one segment at a time, so that a file of any length needs memory only for its results.
 * */
#include "torch/parts.h"
#include "trace/json_text.h"

#include <inttypes.h>
#include <string.h>

typedef struct walker {
    torch_reader *reader;
    json_text json;
    size_t device; /* of the trace that is being read */
    bool has_settings;
} walker;

/* The function for a value. */
typedef tla_status (*visitor)(walker *w, const data_value *value);

/* The text for an error of the reader of JSON. */
static tla_status explain(walker *w, tla_status status) {
    const json_text *j = &w->json;
    tla_error *error = w->reader->error;
    if (status == TLA_NO_HOST_MEMORY) return torch_no_memory(w->reader);
    torch_where where = torch_where_is(w->reader->snapshot, j->at);
    if (status == TLA_LIMIT)
        return tla_error_set(error, status, "%s: the value needs more than the limit of %" PRIu64 " bytes of memory",
                             where.text, j->store.most);
    if (j->at >= j->length)
        return tla_error_set(error, status, "%s: found the end of the file, expected %s: truncated", where.text,
                             j->expected);
    unsigned char found = (unsigned char)j->text[j->at];
    return tla_error_set(error, status, "%s: found '%c', expected %s", where.text,
                         found >= 0x20 && found < 0x7f ? found : '?', j->expected);
}

static tla_status expected(walker *w, const char *what) {
    w->json.expected = what;
    return explain(w, TLA_SYNTAX);
}

static char peek(walker *w) {
    return json_peek(&w->json);
}

static tla_status take(walker *w, char c, const char *what) {
    tla_status status = json_take(&w->json, c, what);
    return status ? explain(w, status) : TLA_OK;
}

static tla_status read_value(walker *w, visitor visit) {
    const data_value *value;
    tla_status status = json_read(&w->json, &value);
    if (status) return explain(w, status);
    return visit ? visit(w, value) : TLA_OK;
}

/* A list, element by element. */
static tla_status read_list(walker *w, const char *what, tla_status (*element)(walker *w, size_t index)) {
    tla_status status = take(w, '[', what);
    for (size_t i = 0; !status && peek(w) != ']'; i++) {
        if (i) status = take(w, ',', "',' or ']'");
        if (!status) status = element(w, i);
    }
    return status ? status : take(w, ']', "']'");
}

static tla_status visit_entry(walker *w, const data_value *value) {
    return torch_read_entry(w->reader, w->device, value);
}

static tla_status visit_segment(walker *w, const data_value *value) {
    return torch_read_segment(w->reader, value);
}

static tla_status visit_settings(walker *w, const data_value *value) {
    return torch_read_settings(w->reader, value);
}

static tla_status read_entry(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_entry);
}

static tla_status read_trace(walker *w, size_t index) {
    torch_device *device;
    w->device = index;
    tla_status status = torch_reader_device(w->reader, index, w->json.at, &device);
    return status ? status : read_list(w, "'[', the trace of a device", read_entry);
}

static tla_status read_segment(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_segment);
}

static tla_status visit_event(walker *w, const data_value *value) {
    return torch_read_profile_event(w->reader, value);
}

static tla_status read_event(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_event);
}

static tla_status read_over(walker *w, size_t index) {
    (void)index;
    return read_value(w, NULL);
}

static bool is(const data_value *text, const char *name) {
    return text->count == strlen(name) && memcmp(text->text, name, text->count) == 0;
}

/* The member behind a key. */
static tla_status visit_key(walker *w, const data_value *key) {
    torch_snapshot *s = w->reader->snapshot;
    const bool segments = is(key, "segments"), traces = is(key, "device_traces"), events = is(key, "traceEvents"),
               settings = is(key, "allocator_settings"); /* the key is gone with the next value */
    if ((segments && s->has_segments) || (traces && w->reader->has_traces) || (events && s->is_profile) ||
        (settings && w->has_settings)) {
        w->json.at = key->position;
        return expected(w, "a key that the object does not have already");
    }
    tla_status status = take(w, ':', "':'");
    if (status) return status;
    w->has_settings |= settings;
    s->has_segments |= segments;
    s->is_profile |= events;
    w->reader->has_traces |= traces;
    if (segments) return read_list(w, "'[', the segments", read_segment);
    if (traces) return read_list(w, "'[', the traces of the devices", read_trace);
    if (events) return read_list(w, "'[', the events of a profiler", read_event);
    if (settings) return read_value(w, visit_settings);
    return peek(w) == '[' ? read_list(w, "a list", read_over) : read_value(w, NULL);
}

static tla_status read_member(walker *w) {
    return peek(w) == '"' ? read_value(w, visit_key) : expected(w, "a key");
}

/* Segments, or the events of a profiler, without anything around them: the first one decides. */
static tla_status visit_bare(walker *w, const data_value *value) {
    torch_snapshot *s = w->reader->snapshot;
    if (!s->is_list && !s->is_profile) {
        s->is_profile = torch_is_event(value);
        s->is_list = !s->is_profile;
    }
    return s->is_list ? visit_segment(w, value) : visit_event(w, value);
}

static tla_status read_bare(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_bare);
}

/* PyTorch writes an empty list of segments when it has reserved nothing. */
static tla_status read_bare_list(walker *w) {
    torch_snapshot *s = w->reader->snapshot;
    tla_status status = read_list(w, "'['", read_bare);
    if (!status && peek(w)) return expected(w, "the end of the file");
    s->is_list = !s->is_profile;
    s->has_segments = s->is_list;
    return status;
}

static tla_status read_snapshot(walker *w) {
    torch_reader *r = w->reader;
    tla_status status = take(w, '{', "'{', a memory snapshot of PyTorch");
    for (bool first = true; !status && peek(w) != '}'; first = false) {
        if (!first) status = take(w, ',', "',' or '}'");
        if (!status) status = read_member(w);
    }
    if (!status) status = take(w, '}', "'}'");
    if (!status && peek(w)) return expected(w, "the end of the file");
    if (!status && !r->has_traces && !r->snapshot->has_segments && !r->snapshot->is_profile)
        return tla_error_set(
            r->error, TLA_SYNTAX,
            "%s: found an object without 'device_traces' and 'segments', expected a memory snapshot of PyTorch",
            torch_where_is(r->snapshot, 0).text);
    return status;
}

tla_status torch_read_json(torch_reader *r) {
    walker w = {.reader = r, .json = json_text_of(r->snapshot->text, r->snapshot->length, 0)};
    tla_status status = peek(&w) == '[' ? read_bare_list(&w) : read_snapshot(&w);
    json_text_clear(&w.json);
    return status;
}
