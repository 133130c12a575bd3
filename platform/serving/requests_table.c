/* Tables of requests: Azure's and BurstGPT's, with the time of each, and lengths alone. */
#include "serving/requests_readers.h"
#include "trace/table.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Columns of a table, by what a request has there; TIME may be missing. */
typedef enum column { TIME, PROMPT, OUTPUT, COLUMN_COUNT } column;

typedef struct table_form {
    const char *names[COLUMN_COUNT]; /* NULL: the form has none */
    bool dates;                      /* times are dates, otherwise seconds */
    bool others;                     /* the header may have other columns too, in any order */
} table_form;

static const table_form forms[] = {
    {{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, true, false},
    {{NULL, "input", "output"}, false, false},
    {{"Timestamp", "Request tokens", "Response tokens"}, false, true},
};

enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

static table_field unquoted(table_field field) {
    const bool quoted = field.end - field.begin >= 2 && field.begin[0] == '"' && field.end[-1] == '"';
    return quoted ? (table_field){field.begin + 1, field.end - 1} : field;
}

static int find_column(const table_form *form, table_field name) {
    int which = 0;
    while (which < COLUMN_COUNT && !(form->names[which] && table_equals(unquoted(name), form->names[which])))
        which++;
    return which;
}

/* Returns whether a header is of a form: exactly its columns, or where others may be, one of those for tokens. */
static bool is_header(const table_form *form, table_field line) {
    int next = form->names[TIME] ? TIME : PROMPT;
    bool any = false, exact = true;
    for (const char *begin = line.begin, *p = begin; p <= line.end; p++) {
        if (p < line.end && *p != ',') continue;
        const int which = find_column(form, (table_field){begin, p});
        any = any || which == PROMPT || which == OUTPUT;
        exact = exact && which == next++;
        begin = p + 1;
    }
    return form->others ? any : exact && next == COLUMN_COUNT;
}

static const table_form *find_form(const char *first, size_t length) {
    const char *newline = memchr(first, '\n', length);
    table_field line = {first, newline ? newline : first + length};
    if (line.end > line.begin && line.end[-1] == '\r') line.end--;
    for (int i = 0; i < FORM_COUNT; i++)
        if (is_header(&forms[i], line)) return &forms[i];
    return NULL;
}

bool serving_is_table(const char *first, size_t length) {
    return find_form(first, length) != NULL;
}

/* Takes `digits` digits and the character behind them, 0: none. */
static bool take(table_field *field, int digits, char behind, int *number) {
    if (field->end - field->begin < digits + (behind != 0)) return false;
    uint64_t value;
    if (!table_number((table_field){field->begin, field->begin + digits}, &value)) return false;
    field->begin += digits;
    *number = (int)value;
    return behind == 0 || *field->begin++ == behind;
}

/* At most nine digits behind the point, as nanoseconds; none without a point. */
static bool take_fraction(table_field *field, uint64_t *ns) {
    *ns = 0;
    if (field->begin == field->end) return true;
    if (*field->begin++ != '.') return false;
    uint64_t unit = 1000000000;
    for (; field->begin < field->end && *field->begin >= '0' && *field->begin <= '9' && unit > 1; field->begin++)
        *ns += (unit /= 10) * (uint64_t)(*field->begin - '0');
    return unit < 1000000000;
}

/* 2023-11-16 18:15:46.6805900, and +00:00 behind it or not, as nanoseconds from 1970 on. */
static bool time_of(table_field field, uint64_t *ns) {
    static const char utc[] = "+00:00";
    const size_t zone = sizeof utc - 1;
    if ((size_t)(field.end - field.begin) > zone && memcmp(field.end - zone, utc, zone) == 0) field.end -= zone;
    struct tm when = {0};
    uint64_t fraction;
    if (!take(&field, 4, '-', &when.tm_year) || !take(&field, 2, '-', &when.tm_mon) ||
        !take(&field, 2, ' ', &when.tm_mday) || !take(&field, 2, ':', &when.tm_hour) ||
        !take(&field, 2, ':', &when.tm_min) || !take(&field, 2, 0, &when.tm_sec) || !take_fraction(&field, &fraction) ||
        field.begin != field.end)
        return false;
    if (when.tm_year < 1970 || when.tm_year > 2261) return false;
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    struct tm same = when;
    const time_t seconds = timegm(&same); /* which makes February 30 a day of March */
    if (same.tm_mon != when.tm_mon || same.tm_mday != when.tm_mday || same.tm_hour != when.tm_hour ||
        same.tm_min != when.tm_min || same.tm_sec != when.tm_sec)
        return false;
    *ns = (uint64_t)seconds * 1000000000 + fraction;
    return true;
}

/* Seconds from 0 on with any number of decimals, rounded to the nanosecond. */
static bool seconds_of(table_field field, uint64_t *ns) {
    const char *point = field.begin;
    while (point < field.end && *point != '.')
        point++;
    uint64_t seconds, unit = 1000000000, up = 0;
    if (!table_number((table_field){field.begin, point}, &seconds)) return false;
    if (__builtin_mul_overflow(seconds, UINT64_C(1000000000), ns) || *ns >= SERVING_ARRIVAL_NS_MAX) return false;
    if (point == field.end) return true;
    if (point + 1 == field.end) return false;
    for (const char *p = point + 1; p < field.end; p++) {
        if (*p < '0' || *p > '9') return false;
        if (unit == 1) up = *p >= '5';
        *ns += (unit /= 10) * (uint64_t)(*p - '0');
    }
    *ns += up;
    return *ns < SERVING_ARRIVAL_NS_MAX;
}

typedef struct table_reader {
    serving_builder *builder;
    trace_table table;
    const table_form *form;
    int columns[COLUMN_COUNT]; /* their indices; -1: none */
} table_reader;

static tla_status read_time(const table_reader *r, serving_line *line, tla_error *error) {
    if (r->columns[TIME] < 0) return TLA_OK;
    const table_field field = r->table.fields[r->columns[TIME]];
    if (r->form->dates && !time_of(unquoted(field), &line->arrival_ns))
        return table_found(
            &r->table, field,
            "a time of the years 1970 to 2261 with at most 9 decimals, such as 2023-11-16 18:15:46.6805900", error);
    if (!r->form->dates && !seconds_of(unquoted(field), &line->arrival_ns))
        return table_found(&r->table, field, "seconds from 0 on, less than 292 years, such as 45 or 45.5", error);
    if (r->builder->read && line->arrival_ns < r->builder->last_ns)
        return table_found(&r->table, field, SERVING_ORDER, error);
    return TLA_OK;
}

static tla_status read_tokens(const table_reader *r, column which, uint64_t *tokens, tla_error *error) {
    const table_field field = r->table.fields[r->columns[which]];
    const bool none = r->builder->skips;
    const bool number = table_number(unquoted(field), tokens);
    if (number && (*tokens || none) && *tokens <= TLA_SERVING_TOKENS_MAX) return TLA_OK;
    char expected[128];
    snprintf(expected, sizeof expected, "the %s's %s%s", which == OUTPUT ? "output" : "prompt",
             none ? SERVING_TOKENS_OR_NONE : SERVING_TOKENS, number && !*tokens ? SERVING_LEAVE_OUT : "");
    return table_found(&r->table, field, expected, error);
}

static tla_status read_request(const table_reader *r, tla_error *error) {
    serving_line line = {.id = r->builder->read, .number = r->table.line_number};
    tla_status status = read_time(r, &line, error);
    if (!status) status = read_tokens(r, PROMPT, &line.prompt_tokens, error);
    if (!status) status = read_tokens(r, OUTPUT, &line.output_tokens, error);
    if (!status) status = serving_append(r->builder, &line);
    return status == TLA_LIMIT ? table_fail(&r->table, r->table.fields[0], status, SERVING_TOO_MANY, error) : status;
}

/* The columns of the header, each once. */
static tla_status find_columns(table_reader *r, tla_error *error) {
    for (int which = 0; which < COLUMN_COUNT; which++)
        r->columns[which] = -1;
    for (int i = 0; i < r->table.columns; i++) {
        const int which = find_column(r->form, r->table.fields[i]);
        if (which == COLUMN_COUNT) continue;
        if (r->columns[which] >= 0) return table_found(&r->table, r->table.fields[i], "each column once", error);
        r->columns[which] = i;
    }
    for (int which = 0; which < COLUMN_COUNT; which++) {
        char text[160];
        if (r->columns[which] >= 0 || !r->form->names[which]) continue;
        snprintf(text, sizeof text, "the column %s is missing, expected %s, %s and %s", r->form->names[which],
                 r->form->names[TIME], r->form->names[PROMPT], r->form->names[OUTPUT]);
        return table_fail(&r->table, r->table.line, TLA_SYNTAX, text, error);
    }
    return TLA_OK;
}

tla_status serving_read_table(serving_builder *b, trace_file *file, tla_error *error) {
    size_t length;
    const char *first = trace_file_peek(file, &length);
    table_reader r = {.builder = b, .form = find_form(first, length)};
    bool more = true;
    tla_status status = table_begin_any(&r.table, file, error);
    if (!status) status = find_columns(&r, error);
    while (!status && more) {
        status = table_next(&r.table, &more, error);
        if (!status && more) status = read_request(&r, error);
    }
    if (status || b->read) return status;
    return table_fail(&r.table, r.table.line, TLA_SYNTAX, "found no request, expected at least one", error);
}
