/* Reads address traces, and selects the accesses of a part. */
#include "trace/address_trace.h"
#include "model/base/grow.h"

#include "trace/address_lines.h"
#include "trace/builder.h"
#include "trace/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME, OP, ADDRESS, BYTES };

#define ACCESS_BYTES_MAX (UINT64_C(1) << 30)
#define WINDOW_MAX UINT64_C(65536)
static const char header[] = "time_ps,op,addr,bytes";
static const char window_comment[] = "# window=";

struct reader {
    const address_trace_rules *rules;
    address_trace *trace;
    trace_table table;
    size_t room;
    uint64_t last_ps;
    bool cycles; /* the file has cycles, not times */
};

static tla_status read_access(const trace_table *table, tla_traffic_access *access, tla_error *error) {
    const table_field *fields = table->fields;
    char expected[96];
    if (!table_number(fields[TIME], &access->at_ps) || access->at_ps >= TLA_TRAFFIC_PS_MAX)
        return table_found(table, fields[TIME], "a time in ps, 0 .. 2^63 - 1", error);
    const bool write = table_equals(fields[OP], "W");
    if (!write && !table_equals(fields[OP], "R")) return table_found(table, fields[OP], "R or W", error);
    access->op = write ? TLA_HBM_WRITE : TLA_HBM_READ;
    if (!table_number(fields[ADDRESS], &access->address))
        return table_found(table, fields[ADDRESS], "a decimal address", error);
    uint64_t nbytes;
    snprintf(expected, sizeof expected, "a number of bytes, 1 .. %" PRIu64, ACCESS_BYTES_MAX);
    if (!table_number(fields[BYTES], &nbytes) || nbytes == 0 || nbytes > ACCESS_BYTES_MAX)
        return table_found(table, fields[BYTES], expected, error);
    access->nbytes = (uint32_t)nbytes;
    return TLA_OK;
}

/* Moves past the comment lines at the beginning and takes the window from them. */
static tla_status read_comments(trace_file *file, address_trace *trace, tla_error *error) {
    tla_status status = TLA_OK;
    size_t length;
    while (!status && *trace_file_peek(file, &length) == '#' && length > 0) {
        table_field line;
        bool more;
        status = trace_file_line(file, &line.begin, &line.end, &more, error);
        const size_t prefix = sizeof window_comment - 1;
        if (status || (size_t)(line.end - line.begin) < prefix || memcmp(line.begin, window_comment, prefix) != 0)
            continue;
        const table_field number = {line.begin + prefix, line.end};
        uint64_t window;
        if (!table_number(number, &window) || window > WINDOW_MAX)
            return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":%zu: found '%s', expected a window, 0 .. %" PRIu64,
                                 trace_file_name(file), trace_file_line_number(file), prefix + 1,
                                 table_show(number.begin, number.end).text, WINDOW_MAX);
        if (trace->has_window)
            return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":1: found the window again, expected it once",
                                 trace_file_name(file), trace_file_line_number(file));
        trace->has_window = true;
        trace->traffic.window = (uint32_t)window;
    }
    return status;
}

static tla_status append(struct reader *r, const tla_traffic_access *access, tla_error *error) {
    tla_traffic *traffic = &r->trace->traffic;
    if (traffic->count == TRACE_EVENTS_MAX)
        return table_fail(&r->table, r->table.line, TLA_LIMIT, "more accesses than the limit of 2^26", error);
    if (!tla_grow(&traffic->accesses, &r->room, traffic->count + 1, sizeof *traffic->accesses))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it",
                             trace_file_name(r->table.file));
    traffic->accesses[traffic->count++] = *access;
    if (access->at_ps != 0) traffic->timed = true;
    return TLA_OK;
}

/* The bursts of the selected part, at their places in it: one access, or more if they pass its end. */
static tla_status append_part(struct reader *r, const tla_traffic_access *access, tla_error *error) {
    const address_trace_rules *rules = r->rules;
    const uint64_t first = access->address / rules->burst_bytes;
    const uint64_t last = (access->address + access->nbytes - 1) / rules->burst_bytes;
    const uint64_t lines = rules->capacity / rules->burst_bytes;
    uint64_t line = first / rules->parts + (first % rules->parts > rules->part);
    const uint64_t end = last / rules->parts + (last % rules->parts >= rules->part);
    if (line >= end) r->trace->left_out++;
    tla_status status = TLA_OK;
    for (uint64_t count; line < end && status == TLA_OK; line += count) {
        const uint64_t place = line % lines;
        count = end - line < lines - place ? end - line : lines - place;
        tla_traffic_access part = *access;
        part.address = place * rules->burst_bytes;
        part.nbytes = (uint32_t)(count * rules->burst_bytes);
        status = append(r, &part, error);
    }
    return status;
}

