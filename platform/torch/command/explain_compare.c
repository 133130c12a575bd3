/* The same program under other settings, on the same device. */
#include "torch/command/explained.h"

#include "tlmalloc/segments/segment_cache.h"

#include <stdio.h>
#include <string.h>

typedef struct variant {
    const char *settings; /* NULL: those of the recording */
    const char *note;
    bool divisions_off, one_stream, exempt, second_search;
} variant;

static const variant variants[] = {
    {NULL, "own settings", false, false, false, false},
    {"", "", false, false, false, false},
    {"expandable_segments:True", "", false, false, false, false},
    {"max_split_size_mb:128", "", false, false, false, false},
    {"max_split_size_mb:256", "", false, false, false, false},
    {"max_split_size_mb:512", "", false, false, false, false},
    {"expandable_segments:True,max_split_size_mb:128", "", false, false, false, false},
    {"expandable_segments:True,max_split_size_mb:256", "", false, false, false, false},
    {"expandable_segments:True,max_split_size_mb:512", "", false, false, false, false},
    {NULL, "divisions off", true, false, false, false},
    {NULL, "one stream", false, true, false, false},
    {"expandable_segments:True,max_split_size_mb:128", "with #193400", false, false, true, false},
    {NULL, "second search", false, false, false, true},
};

/* The settings of a play, as text: plays with the same text are equal. */
typedef struct play_key {
    char text[TRACE_SETTINGS_MAX];
} play_key;

static play_key key_of(const torch_what_if *how) {
    play_key key;
    size_t used = (size_t)snprintf(key.text, sizeof key.text, "%d%d%d ", how->one_stream, how->second_search,
                                   how->settings.exempt_expandable);
    tla_segment_settings_print(&how->settings, key.text + used, sizeof key.text - used);
    return key;
}

/* Whether it makes a difference that all blocks are on one stream. */
static bool has_streams(const torch_program *program) {
    for (size_t i = 0; i < program->block_count; i++)
        if (program->blocks[i].stream != 0) return true;
    for (size_t i = 0; i < program->op_count; i++)
        if (program->ops[i].kind == TORCH_OP_PENDING) return true;
    return false;
}

static tla_status make_what_if(const explained *e, const variant *v, bool streams, torch_what_if *how,
                               tla_error *error) {
    *how = (torch_what_if){.settings = e->snapshot->settings, .one_stream = v->one_stream && streams};
    tla_status status = v->settings ? tla_segment_settings_parse(v->settings, &how->settings, error) : TLA_OK;
    if (v->divisions_off) memset(how->settings.power2_divisions, 0, sizeof how->settings.power2_divisions);
    how->settings.exempt_expandable |= v->exempt;
    how->second_search = v->second_search;
    return status;
}

/* Returns whether a what-if, which ends at the moment, agrees with the whole recording. */
static bool is_as_recorded(const explained *e, const torch_outcome *outcome) {
    const bool served = !e->request || e->request->action != TORCH_OOM;
    return outcome->served == served && outcome->stats.retries == e->whole.retries &&
           outcome->stats.peak_reserved == e->whole.peak_reserved;
}

static tla_status play_row(const explained *e, const torch_program *program, const torch_what_if *how,
                           explain_setting *row, tla_error *error) {
    tla_status status = torch_program_play(program, how, e->capacity, &row->outcome, NULL, error);
    if (status) return status;
    const uint64_t served_by = row->outcome.served ? e->capacity : 0;
    return torch_program_least_capacity(program, how, served_by, &row->least_capacity, error);
}

tla_status explain_compare(const explained *e, const torch_inferred *inferred, const char *const *more,
                           size_t more_count, bool second_search, explain_setting *rows, size_t *count, bool *late,
                           tla_error *error) {
    torch_program program;
    play_key keys[EXPLAIN_SETTINGS_MAX];
    size_t own = sizeof variants / sizeof variants[0];
    *count = 0;
    tla_status status = torch_program_make(e->snapshot, e->device, e->start, inferred, e->entry, &program, error);
    if (status) return status;
    *late = program.late;
    const bool streams = has_streams(&program);
    for (size_t i = 0; i < own + more_count && *count < EXPLAIN_SETTINGS_MAX && !status; i++) {
        variant asked = {i < own ? NULL : more[i - own], "", false, false, false, false};
        const variant *v = i < own ? &variants[i] : &asked;
        explain_setting *row = &rows[*count];
        torch_what_if how;
        status = make_what_if(e, v, streams, &how, error);
        if (status) break;
        how.second_search |= second_search;
        size_t same = 0;
        keys[*count] = key_of(&how);
        while (strcmp(keys[same].text, keys[*count].text) != 0)
            same++;
        if (same < *count)
            *row = rows[same];
        else
            status = play_row(e, &program, &how, row, error);
        row->note = i == 0 && is_as_recorded(e, &row->outcome) ? "as recorded" : v->note;
        tla_segment_settings_print(&how.settings, row->settings, sizeof row->settings);
        if (!row->settings[0]) snprintf(row->settings, sizeof row->settings, "defaults");
        ++*count;
    }
    torch_program_clear(&program);
    return status;
}
