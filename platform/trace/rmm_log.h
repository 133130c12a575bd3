/* The log of RMM's logging_resource_adaptor (RAPIDS Memory Manager): a table with a line for each call. */
#ifndef TLMALLOC_PLATFORM_TRACE_RMM_LOG_H
#define TLMALLOC_PLATFORM_TRACE_RMM_LOG_H

#include "trace/builder.h"

/* Whether a file that begins so has RMM's columns in its header line. */
bool rmm_log_begins(const char *first, size_t length);

/* Reads a log as RMM's own replay does. Columns are found by name: Action (allocate, free, allocate failure), Pointer,
 * Size and Stream, and, if they are there, Thread and Time. Sizes are decimal, pointers and streams hexadecimal. Events
 * keep the order of the file. A block is known by its pointer. The reader skips, and counts in the trace's remark:
 *
 * - allocations that failed
 * - allocations of 0 bytes, and their frees
 * - frees of an unknown pointer
 *
 * An allocation whose pointer is already live is never freed (the remark counts these, too). A free whose size differs
 * frees the whole block. Times count from the first event and never run backwards; after midnight they continue.
 * Without a column Time all times are 0. Errors as trace_read_csv. */
tla_status trace_read_rmm_log(trace_file *file, trace_builder *builder, tla_error *error);

#endif
