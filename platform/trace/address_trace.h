/* Address traces: accesses and their times. Comment lines that begin with # may precede, one of them "# window=N". The
 * header line time_ps,op,addr,bytes follows, and then one access in each line, op R or W. Plain or gzip. */
#ifndef TLMALLOC_PLATFORM_TRACE_ADDRESS_TRACE_H
#define TLMALLOC_PLATFORM_TRACE_ADDRESS_TRACE_H

#include "traffic/traffic.h"

typedef struct address_trace {
    tla_traffic traffic; /* its window is that of the file */
    bool has_window;     /* the file gives one */
} address_trace;

/* Reads a trace whose accesses lie below capacity. All times 0 = as fast as accepted, else arrivals in order. TLA_IO,
 * TLA_NO_HOST_MEMORY; TLA_SYNTAX or TLA_OUT_OF_RANGE with file, line and column, the found and the expected value.
 * *trace is empty then. */
tla_status address_trace_load(const char *path, uint64_t capacity, address_trace *trace, tla_error *error);

void address_trace_unload(address_trace *trace);

#endif
