/* The player of recordings of PyTorch as they were recorded (`tlmalloc replay --as-recorded`). */
#ifndef TLMALLOC_PLATFORM_REPLAY_RECORDING_H
#define TLMALLOC_PLATFORM_REPLAY_RECORDING_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { AS_RECORDED_ALL_DEVICES = -2 };

/* Replays one device, the first with a trace (-1) or every device with at least two entries, prints to `table` and
 * writes JSON (NULL: not wanted). settings NULL: those of the recording; version NULL: the newest. *equal is whether
 * everything was equal. */
typedef tla_status replay_recording(const char *path, int device, const char *settings, const char *version,
                                    FILE *table, FILE *json, bool *equal, tla_error *error);

/* Sets the player of recordings. NULL, as without a call: --as-recorded is TLA_UNSUPPORTED, and the error names the
 * option with which the program must be built. */
void replay_recordings_by(replay_recording *player);

#ifdef __cplusplus
}
#endif
#endif
