/* The requests of a recorded program to its allocator, up to a request, for replays with other settings: "would this
 * have helped?" The driver is a device with so much memory and ascending addresses. Blocks that lived before the trace
 * are allocated first, by address, so that a recording that begins late gives an estimate. */
#ifndef TLMALLOC_PLATFORM_TORCH_PROGRAM_H
#define TLMALLOC_PLATFORM_TORCH_PROGRAM_H

#include "torch/recorded.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum torch_op_kind {
    TORCH_OP_ALLOC,
    TORCH_OP_TRY,      /* a request that failed in the recording; released at once if it is served */
    TORCH_OP_FREE,     /* and no other stream uses it */
    TORCH_OP_PENDING,  /* another stream still uses it */
    TORCH_OP_COMPLETE, /* no longer */
    TORCH_OP_EMPTY,    /* empty_cache */
    TORCH_OP_RETIRE,   /* the last graph of a private pool ends; `block` is the pool */
    TORCH_OP_CAPTURE,  /* the capture of a graph begins */
    TORCH_OP_RECORDED  /* and ends */
} torch_op_kind;

typedef struct torch_op {
    uint32_t kind, block;
} torch_op;

typedef struct torch_program_block {
    uint64_t nbytes, stream;
    uint32_t pool;
} torch_program_block;

typedef struct torch_program {
    const torch_snapshot *snapshot;
    torch_op *ops;
    size_t op_count;
    torch_program_block *blocks;
    size_t block_count;
    bool late; /* blocks older than the trace are among them */
} torch_program;

/* The program up to and with the request at entry `end`; the number of entries: all of it. `inferred` as a replay has
 * filled it; NULL: nothing. The capture of a graph is known where a request failed in it, and lasts as long as this
 * request. TLA_NO_HOST_MEMORY; *program is empty then. */
tla_status torch_program_make(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                              const torch_inferred *inferred, size_t end, torch_program *program, tla_error *error);
void torch_program_clear(torch_program *program);

typedef struct torch_what_if {
    tla_segment_cache_config settings;
    bool one_stream;    /* all blocks on stream 0 */
    bool second_search; /* a request that fails is made again at once: the search sees what the release left */
} torch_what_if;

typedef struct torch_outcome {
    bool served;                   /* every request, the last among them */
    tla_segment_cache_stats stats; /* to the request that failed, or the end */
    uint64_t driver_calls;         /* segments and mapped pieces, allocated and released */
} torch_outcome;

/* Plays the program on a device with `capacity` bytes (0: no limit), to the first request that fails. `cache` NULL, or
 * where the cache at the end is left, which the caller abandons. TLA_INVALID_ARGUMENT for settings that cannot be,
 * TLA_NO_HOST_MEMORY. */
tla_status torch_program_play(const torch_program *program, const torch_what_if *how, uint64_t capacity,
                              torch_outcome *outcome, tla_segment_cache **cache, tla_error *error);

/* Finds the least capacity, a multiple of 2 MiB, with which the program is served: the program was replayed with it,
 * and was not served with 2 MiB less. The bisection begins below the peak of reserved bytes without a limit, or below
 * `served_by`, a capacity that is known to serve it (0: none). Success need not be monotone: a smaller capacity may
 * serve it too. *capacity is 0 when no device is large enough. */
tla_status torch_program_least_capacity(const torch_program *program, const torch_what_if *how, uint64_t served_by,
                                        uint64_t *capacity, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
