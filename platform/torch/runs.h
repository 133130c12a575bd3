/* The segments of a device at a moment, by address: plain segments, and runs of mapped bytes of expandable ranges. They
 * begin as the snapshot leaves them, and events are undone from the last to the first. */
#ifndef TLMALLOC_PLATFORM_TORCH_RUNS_H
#define TLMALLOC_PLATFORM_TORCH_RUNS_H

#include "torch/torch.h"

typedef struct torch_run {
    uint64_t address, nbytes, stream;
    uint32_t pool;
    bool small, expandable;
    size_t range; /* of an expandable run */
} torch_run;

/* An expandable range as long as it has runs. */
typedef struct torch_range {
    uint64_t base; /* the lowest address that any run of it ever had */
    uint64_t granule;
} torch_range;

typedef struct torch_runs {
    torch_run *runs;
    size_t count, room;
    torch_range *ranges;
    size_t range_count, range_room;
    uint64_t range_bytes; /* how long a range is at most */
    uint64_t large_granule;
} torch_runs;

/* The segments of the device. false without host memory. */
bool torch_runs_begin(torch_runs *runs, const torch_device *device, const tla_segment_cache_config *settings,
                      uint64_t device_bytes);
void torch_runs_clear(torch_runs *runs);

/* Returns the run that contains an address; NULL if no run does. */
const torch_run *torch_runs_find(const torch_runs *runs, uint64_t address);

/* Undoes one event. Returns a text about a contradiction, or NULL; *good is false without host memory. `is_small` is
 * whether an unmapped piece belonged to the small pool: 1 yes, 0 no, -1 unknown. */
const char *torch_runs_undo(torch_runs *runs, const torch_entry *entry, int is_small, bool *good);

#endif
