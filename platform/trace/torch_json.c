/* A snapshot in JSON, one entry, one segment at a time, so that a file of any length needs memory for what is kept of
 * it only. jansson reads the values; the lists around them are walked here. */
#include "trace/torch_parts.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct walker {
    torch_reader *reader;
    const char *text;
    size_t length, at;
    size_t device; /* of the trace that is being read */
} walker;

/* What to do with the elements of a list. */
typedef tla_status (*visitor)(walker *w, const pickle_value *value, const char *source);

static tla_status expected(const walker *w, const char *what) {
    torch_where where = torch_where_is(w->reader->snapshot, w->at);
    if (w->at >= w->length)
        return tla_error_set(w->reader->error, TLA_SYNTAX, "%s: found the end of the file, expected %s: truncated",
                             where.text, what);
    unsigned char found = (unsigned char)w->text[w->at];
    return tla_error_set(w->reader->error, TLA_SYNTAX, "%s: found '%c', expected %s", where.text,
                         found >= 0x20 && found < 0x7f ? found : '?', what);
}

static char peek(walker *w) {
    while (w->at < w->length && strchr(" \t\r\n", w->text[w->at]) && w->text[w->at])
        w->at++;
    return w->at < w->length ? w->text[w->at] : 0;
}

static tla_status take(walker *w, char c, const char *what) {
    if (peek(w) != c) return expected(w, what);
    w->at++;
    return TLA_OK;
}

static tla_status load(walker *w, json_t **json) {
    json_error_t error;
    peek(w);
    *json = json_loadb(w->text + w->at, w->length - w->at, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL,
                       &error);
    if (*json) {
        w->at += (size_t)error.position;
        return TLA_OK;
    }
    if (json_error_code(&error) == json_error_out_of_memory) return torch_no_memory(w->reader);
    size_t position = w->at + (error.position > 0 ? (size_t)error.position : 0);
    torch_where where = torch_where_is(w->reader->snapshot, position);
    return tla_error_set(w->reader->error, TLA_SYNTAX, "%s: %s, expected JSON%s", where.text, error.text,
                         position >= w->length ? ": truncated" : "");
}

static tla_status read_value(walker *w, visitor visit) {
    peek(w);
    const char *source = w->text + w->at;
    json_t *json;
    tla_status status = load(w, &json);
    if (status || !visit) {
        if (!status) json_decref(json);
        return status;
    }
    pickle_value *value = torch_value_of_json(json, (size_t)(source - w->text));
    status = value ? visit(w, value, source) : torch_no_memory(w->reader);
    free(value);
    json_decref(json);
    return status;
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

static tla_status visit_entry(walker *w, const pickle_value *value, const char *source) {
    return torch_read_entry(w->reader, w->device, value, source);
}

static tla_status visit_segment(walker *w, const pickle_value *value, const char *source) {
    return torch_read_segment(w->reader, value, source);
}

static tla_status visit_settings(walker *w, const pickle_value *value, const char *source) {
    (void)source;
    return torch_read_settings(w->reader, value);
}

static tla_status read_entry(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_entry);
}

static tla_status read_trace(walker *w, size_t index) {
    torch_device *device;
    w->device = index;
    tla_status status = torch_reader_device(w->reader, index, w->at, &device);
    return status ? status : read_list(w, "'[', the trace of a device", read_entry);
}

static tla_status read_segment(walker *w, size_t index) {
    (void)index;
    return read_value(w, visit_segment);
}

