/* The same program under other settings, on the same device. */
#include "cli/explain.h"

#include "tlmalloc/segment_settings.h"

#include <stdio.h>
#include <string.h>

typedef struct variant {
    const char *settings; /* NULL: those of the recording */
    const char *note;
    bool divisions_off, one_stream, exempt;
} variant;

static const variant variants[] = {
    {NULL, "as recorded", false, false, false},
    {"", "", false, false, false},
    {"expandable_segments:True", "", false, false, false},
    {"max_split_size_mb:128", "", false, false, false},
    {"max_split_size_mb:256", "", false, false, false},
    {"max_split_size_mb:512", "", false, false, false},
    {"expandable_segments:True,max_split_size_mb:128", "", false, false, false},
    {"expandable_segments:True,max_split_size_mb:256", "", false, false, false},
    {"expandable_segments:True,max_split_size_mb:512", "", false, false, false},
    {NULL, "divisions off", true, false, false},
    {NULL, "one stream", false, true, false},
    {"expandable_segments:True,max_split_size_mb:128", "with #193400", false, false, true},
};

static tla_status add_row(const explained *e, const torch_program *program, const variant *v, explain_setting *row,
                          tla_error *error) {
    torch_what_if how = {.settings = e->snapshot->settings, .one_stream = v->one_stream};
    tla_status status = v->settings ? tla_segment_settings_parse(v->settings, &how.settings, error) : TLA_OK;
    if (v->divisions_off) memset(how.settings.power2_divisions, 0, sizeof how.settings.power2_divisions);
    how.settings.exempt_expandable = v->exempt;
    *row = (explain_setting){.note = v->note};
    tla_segment_settings_print(&how.settings, row->settings, sizeof row->settings);
    if (!row->settings[0]) snprintf(row->settings, sizeof row->settings, "defaults");
    if (!status) status = torch_program_play(program, &how, e->capacity, &row->outcome, NULL, error);
    if (!status) status = torch_program_least_capacity(program, &how, &row->least_capacity, error);
    return status;
}

tla_status explain_compare(const explained *e, const uint8_t *empties, const char *const *more, size_t more_count,
                           explain_setting *rows, size_t *count, bool *late, tla_error *error) {
    torch_program program;
    size_t own = sizeof variants / sizeof variants[0];
    *count = 0;
    tla_status status = torch_program_make(e->snapshot, e->device, e->start, empties, e->entry, &program, error);
    if (status) return status;
    *late = program.late;
    for (size_t i = 0; i < own + more_count && *count < EXPLAIN_SETTINGS_MAX && !status; i++) {
        variant asked = {i < own ? NULL : more[i - own], "", false, false, false};
        status = add_row(e, &program, i < own ? &variants[i] : &asked, &rows[*count], error);
        ++*count;
    }
    torch_program_clear(&program);
    return status;
}