/* Checks the time and the address, and appends what is selected. The fields are for messages. */
static tla_status take(struct reader *r, const tla_traffic_access *access, const address_fields *fields,
                       tla_error *error) {
    const uint64_t capacity = r->rules->capacity;
    char expected[128];
    if (access->at_ps < r->last_ps) {
        snprintf(expected, sizeof expected,
                 r->cycles ? "a cycle not before the previous line's, which begins at %" PRIu64 " ps"
                           : "a time not before the previous time, %" PRIu64 " ps",
                 r->last_ps);
        return table_found(&r->table, fields->time, expected, error);
    }
    r->last_ps = access->at_ps;
    if (r->rules->parts > 0) {
        if (access->address > UINT64_MAX - access->nbytes)
            return table_found(&r->table, fields->address, "an access that ends below 2^64", error);
        return append_part(r, access, error);
    }
    if (access->address >= capacity) {
        snprintf(expected, sizeof expected,
                 "%s address below the %" PRIu64 " bytes of the address map (--select I/N takes a part of more)",
                 fields->kind, capacity);
        return table_found(&r->table, fields->address, expected, error);
    }
    if (access->nbytes > capacity - access->address) {
        snprintf(expected, sizeof expected, "a number of bytes, 1 .. %" PRIu64, capacity - access->address);
        return table_found(&r->table, fields->bytes, expected, error);
    }
    return append(r, access, error);
}

static tla_status read_csv(struct reader *r, tla_error *error) {
    bool more = true;
    tla_status status = table_begin_or(
        &r->table, r->table.file, header,
        ", or an access of DRAMSys (31: read 0x400140), DRAMsim3 (0x400140 READ 31) or Ramulator (LD 0x400140)", error);
    while (status == TLA_OK) {
        tla_traffic_access access;
        status = table_next(&r->table, &more, error);
        if (status != TLA_OK || !more) break;
        status = read_access(&r->table, &access, error);
        if (status == TLA_OK) {
            const table_field *f = r->table.fields;
            status = take(r, &access, &(address_fields){f[TIME], f[ADDRESS], f[BYTES], "a decimal"}, error);
        }
    }
    return status;
}

static tla_status read_lines(struct reader *r, address_lines format, tla_error *error) {
    bool more = true;
    r->cycles = true;
    tla_status status = TLA_OK;
    while (status == TLA_OK) {
        tla_traffic_access access;
        address_fields fields;
        status = address_lines_next(format, r->rules, &r->table, &more, &access, &fields, error);
        if (status != TLA_OK || !more) break;
        status = take(r, &access, &fields, error);
    }
    return status;
}

static tla_status read(trace_file *file, const address_trace_rules *rules, address_trace *trace, tla_error *error) {
    struct reader reader = {.rules = rules, .trace = trace, .table.file = file};
    tla_status status = read_comments(file, trace, error);
    if (status != TLA_OK) return status;
    size_t length;
    const char *text = trace_file_peek(file, &length);
    const address_lines format = address_lines_of(text, length);
    status = format == ADDRESS_LINES_NONE ? read_csv(&reader, error) : read_lines(&reader, format, error);
    if (status == TLA_OK && trace->traffic.count == 0)
        status = trace->left_out > 0
                     ? tla_error_set(error, TLA_OUT_OF_RANGE, "%s: no access has a burst of part %u of %u",
                                     trace_file_name(file), rules->part, rules->parts)
                     : tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":1: found no access, expected at least one",
                                     trace_file_name(file), reader.table.line_number);
    return status;
}

tla_status address_trace_load(const char *path, const address_trace_rules *rules, address_trace *trace,
                              tla_error *error) {
    *trace = (address_trace){0};
    trace_file *file;
    tla_status status = trace_file_open(path, &file, error);
    if (status == TLA_OK) {
        status = read(file, rules, trace, error);
        if (status != TLA_OK) status = trace_file_blame(file, status, error);
    }
    trace_file_close(file);
    if (status != TLA_OK) address_trace_unload(trace);
    return status;
}

void address_trace_unload(address_trace *trace) {
    tla_traffic_free(&trace->traffic);
    *trace = (address_trace){0};
}
