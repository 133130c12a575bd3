/* `tlmalloc explain SNAPSHOT`: from the recording to the answer. */
#include "torch/command/explain.h"

#include "cli/json_writer.h"
#include "cli/output.h"
#include "tlmalloc/segments/segment_cache.h"
#include "torch/command/explain_state.h"
#include "torch/command/explained.h"

static tla_status report(const explain_question *o, const explained *e, const torch_inferred *inferred, FILE *map,
                         FILE *json, tla_error *error) {
    static explain_setting rows[EXPLAIN_SETTINGS_MAX];
    size_t count = 0;
    bool late = false, oom = e->request && e->request->action == TORCH_OOM;
    tla_status status = TLA_OK;
    if (o->compare || (oom && !e->impossible))
        status =
            explain_compare(e, inferred, o->settings, o->settings_count, o->second_search, rows, &count, &late, error);
    if (status) return status;
    if (map) explain_map(map, e);
    json_t *object = json ? explain_to_json(o->path, e, rows, count, late) : NULL;
    status = json ? json_write(object, 0, json, error) : TLA_OK;
    json_decref(object);
    if (!status) explain_print(output_table(), e, rows, count, late);
    return status ? status : output_commit(error);
}

static tla_status explain(const explain_question *o, torch_snapshot *snapshot, FILE *map, FILE *json,
                          tla_error *error) {
    size_t device;
    torch_start start;
    explained e;
    tla_status status = torch_choose_device(snapshot, o->device, &device, error);
    if (status) return status;
    if (snapshot->devices[device].comparable < 2)
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: the trace has one entry only, because the history was not recorded, and 'segments' "
                             "is missing: call torch.cuda.memory._record_memory_history() before the program "
                             "allocates",
                             snapshot->name);
    status = torch_start_find(snapshot, device, &start, error);
    if (status) return status;
    torch_inferred inferred;
    status = torch_inferred_create(snapshot, device, &inferred, error);
    if (!status) status = explain_find(snapshot, device, &start, o->when, o->entry, o->capacity, &inferred, &e, error);
    if (!status) {
        status = report(o, &e, &inferred, map, json, error);
        explain_clear(&e);
    }
    torch_inferred_clear(&inferred);
    torch_start_clear(&start);
    return status;
}

tla_status explain_snapshot(const explain_question *o, FILE *map, FILE *json, tla_error *error) {
    torch_snapshot snapshot;
    tla_status status = torch_snapshot_load(o->path, &snapshot, error);
    if (status) return status;
    if (explain_lacks_history(&snapshot, o->device)) {
        status = explain_state(o, &snapshot, map, json, error);
        torch_snapshot_clear(&snapshot);
        return status;
    }
    if (o->version) status = tla_segment_version_parse(o->version, &snapshot.settings, error);
    if (!status) status = explain(o, &snapshot, map, json, error);
    torch_snapshot_clear(&snapshot);
    return status;
}
