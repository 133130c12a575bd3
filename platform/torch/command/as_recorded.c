/* The comparison of a recording with what segment_cache makes of it, device by device. */
#include "torch/command/as_recorded.h"

#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "tlmalloc/segments/segment_cache.h"
#include "torch/recorded.h"

#include <inttypes.h>

static void print_result(FILE *out, const torch_snapshot *snapshot, const torch_start *start, const torch_recorded *r) {
    const torch_device *d = &snapshot->devices[r->device];
    fprintf(out, "device %-9zu %" PRIu64 " of %" PRIu64 " entries equal, %" PRIu64 " allocations, %s\n", r->device,
            r->equal, r->entries, r->allocs,
            r->differs           ? "then a difference"
            : r->end_state_equal ? "the end state is equal"
                                 : "the end state differs");
    fprintf(out, "  older blocks   %" PRIu64 " allocated before the trace\n", start->older);
    fprintf(out, "  peak           %" PRIu64 " bytes requested, %" PRIu64 " allocated, %" PRIu64 " reserved\n",
            r->stats.peak_requested, r->stats.peak_allocated, r->stats.peak_reserved);
    fprintf(out, "  retries        %" PRIu64 ", out of memory %" PRIu64 "\n", r->stats.retries, r->ooms);
    if (d->unknown)
        fprintf(out, "  left out       %" PRIu64 " entries of unknown actions (%s)\n", d->unknown, d->unknown_name);
    if (r->differs)
        fprintf(out, "  entry %-8" PRIu64 " recorded: %s\n                 replayed: %s\n", r->first.entry,
                r->first.recorded, r->first.replayed);
    else if (!r->end_state_equal)
        fprintf(out, "  end            %s\n", r->end_difference);
}

static json_t *result_to_json(const torch_snapshot *snapshot, const torch_start *start, const torch_recorded *r) {
    json_t *object = json_object();
    json_object_set_new(object, "device", json_integer((json_int_t)r->device));
    json_object_set_new(object, "entries", json_from_u64(r->entries));
    json_object_set_new(object, "equal", json_from_u64(r->equal));
    json_object_set_new(object, "allocs", json_from_u64(r->allocs));
    json_t *first = json_null();
    if (r->differs)
        first = json_pack("{s:o, s:s, s:s}", "entry", json_from_u64(r->first.entry), "recorded", r->first.recorded,
                          "replayed", r->first.replayed);
    json_object_set_new(object, "first_difference", first);
    json_object_set_new(object, "end_state_equal", json_boolean(r->end_state_equal));
    json_object_set_new(object, "peak_requested", json_from_u64(r->stats.peak_requested));
    json_object_set_new(object, "peak_allocated", json_from_u64(r->stats.peak_allocated));
    json_object_set_new(object, "peak_reserved", json_from_u64(r->stats.peak_reserved));
    json_object_set_new(object, "retries", json_from_u64(r->stats.retries));
    json_object_set_new(object, "ooms", json_from_u64(r->ooms));
    json_object_set_new(object, "older_blocks", json_from_u64(start->older));
    json_object_set_new(object, "unknown_actions", json_from_u64(snapshot->devices[r->device].unknown));
    return object;
}

static tla_status play_device(torch_snapshot *snapshot, size_t device, const tla_segment_cache_config *settings,
                              FILE *table, json_t *list, bool *equal, tla_error *error) {
    torch_start start;
    torch_recorded result;
    torch_recorded_options options = {.settings = settings};
    tla_status status = torch_start_find(snapshot, device, &start, error);
    if (status) return status;
    status = torch_replay_recorded(snapshot, device, &start, &options, &result, error);
    if (!status) {
        *equal = *equal && !result.differs && result.end_state_equal;
        print_result(table, snapshot, &start, &result);
        json_array_append_new(list, result_to_json(snapshot, &start, &result));
    }
    torch_start_clear(&start);
    return status;
}

static tla_status play_devices(torch_snapshot *snapshot, int device, const tla_segment_cache_config *settings,
                               FILE *table, json_t *list, bool *equal, tla_error *error) {
    bool all = device == AS_RECORDED_ALL_DEVICES;
    size_t chosen, played = 0;
    tla_status status = torch_choose_device(snapshot, all ? -1 : device, &chosen, error);
    for (size_t i = 0; i < snapshot->device_count && !status; i++) {
        if ((!all && i != chosen) || snapshot->devices[i].comparable < 2) continue; /* history off, or state only */
        status = play_device(snapshot, i, settings, table, list, equal, error);
        played++;
    }
    if (!status && !played) status = torch_check_history(snapshot, chosen, error);
    if (!status && !played)
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: the trace has one entry only, because the history was not recorded: call "
                             "torch.cuda.memory._record_memory_history() before the program allocates",
                             snapshot->name);
    return status;
}

tla_status as_recorded(const char *path, int device, const char *settings, const char *version, FILE *table, FILE *json,
                       bool *equal, tla_error *error) {
    torch_snapshot snapshot;
    tla_segment_cache_config config = {0};
    *equal = true;
    tla_status status = torch_snapshot_load(path, &snapshot, error);
    if (status) return status;
    if (version) status = tla_segment_version_parse(version, &snapshot.settings, error);
    if (!status && version) status = tla_segment_version_parse(version, &config, error);
    if (!status && settings) status = tla_segment_settings_parse(settings, &config, error);
    json_t *list = json_array();
    if (!status) status = play_devices(&snapshot, device, settings ? &config : NULL, table, list, equal, error);
    if (!status && json) {
        json_t *report = json_pack("{s:s, s:O}", "trace", path, "recorded", list);
        status = json_write(report, 0, json, error);
        json_decref(report);
    }
    json_decref(list);
    torch_snapshot_clear(&snapshot);
    return status;
}
