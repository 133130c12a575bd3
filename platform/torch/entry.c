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

static tla_status wrong(const torch_reader *r, const data_value *at, const char *what, const char *expected) {
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
    if (value->kind != DATA_UNSIGNED) return wrong(r, value, key, "a number");
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

static tla_status get_boolean(const torch_reader *r, const data_value *dict, const char *key, bool *flag) {
    const data_value *value = data_get(dict, key);
    if (!value) return TLA_OK;
    if (value->kind != DATA_BOOLEAN) return wrong(r, value, key, "a boolean");
    *flag = value->integer;
    return TLA_OK;
}

static tla_status check_size(const torch_reader *r, const data_value *dict, const char *key, uint64_t nbytes) {
    if (nbytes > 0 && nbytes <= TRACE_MAX_BYTES) return TLA_OK;
    return wrong(r, data_get(dict, key), key, "1 .. 2^63 bytes");
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
        return wrong(r, id, key, "two numbers");
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
    if ((*name)->kind != DATA_TEXT) return wrong(r, *name, "action", "a text");
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
    return wrong(r, value, "device_free", "0 .. 2^63 bytes");
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
        return wrong(r, value, "state", "active_allocated, active_pending_free or inactive");
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
    if (!status) status = get_optional(r, segment, "device", &number);
    if (!status) status = get_bits(r, segment, "address", &s.address);
    if (!status) status = get_number(r, segment, "total_size", &s.nbytes);
    if (!status) status = check_size(r, segment, "total_size", s.nbytes);
    if (!status && s.nbytes > TRACE_MAX_BYTES - r->reserved)
        return wrong(r, data_get(segment, "total_size"), "total_size", "at most 2^63 bytes in all segments");
    r->reserved += s.nbytes;
    if (!status) status = get_optional(r, segment, "stream", &s.stream);
    if (!status) status = get_boolean(r, segment, "is_expandable", &s.expandable);
    if (!status) status = find_pool(r, segment, "segment_pool_id", &s.pool, &has_pool);
    if (status) return status;
    const data_value *type = data_get(segment, "segment_type"), *blocks = data_get(segment, "blocks");
    if (type && !is_text(type, "small") && !is_text(type, "large"))
        return wrong(r, type, "segment_type", "small or large");
    s.small = type ? is_text(type, "small") : s.nbytes == 2 << 20;
    if (!blocks) return missing(r, segment, "blocks");
    if (blocks->kind != DATA_LIST) return wrong(r, blocks, "blocks", "a list");
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

/* Settings */

static tla_status read_divisions(const torch_reader *r, const data_value *dict, uint32_t *divisions) {
    if (dict->kind != DATA_DICT) return wrong(r, dict, "roundup_power2_divisions", "a dictionary");
    for (size_t i = 0; i < dict->count; i += 2) {
        const data_value *key = dict->items[i], *value = dict->items[i + 1];
        uint64_t mib = 0;
        bool good = key->kind == DATA_TEXT && key->count < 8 && value->kind == DATA_UNSIGNED;
        for (size_t k = 0; good && k < key->count; k++) {
            good = key->text[k] >= '0' && key->text[k] <= '9';
            mib = 10 * mib + (uint64_t)(key->text[k] - '0');
        }
        good = good && mib && !(mib & (mib - 1)) && mib < (uint64_t)1 << TLA_SEGMENT_DIVISIONS;
        good = good && value->integer <= 1 << 30 && !(value->integer & (value->integer - 1));
        if (!good) return wrong(r, value, "roundup_power2_divisions", "powers of two by sizes 1 .. 32768 (MiB)");
        divisions[63 - __builtin_clzll(mib)] = (uint32_t)value->integer;
    }
    return TLA_OK;
}

static tla_status read_real(const torch_reader *r, const data_value *dict, const char *key, double *real) {
    const data_value *value = data_get(dict, key);
    if (!value || value->kind == DATA_NONE) return TLA_OK;
    *real = value->kind == DATA_REAL ? value->real : (double)value->integer;
    bool good = value->kind == DATA_REAL || value->kind == DATA_UNSIGNED;
    return good && *real >= 0 && *real < 1 ? TLA_OK : wrong(r, value, key, "a number from 0 up to, but below, 1");
}

/* Bytes, or none: -1, or 0, or more than there is. */
static tla_status read_limit(const torch_reader *r, const data_value *dict, const char *key, uint64_t least,
                             const char *expected, uint64_t *nbytes) {
    const data_value *value = data_get(dict, key);
    if (!value || value->kind == DATA_NONE) return TLA_OK;
    if (value->kind == DATA_NEGATIVE) {
        *nbytes = 0; /* also where the text of the settings has one */
        return TLA_OK;
    }
    if (value->kind != DATA_UNSIGNED || (value->integer && value->integer < least))
        return wrong(r, value, key, expected);
    *nbytes = value->integer < (uint64_t)INT64_MAX ? value->integer : 0;
    return TLA_OK;
}

static tla_status read_limits(const torch_reader *r, const data_value *dict, tla_segment_cache_config *c) {
    static const char at_least[] = "-1, or at least 20971520 bytes";
    static const uint64_t mib = 1 << 20;
    tla_status status = read_limit(r, dict, "max_split_size", 20 * mib, at_least, &c->max_split_size);
    if (!status)
        status = read_limit(r, dict, "max_non_split_rounding_size", 20 * mib, at_least, &c->max_non_split_rounding);
    if (!status)
        status =
            read_limit(r, dict, "large_segment_size", 10 * mib + 1, "more than 10485760 bytes", &c->large_segment_size);
    if (!status && c->expandable && c->large_segment_size % (2 * mib))
        status = wrong(r, data_get(dict, "large_segment_size"), "large_segment_size",
                       "a multiple of 2097152 bytes, because segments are expandable");
    return status;
}

/* Reads a text of settings. It may be of another version, so that only the dictionary counts; options of torch_npu that
 * are not modelled are rejected, by the name of the option. */
static tla_status read_conf(const torch_reader *r, const data_value *dict, const char *key) {
    torch_snapshot *s = r->snapshot;
    const data_value *conf = data_get(dict, key);
    if (!conf || conf->kind != DATA_TEXT) return TLA_OK;
    snprintf(s->conf, sizeof s->conf, "%.*s", (int)(conf->count < sizeof s->conf ? conf->count : sizeof s->conf - 1),
             conf->text);
    tla_error why;
    if (tla_segment_settings_parse(s->conf, &s->settings, &why) != TLA_UNSUPPORTED) return TLA_OK;
    return tla_error_set(r->error, TLA_UNSUPPORTED, "%s: %s: %s", torch_where_is(s, conf->position).text, key,
                         why.text);
}

/* Rejects options of torch_npu that are not modelled, where they are on. */
static tla_status check_foreign(const torch_reader *r, const data_value *dict) {
    static const char *const keys[] = {"base_addr_aligned_kb", "page_size", "segment_size_mb"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const data_value *value = data_get(dict, keys[i]);
        if (!value || value->kind == DATA_NONE) continue;
        return tla_error_set(r->error, TLA_UNSUPPORTED,
                             "%s: allocator_settings: %s is an option of torch_npu that tlmalloc does not model; "
                             "remove it",
                             torch_where_is(r->snapshot, value->position).text, keys[i]);
    }
    return TLA_OK;
}

/* Reads the allocator's settings at the time of the snapshot; the text of PYTORCH_CUDA_ALLOC_CONF first, for settings
 * that the dictionary lacks. */
tla_status torch_read_settings(torch_reader *r, const data_value *dict) {
    torch_snapshot *s = r->snapshot;
    if (dict->kind == DATA_NONE) return TLA_OK;
    if (dict->kind != DATA_DICT) return wrong(r, dict, "allocator_settings", "a dictionary");
    s->has_settings = true;
    tla_status status = read_conf(r, dict, "PYTORCH_CUDA_ALLOC_CONF");
    if (!status) status = read_conf(r, dict, "PYTORCH_ALLOC_CONF");
    if (!status) status = read_conf(r, dict, "PYTORCH_NPU_ALLOC_CONF");
    if (!status) status = check_foreign(r, dict);
    tla_segment_cache_config *c = &s->settings;
    if (!status) status = get_boolean(r, dict, "expandable_segments", &c->expandable);
    if (!status) status = read_limits(r, dict, c);
    if (!status) status = read_real(r, dict, "garbage_collection_threshold", &c->gc_threshold);
    const data_value *divisions = data_get(dict, "roundup_power2_divisions");
    if (!status && divisions && divisions->kind != DATA_NONE)
        status = read_divisions(r, divisions, c->power2_divisions);
    return status;
}
