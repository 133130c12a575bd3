/* The state of PyTorch's allocator as a page for a person, and as JSON. */
#include "torch/command/explain_state.h"

#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/output.h"
#include "torch/command/explained.h"
#include "torch/usage.h"

#include <inttypes.h>
#include <stdlib.h>

bool explain_lacks_history(const torch_snapshot *s, int device) {
    bool lacks = s->has_segments && !s->is_profile;
    for (size_t i = 0; i < s->device_count; i++)
        if ((device < 0 || i == (size_t)device) && s->devices[i].comparable > 1) lacks = false;
    return lacks;
}

/* For a person */

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* "large", "small of (1, 0)". */
static explain_text name_of(const torch_usage_row *row) {
    explain_text s;
    const char *size = row->small ? "small" : "large";
    if (row->owner.a || row->owner.b)
        snprintf(s.text, sizeof s.text, "%s of (%" PRIu64 ", %" PRIu64 ")", size, row->owner.a, row->owner.b);
    else
        snprintf(s.text, sizeof s.text, "%s", size);
    return s;
}

static void print_rows(FILE *out, const torch_usage_report *r) {
    fprintf(out, "\n%-18s %7s %9s %14s %14s %14s %14s %14s %14s\n", "pool", "stream", "segments", "reserved",
            "allocated", "pending", "free, whole", "free, pieces", "largest free");
    for (size_t i = 0; i < r->row_count; i++) {
        const torch_usage *u = &r->rows[i].usage;
        fprintf(out,
                "%-18s %7" PRIu64 " %9" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64
                " %14" PRIu64 "\n",
                name_of(&r->rows[i]).text, r->rows[i].stream, u->segments, u->reserved, u->allocated, u->pending,
                u->whole, u->pieces, u->largest_free);
    }
}

static void print_blockers(FILE *out, const torch_snapshot *s, const torch_usage_report *r) {
    if (r->blocker_count)
        fprintf(out, "\nBlocks that keep free pieces from being released (segments with the most bytes in pieces "
                     "first):\n");
    for (size_t i = 0; i < r->blocker_count; i++) {
        const torch_usage_blocker *b = &r->blockers[i];
        char who[300];
        torch_frames(s, b->source, 2, who, sizeof who);
        fprintf(out,
                "  %" PRIu64 " bytes in pieces at 0x%" PRIx64 ", next to %zu block%s of %" PRIu64
                " bytes; the largest, %" PRIu64 " at 0x%" PRIx64 "%s%s\n",
                b->pieces, b->segment, b->blocks, plural(b->blocks), b->live, b->largest_bytes, b->largest_block,
                who[0] ? ": " : "", who);
    }
}

static void print_verdict(FILE *out, const torch_usage_report *r) {
    fprintf(out, "\ntorch.cuda.empty_cache() returns %s bytes to the device.\n", explain_size(r->empty_cache).text);
    if (r->all.waiting)
        fprintf(out, "%s bytes are kept by pending blocks alone: empty_cache waits for the streams that use them.\n",
                explain_size(r->all.waiting).text);
    if (r->private_whole)
        fprintf(out, "%s bytes are free, whole, in private pools: they stay until the graphs or MemPools are gone.\n",
                explain_size(r->private_whole).text);
    if (r->all.pieces)
        fprintf(out, "%s bytes are free pieces beside blocks: they stay until these blocks are freed.\n",
                explain_size(r->all.pieces).text);
}

static void print_device(FILE *out, const torch_snapshot *s, const torch_usage_report *r) {
    const torch_usage *u = &r->all;
    fprintf(out, "snapshot        %s, device %zu: segments without history\n", s->name, r->device);
    fprintf(out, "reserved        %s bytes in %" PRIu64 " segment%s\n", explain_size(u->reserved).text, u->segments,
            plural(u->segments));
    fprintf(out, "- allocated     %s bytes, requested %s\n", explain_size(u->allocated).text,
            explain_size(u->requested).text);
    fprintf(out, "- pending       %s bytes, freed but in use by another stream\n", explain_size(u->pending).text);
    fprintf(out, "- free, whole   %s bytes, in segments without a block\n", explain_size(u->whole).text);
    fprintf(out, "- free, pieces  %s bytes, beside blocks\n", explain_size(u->pieces).text);
    fprintf(out, "largest free    %s bytes\n", explain_size(u->largest_free).text);
    if (r->row_count) print_rows(out, r);
    print_blockers(out, s, r);
    print_verdict(out, r);
}

