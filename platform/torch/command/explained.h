/* `tlmalloc explain SNAPSHOT`: one moment of a recording of PyTorch, why memory was short then, and what would have
 * helped. */
#ifndef TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAINED_H
#define TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAINED_H

#include "explain/explain.h"
#include "tlmalloc/segments/segment_cache.h"
#include "torch/program.h"
#include "torch/recorded.h"
#include "trace/trace.h"

#include <jansson.h>

/* The moment, and the contents of the cache. */
typedef struct explained {
    const torch_snapshot *snapshot;
    size_t device;
    const torch_start *start;
    size_t entry;                  /* index into the entries of the device; their number: the end */
    uint64_t index;                /* of the entry as a user counts */
    bool behind;                   /* the request was served already: the peak */
    const torch_entry *request;    /* NULL: the end */
    uint64_t nbytes;               /* of the request, as asked for; of an oom rounded */
    uint64_t capacity;             /* bytes that the allocator could have reserved at most */
    char capacity_from[160];       /* where that is known from */
    tla_segment_cache_stats stats; /* at the moment */
    tla_segment_cache_stats whole; /* of the whole recording, or up to a difference */
    tla_gap_request gap_request;
    tla_gap before, after; /* the request; the state after the retry */
    tla_segment_block_info *blocks;
    size_t block_count;
    bool retry_served; /* a second request at once would have found a block; false except after an oom */
    bool captured;     /* an oom while a graph was being captured: nothing was released */
    bool impossible;   /* for every allocator */
    uint64_t short_by;
    bool found;
} explained;

/* Replays the recording to the moment. `entry` is for EXPLAIN_ENTRY; capacity 0: the recording's. TLA_SYNTAX when the
 * recording has no such moment or cannot be replayed to it. The caller clears. */
tla_status explain_find(const torch_snapshot *snapshot, size_t device, const torch_start *start, explain_when when,
                        uint64_t entry, uint64_t capacity, torch_inferred *inferred, explained *out, tla_error *error);
void explain_clear(explained *e);

/* A size as reports write it: "209715200 (200.00 MiB)", and below 1024 bytes "512". */
typedef struct explain_text {
    char text[64];
} explain_text;
explain_text explain_size(uint64_t nbytes);

/* One row of the comparison of settings. */
typedef struct explain_setting {
    char settings[TRACE_SETTINGS_MAX]; /* as PyTorch writes them; "defaults" */
    const char *note;                  /* "as recorded", "own settings", "one stream"; "" */
    torch_outcome outcome;
    uint64_t least_capacity; /* 0: at none */
} explain_setting;

/* Plays the program up to the request under section 8's settings and `more` of the user's (texts that parse).
 * `second_search`: in all of them. */
tla_status explain_compare(const explained *e, const torch_inferred *inferred, const char *const *more,
                           size_t more_count, bool second_search, explain_setting *rows, size_t *count, bool *late,
                           tla_error *error);

/* Settings of the recording that others, the build or the program made ineffective, a sentence without full stop each.
 */
enum { EXPLAIN_IGNORED_MAX = 16 };
typedef struct explain_ignored {
    char *texts[EXPLAIN_IGNORED_MAX];
    size_t count;
} explain_ignored;

/* Finds them; the caller clears. A sentence for which the host has no memory is left out. */
void explain_ignored_of(const explained *e, explain_ignored *list);
void explain_ignored_clear(explain_ignored *list);

/* tla_gap_class_remedy without the settings that are on already. */
const char *explain_remedy(const explained *e, tla_gap_class which);

/* rows NULL or count 0: there was no comparison. */
void explain_print(FILE *out, const explained *e, const explain_setting *rows, size_t count, bool late);
json_t *explain_to_json(const char *path, const explained *e, const explain_setting *rows, size_t count, bool late);
void explain_map(FILE *out, const explained *e);

#endif
