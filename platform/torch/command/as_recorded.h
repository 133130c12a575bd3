/* `tlmalloc replay SNAPSHOT --as-recorded`: a recording of PyTorch, entry by entry. */
#ifndef TLMALLOC_PLATFORM_TORCH_COMMAND_AS_RECORDED_H
#define TLMALLOC_PLATFORM_TORCH_COMMAND_AS_RECORDED_H

#include "replay/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For replay_recordings_by. Errors as torch_snapshot_load, torch_choose_device and torch_replay_recorded. */
replay_recording as_recorded;

#ifdef __cplusplus
}
#endif
#endif
