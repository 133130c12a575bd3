/* Lines of the address traces of other simulators: words between blanks. */
#ifndef TLMALLOC_PLATFORM_TRACE_ADDRESS_LINES_H
#define TLMALLOC_PLATFORM_TRACE_ADDRESS_LINES_H

#include "trace/address_trace.h"
#include "trace/table.h"

typedef enum address_lines {
    ADDRESS_LINES_NONE,
    ADDRESS_LINES_DRAMSYS,
    ADDRESS_LINES_DRAMSIM3,
    ADDRESS_LINES_RAMULATOR
} address_lines;

/* The format of a file whose unread part begins so; NONE: no format of other simulators. */
address_lines address_lines_of(const char *text, size_t length);

/* Where an access stands in its line, and "a decimal" or another kind of its address. */
typedef struct address_fields {
    table_field time, address, bytes;
    const char *kind;
} address_fields;

/* Reads the next line that has words; *more is false at the end. Errors as address_trace_load, but the address is not
 * compared with the capacity. */
tla_status address_lines_next(address_lines format, const address_trace_rules *rules, trace_table *table, bool *more,
                              tla_traffic_access *access, address_fields *fields, tla_error *error);

#endif
