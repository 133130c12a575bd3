/* The explanation as a page for a person, and as JSON. */
#include "torch/command/explained.h"

#include "cli/config_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKERS_TOLD = 5 };

/* A segment whose free bytes cannot be released, and the largest block that keeps them. */
typedef struct blocker {
    uint64_t segment, free, live;
    size_t blocks;
    const tla_segment_block_info *largest;
} blocker;

static int by_free(const void *a, const void *b) {
    const blocker *x = a, *y = b;
    if (x->free != y->free) return x->free > y->free ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

/* The segments with the most free bytes between live blocks; at most BLOCKERS_TOLD. */
static size_t find_blockers(const explained *e, blocker *told) {
    size_t count = 0;
    blocker *all = malloc((e->block_count + 1) * sizeof *all);
    if (!all) return 0;
    for (size_t i = 0, next; i < e->block_count; i = next) {
        blocker b = {.segment = e->blocks[i].segment};
        for (next = i; next < e->block_count && e->blocks[next].segment == b.segment; next++) {
            const tla_segment_block_info *block = &e->blocks[next];
            if (block->state == TLA_SEGMENT_UNMAPPED) continue;
            if (block->state == TLA_SEGMENT_FREE) {
                b.free += block->nbytes;
                continue;
            }
            b.live += block->nbytes;
            b.blocks++;
            if (!b.largest || block->nbytes > b.largest->nbytes) b.largest = block;
        }
        if (b.blocks && b.free) all[count++] = b;
    }
    qsort(all, count, sizeof *all, by_free);
    size_t few = count < BLOCKERS_TOLD ? count : BLOCKERS_TOLD;
    memcpy(told, all, few * sizeof *told);
    free(all);
    return few;
}

/* Finds the owner of the block at an address: the last entry before the moment, or the block in the segments. */
static void owner_of(const explained *e, uint64_t address, char *text, size_t room) {
    const torch_device *d = &e->snapshot->devices[e->device];
    text[0] = 0;
    for (size_t i = e->entry < d->entry_count ? e->entry : d->entry_count; i > 0; i--)
        if (d->entries[i - 1].action == TORCH_ALLOC && d->entries[i - 1].address == address) {
            torch_frames(e->snapshot, d->entries[i - 1].source, 2, text, room);
            return;
        }
    for (size_t i = 0; i < e->start->block_count; i++)
        if (e->start->blocks[i].address == address)
            torch_frames(e->snapshot, e->start->blocks[i].source, 2, text, room);
}

/* For a person */

static void print_request(FILE *out, const explained *e) {
    char who[300];
    if (!e->request) {
        fprintf(out, "moment          the end of the trace\n");
        return;
    }
    bool oom = e->request->action == TORCH_OOM;
    fprintf(out, "moment          entry %" PRIu64 ": %s bytes on stream %" PRIu64 ", %s\n", e->index,
            explain_size(e->nbytes).text, e->request->stream,
            oom         ? "out of memory"
            : e->behind ? "the peak of allocated memory"
                        : "served in the recording");
    torch_frames(e->snapshot, e->request->source, 3, who, sizeof who);
    if (who[0]) fprintf(out, "requested by    %s\n", who);
}

static void print_gap(FILE *out, const explained *e) {
    fprintf(out, "\n%-16s%24s%24s\n", "bytes", "at the request", "after the retry");
    fprintf(out, "%-16s%24" PRIu64 "%24" PRIu64 "\n", "reserved", e->before.reserved, e->after.reserved);
    fprintf(out, "%-16s%24" PRIu64 "%24" PRIu64 "\n", "- allocated", e->before.allocated, e->after.allocated);
    for (int i = 0; i < TLA_GAP_CLASS_COUNT; i++)
        fprintf(out, "  %-14s%24" PRIu64 "%24" PRIu64 "\n", tla_gap_class_name((tla_gap_class)i), e->before.classes[i],
                e->after.classes[i]);
    fprintf(out, "largest free    %24" PRIu64 "%24" PRIu64 "\n", e->before.largest_free, e->after.largest_free);
    fprintf(out, "withheld        %24" PRIu64 "%24" PRIu64 "\n", e->before.refused, e->after.refused);
    fprintf(out, "slack           %24" PRIu64 "%24" PRIu64 "\n", tla_gap_slack(&e->before), tla_gap_slack(&e->after));
}

static void print_ignored(FILE *out, const explained *e) {
    explain_ignored ignored;
    explain_ignored_of(e, &ignored);
    for (size_t i = 0; i < ignored.count; i++)
        fprintf(out, "%-15s %s\n", i ? "" : "settings", ignored.texts[i]);
    explain_ignored_clear(&ignored);
}

static void print_retry(FILE *out, const explained *e) {
    if (!e->request || e->request->action != TORCH_OOM) return;
    if (e->captured) {
        fprintf(out, "An immediate retry would have failed, too: a graph was being captured, and nothing is released "
                     "during a capture.\n");
        return;
    }
    fprintf(out, "An immediate retry %s: after the release %s free block is large enough.\n",
            e->retry_served ? "would have succeeded" : "would have failed, too", e->retry_served ? "a" : "no");
}

static void print_blockers(FILE *out, const explained *e) {
    blocker told[BLOCKERS_TOLD];
    size_t count = find_blockers(e, told);
    if (count)
        fprintf(out,
                "\nBlocks that keep free memory from being released (segments with the most free memory first):\n");
    for (size_t i = 0; i < count; i++) {
        char who[300];
        owner_of(e, told[i].largest->address, who, sizeof who);
        fprintf(out,
                "  %" PRIu64 " bytes free at 0x%" PRIx64 ", next to %zu block%s of %" PRIu64 "; the largest, %" PRIu64
                " at 0x%" PRIx64 "%s%s\n",
                told[i].free, told[i].segment, told[i].blocks, told[i].blocks == 1 ? "" : "s", told[i].live,
                told[i].largest->nbytes, told[i].largest->address, who[0] ? ": " : "", who);
    }
}

static int wider(int width, const char *text) {
    const int length = (int)strlen(text);
    return length > width ? length : width;
}

static void print_settings(FILE *out, const explained *e, const explain_setting *rows, size_t count, bool late) {
    fprintf(out, "\nThe same program on %s bytes under other settings:\n", explain_size(e->capacity).text);
    int settings = 48, note = 15;
    for (size_t i = 0; i < count; i++) {
        settings = wider(settings, rows[i].settings);
        note = wider(note, rows[i].note);
    }
    fprintf(out, "%-*s %-*s %6s %15s %8s %8s %15s\n", settings, "settings", note, "", "served", "peak reserved",
            "retries", "driver", "least capacity");
    for (size_t i = 0; i < count; i++) {
        const torch_outcome *o = &rows[i].outcome;
        fprintf(out, "%-*s %-*s %6s %15" PRIu64 " %8" PRIu64 " %8" PRIu64 " %15" PRIu64 "\n", settings,
                rows[i].settings, note, rows[i].note, o->served ? "yes" : "no", o->stats.peak_reserved,
                o->stats.retries, o->driver_calls, rows[i].least_capacity);
    }
    fprintf(out, "least capacity: serves the request, which fails with 2 MiB less; a still smaller capacity may serve "
                 "it by chance\n");
    if (e->snapshot->pool_count > 2)
        fprintf(out, "pools of graphs and MemPools are played as recorded; captures of graphs are known only where a "
                     "request failed in one\n");
    if (late)
        fprintf(out, "the trace starts late: older blocks were allocated first, in the order of addresses, so this is "
                     "an estimate\n");
}

/* Prints the advice, in one or two sentences. */
static void print_verdict(FILE *out, const explained *e, const explain_setting *rows, size_t count) {
    fputs("\n", out);
    if (e->impossible) {
        fprintf(out,
                "No allocator can serve the request: it is %s bytes too large, with %s requested bytes still live.\n",
                explain_size(e->short_by).text, explain_size(e->before.requested).text);
        fprintf(out, "No setting helps: free memory first, or request less.\n");
        return;
    }
    const explain_setting *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (rows[i].outcome.served && rows[i].least_capacity && strcmp(rows[i].note, "second search") != 0 &&
            (!best || rows[i].least_capacity < best->least_capacity))
            best = &rows[i];
    if (e->before.refused)
        fprintf(out,
                "Rules withhold %s free bytes that are large enough, because blocks of max_split_size and more are not "
                "split: remove max_split_size_mb.\n",
                explain_size(e->before.refused).text);
    tla_gap_class most = tla_gap_largest_class(&e->before);
    if (most < TLA_GAP_CLASS_COUNT)
        fprintf(out, "Most of the gap is %s: %s.\n", tla_gap_class_name(most), explain_remedy(e, most));
    if (best && strcmp(best->settings, rows[0].settings) == 0 && (best == rows || !best->note[0]))
        fprintf(out, "No other settings need less memory than those of the recording: %s\n", best->settings);
    else if (best)
        fprintf(out, "These settings need the least memory: %s%s%s\n", best->settings, best->note[0] ? ", " : "",
                best->note);
    else if (count)
        fprintf(out, "No setting serves the request on this device.\n");
}

void explain_print(FILE *out, const explained *e, const explain_setting *rows, size_t count, bool late) {
    fprintf(out, "recording       %s, device %zu\n", e->snapshot->name, e->device);
    print_request(out, e);
    fprintf(out, "capacity        %s bytes: %s\n", explain_size(e->capacity).text, e->capacity_from);
    double peak = e->stats.peak_reserved ? (double)e->stats.peak_reserved : 1;
    fprintf(out, "fragmentation   %.1f %% (1 - peak allocated / peak reserved)\n",
            100 * (1 - (double)e->stats.peak_allocated / peak));
    print_ignored(out, e);
    print_gap(out, e);
    print_retry(out, e);
    print_blockers(out, e);
    if (count) print_settings(out, e, rows, count, late);
    print_verdict(out, e, rows, count);
}

/* JSON */

static json_t *gap_to_json(const tla_gap *gap) {
    json_t *object = json_object();
    json_object_set_new(object, "reserved", json_from_u64(gap->reserved));
    json_object_set_new(object, "allocated", json_from_u64(gap->allocated));
    json_object_set_new(object, "requested", json_from_u64(gap->requested));
    for (int i = 0; i < TLA_GAP_CLASS_COUNT; i++)
        json_object_set_new(object, tla_gap_class_name((tla_gap_class)i), json_from_u64(gap->classes[i]));
    json_object_set_new(object, "refused", json_from_u64(gap->refused));
    json_object_set_new(object, "slack", json_from_u64(tla_gap_slack(gap)));
    json_object_set_new(object, "largest_free", json_from_u64(gap->largest_free));
    return object;
}

static json_t *rows_to_json(const explain_setting *rows, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "settings", json_string(rows[i].settings));
        json_object_set_new(row, "note", json_string(rows[i].note));
        json_object_set_new(row, "served", json_boolean(rows[i].outcome.served));
        json_object_set_new(row, "peak_reserved", json_from_u64(rows[i].outcome.stats.peak_reserved));
        json_object_set_new(row, "retries", json_from_u64(rows[i].outcome.stats.retries));
        json_object_set_new(row, "driver_calls", json_from_u64(rows[i].outcome.driver_calls));
        json_object_set_new(row, "least_capacity", json_from_u64(rows[i].least_capacity));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *blockers_to_json(const explained *e) {
    blocker told[BLOCKERS_TOLD];
    size_t count = find_blockers(e, told);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        char who[300];
        owner_of(e, told[i].largest->address, who, sizeof who);
        json_t *object = json_object();
        json_object_set_new(object, "segment", json_from_u64(told[i].segment));
        json_object_set_new(object, "free", json_from_u64(told[i].free));
        json_object_set_new(object, "live", json_from_u64(told[i].live));
        json_object_set_new(object, "blocks", json_integer((json_int_t)told[i].blocks));
        json_object_set_new(object, "largest_block", json_from_u64(told[i].largest->address));
        json_object_set_new(object, "owner", json_from_text(who));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *explain_to_json(const char *path, const explained *e, const explain_setting *rows, size_t count, bool late) {
    json_t *report = gap_to_json(&e->before);
    char who[300] = "";
    if (e->request) torch_frames(e->snapshot, e->request->source, 3, who, sizeof who);
    json_object_set_new(report, "trace", json_from_text(path));
    json_object_set_new(report, "device", json_integer((json_int_t)e->device));
    json_object_set_new(report, "entry", json_from_u64(e->index));
    json_object_set_new(report, "action",
                        json_string(e->request ? torch_action_name((torch_action)e->request->action) : "end"));
    json_object_set_new(report, "request", json_from_u64(e->nbytes));
    json_object_set_new(report, "request_stream", json_from_u64(e->request ? e->request->stream : 0));
    json_object_set_new(report, "owner", json_from_text(who));
    json_object_set_new(report, "capacity", json_from_u64(e->capacity));
    json_object_set_new(report, "impossible", json_boolean(e->impossible));
    json_object_set_new(report, "short_by", json_from_u64(e->short_by));
    json_object_set_new(report, "after_retry", gap_to_json(&e->after));
    tla_gap_class most = tla_gap_largest_class(&e->before);
    json_object_set_new(report, "largest_class",
                        json_string(most < TLA_GAP_CLASS_COUNT ? tla_gap_class_name(most) : ""));
    json_object_set_new(report, "remedy", json_string(most < TLA_GAP_CLASS_COUNT ? explain_remedy(e, most) : ""));
    json_t *list = json_array();
    explain_ignored ignored;
    explain_ignored_of(e, &ignored);
    for (size_t i = 0; i < ignored.count; i++)
        json_array_append_new(list, json_from_text(ignored.texts[i]));
    explain_ignored_clear(&ignored);
    json_object_set_new(report, "ignored", list);
    json_object_set_new(report, "retry_served", json_boolean(e->retry_served));
    json_object_set_new(report, "blockers", blockers_to_json(e));
    json_object_set_new(report, "settings", rows_to_json(rows, count));
    json_object_set_new(report, "estimate", json_boolean(late));
    json_object_set_new(report, "late_blocks", json_from_u64(e->start->older));
    return report;
}
