/* The parts of the replay as recorded: the driver that answers as in the recording, the unrecorded facts from later
 * entries, the requests, the end. */
#ifndef TLMALLOC_PLATFORM_TORCH_REPLAYER_H
#define TLMALLOC_PLATFORM_TORCH_REPLAYER_H

#include "torch/recorded.h"

/* The result of the driver's calls after a difference: it does not make the cache try again. */
#define TORCH_ABANDONED TLA_BUS_ERROR

/* The doubts at a difference: the block of the cache, which the recording has elsewhere, and the involved segments. */
typedef struct torch_doubt {
    uint64_t address;
    uint64_t room;    /* bytes that were free there; 0: the difference is of another kind */
    uint64_t rounded; /* bytes that the request takes */
    size_t entry;     /* the next one */
    int longer; /* 1: with longer ranges the cache would have chosen as recorded; -1: with shorter ranges; 0: neither is
                   indicated */
    uint64_t involved[3]; /* addresses: of the action of the cache, of the next entry, of the next request; 0: none */
} torch_doubt;

/* The course of the entries before a request. All false: its frees completed before, and releases occur for the
 * request. */
typedef struct torch_course {
    bool waited;  /* the cache waited for all streams on the request's behalf: the frees completed then */
    bool limited; /* a memory limit, which is not recorded, failed the request at first */
    bool emptied; /* the program emptied the cache */
} torch_course;

typedef struct torch_replayer {
    const torch_snapshot *snapshot;
    const torch_device *device;
    const torch_start *start;
    const torch_recorded_options *options;
    torch_recorded *result;
    tla_segment_cache_config config;
    tla_segment_cache *cache;
    size_t at;          /* the next entry */
    uint64_t uncertain; /* bytes that older blocks may have more than they are taken for */
    size_t request_at;  /* the next entry when the request began */
    uint64_t rounded;   /* bytes that it takes */
    uint64_t taken;     /* bytes of the block that the cache has given to it, until its alloc is compared; else 0 */
    torch_course course;
    size_t course_end; /* the entry up to which it holds */
    /* Where a range was to grow when the recording has the next map elsewhere: it was shorter. */
    uint64_t short_at, short_room; /* room that it may have had behind there */
    bool is_short;
    uint64_t shortest; /* range that was found out, in bytes; UINT64_MAX: none was */
    torch_doubt doubt;
    uint8_t *retired; /* by pool of the snapshot: 1 when no graph uses it any more; copies of the cache forget it */
    uint32_t *retired_order; /* these pools, and any that is in use again, in the order of their releases */
    size_t retired_count;
    bool is_probe;    /* its doubts are not needed */
    uint64_t refused; /* bytes that the driver failed first; 0: none */
} torch_replayer;

/* ---- torch_stretch.c ---- */

/* The entries before the next request: completed frees and segment events. */
typedef struct torch_stretch {
    const torch_entry *request; /* NULL: something else comes first */
    size_t end;                 /* the entry of the request, or of what else comes */
    bool gives, takes;          /* memory went back, was taken */
} torch_stretch;

/* A snapshot is not part of the actions of a request or an empty_cache; it is skipped after the entries of the stretch.
 * */
torch_stretch torch_look_ahead(const torch_replayer *r);

/* The next request behind segment events and completed frees; NULL when something else comes first. */
const torch_entry *torch_request_ahead(const torch_replayer *r);

/* ---- torch_driver.c ---- */

/* The next entry that is no snapshot; NULL at the end, and after a difference. A snapshot in front of it is compared
 * with the active bytes of the cache. */
const torch_entry *torch_replayer_next(torch_replayer *r);

