/* A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): the allocator's state when it was written, and a
 * ring of earlier events, device by device; or the state alone (torch.cuda.memory_snapshot). Pickle or JSON; names of
 * keys and actions as in torch/csrc/cuda/memory_snapshot.cpp. */
#ifndef TLMALLOC_PLATFORM_TORCH_H
#define TLMALLOC_PLATFORM_TORCH_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/segments/segment_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum torch_action {
    TORCH_ALLOC,
    TORCH_FREE_REQUESTED,
    TORCH_FREE_COMPLETED,
    TORCH_SEGMENT_ALLOC,
    TORCH_SEGMENT_FREE,
    TORCH_SEGMENT_MAP,
    TORCH_SEGMENT_UNMAP,
    TORCH_OOM,
    TORCH_SNAPSHOT, /* no entry of its own: nbytes are the active bytes at that moment */
    TORCH_ACTION_COUNT
} torch_action;

/* "segment_alloc". */
const char *torch_action_name(torch_action action);

typedef struct torch_entry {
    uint64_t address; /* of an oom: the bytes that the device had free */
    uint64_t nbytes;  /* of blocks as requested, of segments as the driver provided, of an oom the rounded request */
    uint64_t stream;
    uint64_t time_us;   /* its place in the trace where no time was recorded (before PyTorch 2.1) */
    const void *source; /* for torch_frames and torch_place */
    uint32_t pool;      /* of an alloc, or of an oom if its replay finds it: index into the pools of the snapshot */
    uint8_t action;
    bool has_pool; /* the file has the pool (pool_id, newer PyTorch) */
} torch_entry;

typedef enum torch_state { TORCH_INACTIVE, TORCH_ALLOCATED, TORCH_PENDING } torch_state;

typedef struct torch_block {
    uint64_t address, nbytes;
    uint64_t requested;     /* of an inactive block it means nothing */
    bool requested_is_size; /* the file lacks it: nbytes replaces it */
    const void *source;
    torch_state state;
} torch_block;

typedef struct torch_segment {
    uint64_t address, nbytes; /* of an expandable range: one run of mapped bytes */
    uint64_t stream;
    const void *source;
    uint32_t pool; /* index into the pools of the snapshot */
    bool small, expandable;
    size_t first_block, block_count; /* in the blocks of the device */
} torch_segment;

typedef struct torch_device {
    torch_entry *entries;
    size_t entry_count, entry_room; /* snapshots among them, unknown actions not */
    size_t comparable;              /* entries without snapshots */
    torch_segment *segments;        /* at the end, in the order of the file */
    size_t segment_count, segment_room;
    torch_block *blocks;
    size_t block_count, block_room;
    uint64_t contradictions; /* of segments with themselves: blocks that do not fill them, wrong sums */
    char contradiction[300]; /* the first of them */
    size_t contradiction_at; /* the byte of the file */
    uint64_t unknown;        /* entries whose action this program does not know */
    char unknown_name[32];
} torch_device;

/* A "[memory]" event of PyTorch's profiler: blocks as they were given, no streams and no segments. */
typedef struct torch_profile_event {
    double time_us;
    uint64_t address, nbytes;
    uint64_t allocated, reserved; /* the allocator's own figures after it; 0: unknown */
    uint32_t device;
    bool on_gpu, is_free;
} torch_profile_event;

/* A `segment_pool_id`: the pool of a CUDA graph or a MemPool. The first is (0, 0), the common pools. The last has no
 * number, and is for graphs that were destroyed, with their last segments released, before the snapshot was written. */
typedef tla_segment_pool_id torch_pool;

typedef struct torch_snapshot {
    torch_device *devices;
    size_t device_count;
    torch_pool *pools;
    size_t pool_count;
    bool is_profile;              /* a trace of the profiler, which has nothing but: */
    torch_profile_event *profile; /* in the order of the file */
    size_t profile_count, profile_room;
    bool has_segments;                 /* otherwise the file has only traces */
    bool is_list;                      /* segments without anything around them: torch.cuda.memory_snapshot() */
    bool has_settings;                 /* allocator_settings exists; otherwise the settings follow from the segments */
    tla_segment_cache_config settings; /* those of the dump */
    char *conf;                        /* PYTORCH_CUDA_ALLOC_CONF as written, or the text of a later name; NULL: none */
    const char *name;                  /* of the file, for messages; the caller's */
    const char *text;                  /* the file; the caller's */
    size_t length;
    char *own_text; /* the same, if the snapshot read it itself */
    void *pickle;   /* NULL: the file is JSON */
} torch_snapshot;

/* Reads a snapshot from memory that must outlive it, as must `name`. TLA_SYNTAX with the place, the found and the
 * expected value; TLA_UNSUPPORTED for a pickle that is not plain data; TLA_LIMIT for a snapshot whose values, or
 * results, need more memory than the limit (value.h), and for an invalid device; TLA_NO_HOST_MEMORY. *snapshot is empty
 * then. */
