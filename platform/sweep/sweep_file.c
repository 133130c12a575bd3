/* SWEEP.yaml by the reader of configurations: its contents are kept as written, and judged when all is read. */
#include "sweep_file.h"

#include "model/base/suggest.h"

#include <stdlib.h>
#include <string.h>

static sweep_reading *reading_of(const tla_loader *loader) {
    return loader->context;
}

static void report_own(void *context, const tla_config_finding *finding) {
    const sweep_reading *r = context;
    if (r->report) r->report(r->context, finding);
}

/* ---- copies ---- */

static char *copy_of(tla_loader *loader, const char *text) {
    char *copy = strdup(text);
    loader->no_memory |= !copy;
    return copy;
}

static void add_text(tla_loader *loader, sweep_written **list, size_t *count, const char *name, const char *text,
                     tla_place at) {
    sweep_written *grown = sweep_grow(loader, *list, *count, sizeof **list);
    if (!grown) return;
    *list = grown;
    sweep_written *added = &grown[(*count)++];
    *added = (sweep_written){.name = name ? copy_of(loader, name) : NULL, .text = copy_of(loader, text), .at = at};
}

static void add_pair(tla_loader *loader, sweep_written **list, size_t *count, const tla_written *name,
                     const tla_written *value) {
    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].name && strcmp((*list)[i].name, name->text) == 0) {
            tla_loader_find(loader, name->at, "%s: found the key again, expected it once (line %zu)", name->text,
                            (*list)[i].at.line);
            return;
        }
    add_text(loader, list, count, name->text, value->text, value->at);
    if (*count && (*list)[*count - 1].name) (*list)[*count - 1].name_at = name->at;
}

/* ---- the readers of the keys ---- */

static void take_text(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)name;
    sweep_written *text = &reading_of(loader)->texts[key];
    *text = (sweep_written){.text = copy_of(loader, value->text), .at = value->at};
}

static void take_setting(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    sweep_reading *r = reading_of(loader);
    add_pair(loader, &r->settings, &r->setting_count, name, value);
}

static void take_figure(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    sweep_reading *r = reading_of(loader);
    add_pair(loader, &r->figures, &r->figure_count, name, value);
}

static void take_constraint(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    (void)name;
    sweep_reading *r = reading_of(loader);
    add_text(loader, &r->constraints, &r->constraint_count, NULL, value->text, value->at);
}

static void begin_row(tla_loader *loader, size_t key, const tla_written *name, const tla_written *row) {
    (void)name;
    sweep_reading *r = reading_of(loader);
    sweep_row **rows = key == SWEEP_FILE_POINTS ? &r->points : &r->keys;
    size_t *count = key == SWEEP_FILE_POINTS ? &r->point_count : &r->key_count;
    sweep_row *grown = sweep_grow(loader, *rows, *count, sizeof **rows);
    if (!grown) return;
    *rows = grown;
    grown[(*count)++] = (sweep_row){.at = row->at};
    r->row = &grown[*count - 1];
}

static void take_row_text(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)name;
    sweep_row *row = reading_of(loader)->row;
    if (row) row->texts[key] = (sweep_written){.text = copy_of(loader, value->text), .at = value->at};
}

static void take_row_value(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    (void)name;
    sweep_row *row = reading_of(loader)->row;
    if (row) add_text(loader, &row->values, &row->value_count, NULL, value->text, value->at);
}

static void take_point(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    sweep_row *row = reading_of(loader)->row;
    if (row) add_pair(loader, &row->values, &row->value_count, name, value);
}

static void end_row(tla_loader *loader) {
    reading_of(loader)->row = NULL;
}

#define TEXT(word) .key = word, .form = {.type = TLA_VALUE_ANY}

static const tla_schema_key row_keys[] = {
    [SWEEP_ROW_KEY] = {TEXT("key"), .take = take_row_text},
    [SWEEP_ROW_VALUES] = {.key = "values", .form = {.type = TLA_VALUE_LIST}, .take = take_row_value},
    [SWEEP_ROW_FROM] = {TEXT("from"), .take = take_row_text},
    [SWEEP_ROW_TO] = {TEXT("to"), .take = take_row_text},
    [SWEEP_ROW_SCALE] = {TEXT("scale"), .take = take_row_text},
    [SWEEP_ROW_ZIP] = {TEXT("zip"), .take = take_row_text},
};

