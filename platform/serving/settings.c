/* The keys of a serving engine's settings: their readers, and the values that are not implemented. */
#define ROW_STRUCT struct written_settings
#include "model/config/loader.h"
#include "model/config/row.h"

#include "serving/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 32 };

/* The file's contents, before they are made into settings. */
struct written_settings {
    uint32_t block_tokens, sequences, blocks, layers, hidden, reductions;
    uint64_t step_tokens, model_tokens;
    bool prefix_caching, async_scheduling, reserve_full_prompt, skew_correction;
    char policy[NUMBER_MAX], watermark[NUMBER_MAX], dtype[NUMBER_MAX], chunked_prefill[NUMBER_MAX];
    char prefill_threshold[NUMBER_MAX];
    uint32_t kv_heads, head_dim;
    uint64_t page_bytes;
    char kv_memory[NUMBER_MAX], kv_dtype[NUMBER_MAX], attention[NUMBER_MAX], kv_pattern[NUMBER_MAX];
    char skew_alpha[NUMBER_MAX], bandwidth[NUMBER_MAX], latency[NUMBER_MAX];
    uint32_t host_blocks;
    uint64_t host_budget;
    char host_bandwidth[NUMBER_MAX], host_latency[NUMBER_MAX];
    tla_kv_rules_of kv_rules;
    tla_serving_layers sequence, once;
};

/* ---- the keys ---- */

static bool to_number(const char *text, double *number) {
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    return *text && strspn(text, "+-.0123456789eE") == strlen(text) && *end == '\0' && errno == 0;
}

