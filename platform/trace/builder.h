/* Builds a trace event by event, and rejects impossible events: time that goes backwards, a free of a dead allocation.
 * Every reader of a format uses it. */
#ifndef TLMALLOC_PLATFORM_TRACE_BUILDER_H
#define TLMALLOC_PLATFORM_TRACE_BUILDER_H

#include "trace/file.h"
#include "trace/trace.h"

typedef struct trace_builder trace_builder;

tla_status trace_builder_create(trace_builder **builder);
void trace_builder_destroy(trace_builder *builder);

/* Appends an event. `place` is its place in the file, for messages about later events. The error's text has the cause,
 * without a place; after an error the builder can only be destroyed. */
tla_status trace_builder_alloc(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t place,
                               tla_error *error);
tla_status trace_builder_free(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t place,
                              tla_error *error);

/* The same for an allocation whose id is that of a live one, which frees of the id mean: this one is never freed. */
tla_status trace_builder_alloc_lost(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes,
                                    uint64_t place, tla_error *error);

/* Whether the latest allocation of an id lives; *nbytes is then its size. */
bool trace_builder_lives(const trace_builder *builder, uint64_t id, uint64_t *nbytes);

/* Sets the unit of a place: "line" (the default), "byte". */
void trace_builder_place_unit(trace_builder *builder, const char *unit);

/* Names the allocation appended last; the text must be kept by the builder or live for ever. */
void trace_builder_name(trace_builder *builder, const char *id_text);

/* The stream of the allocation appended last. */
void trace_builder_stream(trace_builder *builder, uint64_t stream);

/* The format of its memory. */
void trace_builder_format(trace_builder *builder, uint32_t format);

/* The place at which compaction has put it. */
void trace_builder_put_at(trace_builder *builder, uint64_t offset);

/* The settings of the recorded allocator. */
void trace_builder_settings(trace_builder *builder, const char *settings);

/* Takes over text from malloc that names point into; once. */
void trace_builder_keep(trace_builder *builder, char *text);

/* Adds a remark for the user about the read file. */
void trace_builder_remark(trace_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Moves the built trace into *trace; the builder is empty afterwards. */
void trace_builder_finish(trace_builder *builder, alloc_trace *trace);

/* The largest size of an allocation: 2^63 bytes. */
#define TRACE_MAX_BYTES (UINT64_C(1) << 63)

/* The most events of a trace. */
#define TRACE_EVENTS_MAX ((size_t)1 << 26)

/* Readers of the formats. A text is not NUL-terminated. */
#define TRACE_MINIMALLOC_HEADER "id,lower,upper,size"
tla_status trace_read_csv(trace_file *file, trace_builder *builder, tla_error *error);
bool trace_csv_begins(const char *first, size_t length); /* whether a file that begins so has its header line */
tla_status trace_read_minimalloc(trace_file *file, trace_builder *builder, tla_error *error);

#endif
