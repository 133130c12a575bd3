/* The saving of a model with several types of layers when each holds only the tokens that it needs: Jenga's question
 * (arXiv 2503.18292, section 3). Every sequence has the memory for itself, once with all of its tokens. */
#ifndef TLMALLOC_PLATFORM_SERVING_LAYER_STUDY_H
#define TLMALLOC_PLATFORM_SERVING_LAYER_STUDY_H

#include "tlmalloc/kv/kv_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes, summed over the sequences. */
typedef struct tla_layer_study {
    uint64_t uniform, needed; /* of tokens: where every layer holds all, and of what each needs */
    uint64_t uniform_pages;   /* of blocks that all layers share */
    uint64_t small_pages;     /* of the small pages that kv_cache.h gave out */
    uint64_t large_pages;     /* of the large pages that those lie in */
} tla_layer_study;

/* The configuration's memory and number of sequences are not looked at. Token sizes must be equal. TLA_INVALID_ARGUMENT
 * as tla_kv_layers_create and for sums past 2^63, TLA_NO_HOST_MEMORY, with a text; *study is all zero then. */
tla_status tla_layer_study_run(const tla_kv_layers_config *config, const tla_kv_lengths *sequences, size_t count,
                               tla_layer_study *study, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
