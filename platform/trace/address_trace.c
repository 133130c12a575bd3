/* Reads address traces: time_ps,op,addr,bytes. */
#include "trace/address_trace.h"

#include "trace/file.h"
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
    if (!table_number(fields[TIME], &access->at_ps))
        return table_found(table, fields[TIME], "a time in ps, 0 .. 2^64 - 1", error);
    if (access->at_ps < not_before) {
        snprintf(expected, sizeof expected, "a time that is not before the last one, %" PRIu64, not_before);
        return table_found(table, fields[TIME], expected, error);
    }
    const bool write = table_equals(fields[OP], "W");
    if (!write && !table_equals(fields[OP], "R")) return table_found(table, fields[OP], "R or W", error);
    access->op = write ? TLA_HBM_WRITE : TLA_HBM_READ;
    snprintf(expected, sizeof expected, "an address below the %" PRIu64 " bytes of the address map", capacity);
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
static tla_status read_comments(const char **text, size_t *length, const char *name, uint64_t *lines,
                                address_trace *trace, tla_error *error) {
    while (*length > 0 && **text == '#') {
        const char *newline = memchr(*text, '\n', *length);
        const char *end = newline ? newline : *text + *length;
        const table_field line = {*text, end > *text && end[-1] == '\r' ? end - 1 : end};
        const size_t prefix = sizeof window_comment - 1;
        (*lines)++;
        if ((size_t)(line.end - line.begin) >= prefix && memcmp(line.begin, window_comment, prefix) == 0) {
            const table_field number = {line.begin + prefix, line.end};
            uint64_t window;
            if (!table_number(number, &window) || window > WINDOW_MAX)
                return tla_error_set(error, TLA_SYNTAX,
                                     "%s:%" PRIu64 ":%zu: found '%s', expected a window, 0 .. %" PRIu64, name, *lines,
                                     prefix + 1, table_show(number.begin, number.end).text, WINDOW_MAX);
            trace->has_window = true;
            trace->traffic.window = (uint32_t)window;
        }
        *length -= (size_t)((newline ? newline + 1 : end) - *text);
        *text = newline ? newline + 1 : end;
    }
    return TLA_OK;
}

static tla_status append(tla_traffic *traffic, size_t *room, const tla_traffic_access *access) {
    if (traffic->count == *room) {
        const size_t more = *room ? 2 * *room : 1024;
        tla_traffic_access *grown = realloc(traffic->accesses, more * sizeof *grown);
        if (grown == NULL) return TLA_NO_HOST_MEMORY;
        traffic->accesses = grown;
        *room = more;
    }
    traffic->accesses[traffic->count++] = *access;
    if (access->at_ps != 0) traffic->timed = true;
    return TLA_OK;
}

static tla_status parse(const char *text, size_t length, const char *name, uint64_t capacity, address_trace *trace,
                        tla_error *error) {
    uint64_t lines = 0, last_ps = 0;
    trace_table table;
    size_t room = 0;
    bool more = true;
    tla_status status = read_comments(&text, &length, name, &lines, trace, error);
    if (status == TLA_OK) status = table_begin_after(&table, lines, text, length, name, header, error);
    while (status == TLA_OK && more) {
        tla_traffic_access access;
        status = table_next(&table, &more, error);
        if (status != TLA_OK || !more) break;
        status = read_access(&table, capacity, last_ps, &access, error);
        if (status != TLA_OK) break;
        last_ps = access.at_ps;
        status = append(&trace->traffic, &room, &access);
        if (status != TLA_OK) tla_error_set(error, status, "%s: no host memory to read it", name);
    }
    if (status == TLA_OK && trace->traffic.count == 0)
        status = tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":1: found no access, expected at least one", name,
                               table.line_number);
    return status;
}

tla_status address_trace_load(const char *path, uint64_t capacity, address_trace *trace, tla_error *error) {
    *trace = (address_trace){0};
    char *text = NULL;
    size_t length = 0;
    tla_status status = trace_read_file(path, &text, &length, error);
    if (status == TLA_OK) status = parse(text, length, path, capacity, trace, error);
    free(text);
    if (status != TLA_OK) address_trace_unload(trace);
    return status;
}

void address_trace_unload(address_trace *trace) {
    tla_traffic_free(&trace->traffic);
    *trace = (address_trace){0};
}
