/* How the parts of the snapshot reader share their work: one dictionary at a time, from a pickle or from JSON, becomes
 * an entry, a segment, or settings. */
#ifndef TLMALLOC_PLATFORM_TORCH_PARTS_H
#define TLMALLOC_PLATFORM_TORCH_PARTS_H

#include "torch/torch.h"
#include "trace/value.h"
#include "trace/value_store.h"

typedef struct torch_reader {
    torch_snapshot *snapshot;
    bool has_traces;
    uint64_t read;     /* bytes of memory for the results so far */
    uint64_t reserved; /* bytes of the segments so far */
    uint32_t *slots;   /* hash table of the pools: their indices plus 1; 0: empty */
    size_t slot_count; /* a power of two */
    tla_error *error;
} torch_reader;

/* Returns the device of this number, and makes a missing device. TLA_LIMIT for an invalid number, with the place of
 * `position`; TLA_NO_HOST_MEMORY; *device is NULL then. */
tla_status torch_reader_device(torch_reader *reader, uint64_t number, size_t position, torch_device **device);

/* Counts a dictionary that is read, into a record of `record` bytes. A pickle may mention one dictionary, or one list
 * of them, many times, and each time a copy is made. TLA_LIMIT when the copies need more memory than the values of a
 * pickle of that length may. */
tla_status torch_reader_count(torch_reader *reader, const data_value *dict, size_t record);

/* Appends the entry of a dictionary. */
tla_status torch_read_entry(torch_reader *reader, size_t device, const data_value *entry);
tla_status torch_read_segment(torch_reader *reader, const data_value *segment);

/* A value of the wrong kind: TLA_SYNTAX with the place, the found and the expected value. */
tla_status torch_wrong(const torch_reader *reader, const data_value *at, const char *what, const char *expected);

/* Reads a boolean, which may be absent: *flag is unchanged then. TLA_SYNTAX for another kind. */
tla_status torch_get_boolean(const torch_reader *reader, const data_value *dict, const char *key, bool *flag);

/* ---- settings.c ---- */

/* Reads the dictionary `allocator_settings`. TLA_SYNTAX with the place, TLA_UNSUPPORTED with the name of an option that
 * is not modelled, TLA_NO_HOST_MEMORY. */
tla_status torch_read_settings(torch_reader *reader, const data_value *settings);

/* Whether an element of a bare list is an event of a profiler, or a segment. */
bool torch_is_event(const data_value *element);
bool torch_is_segment(const data_value *element);

/* Reads an event of a profiler trace; events other than "[memory]" are skipped. */
tla_status torch_read_profile_event(torch_reader *reader, const data_value *event);

/* The whole of a JSON text. */
tla_status torch_read_json(torch_reader *reader);

/* "file: byte 12 of the pickle", "file:3:7". */
typedef struct torch_where {
    char text[300];
} torch_where;
torch_where torch_where_is(const torch_snapshot *snapshot, size_t position);

tla_status torch_no_memory(const torch_reader *reader);

/* ---- profile.c ---- */

/* The memory events of a profiler trace that was read as a snapshot. */
struct trace_builder;
tla_status torch_convert_profile(const torch_snapshot *snapshot, int device, struct trace_builder *builder,
                                 tla_error *error);

/* ---- sizes.c ---- */

/* Sets peak_reserved, capacity and device_bytes. */
void torch_sizes_find(const torch_snapshot *snapshot, size_t device, torch_start *start);

#endif
