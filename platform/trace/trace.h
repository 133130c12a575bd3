/* Allocation traces: requests and their times. The content of a file identifies its format; a file is plain or
 * compressed with gzip. The reader checks the events, so that a replay need not check them. Four formats:
 *   time_ns,op,id,bytes   events, op alloc or free: the recorder of this project; further columns as csv.c has them
 *   id,lower,upper,size   buffers with lifetimes: MiniMalloc
 *   Action,Pointer,..     the log of RMM (rmm_log.h)
 *   a pickle, or JSON     a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot); nothing in it is executed;
 *                         or a trace of its profiler in JSON, of which the "[memory]" events are read: by a reader of
 *                         its own (trace_read_recordings_by) */
#ifndef TLMALLOC_PLATFORM_TRACE_H
#define TLMALLOC_PLATFORM_TRACE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TRACE_REMARK_MAX = 1600, TRACE_FIRST_DEVICE = -1 };

/* Bytes for the longest text that tla_segment_settings_print writes, and its end. */
enum { TRACE_SETTINGS_MAX = 640 };

typedef struct trace_allocation {
    uint64_t id;     /* as in the file; unique among the allocations that live at the same time, except lost ones */
    uint64_t nbytes; /* as asked for: 1 .. 2^63 */
    uint64_t stream; /* of the device; 0 where a format has none */
    uint32_t format; /* of the memory (objects.h); likewise */
    bool is_placed;  /* compaction has placed it at `offset` */
    uint64_t offset;
    const char *id_text; /* the id as the file writes it, where that is no number; else NULL */
} trace_allocation;

typedef struct trace_event {
    uint64_t time_ns;  /* never less than that of the event before */
    size_t allocation; /* index into allocations */
    bool is_free;
} trace_event;

/* Allocations are in the order of their alloc events. An allocation that is never freed has no free event. */
typedef struct alloc_trace {
    trace_event *events;
    size_t event_count;
    trace_allocation *allocations;
    size_t allocation_count;
    char *id_texts;                    /* behind id_text, or NULL */
    char remark[TRACE_REMARK_MAX];     /* a remark for the user about the reading of the file; may be empty */
    char settings[TRACE_SETTINGS_MAX]; /* those that PyTorch's allocator had (segment_cache.h); may be empty */
} alloc_trace;

/* Reads a trace file. TLA_IO when it cannot be read. When it is not a trace: TLA_SYNTAX, TLA_NOT_ALLOCATED (a free of a
 * dead allocation), TLA_SIZE_MISMATCH, TLA_OVERLAP (an alloc of a living id), TLA_LIMIT (too long); the text names
 * file, line and column, the found and the expected value. *trace is empty after a failure. */
tla_status trace_load(const char *path, alloc_trace *trace, tla_error *error);

/* The same for one device of a recording that may have several; TRACE_FIRST_DEVICE as above. TLA_OUT_OF_RANGE when it
 * recorded nothing, TLA_UNSUPPORTED for a format without devices. */
tla_status trace_load_device(const char *path, int device, alloc_trace *trace, tla_error *error);

/* Reads one device of a recording, or the first that recorded something (TRACE_FIRST_DEVICE), from a text that is valid
 * during the call, into a builder (builder.h). `name` is the file's. Errors as trace_load_device. */
struct trace_builder;
typedef tla_status trace_recording_reader(const char *text, size_t length, const char *name, int device,
                                          struct trace_builder *builder, tla_error *error);

/* Has recordings of PyTorch read by `reader` from now on, before anything is loaded. NULL, as without a call: loading
 * one is TLA_UNSUPPORTED, with a text that ends with: */
void trace_read_recordings_by(trace_recording_reader *reader);
#define TRACE_NO_TORCH "this build has no PyTorch reader; configure with -DTLMALLOC_TORCH=ON"

/* Whether a file that begins so is a pickle: the opcode PROTO, or what protocols 0 and 1 write for a list, a dictionary
 * or a tuple. No other format begins so. */
bool trace_pickle_begins(const char *text, size_t length);

/* As trace_load from memory, already decompressed; `name` stands for the file in messages. */
tla_status trace_parse(const char *text, size_t length, const char *name, alloc_trace *trace, tla_error *error);

/* Gives back what trace_load took; an empty trace is allowed. */
void trace_unload(alloc_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