static void print_end(FILE *out, const torch_snapshot *s) {
    fprintf(out,
            "%s has no events, because the history was not recorded. To see why memory runs out,\ncall "
            "torch.cuda.memory._record_memory_history() before the program allocates, and then\n"
            "torch.cuda.memory._dump_snapshot().\n",
            s->is_list ? "The list (torch.cuda.memory_snapshot())" : "The snapshot");
}

/* JSON */

static void add_usage(json_t *object, const torch_usage *u) {
    json_object_set_new(object, "segments", json_from_u64(u->segments));
    json_object_set_new(object, "reserved", json_from_u64(u->reserved));
    json_object_set_new(object, "allocated", json_from_u64(u->allocated));
    json_object_set_new(object, "requested", json_from_u64(u->requested));
    json_object_set_new(object, "pending", json_from_u64(u->pending));
    json_object_set_new(object, "free", json_from_u64(u->whole + u->pieces));
    json_object_set_new(object, "whole", json_from_u64(u->whole));
    json_object_set_new(object, "pieces", json_from_u64(u->pieces));
    json_object_set_new(object, "waiting", json_from_u64(u->waiting));
    json_object_set_new(object, "largest_free", json_from_u64(u->largest_free));
}

static json_t *row_to_json(const torch_usage_row *row) {
    json_t *object = json_object(), *owner = json_array();
    json_array_append_new(owner, json_from_u64(row->owner.a));
    json_array_append_new(owner, json_from_u64(row->owner.b));
    json_object_set_new(object, "pool", json_string(row->small ? "small" : "large"));
    json_object_set_new(object, "pool_id", owner);
    json_object_set_new(object, "stream", json_from_u64(row->stream));
    add_usage(object, &row->usage);
    return object;
}

static json_t *blocker_to_json(const torch_snapshot *s, const torch_usage_blocker *b) {
    char who[300];
    torch_frames(s, b->source, 2, who, sizeof who);
    json_t *object = json_object();
    json_object_set_new(object, "segment", json_from_u64(b->segment));
    json_object_set_new(object, "pieces", json_from_u64(b->pieces));
    json_object_set_new(object, "live", json_from_u64(b->live));
    json_object_set_new(object, "blocks", json_integer((json_int_t)b->blocks));
    json_object_set_new(object, "largest_block", json_from_u64(b->largest_block));
    json_object_set_new(object, "owner", json_from_text(who));
    return object;
}

static json_t *device_to_json(const torch_snapshot *s, const torch_usage_report *r) {
    json_t *object = json_object(), *pools = json_array(), *blockers = json_array();
    for (size_t i = 0; i < r->row_count; i++)
        json_array_append_new(pools, row_to_json(&r->rows[i]));
    for (size_t i = 0; i < r->blocker_count; i++)
        json_array_append_new(blockers, blocker_to_json(s, &r->blockers[i]));
    json_object_set_new(object, "device", json_integer((json_int_t)r->device));
    add_usage(object, &r->all);
    json_object_set_new(object, "empty_cache", json_from_u64(r->empty_cache));
    json_object_set_new(object, "private_whole", json_from_u64(r->private_whole));
    json_object_set_new(object, "pools", pools);
    json_object_set_new(object, "blockers", blockers);
    return object;
}

/* The sums of the printed devices, and each of them. */
typedef struct sums {
    torch_usage all;
    uint64_t empty_cache, private_whole;
    json_t *devices;
    size_t count;
} sums;

static void add_device(sums *sum, const torch_snapshot *s, const torch_usage_report *r) {
    torch_usage_add(&sum->all, &r->all);
    sum->empty_cache += r->empty_cache;
    sum->private_whole += r->private_whole;
    if (sum->devices) json_array_append_new(sum->devices, device_to_json(s, r));
    sum->count++;
}

