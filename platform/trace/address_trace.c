/* Reads address traces: time_ps,op,addr,bytes. */
#include "trace/address_trace.h"
#include "model/base/grow.h"

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

static tla_status read_access(const trace_table *table, uint64_t capacity, uint64_t not_before,
                              tla_traffic_access *access, tla_error *error) {
    const table_field *fields = table->fields;
    char expected[96];
    if (!table_number(fields[TIME], &access->at_ps) || access->at_ps >= TLA_TRAFFIC_PS_MAX)
        return table_found(table, fields[TIME], "a time in ps, 0 .. 2^63 - 1", error);
    if (access->at_ps < not_before) {
        snprintf(expected, sizeof expected, "a time not before the previous time, %" PRIu64, not_before);
        return table_found(table, fields[TIME], expected, error);
    }
    const bool write = table_equals(fields[OP], "W");
    if (!write && !table_equals(fields[OP], "R")) return table_found(table, fields[OP], "R or W", error);
    access->op = write ? TLA_HBM_WRITE : TLA_HBM_READ;
    snprintf(expected, sizeof expected, "a decimal address below the %" PRIu64 " bytes of the address map", capacity);
    if (!table_number(fields[ADDRESS], &access->address) || access->address >= capacity)
        return table_found(table, fields[ADDRESS], expected, error);
    const uint64_t room = capacity - access->address, most = room < ACCESS_BYTES_MAX ? room : ACCESS_BYTES_MAX;
    uint64_t nbytes;
    snprintf(expected, sizeof expected, "a number of bytes, 1 .. %" PRIu64, most);
    if (!table_number(fields[BYTES], &nbytes) || nbytes == 0 || nbytes > most)
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

static tla_status append(tla_traffic *traffic, size_t *room, const tla_traffic_access *access) {
    if (!tla_grow(&traffic->accesses, room, traffic->count + 1, sizeof *traffic->accesses)) return TLA_NO_HOST_MEMORY;
    traffic->accesses[traffic->count++] = *access;
    if (access->at_ps != 0) traffic->timed = true;
    return TLA_OK;
}

static tla_status read(trace_file *file, uint64_t capacity, address_trace *trace, tla_error *error) {
    uint64_t last_ps = 0;
    trace_table table;
    size_t room = 0;
    bool more = true;
    tla_status status = read_comments(file, trace, error);
    if (status == TLA_OK) status = table_begin(&table, file, header, error);
    while (status == TLA_OK && more) {
        tla_traffic_access access;
        status = table_next(&table, &more, error);
        if (status != TLA_OK || !more) break;
        status = read_access(&table, capacity, last_ps, &access, error);
        if (status != TLA_OK) break;
        last_ps = access.at_ps;
        if (trace->traffic.count == TRACE_EVENTS_MAX)
            return table_fail(&table, table.fields[TIME], TLA_LIMIT, "more accesses than the limit of 2^26", error);
        status = append(&trace->traffic, &room, &access);
        if (status != TLA_OK) tla_error_set(error, status, "%s: no host memory to read it", trace_file_name(file));
    }
    if (status == TLA_OK && trace->traffic.count == 0)
        status = tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":1: found no access, expected at least one",
                               trace_file_name(file), table.line_number);
    return status;
}

tla_status address_trace_load(const char *path, uint64_t capacity, address_trace *trace, tla_error *error) {
    *trace = (address_trace){0};
    trace_file *file;
    tla_status status = trace_file_open(path, &file, error);
    if (status == TLA_OK) {
        status = read(file, capacity, trace, error);
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
