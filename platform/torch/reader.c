/* The common part of the readers of a snapshot: its devices, the used memory, and places in the file. */
#include "torch/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 4096 };

tla_status torch_no_memory(const torch_reader *r) {
    return tla_error_set(r->error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", r->snapshot->name);
}

/* The dictionary's own items count too: looking a key up takes as long. */
tla_status torch_reader_count(torch_reader *r, const data_value *dict, size_t record) {
    const uint64_t most = data_memory_max(r->snapshot->length);
    r->read += record + (dict->kind == DATA_DICT ? dict->count * sizeof *dict->items : 0);
    if (r->read <= most) return TLA_OK;
    return tla_error_set(r->error, TLA_LIMIT,
                         "%s: the entries, segments and blocks need more than the limit of %" PRIu64 " bytes of memory",
                         torch_where_is(r->snapshot, dict->position).text, most);
}

tla_status torch_reader_device(torch_reader *r, uint64_t number, size_t position, torch_device **device) {
    torch_snapshot *s = r->snapshot;
    *device = NULL;
    if (number >= DEVICES_MAX)
        return tla_error_set(r->error, TLA_LIMIT, "%s: found device %" PRIu64 ", expected 0 .. %d",
                             torch_where_is(s, position).text, number, DEVICES_MAX - 1);
    if (number >= s->device_count) {
        torch_device *devices = realloc(s->devices, (number + 1) * sizeof *devices);
        if (!devices) return torch_no_memory(r);
        memset(devices + s->device_count, 0, (number + 1 - s->device_count) * sizeof *devices);
        s->devices = devices;
        s->device_count = number + 1;
    }
    *device = &s->devices[number];
    return TLA_OK;
}

bool torch_is_event(const data_value *element) {
    return data_get(element, "ph") || data_get(element, "name");
}

bool torch_is_segment(const data_value *element) {
    return !torch_is_event(element) && (data_get(element, "total_size") || data_get(element, "blocks"));
}

torch_where torch_where_is(const torch_snapshot *s, size_t position) {
    torch_where where;
    if (s->pickle) {
        snprintf(where.text, sizeof where.text, "%s: byte %zu of the pickle", s->name, position);
        return where;
    }
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < position && i < s->length; i++)
        if (s->text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    snprintf(where.text, sizeof where.text, "%s:%zu:%zu", s->name, line, position - begin + 1);
    return where;
}

size_t torch_place(const torch_snapshot *s, const void *source) {
    return s->pickle ? ((const data_value *)source)->position : (size_t)((const char *)source - s->text);
}
