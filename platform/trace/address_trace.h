/* Address traces: accesses and their times, in one of four formats that the first line tells apart. Plain or gzip.
 * Comment lines that begin with # may precede, one of them "# window=N".
 *
 * - CSV: the header line time_ps,op,addr,bytes, then one access in each line, op R or W.
 * - DRAMSys (.stl): CYCLE: [(BYTES)] read|write HEX_ADDRESS [DATA]. The data is passed over.
 * - DRAMsim3: HEX_ADDRESS READ|WRITE CYCLE.
 * - Ramulator: LD|ST ADDRESS, decimal or with 0x. All accesses come as fast as they are accepted.
 *
 * Cycles are those of the timing. An access without a size is one burst. */
#ifndef TLMALLOC_PLATFORM_TRACE_ADDRESS_TRACE_H
#define TLMALLOC_PLATFORM_TRACE_ADDRESS_TRACE_H

#include "traffic/traffic.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct address_trace {
    tla_traffic traffic; /* its window is that of the file */
    bool has_window;     /* the file gives one */
    uint64_t left_out;   /* accesses without a burst of the selected part */
} address_trace;

typedef struct address_trace_rules {
    uint64_t capacity; /* addresses lie below, if no part is selected; a multiple of burst_bytes */
    uint32_t burst_bytes, tck_ps;
    /* Of `parts` channels that are interleaved by burst, the bursts of number `part`: burst B is one of them if B mod
     * parts = part, and its place is then burst (B / parts) modulo the capacity. 0 parts: none is selected. */
    uint32_t part, parts;
} address_trace_rules;

/* Reads a trace. All times 0 = as fast as accepted, else arrivals in order. TLA_IO, TLA_NO_HOST_MEMORY; TLA_SYNTAX or
 * TLA_OUT_OF_RANGE with file, line and column, the found and the expected value. *trace is empty then. */
tla_status address_trace_load(const char *path, const address_trace_rules *rules, address_trace *trace,
                              tla_error *error);

void address_trace_unload(address_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