static tla_status write_json(const explain_question *o, const sums *sum, FILE *json, tla_error *error) {
    json_t *object = json_object();
    json_object_set_new(object, "trace", json_from_text(o->path));
    json_object_set_new(object, "history", json_false());
    add_usage(object, &sum->all);
    json_object_set_new(object, "empty_cache", json_from_u64(sum->empty_cache));
    json_object_set_new(object, "private_whole", json_from_u64(sum->private_whole));
    json_object_set(object, "devices", sum->devices);
    tla_status status = json_write(object, 0, json, error);
    json_decref(object);
    return status;
}

/* The segments of the first printed device, drawn. */

static tla_status draw(const torch_snapshot *s, size_t device, FILE *map, tla_error *error) {
    const torch_device *d = &s->devices[device];
    explained e = {.snapshot = s, .device = device};
    e.blocks = calloc(d->block_count + 1, sizeof *e.blocks);
    if (!e.blocks) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to draw it", s->name);
    for (size_t i = 0; i < d->segment_count; i++) {
        const torch_segment *segment = &d->segments[i];
        for (size_t k = segment->first_block; k < segment->first_block + segment->block_count; k++) {
            const torch_block *b = &d->blocks[k];
            e.blocks[e.block_count++] =
                (tla_segment_block_info){.segment = segment->address,
                                         .segment_size = segment->nbytes,
                                         .granule = segment->expandable,
                                         .stream = segment->stream,
                                         .owner = s->pools[segment->pool],
                                         .small = segment->small,
                                         .address = b->address,
                                         .nbytes = b->nbytes,
                                         .state = b->state == TORCH_ALLOCATED ? TLA_SEGMENT_ALLOCATED
                                                  : b->state == TORCH_PENDING ? TLA_SEGMENT_PENDING
                                                                              : TLA_SEGMENT_FREE};
        }
    }
    explain_map(map, &e);
    free(e.blocks);
    return TLA_OK;
}

/* Options and devices */

static tla_status check_options(const explain_question *o, const torch_snapshot *s, tla_error *error) {
    const char *option = o->when != EXPLAIN_DEFAULT ? "--at"
                         : o->capacity              ? "--capacity"
                         : o->settings_count        ? "--settings"
                         : o->compare               ? "--compare"
                         : o->version               ? "--pytorch"
                                                    : NULL;
    if (!option) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%.200s: %s needs events, but the history was not recorded: leave the option out, or call "
                         "torch.cuda.memory._record_memory_history() before the program allocates",
                         s->name, option);
}

static tla_status no_segments(const torch_snapshot *s, int device, tla_error *error) {
    char devices[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->device_count && used + 8 < sizeof devices; i++)
        if (s->devices[i].segment_count)
            used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%zu", used ? ", " : "", i);
    return tla_error_set(error, TLA_OUT_OF_RANGE, "%.200s: device %d has no segments, expected one of: %s", s->name,
                         device, used ? devices : "none");
}

static tla_status explain_device(const torch_snapshot *s, size_t device, sums *sum, FILE *map, tla_error *error) {
    torch_usage_report r;
    tla_status status = torch_usage_find(s, device, &r, error);
    if (!status && map && !sum->count) status = draw(s, device, map, error);
    if (!status) {
        if (sum->count) fputs("\n", output_table());
        print_device(output_table(), s, &r);
        add_device(sum, s, &r);
    }
    torch_usage_clear(&r);
    return status;
}

tla_status explain_state(const explain_question *o, const torch_snapshot *s, FILE *map, FILE *json, tla_error *error) {
    sums sum = {.devices = json ? json_array() : NULL};
    tla_status status = check_options(o, s, error);
    for (size_t i = 0; i < s->device_count && !status; i++)
        if ((o->device < 0 || i == (size_t)o->device) && s->devices[i].segment_count)
            status = explain_device(s, i, &sum, map, error);
    if (!status && !sum.count && o->device >= 0) status = no_segments(s, o->device, error);
    if (!status && !sum.count)
        fprintf(output_table(), "snapshot        %s: no segments, no memory is reserved\n", s->name);
    if (!status) print_end(output_table(), s);
    if (!status && json) status = write_json(o, &sum, json, error);
    json_decref(sum.devices);
    return status ? status : output_commit(error);
}
