/* `tlmalloc replay SNAPSHOT --as-recorded`: a recording of PyTorch, entry by entry. */
#ifndef TLMALLOC_PLATFORM_REPLAY_AS_RECORDED_H
#define TLMALLOC_PLATFORM_REPLAY_AS_RECORDED_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdio.h>

enum { AS_RECORDED_ALL_DEVICES = -2 };

/* Replays one device, the first that has a trace (-1) or every device with at least two entries, prints to `table` and
 * writes JSON (NULL: not wanted). settings NULL: those of the recording; version NULL: the newest. *equal says whether
 * everything was. Errors as torch_snapshot_load, torch_choose_device and torch_replay_recorded. */
tla_status as_recorded(const char *path, int device, const char *settings, const char *version, FILE *table, FILE *json,
                       bool *equal, tla_error *error);

#endif