static const tla_schema_key point_keys[] = {
    {.key = "set", .form = {.type = TLA_VALUE_PAIRS}, .take = take_point},
};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static const tla_schema key_rows = {row_keys, COUNT_OF(row_keys), sizeof(int), NULL, end_row};
static const tla_schema point_rows = {point_keys, COUNT_OF(point_keys), sizeof(int), NULL, end_row};

static const tla_schema_key file_keys[] = {
    [SWEEP_FILE_NAME] = {TEXT("name"), .take = take_text},
    [SWEEP_FILE_ABOUT] = {TEXT("about"), .take = take_text},
    [SWEEP_FILE_COMMAND] = {TEXT("command"), .take = take_text},
    [SWEEP_FILE_WORKLOAD] = {TEXT("workload"), .take = take_text},
    [SWEEP_FILE_PLATFORM] = {TEXT("platform"), .take = take_text},
    [SWEEP_FILE_INPUT] = {TEXT("input"), .take = take_text},
    [SWEEP_FILE_SAMPLE] = {TEXT("sample"), .take = take_text},
    [SWEEP_FILE_COUNT] = {TEXT("count"), .take = take_text},
    [SWEEP_FILE_SEED] = {TEXT("seed"), .take = take_text},
    [SWEEP_FILE_LIMIT] = {TEXT("limit"), .take = take_text},
    [SWEEP_FILE_TIME_LIMIT] = {TEXT("time_limit"), .take = take_text},
    [SWEEP_FILE_SET] = {.key = "set", .form = {.type = TLA_VALUE_PAIRS}, .take = take_setting},
    [SWEEP_FILE_KEYS] = {.key = "keys", .form = {.type = TLA_VALUE_ROWS}, .take = begin_row, .rows = &key_rows},
    [SWEEP_FILE_POINTS] = {.key = "points", .form = {.type = TLA_VALUE_ROWS}, .take = begin_row, .rows = &point_rows},
    [SWEEP_FILE_CONSTRAINTS] = {.key = "constraints", .form = {.type = TLA_VALUE_LIST}, .take = take_constraint},
    [SWEEP_FILE_FIGURES] = {.key = "figures", .form = {.type = TLA_VALUE_PAIRS}, .take = take_figure},
};

static void judge(tla_loader *loader) {
    if (!loader->incomplete && !loader->findings && !loader->no_memory) sweep_judge(loader, reading_of(loader));
}

static const tla_schema file_schema = {file_keys, COUNT_OF(file_keys), sizeof(int), NULL, judge};

static void clear_texts(sweep_written *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(texts[i].name);
        free(texts[i].text);
    }
}

static void clear_list(sweep_written *texts, size_t count) {
    clear_texts(texts, count);
    free(texts);
}

static void clear_rows(sweep_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        clear_texts(rows[i].texts, SWEEP_ROW_TEXTS);
        clear_list(rows[i].values, rows[i].value_count);
    }
    free(rows);
}

static void clear_reading(sweep_reading *r) {
    clear_texts(r->texts, SWEEP_FILE_TEXTS);
    clear_list(r->settings, r->setting_count);
    clear_list(r->figures, r->figure_count);
    clear_list(r->constraints, r->constraint_count);
    clear_rows(r->keys, r->key_count);
    clear_rows(r->points, r->point_count);
}

tla_status sweep_parse(const char *path, const char *text, size_t length, const sweep_command *commands, sweep *made,
                       tla_config_report report, void *context) {
    *made = (sweep){.seed = 1};
    sweep_reading r = {.made = made, .commands = commands, .report = report, .context = context};
    int unused;
    snprintf(made->file, sizeof made->file, "%s", path);
    made->path = strdup(path);
    made->text = strndup(text, length);
    tla_status status = made->path && made->text ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status)
        status = tla_loader_parse(&file_schema, text, length, made->file, NULL, 0, NULL, &unused, report_own, &r);
    clear_reading(&r);
    if (status) sweep_clear(made);
    return status;
}