/* The action of the cache differs from the next entry: the first time, this is the difference. TORCH_ABANDONED. */
tla_status torch_replayer_differ(torch_replayer *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next entry is equal. */
void torch_replayer_agree(torch_replayer *r);

/* Makes r->config's drivers answer from the entries of r. */
void torch_replayer_connect(torch_replayer *r);

/* Checks that a free, the next entry, has as many bytes as were requested; otherwise it differs. */
tla_status torch_replayer_check_size(torch_replayer *r, const torch_entry *e);

/* The streams are done with the block of a completed free, the next entry. */
tla_status torch_replayer_complete(torch_replayer *r, const torch_entry *e);

/* For tla_segment_cache_on_synchronize. */
void torch_replayer_synchronize(void *context);

/* Bytes that their owners have freed and other streams use. */
uint64_t torch_replayer_pending(const torch_replayer *r);

/* ---- torch_request.c ---- */

/* Makes the request, compares its results, and skips its entry. */
tla_status torch_replayer_serve(torch_replayer *r, const torch_entry *e);

/* ---- torch_ahead.c: all return TLA_OK or TLA_NO_HOST_MEMORY ---- */

bool torch_can_serve(const torch_replayer *r, const tla_segment_cache *cache, const torch_entry *request);

/* Sets r->course for the completed frees and segment events that are next: the first course that agrees with the
 * recording up to the request behind them. */
tla_status torch_find_course(torch_replayer *r);

/* Whether a request may have waited for the free that completes next, though it stands beside the program's. */
bool torch_may_have_waited(const torch_replayer *r);

/* Returns whether the entries up to a request agree with the cache's actions for it, during a capture or not. */
tla_status torch_would_agree(const torch_replayer *r, const torch_entry *e, bool capture, bool *agrees);

/* Finds the cause of an oom: sets the pool of the request, and whether a graph was captured. */
tla_status torch_find_failure(torch_replayer *r, torch_entry *e, bool *captured);

/* ---- torch_doubt.c ---- */

/* Fills r->doubt: the cache has just taken this block. TLA_OK or TLA_NO_HOST_MEMORY. */
tla_status torch_doubt_block(torch_replayer *r, const torch_entry *e, tla_block block);

/* Returns the block older than the trace that must be larger for the doubt not to arise, and its size; NULL without
 * such a block. */
torch_start_block *torch_doubt_mend(const torch_snapshot *snapshot, const torch_start *start, const torch_doubt *doubt,
                                    uint64_t *nbytes);

/* Returns the next segment of unknown pool after a segment (NULL: the first) that is involved, or was released about
 * then; NULL if none follows. */
torch_lot *torch_doubt_lot(const torch_start *start, const torch_doubt *doubt, const torch_lot *behind);

/* The segment of unknown pool that goes back at an entry. */
const torch_lot *torch_lot_at(const torch_start *start, const torch_device *device, size_t entry);

/* Takes a segment, and all requests that were served from it, for those of a pool. */
void torch_lot_assign(const torch_device *device, const torch_start *start, torch_lot *lot, uint32_t pool);

/* ---- torch_sizes.c ---- */

enum { TORCH_SIZES_MAX = 19 };

/* Bytes that the device may have, the most likely first; 0: not known, more than any. How many. */
size_t torch_likely_sizes(const torch_start *start, uint64_t sizes[TORCH_SIZES_MAX]);

/* ---- torch_recorded.c ---- */

/* All entries, and the end; the result is in r->result. TLA_OK or TLA_NO_HOST_MEMORY. */
tla_status torch_replayer_play(torch_replayer *r);

/* ---- retired.c ---- */

/* No graph uses the pool any more. Its memory is released behind that of the pools that were retired before; a pool
 * that is retired already moves behind the others. */
void torch_replayer_retire(torch_replayer *r, uint32_t pool);

/* Retires the same pools in r->cache, which is a copy. */
void torch_replayer_retire_again(torch_replayer *r);

/* ---- torch_end.c ---- */

/* Compares the remaining blocks with the segments; the result is in r->result. TLA_NO_HOST_MEMORY. */
tla_status torch_compare_end(torch_replayer *r);

#endif