static tla_status visit_event(walker *w, const pickle_value *value, const char *source) {
    (void)source;
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

static tla_status read_member(walker *w, const char *key) {
    if (strcmp(key, "segments") == 0) {
        w->reader->snapshot->has_segments = true;
        return read_list(w, "'[', the segments", read_segment);
    }
    if (strcmp(key, "device_traces") == 0) {
        w->reader->has_traces = true;
        return read_list(w, "'[', the traces of the devices", read_trace);
    }
    if (strcmp(key, "traceEvents") == 0) {
        w->reader->snapshot->is_profile = true;
        return read_list(w, "'[', the events of a profiler", read_event);
    }
    if (strcmp(key, "allocator_settings") == 0) return read_value(w, visit_settings);
    return peek(w) == '[' ? read_list(w, "a list", read_over) : read_value(w, NULL);
}

static tla_status read_key(walker *w, json_t **key) {
    if (peek(w) != '"') return expected(w, "a key");
    tla_status status = load(w, key);
    if (status) return status;
    return take(w, ':', "':'");
}

/* The events of a profiler without anything around them. */
static tla_status read_bare_events(walker *w) {
    w->reader->snapshot->is_profile = true;
    tla_status status = read_list(w, "'['", read_event);
    return !status && peek(w) ? expected(w, "the end of the file") : status;
}

tla_status torch_read_json(torch_reader *r) {
    walker w = {.reader = r, .text = r->snapshot->text, .length = r->snapshot->length};
    if (peek(&w) == '[') return read_bare_events(&w);
    tla_status status = take(&w, '{', "'{', a memory snapshot of PyTorch");
    for (bool first = true; !status && peek(&w) != '}'; first = false) {
        json_t *key = NULL;
        if (!first) status = take(&w, ',', "',' or '}'");
        if (!status) status = read_key(&w, &key);
        if (!status) status = read_member(&w, json_string_value(key));
        json_decref(key);
    }
    if (!status) status = take(&w, '}', "'}'");
    if (!status && peek(&w)) return expected(&w, "the end of the file");
    if (!status && !r->has_traces && !r->snapshot->has_segments && !r->snapshot->is_profile) {
        w.at = 0;
        return tla_error_set(r->error, TLA_SYNTAX,
                             "%s: found an object without 'device_traces', expected a memory snapshot of PyTorch",
                             torch_where_is(r->snapshot, 0).text);
    }
    return status;
}

/* JSON as the value that a pickle would hold */

static void measure(const json_t *json, size_t *values, size_t *items) {
    size_t i;
    const char *key;
    json_t *value;
    ++*values;
    if (json_is_array(json)) {
        *items += json_array_size(json);
        json_array_foreach(json, i, value) measure(value, values, items);
    } else if (json_is_object(json)) {
        *items += 2 * json_object_size(json);
        json_object_foreach((json_t *)json, key, value) {
            ++*values;
            measure(value, values, items);
        }
    }
}

typedef struct converter {
    pickle_value *next_value;
    pickle_value **next_items;
    size_t position;
} converter;

static pickle_value *convert_text(converter *c, const char *text, size_t length) {
    pickle_value *made = c->next_value++;
    *made = (pickle_value){.kind = PICKLE_TEXT, .position = c->position, .count = length, .text = text};
    return made;
}

static pickle_value *convert(converter *c, const json_t *json) {
    if (json_is_string(json)) return convert_text(c, json_string_value(json), json_string_length(json));
    pickle_value *made = c->next_value++;
    *made = (pickle_value){.kind = PICKLE_NONE, .position = c->position};
    size_t i;
    const char *key;
    json_t *value;
    switch (json_typeof(json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        made->kind = PICKLE_BOOLEAN;
        made->integer = json_is_true(json);
        break;
    case JSON_INTEGER:
        made->kind = json_integer_value(json) < 0 ? PICKLE_NEGATIVE : PICKLE_UNSIGNED;
        made->integer = (uint64_t)json_integer_value(json);
        break;
    case JSON_REAL:
        made->kind = PICKLE_REAL;
        made->real = json_real_value(json);
        break;
    case JSON_ARRAY:
        made->kind = PICKLE_LIST;
        made->items = c->next_items;
        made->count = json_array_size(json);
        c->next_items += made->count;
        json_array_foreach(json, i, value) made->items[i] = convert(c, value);
        break;
    case JSON_OBJECT:
        made->kind = PICKLE_DICT;
        made->items = c->next_items;
        made->count = 2 * json_object_size(json);
        c->next_items += made->count;
        i = 0;
        json_object_foreach((json_t *)json, key, value) {
            made->items[i++] = convert_text(c, key, strlen(key));
            made->items[i++] = convert(c, value);
        }
        break;
    default:
        break;
    }
    return made;
}

pickle_value *torch_value_of_json(const json_t *json, size_t position) {
    size_t values = 0, items = 0;
    measure(json, &values, &items);
    pickle_value *all = malloc(values * sizeof *all + items * sizeof(pickle_value *));
    if (!all) return NULL;
    converter c = {.next_value = all, .next_items = (pickle_value **)(all + values), .position = position};
    return convert(&c, json);
}
