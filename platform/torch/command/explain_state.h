/* `tlmalloc explain SNAPSHOT` of a snapshot without history: the memory of its segments. */
#ifndef TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAIN_STATE_H
#define TLMALLOC_PLATFORM_TORCH_COMMAND_EXPLAIN_STATE_H

#include "explain/explain.h"
#include "torch/torch.h"

/* Whether a snapshot has segments but no history of a device (-1: of any device). */
bool explain_lacks_history(const torch_snapshot *snapshot, int device);

/* Prints and writes the memory of one device, or with -1 of all devices; outputs as explain_recording. TLA_SYNTAX when
 * segments contradict themselves or each other, TLA_OUT_OF_RANGE for a device without segments, TLA_INVALID_ARGUMENT
 * for options that need events. */
tla_status explain_state(const explain_question *question, const torch_snapshot *snapshot, FILE *map, FILE *json,
                         tla_error *error);

#endif