tla_status torch_snapshot_read(const char *text, size_t length, const char *name, torch_snapshot *snapshot,
                               tla_error *error);
void torch_snapshot_clear(torch_snapshot *snapshot);

/* Reads one device of a snapshot as a trace: a reader for trace_read_recordings_by (trace.h). */
struct trace_builder;
tla_status torch_read_trace(const char *text, size_t length, const char *name, int device,
                            struct trace_builder *builder, tla_error *error);

/* As torch_snapshot_read, of a file, plain or gzip; also TLA_IO. */
tla_status torch_snapshot_load(const char *path, torch_snapshot *snapshot, tla_error *error);

/* Selects the device to read: `device`, or with -1 the first with at least two entries, else the first with one.
 * TLA_SYNTAX when no device recorded any entry, TLA_OUT_OF_RANGE for an unknown device or one without entries; with a
 * text. */
tla_status torch_choose_device(const torch_snapshot *snapshot, int device, size_t *chosen, tla_error *error);

/* Whether the trace of a device has events to replay: not when it has one entry, which PyTorch keeps without history,
 * and segments. TLA_SYNTAX otherwise, with what to do instead. */
tla_status torch_check_history(const torch_snapshot *snapshot, size_t device, tla_error *error);

/* Sets PyTorch's defaults and the settings of a recorded text, as tla_segment_settings_parse does. A setting that
 * tlmalloc does not know, or whose value it does not know, is left out. `unknown` NULL, or these settings, with commas
 * between them; the caller frees it. TLA_UNSUPPORTED for an option that is not modelled, with its name and column;
 * TLA_NO_HOST_MEMORY without a text. */
tla_status torch_conf_parse(const char *conf, tla_segment_cache_config *config, char **unknown, tla_error *error);

/* Where an entry, a segment or a block stands: the byte of the file. */
size_t torch_place(const torch_snapshot *snapshot, const void *source);

/* Writes the owner, "name (file:line)": `count` calls from the innermost call of the program itself, with " < " between
 * them; "" when nothing was recorded. `text` is terminated; names are escaped and cut, and a call without room is left
 * out. */
void torch_frames(const torch_snapshot *snapshot, const void *source, int count, char *text, size_t room);

/* The blocks and segments that existed at the first entry: the end, with the trace undone from its last entry to its
 * first. */

typedef struct torch_start_block {
    uint64_t address, nbytes; /* as the cache gave it */
    uint64_t requested;
    const void *source; /* who took it, where it is known; else who freed it */
    bool pending;       /* its owner has freed it, another stream still uses it */
    bool guessed;       /* it was freed in the trace: its size is what its neighbours leave open */
} torch_start_block;

typedef struct torch_start_segment {
    uint64_t address, nbytes, stream;
    uint32_t pool;
    bool small, expandable;
    size_t range; /* of an expandable run: runs of one range have the same number, 0 .. range_count - 1 */
    size_t first_block, block_count;
} torch_start_segment;

/* A plain segment that went back in the trace: of which pool it was is recorded by newer versions only. */
typedef struct torch_lot {
    uint64_t address, nbytes;
    size_t from, to; /* entries: from its segment_alloc, or 0, to its segment_free */
    bool older;      /* it was there before the trace */
    bool moved;      /* it was taken for another pool's though that alone did not bring the difference further */
    bool known;      /* its pool is recorded */
    uint32_t pool;   /* as it is taken for: index into the pools of the snapshot */
} torch_lot;

typedef struct torch_start {
    torch_start_segment *segments; /* by address */
    size_t segment_count;
    torch_start_block *blocks; /* by address */
    size_t block_count;
    torch_lot *lots; /* by address, then in order */
    size_t lot_count;
    uint64_t *range_bases; /* the lowest address that is known of a range */
    size_t range_count;
    uint64_t peak_reserved;  /* the most that the recording had reserved */
    uint64_t capacity;       /* reserved bytes at the last oom plus the free bytes of the device then; 0: no oom */
    uint64_t device_bytes;   /* of the device: the next usual size above capacity or peak_reserved */
    uint64_t older;          /* blocks that lived before the trace */
    uint64_t uncertain;      /* blocks that may be up to 1 MiB larger than assumed: the trace does not show it */
    uint64_t contradictions; /* events that are missing, or segments that contradict the trace */
    char contradiction[300]; /* the first of them */
} torch_start;

/* Finds the state before the first entry of a device, and the pool of every alloc without one. The settings determine
 * how sizes round. Entries that contradict each other or the segments are counted, and the first is reported.
 * TLA_NO_HOST_MEMORY; *start is empty then. */
tla_status torch_start_find(torch_snapshot *snapshot, size_t device, torch_start *start, tla_error *error);
void torch_start_clear(torch_start *start);

/* Returns the memory of the device at an oom entry: the reserved bytes plus the free bytes. */
uint64_t torch_capacity_at(const torch_device *device, size_t oom);

#ifdef __cplusplus
}
#endif
#endif
