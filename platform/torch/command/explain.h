/* `tlmalloc explain SNAPSHOT`: why a recording of PyTorch ran out of memory. */
#ifndef TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAIN_H
#define TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAIN_H

#include "explain/explain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For explain_recordings_by. Errors as torch_snapshot_load, torch_choose_device and explain_find. */
explain_recording explain_snapshot;

#ifdef __cplusplus
}
#endif
#endif
