/* Tables of requests: Azure's, with the time of each, and lengths alone. */
#include "serving/requests_readers.h"
#include "trace/table.h"

#include <string.h>
#include <time.h>

static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens", lengths[] = "input,output";

static bool begins(const char *first, size_t length, const char *header) {
    const size_t n = strlen(header);
    return length >= n && memcmp(first, header, n) == 0 && (length == n || first[n] == '\n' || first[n] == '\r');
}

bool serving_is_table(const char *first, size_t length) {
    return begins(first, length, azure) || begins(first, length, lengths);
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

static tla_status read_request(serving_builder *b, const trace_table *table, tla_error *error) {
    const bool timed = table->columns == 3;
    const table_field *fields = table->fields, *tokens = fields + timed;
    serving_line line = {.id = b->out->count};
    if (timed && !time_of(fields[0], &line.arrival_ns))
        return table_found(
            table, fields[0],
            "a time of the years 1970 to 2261 with at most 9 decimals, such as 2023-11-16 18:15:46.6805900", error);
    if (b->out->count && line.arrival_ns < b->last_ns) return table_found(table, fields[0], SERVING_ORDER, error);
    if (!table_number(tokens[0], &line.prompt_tokens) || !line.prompt_tokens ||
        line.prompt_tokens > TLA_SERVING_TOKENS_MAX)
        return table_found(table, tokens[0], "the prompt's " SERVING_TOKENS, error);
    if (!table_number(tokens[1], &line.output_tokens) || !line.output_tokens ||
        line.output_tokens > TLA_SERVING_TOKENS_MAX)
        return table_found(table, tokens[1], "the output's " SERVING_TOKENS, error);
    if (b->out->count == TLA_SERVING_REQUESTS_MAX)
        return table_fail(table, fields[0], TLA_LIMIT, "more requests than the limit of 2^24", error);
    return serving_append(b, &line) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

tla_status serving_read_table(serving_builder *b, trace_file *file, tla_error *error) {
    size_t length;
    const char *first = trace_file_peek(file, &length);
    trace_table table;
    bool more = true;
    tla_status status = table_begin(&table, file, begins(first, length, azure) ? azure : lengths, error);
    while (!status && more) {
        status = table_next(&table, &more, error);
        if (!status && more) status = read_request(b, &table, error);
    }
    if (status || b->out->count) return status;
    return table_fail(&table, table.line, TLA_SYNTAX, "found no request, expected at least one", error);
}
