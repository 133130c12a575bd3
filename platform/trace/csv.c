/* Reads the recorder's own format: the header line time_ns,op,id,bytes, then one event a line in time order.
 *
 * A file of `tlmalloc run --record` has four more columns: references, format, stream, offset. Format and stream are
 * those of the request. The references of a block, and its offset in the run, are for readers: lines of ref and unref,
 * which leave a block with that many references, are checked and have no effect on a replay. A line of place is an
 * alloc at an offset that compaction has chosen. */
#include "tlmalloc/cache/buffer_pools.h"
#include "trace/builder.h"
#include "trace/table.h"

#include <stdio.h>
#include <string.h>

#define PLAIN "time_ns,op,id,bytes"
#define RECORDED PLAIN ",references,format,stream,offset"

enum { TIME, OP, ID, BYTES, REFERENCES, FORMAT, STREAM, OFFSET, RECORDED_COLUMNS };

/* The columns behind the first four, of an alloc or place that has been appended. */
static tla_status read_more(const trace_table *table, bool is_alloc, bool is_place, trace_builder *builder,
                            tla_error *error) {
    const table_field *fields = table->fields;
    uint64_t references, format, stream, offset;
    char formats[32];
    snprintf(formats, sizeof formats, "a format, 0 .. %d", TLA_FORMAT_COUNT - 1);
    if (!table_number(fields[REFERENCES], &references))
        return table_found(table, fields[REFERENCES], "a number of references", error);
    if (!table_number(fields[FORMAT], &format) || format >= TLA_FORMAT_COUNT)
        return table_found(table, fields[FORMAT], formats, error);
    if (!table_number(fields[STREAM], &stream) || stream > UINT32_MAX)
        return table_found(table, fields[STREAM], "a stream, 0 .. 2^32 - 1", error);
    const bool has_offset = table_number(fields[OFFSET], &offset);
    if (is_place && !has_offset) return table_found(table, fields[OFFSET], "the offset of a place", error);
    if (!has_offset && !table_equals(fields[OFFSET], "-"))
        return table_found(table, fields[OFFSET], "an offset, or - for a failed allocation", error);
    if (!is_alloc) return TLA_OK;
    if (is_place) trace_builder_put_at(builder, offset);
    trace_builder_format(builder, (uint32_t)format);
    trace_builder_stream(builder, stream);
    return TLA_OK;
}

static tla_status read_event(const trace_table *table, trace_builder *builder, tla_error *error) {
    const table_field *fields = table->fields;
    const bool recorded = table->columns == RECORDED_COLUMNS;
    uint64_t time_ns, id, nbytes;
    if (!table_number(fields[TIME], &time_ns))
        return table_found(table, fields[TIME], "a time in ns, 0 .. 2^64 - 1", error);
    const bool is_place = recorded && table_equals(fields[OP], "place"), is_free = table_equals(fields[OP], "free");
    const bool is_alloc = is_place || table_equals(fields[OP], "alloc");
    const bool is_count = recorded && (table_equals(fields[OP], "ref") || table_equals(fields[OP], "unref"));
    if (!is_free && !is_alloc && !is_count)
        return table_found(table, fields[OP], recorded ? "alloc, place, free, ref or unref" : "alloc or free", error);
    if (!table_number(fields[ID], &id)) return table_found(table, fields[ID], "an id, 0 .. 2^64 - 1", error);
    if (!table_number(fields[BYTES], &nbytes) || nbytes == 0 || nbytes > TRACE_MAX_BYTES)
        return table_found(table, fields[BYTES], "a number of bytes, 1 .. 2^63", error);
    if (is_count) return read_more(table, false, false, builder, error);
    tla_error inner;
    tla_status status =
        (is_free ? trace_builder_free : trace_builder_alloc)(builder, time_ns, id, nbytes, table->line_number, &inner);
    if (!status) return recorded ? read_more(table, is_alloc, is_place, builder, error) : TLA_OK;
    int column = status == TLA_SYNTAX || status == TLA_LIMIT ? TIME : status == TLA_SIZE_MISMATCH ? BYTES : ID;
    return table_fail(table, fields[column], status, inner.text, error);
}

bool trace_csv_begins(const char *first, size_t length) {
    return length >= strlen(PLAIN) && memcmp(first, PLAIN, strlen(PLAIN)) == 0;
}

tla_status trace_read_csv(trace_file *file, trace_builder *builder, tla_error *error) {
    trace_table table;
    bool more = true;
    size_t length;
    const char *first = trace_file_peek(file, &length);
    const table_field begins = {first, first + (length < sizeof PLAIN ? length : sizeof PLAIN)};
    const bool recorded = table_equals(begins, PLAIN ",");
    tla_status status =
        table_begin_or(&table, file, recorded ? RECORDED : PLAIN,
                       recorded ? "" : ", or that of RMM's log, Thread,Time,Action,Pointer,Size,Stream", error);
    while (!status && more) {
        status = table_next(&table, &more, error);
        if (!status && more) status = read_event(&table, builder, error);
    }
    return status;
}
