/* Reads RMM's log, line by line. */
#include "trace/rmm_log.h"
#include "trace/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ACTION, POINTER, SIZE, STREAM, REQUIRED_COLUMNS, THREAD = REQUIRED_COLUMNS, TIME, RMM_COLUMNS };

static const char *const names[RMM_COLUMNS] = {"Action", "Pointer", "Size", "Stream", "Thread", "Time"};

static const uint64_t ns_of_day = UINT64_C(24) * 3600 * 1000000000;
static const uint64_t late_ns = UINT64_C(60) * 1000000000; /* at most between lines of two threads */

typedef struct rmm_log {
    trace_table table;
    int column[RMM_COLUMNS]; /* -1: the log has none */
    uint64_t first_ns, last_ns, days_ns;
    bool has_time; /* of a first event */
    uint64_t lost, empty, failed, unknown;
} rmm_log;

/* A field in quotes, as some tools write tables again. */
static table_field unquoted(table_field field) {
    const bool quoted = field.end - field.begin >= 2 && field.begin[0] == '"' && field.end[-1] == '"';
    return quoted ? (table_field){field.begin + 1, field.end - 1} : field;
}

/* ---- columns ---- */

/* The first place of a name in a line of fields, or -1; *count is how often the line has it. */
static int find_name(const char *begin, const char *end, const char *name, int *count) {
    int column = 0, first = -1;
    *count = 0;
    for (const char *p = begin; p < end; column++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *const field_end = comma ? comma : end;
        if (table_equals(unquoted((table_field){p, field_end}), name) && ++*count == 1) first = column;
        p = comma ? comma + 1 : end;
    }
    return first;
}

bool rmm_log_begins(const char *first, size_t length) {
    const char *end = memchr(first, '\n', length);
    if (!end) end = first + length;
    if (end > first && end[-1] == '\r') end--;
    int count;
    return find_name(first, end, names[ACTION], &count) >= 0 && find_name(first, end, names[POINTER], &count) >= 0;
}

static tla_status find_columns(rmm_log *log, tla_error *error) {
    for (int i = 0; i < RMM_COLUMNS; i++) {
        int count;
        log->column[i] = find_name(log->table.line.begin, log->table.line.end, names[i], &count);
        if (count == 1 || (count == 0 && i >= REQUIRED_COLUMNS)) continue;
        char expected[64];
        snprintf(expected, sizeof expected, "the columns of an RMM log: %s %s", names[i],
                 count ? "appears twice" : "is missing");
        return table_found(&log->table, log->table.line, expected, error);
    }
    return TLA_OK;
}

static table_field field_of(const rmm_log *log, int which) {
    return unquoted(log->table.fields[log->column[which]]);
}

static tla_status found(const rmm_log *log, int which, const char *expected, tla_error *error) {
    return table_found(&log->table, field_of(log, which), expected, error);
}

/* ---- fields ---- */

