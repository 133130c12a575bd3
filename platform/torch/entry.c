/* Dictionaries of a snapshot, checked and in the reader's own shape. */
#include "model/base/grow.h"
#include "torch/parts.h"
#include "trace/builder.h"
#include "trace/table.h"

#include "tlmalloc/segments/segment_cache.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_names[TORCH_ACTION_COUNT] = {
    [TORCH_ALLOC] = "alloc",
    [TORCH_FREE_REQUESTED] = "free_requested",
    [TORCH_FREE_COMPLETED] = "free_completed",
    [TORCH_SEGMENT_ALLOC] = "segment_alloc",
    [TORCH_SEGMENT_FREE] = "segment_free",
    [TORCH_SEGMENT_MAP] = "segment_map",
    [TORCH_SEGMENT_UNMAP] = "segment_unmap",
    [TORCH_OOM] = "oom",
    [TORCH_SNAPSHOT] = "snapshot",
};

const char *torch_action_name(torch_action action) {
    return action_names[action];
}

/* Errors */

tla_status torch_wrong(const torch_reader *r, const data_value *at, const char *what, const char *expected) {
    char number[24];
    const char *found = data_value_name(at);
    if (at->kind == DATA_UNSIGNED || at->kind == DATA_NEGATIVE) {
        snprintf(number, sizeof number, at->kind == DATA_NEGATIVE ? "%" PRId64 : "%" PRIu64, at->integer);
        found = number;
    }
    return tla_error_set(r->error, TLA_SYNTAX, "%s: %s: found %s, expected %s",
                         torch_where_is(r->snapshot, at->position).text, what, found, expected);
}

static tla_status missing(const torch_reader *r, const data_value *dict, const char *key) {
    return tla_error_set(r->error, TLA_SYNTAX, "%s: found %s without '%s', expected a memory snapshot of PyTorch",
                         torch_where_is(r->snapshot, dict->position).text, data_value_name(dict), key);
}

/* Values */

/* Returns the key by which torch_frames finds a dictionary: itself, or its text, because JSON values no longer exist at
 * that time. */
static const void *source_of(const torch_reader *r, const data_value *dict) {
    const torch_snapshot *s = r->snapshot;
    return s->pickle ? (const void *)dict : s->text + dict->position;
}

