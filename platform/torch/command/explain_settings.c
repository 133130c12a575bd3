/* What settings of a recording could not do: those that others, the build or the program switched off. */
#define _GNU_SOURCE /* vasprintf */
#include "torch/command/explained.h"

#include "model/base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(explain_ignored *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(explain_ignored *list, const char *format, ...) {
    if (list->count == EXPLAIN_IGNORED_MAX) return;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&list->texts[list->count], format, arguments) >= 0) list->count++;
    va_end(arguments);
}

void explain_ignored_clear(explain_ignored *list) {
    while (list->count)
        free(list->texts[--list->count]);
}

/* Returns how often a text of settings has a key. */
static int times_of(const char *conf, const char *key) {
    const size_t length = strlen(key);
    int times = 0;
    for (const char *at = strstr(conf, key); at; at = strstr(at + length, key)) {
        const char *behind = at + length;
        while (*behind == ' ')
            behind++;
        times += *behind == ':' && (at == conf || at[-1] == ',' || at[-1] == ' ');
    }
    return times;
}

static void find_repeated(const torch_snapshot *s, explain_ignored *list) {
    static const char *const keys[] = {"expandable_segments",      "max_split_size_mb",
                                       "large_segment_size_mb",    "garbage_collection_threshold",
                                       "roundup_power2_divisions", "per_process_memory_fraction",
                                       "max_non_split_rounding_mb"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && s->conf; i++) {
        const int times = times_of(s->conf, keys[i]);
        if (times > 1) add(list, "%s is set %d times: the last one replaces the others", keys[i], times);
    }
}

/* The settings that the environment asks for: those that are not modelled, and those that are not in effect at the
 * dump. */
static void find_reset(const torch_snapshot *s, explain_ignored *list) {
    tla_segment_cache_config asked = s->settings;
    char before[TRACE_SETTINGS_MAX], after[TRACE_SETTINGS_MAX], *unknown = NULL;
    if (!s->conf || torch_conf_parse(s->conf, &asked, &unknown, NULL)) return;
    const size_t length = strlen(unknown), room = 4 * length + 1; /* each byte as \xNN */
    char *shown = length ? malloc(room) : NULL;
    if (shown) {
        tla_escape(unknown, length, shown, room);
        add(list, "not modelled, because tlmalloc does not know the name or the value: %s", shown);
    }
    free(shown);
    free(unknown);
    tla_segment_settings_print(&asked, before, sizeof before);
    tla_segment_settings_print(&s->settings, after, sizeof after);
    if (s->has_settings && strcmp(before, after) != 0)
        add(list, "asked for: %s; in effect: %s: the program or its build of PyTorch replaced the settings",
            before[0] ? before : "the defaults", after[0] ? after : "the defaults");
}

static bool has_expandable(const torch_device *d) {
    bool any = d->segment_count == 0;
    for (size_t i = 0; i < d->segment_count; i++)
        any = any || d->segments[i].expandable;
    for (size_t i = 0; i < d->entry_count; i++)
        any = any || d->entries[i].action == TORCH_SEGMENT_MAP;
    return any;
}

void explain_ignored_of(const explained *e, explain_ignored *list) {
    const torch_snapshot *s = e->snapshot;
    const tla_segment_cache_config *c = &s->settings;
    list->count = 0;
    find_repeated(s, list);
    find_reset(s, list);
    if (c->expandable && !has_expandable(&s->devices[e->device]))
        add(list, "expandable_segments:True was ignored: no segment of the recording is expandable");
    if (c->expandable && c->max_split_size && c->aborts_on_expandable)
        add(list, "max_split_size_mb with expandable_segments:True ends the program when it releases memory (#119452)");
    else if (c->expandable && c->max_split_size && c->exempt_expandable)
        add(list, "max_split_size_mb has no effect on expandable segments");
    else if (c->expandable && c->max_split_size)
        add(list, "max_split_size_mb does not keep blocks of expandable segments whole, but withholds large free ones "
                  "(#123548)");
    if (c->max_non_split_rounding && !c->max_split_size)
        add(list, "max_non_split_rounding_mb has no effect without max_split_size_mb");
    if (c->gc_threshold > 0 && c->memory_fraction <= 0)
        add(list, "garbage_collection_threshold has no effect without a memory limit, and no limit is recorded");
    else if (c->gc_threshold > 0 && c->expandable)
        add(list, "garbage_collection_threshold releases no expandable segments");
}

const char *explain_remedy(const explained *e, tla_gap_class which) {
    const tla_segment_cache_config *c = &e->snapshot->settings;
    if (which == TLA_GAP_PENDING && e->captured)
        return "wait for the other streams before the capture of a graph: frees do not complete in it";
    if (which != TLA_GAP_HARD && e->captured)
        return "call torch.cuda.empty_cache() before the capture of a graph: nothing is released in it";
    if (which == TLA_GAP_HARD && c->expandable)
        return "blocks in its granules keep it, although segments are expandable: free these blocks first";
    if (which == TLA_GAP_HARD && c->max_split_size) return "expandable_segments:True makes most of it releasable";
    if (which == TLA_GAP_SOFT && c->expandable)
        return "the retry releases it automatically, torch.cuda.empty_cache() immediately";
    return tla_gap_class_remedy(which);
}
