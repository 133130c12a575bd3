/* Plays a trace on a simulated memory controller: every event is a command that is written to its control socket at the
 * recorded time and read back. */
#ifndef TLMALLOC_PLATFORM_REPLAY_CONTROLLER_REPLAY_H
#define TLMALLOC_PLATFORM_REPLAY_CONTROLLER_REPLAY_H

#include "replay/replay_result.h"
#include "tlmalloc/config.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On a memory of the configured platform: of PE 0, of its cube, or of the host. Commands arrive `speed` times as fast
 * as recorded; offsets count from the beginning of the slice. `snapshot` (tla_arena_snapshot; NULL: none) is what its
 * free list begins with. `vcd` (NULL: none) gets the waveform of controller and slice; it stays its owner's. Runs a
 * simulation, so once in a process. Errors as trace_replay, tla_arena_restore, and TLA_BUS_ERROR. */
tla_status controller_replay(const alloc_trace *trace, const tla_config *config, const char *snapshot,
                             size_t snapshot_length, tla_memory_kind memory, double speed, FILE *vcd,
                             replay_result *result, tla_error *error);

/* "PE 0, HBM slice", "cube 0, SRAM", "host memory": where a trace is played. */
const char *controller_replay_memory(tla_memory_kind memory);

#ifdef __cplusplus
}
#endif
#endif