static bool is_text(const data_value *value, const char *text) {
    return value && value->kind == DATA_TEXT && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

static tla_status get_number(const torch_reader *r, const data_value *dict, const char *key, uint64_t *number) {
    const data_value *value = data_get(dict, key);
    if (!value) return missing(r, dict, key);
    if (value->kind != DATA_UNSIGNED) return torch_wrong(r, value, key, "a whole number");
    *number = value->integer;
    return TLA_OK;
}

/* An address or a stream: the writer may take the same 64 bits for a negative number. */
static tla_status get_bits(const torch_reader *r, const data_value *dict, const char *key, uint64_t *bits) {
    const data_value *value = data_get(dict, key);
    if (!value || value->kind != DATA_NEGATIVE) return get_number(r, dict, key, bits);
    *bits = value->integer;
    return TLA_OK;
}

/* A key that may be absent, or None. */
static tla_status get_optional(const torch_reader *r, const data_value *dict, const char *key, uint64_t *bits) {
    const data_value *value = data_get(dict, key);
    return !value || value->kind == DATA_NONE ? TLA_OK : get_bits(r, dict, key, bits);
}

tla_status torch_get_boolean(const torch_reader *r, const data_value *dict, const char *key, bool *flag) {
    const data_value *value = data_get(dict, key);
    if (!value) return TLA_OK;
    if (value->kind != DATA_BOOLEAN) return torch_wrong(r, value, key, "a boolean");
    *flag = value->integer;
    return TLA_OK;
}

static tla_status check_size(const torch_reader *r, const data_value *dict, const char *key, uint64_t nbytes) {
    if (nbytes > 0 && nbytes <= TRACE_MAX_BYTES) return TLA_OK;
    return torch_wrong(r, data_get(dict, key), key, "1 .. 2^63 bytes");
}

/* Pools */

/* Where the hash table has a pool, or would have it. */
static uint32_t *pool_slot(const torch_reader *r, torch_pool pool) {
    uint64_t hash = (pool.a * UINT64_C(0x9e3779b97f4a7c15) ^ pool.b) * UINT64_C(0xd6e8feb86659fd93);
    for (size_t at = (size_t)(hash >> 32);; at++) {
        uint32_t *slot = &r->slots[at % r->slot_count];
        if (!*slot) return slot;
        const torch_pool *there = &r->snapshot->pools[*slot - 1];
        if (there->a == pool.a && there->b == pool.b) return slot;
    }
}

/* Makes room for one more pool in the hash table of pools, which is half empty. */
static bool grow_slots(torch_reader *r) {
    const torch_snapshot *s = r->snapshot;
    if (2 * (s->pool_count + 1) <= r->slot_count) return true;
    const size_t count = r->slot_count ? 2 * r->slot_count : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    free(r->slots);
    r->slots = slots;
    r->slot_count = count;
    for (size_t i = 0; i < s->pool_count; i++)
        *pool_slot(r, s->pools[i]) = (uint32_t)i + 1;
    return true;
}

/* Reads the number of a pool; *exists is whether the dictionary has it. */
static tla_status find_pool(torch_reader *r, const data_value *dict, const char *key, uint32_t *index, bool *exists) {
    torch_snapshot *s = r->snapshot;
    const data_value *id = data_get(dict, key);
    torch_pool pool = {0, 0};
    *exists = id && id->kind != DATA_NONE;
    *index = 0;
    if (!*exists) return TLA_OK;
    if (id->kind != DATA_LIST || id->count != 2 || id->items[0]->kind != DATA_UNSIGNED ||
        id->items[1]->kind != DATA_UNSIGNED)
        return torch_wrong(r, id, key, "two numbers");
    pool = (torch_pool){id->items[0]->integer, id->items[1]->integer};
    if (!grow_slots(r)) return torch_no_memory(r);
    uint32_t *slot = pool_slot(r, pool);
    if (!*slot) {
        if (!tla_grow_by_one(&s->pools, s->pool_count, sizeof *s->pools)) return torch_no_memory(r);
        s->pools[s->pool_count++] = pool;
        *slot = (uint32_t)s->pool_count;
    }
    *index = *slot - 1;
    return TLA_OK;
}

/* Entries of a trace */

static tla_status get_action(const torch_reader *r, const data_value *entry, const data_value **name,
                             torch_action *action) {
    *action = TORCH_ACTION_COUNT;
    *name = data_get(entry, "action");
    if (!*name) return missing(r, entry, "action");
    if ((*name)->kind != DATA_TEXT) return torch_wrong(r, *name, "action", "a text");
    for (int i = 0; i < TORCH_ACTION_COUNT; i++)
        if (is_text(*name, action_names[i])) *action = (torch_action)i;
    return TLA_OK;
}

/* Counts an action of another version of PyTorch, and records its name. */
static void count_unknown(torch_device *device, const data_value *name) {
    if (device->unknown++ == 0)
        snprintf(device->unknown_name, sizeof device->unknown_name, "%.31s",
                 table_show(name->text, name->text + name->count).text);
}

/* Reads the free bytes of the device at an oom; 0 if the file lacks them. */
static tla_status get_device_free(const torch_reader *r, const data_value *entry, uint64_t *nbytes) {
    const data_value *value = data_get(entry, "device_free");
    tla_status status = value ? get_number(r, entry, "device_free", nbytes) : TLA_OK;
    if (status || *nbytes <= TRACE_MAX_BYTES) return status;
    return torch_wrong(r, value, "device_free", "0 .. 2^63 bytes");
}

/* The address of an oom is missing, that of a snapshot is 0. Without time_us (before PyTorch 2.1) the place in the
 * trace replaces the time. */
tla_status torch_read_entry(torch_reader *r, size_t number, const data_value *entry) {
    torch_device *device = &r->snapshot->devices[number];
    const data_value *name;
    torch_action action;
    tla_status status = torch_reader_count(r, entry, sizeof *device->entries);
    if (!status) status = get_action(r, entry, &name, &action);
    if (status) return status;
    if (action == TORCH_ACTION_COUNT) {
        count_unknown(device, name);
        return TLA_OK;
    }
    torch_entry e = {.time_us = device->entry_count, .source = source_of(r, entry), .action = (uint8_t)action};
    if (action == TORCH_OOM)
        status = get_device_free(r, entry, &e.address);
    else if (action != TORCH_SNAPSHOT)
        status = get_bits(r, entry, "addr", &e.address);
    if (!status) status = get_number(r, entry, "size", &e.nbytes);
    if (!status) status = get_optional(r, entry, "stream", &e.stream);
    if (!status) status = get_optional(r, entry, "time_us", &e.time_us);
    if (!status) status = find_pool(r, entry, "pool_id", &e.pool, &e.has_pool);
    if (!status && action != TORCH_SNAPSHOT) status = check_size(r, entry, "size", e.nbytes);
    if (status) return status;
    if (!tla_grow(&device->entries, &device->entry_room, device->entry_count + 1, sizeof e)) return torch_no_memory(r);
    device->entries[device->entry_count++] = e;
    device->comparable += action != TORCH_SNAPSHOT;
    return TLA_OK;
}

/* Segments */

static tla_status read_state(const torch_reader *r, const data_value *block, torch_state *state) {
    const data_value *value = data_get(block, "state");
    if (!value) return missing(r, block, "state");
    if (is_text(value, "active_allocated"))
        *state = TORCH_ALLOCATED;
    else if (is_text(value, "active_pending_free") || is_text(value, "active_awaiting_free"))
        *state = TORCH_PENDING;
    else if (is_text(value, "inactive"))
        *state = TORCH_INACTIVE;
    else
        return torch_wrong(r, value, "state", "active_allocated, active_pending_free or inactive");
    return TLA_OK;
}

/* The oldest snapshots have no requested_size but a history, whose first entry has. */
static const data_value *history_of(const data_value *block) {
    const data_value *history = data_get(block, "history");
    bool some = history && history->kind == DATA_LIST && history->count;
    return some && history->items[0]->kind == DATA_DICT ? history->items[0] : NULL;
}

/* Reads the history of a block that still has its first owner. */
static tla_status get_history(const torch_reader *r, const data_value *history, torch_block *block) {
    uint64_t address = block->address;
    if (!history || !data_get(history, "real_size")) return TLA_OK;
    tla_status status = get_optional(r, history, "addr", &address);
    if (status || address != block->address) return status;
    block->requested_is_size = false;
    return get_number(r, history, "real_size", &block->requested);
}

/* Records an impossible state that does not prevent further reading. */
static void contradict(torch_device *device, const data_value *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void contradict(torch_device *device, const data_value *at, const char *format, ...) {
    if (device->contradictions++) return;
    device->contradiction_at = at->position;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(device->contradiction, sizeof device->contradiction, format, arguments);
    va_end(arguments);
}

static tla_status read_block(torch_reader *r, torch_device *device, const data_value *block, uint64_t *address) {
    torch_block b = {.address = *address, .source = source_of(r, block)};
    const data_value *history = history_of(block);
    tla_status status = torch_reader_count(r, block, sizeof b);
    if (!status) status = get_number(r, block, "size", &b.nbytes);
    if (!status) status = check_size(r, block, "size", b.nbytes);
    if (!status) status = get_optional(r, block, "address", &b.address);
    if (!status) status = read_state(r, block, &b.state);
    if (status) return status;
    b.requested = b.nbytes;
    b.requested_is_size = !data_get(block, "requested_size");
    status = get_history(r, history, &b);
    if (!status) status = get_optional(r, block, "requested_size", &b.requested);
    if (status) return status;
    if (b.address != *address)
        contradict(device, block,
                   "the block at 0x%" PRIx64 " does not start at the end of the previous block, 0x%" PRIx64, b.address,
                   *address);
    *address = b.address + b.nbytes;
    if (!tla_grow(&device->blocks, &device->block_room, device->block_count + 1, sizeof b)) return torch_no_memory(r);
    device->blocks[device->block_count++] = b;
    return TLA_OK;
}

static tla_status check_sum(const torch_reader *r, torch_device *device, const data_value *segment, const char *key,
                            uint64_t found) {
    uint64_t expected = found;
    tla_status status = get_optional(r, segment, key, &expected);
    if (!status && expected != found)
        contradict(device, segment,
                   "the segment at 0x%" PRIx64 " has %s %" PRIu64 ", but its blocks have %" PRIu64 " bytes",
                   device->segments[device->segment_count - 1].address, key, expected, found);
    return status;
}

static void add(uint64_t *sum, uint64_t nbytes) {
    if (__builtin_add_overflow(*sum, nbytes, sum)) *sum = UINT64_MAX; /* contradicts what the segment says */
}

static tla_status check_sums(const torch_reader *r, torch_device *device, const data_value *segment) {
    uint64_t all = 0, allocated = 0, active = 0;
    const torch_segment *s = &device->segments[device->segment_count - 1];
    for (size_t i = s->first_block; i < device->block_count; i++) {
        const torch_block *b = &device->blocks[i];
        add(&all, b->nbytes);
        add(&allocated, b->state == TORCH_ALLOCATED ? b->nbytes : 0);
        add(&active, b->state != TORCH_INACTIVE ? b->nbytes : 0);
    }
    tla_status status = check_sum(r, device, segment, "total_size", all);
    if (!status) status = check_sum(r, device, segment, "allocated_size", allocated);
    return status ? status : check_sum(r, device, segment, "active_size", active);
}

tla_status torch_read_segment(torch_reader *r, const data_value *segment) {
    uint64_t number = 0;
    bool has_pool;
    torch_segment s = {.source = source_of(r, segment)};
    tla_status status = torch_reader_count(r, segment, sizeof s);
    const data_value *device_number = data_get(segment, "device");
    if (!status && device_number && device_number->kind == DATA_NEGATIVE)
        return torch_wrong(r, device_number, "device", "the number of a device");
    if (!status) status = get_optional(r, segment, "device", &number);
    if (!status) status = get_bits(r, segment, "address", &s.address);
    if (!status) status = get_number(r, segment, "total_size", &s.nbytes);
    if (!status) status = check_size(r, segment, "total_size", s.nbytes);
    if (!status && s.nbytes > TRACE_MAX_BYTES - r->reserved)
        return torch_wrong(r, data_get(segment, "total_size"), "total_size", "at most 2^63 bytes in all segments");
    if (!status && s.nbytes - 1 > UINT64_MAX - s.address)
        return torch_wrong(r, data_get(segment, "total_size"), "total_size", "a segment that ends at 2^64 at most");
    r->reserved += s.nbytes;
    if (!status) status = get_optional(r, segment, "stream", &s.stream);
    if (!status) status = torch_get_boolean(r, segment, "is_expandable", &s.expandable);
    if (!status) status = find_pool(r, segment, "segment_pool_id", &s.pool, &has_pool);
    if (status) return status;
    const data_value *type = data_get(segment, "segment_type"), *blocks = data_get(segment, "blocks");
    if (type && !is_text(type, "small") && !is_text(type, "large"))
        return torch_wrong(r, type, "segment_type", "small or large");
    s.small = type ? is_text(type, "small") : s.nbytes == 2 << 20;
    if (!blocks) return missing(r, segment, "blocks");
    if (blocks->kind != DATA_LIST) return torch_wrong(r, blocks, "blocks", "a list");
    torch_device *device;
    status = torch_reader_device(r, number, segment->position, &device);
    if (status) return status;
    if (!tla_grow(&device->segments, &device->segment_room, device->segment_count + 1, sizeof s))
        return torch_no_memory(r);
    s.first_block = device->block_count;
    s.block_count = blocks->count;
    device->segments[device->segment_count++] = s;
    uint64_t address = s.address;
    for (size_t i = 0; i < blocks->count && !status; i++)
        status = read_block(r, device, blocks->items[i], &address);
    return status ? status : check_sums(r, device, segment);
}
