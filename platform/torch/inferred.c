/* What a replay infers about the program. */
#include "torch/recorded.h"

#include <stdlib.h>

tla_status torch_inferred_create(const torch_snapshot *snapshot, size_t device, torch_inferred *inferred,
                                 tla_error *error) {
    *inferred = (torch_inferred){.marks = calloc(snapshot->devices[device].entry_count + 1, 1),
                                 .retirements = calloc(snapshot->pool_count, sizeof *inferred->retirements)};
    if (inferred->marks && inferred->retirements) return TLA_OK;
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory for the program", snapshot->name);
}

void torch_inferred_clear(torch_inferred *inferred) {
    free(inferred->marks);
    free(inferred->retirements);
    *inferred = (torch_inferred){0};
}
