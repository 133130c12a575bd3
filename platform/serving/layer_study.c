/* The memory of layers of several types for sequences, counted and allocated. */
#include "serving/layer_study.h"

static uint64_t all_tokens(const tla_kv_lengths *lengths) {
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < TLA_KV_STREAMS_MAX; i++)
        tokens += lengths->tokens[i];
    return tokens;
}

static uint64_t layer_bytes(const tla_kv_layers_config *config) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < config->type_count; i++)
        bytes += config->types[i].layers * config->types[i].token_bytes;
    return bytes;
}

/* Memory for the longest of the sequences alone, whatever its streams are; 0 where sums would pass 2^63. */
static uint64_t memory_for(const tla_kv_layers_config *config, const tla_kv_lengths *sequences, size_t count) {
    uint64_t longest = 0, sum = 0, nbytes;
    for (size_t i = 0; i < count; i++) {
        const uint64_t tokens = all_tokens(&sequences[i]);
        if (tokens > longest) longest = tokens;
        if (tokens > INT64_MAX || __builtin_add_overflow(sum, tokens, &sum)) return 0;
    }
    sum += (uint64_t)count * config->block_tokens;
    if (__builtin_mul_overflow(sum, layer_bytes(config), &nbytes) || nbytes > INT64_MAX / 4) return 0;
    /* A large page for each type is more than the blocks need, and has at most so many small ones. */
    const uint64_t tokens = longest + (uint64_t)config->block_tokens * (TLA_KV_SMALL_PAGES_MAX + 1);
    return __builtin_mul_overflow(tokens, TLA_KV_TYPES_MAX * layer_bytes(config), &nbytes) ? 0 : nbytes;
}

static tla_status add(tla_kv_layers *layers, const tla_kv_layers_config *config, const tla_kv_lengths *lengths,
                      tla_layer_study *study) {
    tla_work work = {0};
    const uint64_t blocks = (all_tokens(lengths) + config->block_tokens - 1) / config->block_tokens;
    const tla_status status = tla_kv_layers_grow(layers, 0, lengths, &work);
    if (status) return status;
    const tla_kv_layers_stats stats = tla_kv_layers_get_stats(layers);
    study->uniform += tla_kv_layers_uniform(config, lengths);
    study->needed += tla_kv_layers_needed(config, lengths);
    study->uniform_pages += blocks * config->block_tokens * layer_bytes(config);
    study->small_pages += stats.small_bytes;
    study->large_pages += (stats.large_pages - stats.free_large) * stats.large_bytes;
    return tla_kv_layers_release(layers, 0, &work);
}

tla_status tla_layer_study_run(const tla_kv_layers_config *config, const tla_kv_lengths *sequences, size_t count,
                               tla_layer_study *study, tla_error *error) {
    tla_kv_layers_config sized = *config;
    tla_kv_layers *layers = NULL;
    *study = (tla_layer_study){0};
    sized.nbytes = memory_for(config, sequences, count);
    sized.sequences = 1;
    tla_status status = sized.nbytes ? tla_kv_layers_create(&sized, &layers) : TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < count && !status; i++)
        status = add(layers, &sized, &sequences[i], study);
    tla_kv_layers_destroy(layers);
    if (!status) return TLA_OK;
    *study = (tla_layer_study){0};
    return tla_error_set(error, status, "cannot study the layers: %s", tla_status_text(status));
}