/* Digits of base 16, with or without 0x. */
static bool hexadecimal(table_field field, uint64_t *number) {
    const char *p = field.begin;
    uint64_t value = 0;
    if (field.end - p > 2 && p[0] == '0' && p[1] == 'x') p += 2;
    if (p == field.end || field.end - p > 16) return false;
    for (; p < field.end; p++) {
        const char *const digits = "0123456789abcdef", *const digit = *p ? strchr(digits, *p | 0x20) : NULL;
        if (!digit) return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *number = value;
    return true;
}

/* Two digits less than `below`, followed by `after`. */
static bool two_digits(const char *p, uint64_t below, const char *after, uint64_t *number) {
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return false;
    *number = 10 * (uint64_t)(p[0] - '0') + (uint64_t)(p[1] - '0');
    return *number < below && strchr(after, p[2]);
}

/* HH:MM:SS and the microseconds or nanoseconds behind a point or a colon. */
static bool time_of_day(table_field field, uint64_t *ns) {
    uint64_t hours, minutes, seconds, us;
    const char *const p = field.begin;
    const bool nanoseconds = field.end - p == 18;
    if ((field.end - p != 15 && !nanoseconds) || !two_digits(p, 24, ":", &hours) ||
        !two_digits(p + 3, 60, ":", &minutes) || !two_digits(p + 6, 60, ".:", &seconds) ||
        !table_number((table_field){p + 9, field.end}, &us))
        return false;
    *ns = ((hours * 60 + minutes) * 60 + seconds) * 1000000000 + us * (nanoseconds ? 1 : 1000);
    return true;
}

/* Of this line: not before that of the line above, which another thread may have written late. A step back by more than
 * half a day is midnight. */
static tla_status read_time(rmm_log *log, uint64_t *time_ns, tla_error *error) {
    uint64_t now_ns = 0;
    *time_ns = 0;
    if (log->column[TIME] < 0) return TLA_OK;
    if (!time_of_day(field_of(log, TIME), &now_ns))
        return found(log, TIME, "a time of day such as 15:47:02.841961", error);
    if (!log->has_time) log->first_ns = log->last_ns = now_ns;
    log->has_time = true;
    now_ns += log->days_ns;
    if (log->last_ns > now_ns && log->last_ns - now_ns > ns_of_day / 2) {
        log->days_ns += ns_of_day;
        now_ns += ns_of_day;
    }
    const bool is_of_yesterday = log->days_ns > 0 && now_ns + late_ns >= log->last_ns + ns_of_day;
    if (log->last_ns < now_ns && !is_of_yesterday) log->last_ns = now_ns;
    *time_ns = log->last_ns - log->first_ns;
    return TLA_OK;
}

/* ---- events ---- */

static tla_status read_allocation(rmm_log *log, trace_builder *builder, uint64_t time_ns, uint64_t pointer,
                                  uint64_t nbytes, uint64_t stream, tla_error *error) {
    uint64_t unused;
    if (nbytes == 0) {
        log->empty++;
        return TLA_OK;
    }
    const bool is_lost = trace_builder_lives(builder, pointer, &unused);
    log->lost += is_lost;
    const tla_status status = (is_lost ? trace_builder_alloc_lost : trace_builder_alloc)(
        builder, time_ns, pointer, nbytes, log->table.line_number, error);
    if (!status) trace_builder_stream(builder, stream);
    return status;
}

static tla_status read_free(rmm_log *log, trace_builder *builder, uint64_t time_ns, uint64_t pointer, uint64_t nbytes,
                            tla_error *error) {
    uint64_t had = 0;
    if (trace_builder_lives(builder, pointer, &had))
        return trace_builder_free(builder, time_ns, pointer, had, log->table.line_number, error);
    log->unknown += nbytes > 0;
    return TLA_OK;
}

static tla_status read_line(rmm_log *log, trace_builder *builder, tla_error *error) {
    const table_field action = field_of(log, ACTION), pointer_field = field_of(log, POINTER);
    const bool allocates = table_equals(action, "allocate"), frees = table_equals(action, "free");
    uint64_t time_ns, pointer = 0, nbytes, stream;
    const tla_status late = read_time(log, &time_ns, error);
    if (late) return late;
    if (!allocates && !frees && !table_equals(action, "allocate failure"))
        return found(log, ACTION, "allocate, free or allocate failure", error);
    if (!table_equals(pointer_field, "(nil)") && !hexadecimal(pointer_field, &pointer))
        return found(log, POINTER, "a pointer such as 0x7f1200000000, or (nil)", error);
    if (!table_number(field_of(log, SIZE), &nbytes) || (allocates && nbytes > TRACE_MAX_BYTES))
        return found(log, SIZE, "a number of bytes, 0 .. 2^63", error);
    if (!hexadecimal(field_of(log, STREAM), &stream))
        return found(log, STREAM, "a stream in hexadecimal digits", error);
    log->failed += !allocates && !frees;
    tla_error inner;
    tla_status status = TLA_OK;
    if (allocates) status = read_allocation(log, builder, time_ns, pointer, nbytes, stream, &inner);
    if (frees) status = read_free(log, builder, time_ns, pointer, nbytes, &inner);
    return status ? table_fail(&log->table, pointer_field, status, inner.text, error) : TLA_OK;
}

static void remark(const rmm_log *log, trace_builder *builder) {
    if (!log->failed && !log->empty && !log->unknown && !log->lost) return;
    trace_builder_remark(builder,
                         "RMM log: skipped lines: %" PRIu64 " allocate failure, %" PRIu64
                         " allocate of 0 bytes, %" PRIu64 " free of an unknown pointer; %" PRIu64
                         " allocate of a pointer that was live already (never freed)",
                         log->failed, log->empty, log->unknown, log->lost);
}

tla_status trace_read_rmm_log(trace_file *file, trace_builder *builder, tla_error *error) {
    rmm_log log = {0};
    bool more = true;
    tla_status status = table_begin_any(&log.table, file, error);
    if (!status) status = find_columns(&log, error);
    while (!status && more) {
        status = table_next(&log.table, &more, error);
        if (!status && more) status = read_line(&log, builder, error);
    }
    if (!status) remark(&log, builder);
    return status;
}
