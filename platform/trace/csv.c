/* Reads the recorder's own format: the header line time_ns,op,id,bytes, then one event a line in time order. */
#include "trace/builder.h"
#include "trace/table.h"

enum { TIME, OP, ID, BYTES };

static tla_status read_event(const trace_table *table, trace_builder *builder, tla_error *error) {
    const table_field *fields = table->fields;
    uint64_t time_ns, id, nbytes;
    if (!table_number(fields[TIME], &time_ns))
        return table_found(table, fields[TIME], "a time in ns, 0 .. 2^64 - 1", error);
    bool is_free = table_equals(fields[OP], "free");
    if (!is_free && !table_equals(fields[OP], "alloc")) return table_found(table, fields[OP], "alloc or free", error);
    if (!table_number(fields[ID], &id)) return table_found(table, fields[ID], "an id, 0 .. 2^64 - 1", error);
    if (!table_number(fields[BYTES], &nbytes) || nbytes == 0 || nbytes > TRACE_MAX_BYTES)
        return table_found(table, fields[BYTES], "a number of bytes, 1 .. 2^63", error);
    tla_error inner;
    tla_status status =
        (is_free ? trace_builder_free : trace_builder_alloc)(builder, time_ns, id, nbytes, table->line_number, &inner);
    if (!status) return TLA_OK;
    int column = status == TLA_SYNTAX || status == TLA_LIMIT ? TIME : status == TLA_SIZE_MISMATCH ? BYTES : ID;
    return table_fail(table, fields[column], status, inner.text, error);
}

tla_status trace_read_csv(trace_file *file, trace_builder *builder, tla_error *error) {
    trace_table table;
    bool more = true;
    tla_status status = table_begin(&table, file, "time_ns,op,id,bytes", error);
    while (!status && more) {
        status = table_next(&table, &more, error);
        if (!status && more) status = read_event(&table, builder, error);
    }
    return status;
}