static tla_status check_number(const char *text, tla_error *wrong) {
    (void)wrong;
    double number;
    return strlen(text) < NUMBER_MAX && to_number(text, &number) ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_positive(const char *text, tla_error *wrong) {
    (void)wrong;
    double number;
    return strlen(text) < NUMBER_MAX && to_number(text, &number) && number > 0 ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_not_negative(const char *text, tla_error *wrong) {
    (void)wrong;
    double number;
    return strlen(text) < NUMBER_MAX && to_number(text, &number) && number >= 0 ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_zero(const char *text, tla_error *wrong) {
    (void)wrong;
    double number;
    return strlen(text) < NUMBER_MAX && to_number(text, &number) && number == 0 ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_true(const char *text, tla_error *wrong) {
    (void)wrong;
    return strcmp(text, "true") == 0 ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_fcfs(const char *text, tla_error *wrong) {
    (void)wrong;
    return strcmp(text, "fcfs") == 0 ? TLA_OK : TLA_SYNTAX;
}

/* Bytes of an element of a type that vLLM calls so; 0: it is none that is known. */
static uint32_t bytes_of(const char *dtype) {
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"bfloat16", 2}, {"float16", 2}, {"half", 2}, {"float32", 4}, {"float", 4}, {"fp8", 1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].bytes;
    return 0;
}

static tla_status check_dtype(const char *text, tla_error *wrong) {
    (void)wrong;
    return bytes_of(text) ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_kv_dtype(const char *text, tla_error *wrong) {
    (void)wrong;
    return strcmp(text, "auto") == 0 || bytes_of(text) ? TLA_OK : TLA_SYNTAX;
}

/* The manager of a name; TLA_KV_MEMORY_COUNT for that of blocks with an index. */
static bool memory_from_name(const char *text, tla_kv_memory_kind *kind) {
    for (int i = 0; i < TLA_KV_MEMORY_COUNT; i++)
        if (strcmp(tla_kv_memory_name((tla_kv_memory_kind)i), text) == 0) {
            *kind = (tla_kv_memory_kind)i;
            return true;
        }
    *kind = TLA_KV_MEMORY_COUNT;
    return strcmp(text, "blocks") == 0;
}

static tla_status check_memory(const char *text, tla_error *wrong) {
    (void)wrong;
    tla_kv_memory_kind kind;
    return memory_from_name(text, &kind) ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_attention(const char *text, tla_error *wrong) {
    (void)wrong;
    return strcmp(text, "law") == 0 || strcmp(text, "dma") == 0 ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_pattern(const char *text, tla_error *wrong) {
    (void)wrong;
    return strcmp(text, "ends") == 0 || strcmp(text, "all") == 0 ? TLA_OK : TLA_SYNTAX;
}

static void take_layer(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value);

#define NUMBER .expected = "a number", .check = check_number
#define POSITIVE .expected = "a number above 0", .check = check_positive
#define NOT_NEGATIVE .expected = "a number from 0 on", .check = check_not_negative
#define ONLY_ZERO .expected = "0, the only supported value", .check = check_zero
#define ONLY_TRUE .expected = "true, the only supported value", .check = check_true
#define ONLY_FCFS .expected = "fcfs, the only supported value", .check = check_fcfs
#define MEMORY .expected = "blocks, maximum, power_of_two, oracle, first_fit, paged or mapped", .check = check_memory
#define ATTENTION .expected = "law or dma", .check = check_attention
#define PATTERN .expected = "ends or all", .check = check_pattern
#define DTYPE .expected = "bfloat16, float16 or half, float32 or float, or fp8", .check = check_dtype
#define KV_DTYPE .expected = "auto, bfloat16, float16 or half, float32 or float, or fp8", .check = check_kv_dtype
#define LIST_KEY(name)                                                                                                 \
    { .key = name, .form = {.type = TLA_VALUE_LIST}, .take = take_layer }

#define VLLM "vLLM 0.19.0"

NAMES_OF(tla_kv_rules_of)

/* clang-format off */
static const tla_schema_key keys[] = {
    {COUNT(gpu_blocks, blocks, 2, TLA_KV_BLOCKS_MAX), "none: required", NULL, "blocks, with the placeholder"},
    {COUNT(block_tokens, block_tokens, 1, 1 << 20), VLLM, "16", "tokens of a block"},
    {COUNT(max_num_batched_tokens, step_tokens, 1, UINT64_C(1) << 40), VLLM, "2048", "most tokens of a step"},
    {COUNT(max_num_seqs, sequences, 1, 1 << 24), VLLM, "256", "most requests that run at once"},
    {COUNT(max_model_len, model_tokens, 0, UINT64_MAX), "none", "0", "most tokens of a request; 0: any"},
    {BOOLEAN(prefix_caching, prefix_caching), VLLM, "true", "reuse blocks of common prefixes"},
    {BOOLEAN(async_scheduling, async_scheduling), VLLM, "true", "two steps in flight instead of one"},
    {BOOLEAN(reserve_full_prompt, reserve_full_prompt), VLLM, "true", "all known tokens must fit at admission"},
    {NAMED(kv_rules, kv_rules, tla_kv_rules_of), "vLLM's own", "vllm", "rules of the blocks"},
    {TEXT(chunked_prefill, chunked_prefill, ONLY_TRUE), VLLM, "true", "split prompts longer than a step"},
    {TEXT(long_prefill_token_threshold, prefill_threshold, ONLY_ZERO), VLLM, "0", "most tokens of a prompt in a step; 0: any"},
    {TEXT(policy, policy, ONLY_FCFS), VLLM, "fcfs", "order of requests"},
    {TEXT(watermark, watermark, ONLY_ZERO), VLLM, "0", "share of blocks kept free"},
    {TEXT(kv_memory, kv_memory, MEMORY), "vLLM 0.19.0", "blocks", "manager of the memory of keys and values"},
    {SIZE(kv_page, page_bytes, 1, GIB), "tlmalloc's choice", "64 KiB", "bytes mapped at once with kv_memory mapped"},
    {COUNT(host_blocks, host_blocks, 0, TLA_KV_BLOCKS_MAX - 1), "tlmalloc's choice: no second tier", "0", "blocks in the host's memory, by LMCache's rules"},
    {COUNT(host_chunk_budget, host_budget, 0, TLA_KV_BLOCKS_MAX), "LMCache, calculate_chunk_budget: all", "0", "host blocks read at one time; 0: all"},
    {TEXT(host_bandwidth_gb_s, host_bandwidth, POSITIVE), "PCIe 5.0 x16, as links.host_bandwidth", "64", "bandwidth of moves to and from host blocks"},
    {TEXT(host_latency_us, host_latency, NOT_NEGATIVE), "platform/examples/swap_to_host.c", "0.9", "additional latency of a move"},
    {COUNT(kv_heads, kv_heads, 0, 1 << 20), "none", "0", "heads of keys and values; 0: unknown"},
    {COUNT(head_dim, head_dim, 0, 1 << 20), "none", "0", "elements of a head; 0: unknown"},
    {TEXT(kv_dtype, kv_dtype, KV_DTYPE), VLLM, "auto", "type of keys and values; auto: as dtype"},
    {TEXT(attention, attention, ATTENTION), "tlmalloc's choice", "law", "source of its time: the law, or DMA on a platform"},
    {TEXT(kv_pattern, kv_pattern, PATTERN), "tlmalloc's choice", "ends", "bytes of a block that are compared on a platform"},
    {COUNT(layers, layers, 0, 1 << 20), "none", "0", "layers of the model; 0: unknown"},
    {COUNT(hidden, hidden, 0, 1 << 24), "none", "0", "elements of a layer's output for a token; 0: unknown"},
    {TEXT(dtype, dtype, DTYPE), VLLM, "bfloat16", "type of the outputs of layers"},
    LIST_KEY("layer_sequence"),
    LIST_KEY("once"),
    {BOOLEAN(skew_correction, skew_correction), "tlmalloc's choice", "false", "correct attention for uneven decode lengths"},
    {TEXT(skew_alpha_default, skew_alpha, NUMBER), "tlmalloc's choice", "0", "value where the profile has no row"},
    {COUNT(allreduce.per_layer, reductions, 0, 1024), "none", "0", "all-reduces of a layer"},
    {TEXT(allreduce.bandwidth_gb_s, bandwidth, POSITIVE), "none: no time", NULL, "bandwidth of an all-reduce"},
    {TEXT(allreduce.latency_us, latency, NOT_NEGATIVE), "none: no time", NULL, "latency of an all-reduce"},
};
/* clang-format on */

static void take_layer(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)name;
    struct written_settings *w = loader->config;
    tla_serving_layers *layers = strcmp(keys[key].key, "once") == 0 ? &w->once : &w->sequence;
    if (!value->text) {
        layers->count = 0;
    } else if (strlen(value->text) >= TLA_SERVING_NAME_MAX || layers->count == TLA_SERVING_LAYERS_MAX) {
        tla_loader_find(loader, value->at, "%s: found %s, expected at most %d names of at most %d characters",
                        keys[key].key, tla_quote(value->text).text, TLA_SERVING_LAYERS_MAX, TLA_SERVING_NAME_MAX - 1);
    } else {
        strcpy(layers->names[layers->count++], value->text);
    }
}

/* ---- what concerns several keys ---- */

/* Returns the bytes of the keys, or of the values, of a token in a layer; 0: unknown. */
static uint64_t token_bytes(const struct written_settings *w) {
    return (uint64_t)w->kv_heads * w->head_dim * bytes_of(strcmp(w->kv_dtype, "auto") == 0 ? w->dtype : w->kv_dtype);
}

/* Whole tokens of a layer's keys lie in a page. */
static void check_pages(tla_loader *loader) {
    const struct written_settings *w = loader->config;
    const uint64_t nbytes = token_bytes(w);
    const tla_place at = loader->origins[tla_schema_find(loader->schema, "kv_page")].at;
    if (strcmp(w->kv_memory, "mapped") != 0) return;
    if (nbytes == 0 || w->layers == 0)
        tla_loader_find(loader, (tla_place){loader->file, 0, 0},
                        "kv_memory: mapped needs layers, kv_heads and head_dim");
    else if (w->page_bytes % nbytes)
        tla_loader_find(loader, at.file ? at : (tla_place){loader->file, 0, 0},
                        "kv_page: found %" PRIu64 " bytes, expected a multiple of %" PRIu64
                        ", the bytes of a token's keys in a layer",
                        w->page_bytes, nbytes);
}

/* LMCache's rules are for blocks with an index. */
static void check_rules(tla_loader *loader) {
    const struct written_settings *w = loader->config;
    if (w->kv_rules != TLA_KV_VLLM && strcmp(w->kv_memory, "blocks") != 0)
        tla_loader_find_at(loader, &loader->origins[tla_schema_find(loader->schema, "kv_rules")],
                           "kv_rules: lmcache needs kv_memory blocks");
}

/* A second tier holds what leaves an index, and its blocks have a size. */
static void check_host(tla_loader *loader) {
    const struct written_settings *w = loader->config;
    if (w->host_blocks == 0) return;
    const tla_origin *origin = &loader->origins[tla_schema_find(loader->schema, "host_blocks")];
    if (!w->prefix_caching || strcmp(w->kv_memory, "blocks") != 0)
        tla_loader_find_at(loader, origin, "host_blocks above 0 needs kv_memory blocks and prefix_caching true");
    else if (token_bytes(w) == 0 || w->layers == 0)
        tla_loader_find_at(loader, origin, "host_blocks above 0 needs layers, kv_heads and head_dim");
}

static void check(tla_loader *loader) {
    if (loader->incomplete) return;
    check_host(loader);
    check_rules(loader);
    if (!loader->origins[tla_schema_find(loader->schema, "gpu_blocks")].at.file)
        tla_loader_find(loader, (tla_place){loader->file, 0, 0}, "gpu_blocks is missing: set the number of blocks");
    check_pages(loader);
}

static const tla_schema schema = {.keys = keys,
                                  .count = sizeof keys / sizeof keys[0],
                                  .config_bytes = sizeof(struct written_settings),
                                  .example = "gpu_blocks=1300",
                                  .check = check,
                                  .descriptive = true};

/* ---- the settings ---- */

static double number_of(const char *text) {
    double number = 0;
    return to_number(text, &number) ? number : 0;
}

/* Sets the members of tla_scheduler_rules for another manager than that of blocks; the scheduler sets its sizes. */
static void make_memory(const struct written_settings *w, tla_scheduler_rules *rules) {
    tla_kv_memory_config *memory = &rules->memory;
    (void)memory_from_name(w->kv_memory, &memory->kind); /* checked */
    rules->has_memory = memory->kind != TLA_KV_MEMORY_COUNT;
    const bool mapped = memory->kind == TLA_KV_MEMORY_MAPPED;
    memory->block_tokens = mapped ? (uint32_t)(w->page_bytes / token_bytes(w)) : w->block_tokens;
    memory->tensors = mapped ? 2 * w->layers : 1;
    memory->page_ptes = 1;
}

static void make(const struct written_settings *w, tla_serving_settings *settings) {
    static const tla_serving_layers once = {{"embedding", "final_layernorm", "lm_head", "sampler"}, 4};
    *settings = (tla_serving_settings){.rules = {.blocks = w->blocks,
                                                 .block_tokens = w->block_tokens,
                                                 .step_tokens = w->step_tokens,
                                                 .sequences = w->sequences,
                                                 .request_tokens = w->model_tokens,
                                                 .depth = w->async_scheduling ? 2 : 1,
                                                 .index = w->prefix_caching,
                                                 .gate = w->reserve_full_prompt,
                                                 .kv_rules = w->kv_rules,
                                                 .host_blocks = w->host_blocks,
                                                 .host_budget = w->host_budget},
                                       .attention_by_dma = strcmp(w->attention, "dma") == 0,
                                       .pattern_everywhere = strcmp(w->kv_pattern, "all") == 0,
                                       .layers = w->layers,
                                       .hidden = w->hidden,
                                       .dtype_bytes = bytes_of(w->dtype),
                                       .layer_sequence = w->sequence,
                                       .once = w->once.count ? w->once : once,
                                       .skew_correction = w->skew_correction,
                                       .skew_alpha_default = number_of(w->skew_alpha),
                                       .reductions_a_layer = w->reductions,
                                       .has_reduction_time = *w->bandwidth || *w->latency,
                                       .reduction_gb_s = number_of(w->bandwidth),
                                       .reduction_us = number_of(w->latency),
                                       .host_link = {number_of(w->host_bandwidth), number_of(w->host_latency),
                                                     2 * token_bytes(w) * w->layers * w->block_tokens}};
    make_memory(w, &settings->rules);
}

tla_status tla_serving_settings_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                                      size_t override_count, tla_serving_settings *settings, tla_config_report report,
                                      void *context) {
    struct written_settings written;
    const tla_status status =
        tla_loader_parse(&schema, text, length, name, overrides, override_count, NULL, &written, report, context);
    if (!status) make(&written, settings);
    return status;
}

tla_status tla_serving_settings_load(const char *path, const char *const *overrides, size_t override_count,
                                     tla_serving_settings *settings, tla_config_report report, void *context) {
    struct written_settings written;
    const tla_status status =
        tla_loader_load(&schema, path, overrides, override_count, NULL, &written, report, context);
    if (!status) make(&written, settings);
    return status;
}
