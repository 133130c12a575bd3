/* Builds a trace event by event and refuses what cannot have happened: time that goes backwards, a free of something
 * that does not live. Every reader of a format goes through it. */
#ifndef TLMALLOC_PLATFORM_TRACE_BUILDER_H
#define TLMALLOC_PLATFORM_TRACE_BUILDER_H

#include "trace/trace.h"

typedef struct trace_builder trace_builder;

tla_status trace_builder_create(trace_builder **builder);
void trace_builder_destroy(trace_builder *builder);

/* Appends an event. `line` is where it stands in the file, for the messages about later events. The error's text says
 * what is wrong, without a place; after an error the builder can only be destroyed. */
tla_status trace_builder_alloc(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t line,
                               tla_error *error);
tla_status trace_builder_free(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t line,
                              tla_error *error);

/* Moves what was built into *trace; the builder is empty afterwards. */
void trace_builder_finish(trace_builder *builder, alloc_trace *trace);

/* The largest size of an allocation: 2^63 bytes. */
#define TRACE_MAX_BYTES (UINT64_C(1) << 63)

/* Reader of one format: text is not NUL-terminated. */
tla_status trace_read_csv(const char *text, size_t length, const char *name, trace_builder *builder, tla_error *error);

#endif
