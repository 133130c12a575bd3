/* The scheduler: its creation for requests, its checks, and its end. */
#include "serving/content.h"
#include "serving/scheduler_state.h"

#include <inttypes.h>
#include <stdlib.h>

static tla_status check_rules(const tla_scheduler_rules *r, tla_error *error) {
    if (r->blocks >= 2 && r->blocks <= TLA_KV_BLOCKS_MAX && r->block_tokens && r->step_tokens && r->sequences &&
        r->depth >= 1 && r->depth <= TLA_SERVING_DEPTH_MAX && (unsigned)r->kv_rules < TLA_KV_RULES_COUNT &&
        (r->host_blocks == 0 || (r->host_blocks < TLA_KV_BLOCKS_MAX && r->index && !r->has_memory)))
        return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "a rule of the scheduler is out of range");
}

/* The last token of an output is never computed. */
static uint64_t most_tokens(const tla_serving_request *request) {
    return (uint64_t)request->prompt_tokens + request->output_tokens - 1;
}

static uint64_t blocks_of(const tla_scheduler_rules *rules, const tla_serving_request *request) {
    return (most_tokens(request) + rules->block_tokens - 1) / rules->block_tokens;
}

static bool is_too_long(const tla_scheduler_rules *rules, const tla_serving_request *r) {
    return rules->request_tokens && (uint64_t)r->prompt_tokens + r->output_tokens > rules->request_tokens;
}

static tla_status check_length(const tla_scheduler_rules *rules, const tla_serving_request *r, tla_error *error) {
    const uint64_t needed = blocks_of(rules, r);
    if (is_too_long(rules, r))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu32 " + %" PRIu32 " tokens exceed the limit of %" PRIu64
                             ": raise max_model_len, or use --skip-unservable",
                             r->prompt_tokens, r->output_tokens, rules->request_tokens);
    if (needed <= rules->blocks - 1) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%" PRIu32 " + %" PRIu32 " tokens need %" PRIu64 " blocks of %" PRIu32
                         " tokens, more than the %" PRIu32
                         " usable blocks of the cache: raise gpu_blocks, or use --skip-unservable",
                         r->prompt_tokens, r->output_tokens, needed, rules->block_tokens, rules->blocks - 1);
}

tla_status tla_scheduler_check(const tla_scheduler_rules *rules, const tla_serving_requests *requests, size_t *request,
                               tla_error *error) {
    if (request) *request = requests->count;
    tla_status status = check_rules(rules, error);
    if (!status) status = content_check(requests, rules->block_tokens, rules->index, request, error);
    for (size_t i = 0; i < requests->count && !status; i++) {
        status = check_length(rules, &requests->items[i], error);
        if (status && request) *request = i;
    }
    return status;
}

/* Returns the maximum tokens of a request, where the rules do not state it. */
static uint64_t longest_tokens(const tla_scheduler_rules *rules, const tla_serving_requests *requests) {
    uint64_t longest = rules->request_tokens;
    for (size_t i = 0; i < requests->count && !rules->request_tokens; i++) {
        const tla_serving_request *r = &requests->items[i];
        const uint64_t tokens = (uint64_t)r->prompt_tokens + r->output_tokens;
        if (tokens > longest) longest = tokens;
    }
    return longest;
}

/* Another manager than that of blocks, for requests of at most `longest` tokens. */
static tla_status make_memory(const tla_scheduler_rules *rules, size_t requests, uint64_t longest,
                              tla_kv_memory **memory, tla_error *error) {
    tla_kv_memory_config config = rules->memory;
    config.tokens = (uint64_t)(rules->blocks - 1) * rules->block_tokens;
    config.requests = (uint32_t)requests;
    config.longest = longest;
    const tla_status status = tla_kv_memory_create(&config, memory);
    if (status == TLA_INVALID_ARGUMENT)
        tla_error_set(error, status, "a memory of %" PRIu64 " tokens is invalid for the %s manager", config.tokens,
                      tla_kv_memory_name(config.kind));
    return status;
}

/* Returns whether a memory without requests can hold a request: TLA_OK, TLA_LIMIT, TLA_NO_HOST_MEMORY. */
static tla_status try_alone(tla_kv_memory *memory, uint32_t number, const tla_serving_request *r) {
    tla_work work = {0};
    const tla_status status = tla_kv_memory_hold(memory, number, r, most_tokens(r), &work);
    return status ? status : tla_kv_memory_release(memory, number, &work);
}

/* Another manager; each request must fit in it when it is alone. */
static tla_status create_memory(tla_scheduler *s, tla_error *error) {
    const tla_scheduler_rules *rules = &s->rules;
    tla_status status = make_memory(rules, s->requests->count, longest_tokens(rules, s->requests), &s->memory, error);
    for (size_t i = 0; !status && i < s->requests->count; i++) {
        const tla_serving_request *r = &s->requests->items[i];
        status = try_alone(s->memory, (uint32_t)i, r);
        if (status == TLA_LIMIT)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "request %" PRIu64 ": %" PRIu32 " + %" PRIu32 " tokens do not fit into a memory of %" PRIu64
                " tokens under %s: raise gpu_blocks, or use --skip-unservable",
                r->id, r->prompt_tokens, r->output_tokens, (uint64_t)(rules->blocks - 1) * rules->block_tokens,
                tla_kv_memory_name(rules->memory.kind));
    }
    return status;
}

/* Requests that are left out */

static bool does_not_fit(tla_status status) {
    return status == TLA_LIMIT || status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns whether a memory for requests of at most this many tokens can hold one of them: TLA_OK, or what does not fit.
 * As the prompt may be any part of these tokens, it is their longest. */
static tla_status try_longest(const tla_scheduler_rules *rules, uint64_t longest, tla_error *error) {
    const tla_serving_request request = {.prompt_tokens = (uint32_t)(longest - 1), .output_tokens = 1};
    tla_kv_memory *memory = NULL;
    tla_status status = make_memory(rules, 1, longest, &memory, error);
    if (!status) status = try_alone(memory, 0, &request);
    tla_kv_memory_destroy(memory);
    return status;
}

/* Finds the most tokens of a request, of those that are kept, which still fit if no request has more; 0: none fit. */
static tla_status find_longest(const tla_scheduler_rules *rules, const tla_serving_requests *requests, const bool *kept,
                               uint64_t *longest, tla_error *error) {
    uint64_t *lengths = malloc((requests->count + 1) * sizeof *lengths);
    size_t count = 0, fits = 0; /* so many of the lengths fit */
    *longest = 0;
    if (!lengths) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < requests->count; i++)
        if (kept[i]) lengths[count++] = (uint64_t)requests->items[i].prompt_tokens + requests->items[i].output_tokens;
    qsort(lengths, count, sizeof *lengths, by_value);
    tla_status status = TLA_OK;
    for (size_t end = count; fits < end;) {
        const size_t middle = (fits + end) / 2;
        status = try_longest(rules, lengths[middle], error);
        if (status && !does_not_fit(status)) break;
        if (status)
            end = middle;
        else
            fits = middle + 1;
        status = TLA_OK;
    }
    if (!status && fits) *longest = lengths[fits - 1];
    free(lengths);
    return status;
}

/* Leaves out what another manager cannot hold. */
static tla_status skip_in_memory(const tla_scheduler_rules *rules, const tla_serving_requests *requests, bool *kept,
                                 tla_serving_skipped *skipped, tla_error *error) {
    uint64_t longest = rules->request_tokens;
    tla_kv_memory *memory = NULL;
    tla_status status = longest ? TLA_OK : find_longest(rules, requests, kept, &longest, error);
    if (!status && longest) status = make_memory(rules, 1, longest, &memory, error);
    for (size_t i = 0; !status && i < requests->count; i++) {
        if (!kept[i]) continue;
        if (memory) status = try_alone(memory, 0, &requests->items[i]);
        if (memory && !does_not_fit(status)) continue;
        status = TLA_OK;
        kept[i] = false;
        skipped->too_large++;
    }
    tla_kv_memory_destroy(memory);
    return status;
}

tla_status tla_scheduler_skip(const tla_scheduler_rules *rules, tla_serving_requests *requests, tla_error *error) {
    tla_status status = check_rules(rules, error);
    if (status) return status;
    bool *kept = malloc(requests->count + 1);
    tla_serving_skipped skipped = requests->skipped;
    if (!kept) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the requests");
    for (size_t i = 0; i < requests->count; i++) {
        const tla_serving_request *r = &requests->items[i];
        const bool too_long = is_too_long(rules, r), too_large = blocks_of(rules, r) > rules->blocks - 1;
        kept[i] = !too_long && !too_large;
        skipped.too_long += too_long;
        skipped.too_large += too_large && !too_long;
    }
    if (rules->has_memory) status = skip_in_memory(rules, requests, kept, &skipped, error);
    if (!status) {
        tla_serving_requests_keep(requests, kept);
        requests->skipped = skipped;
    } else if (status == TLA_NO_HOST_MEMORY) {
        tla_error_set(error, status, "no host memory for the requests");
    }
    free(kept);
    return status;
}

/* Content of the first tier gives way. */
static void move_out(void *context, uint32_t block, uint64_t hash) {
    tla_scheduler *s = context;
    uint32_t to;
    if (tla_host_tier_put(&s->host, hash, &to, &s->out_work)) s->out_failed = true;
    if (to == TLA_KV_PLACEHOLDER) return;
    s->out[s->out_count] = block;
    s->out_host[s->out_count++] = to;
}

/* Returns the maximum blocks of all requests together. If the memory has so many, no request is ever preempted and no
 * block is used twice, so that further blocks change only the number of free blocks: a cache of 10^9 blocks needs no
 * more memory of this machine than its requests. */
static uint64_t blocks_of_all(const tla_scheduler *s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->requests->count; i++)
        sum += blocks_of(&s->rules, &s->requests->items[i]);
    return sum;
}

static tla_status create_blocks(tla_scheduler *s) {
    const tla_scheduler_rules *rules = &s->rules;
    const uint64_t all = blocks_of_all(s);
    const uint32_t made = least(rules->blocks, all + 1), host = least(rules->host_blocks, all);
    const tla_kv_blocks_config config = {.blocks = made,
                                         .index = rules->index,
                                         .rules = rules->kv_rules,
                                         .leaves = host ? move_out : NULL,
                                         .context = s};
    const tla_status status = tla_kv_blocks_create(&config, &s->blocks);
    s->unmade = rules->blocks - made;
    s->host_unmade = rules->host_blocks - host;
    if (status || !host) return status;
    const uint64_t budget = rules->host_budget ? rules->host_budget : rules->host_blocks;
    return tla_host_tier_init(&s->host, host, least(budget, rules->host_blocks));
}

tla_status tla_scheduler_create(const tla_scheduler_rules *rules, const tla_serving_requests *requests,
                                const tla_scheduler_watch *watch, tla_scheduler **out, tla_error *error) {
    *out = NULL;
    tla_status status = tla_scheduler_check(rules, requests, NULL, error);
    if (status) return status;
    uint64_t longest = 0; /* blocks of a request */
    for (size_t i = 0; i < requests->count; i++)
        if (blocks_of(rules, &requests->items[i]) > longest) longest = blocks_of(rules, &requests->items[i]);
    tla_scheduler *s = calloc(1, sizeof *s);
    if (!s) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the scheduler");
    s->rules = *rules;
    s->rules.index = rules->index && !rules->has_memory;
    s->requests = requests;
    if (watch) s->watch = *watch;
    s->first = s->last = NOBODY;
    if (s->rules.sequences > requests->count) s->rules.sequences = (uint32_t)requests->count;
    s->sequences = calloc(requests->count, sizeof *s->sequences);
    s->running = malloc(s->rules.sequences * sizeof *s->running);
    s->yielded = malloc(s->rules.sequences * sizeof *s->yielded);
    s->hashes = malloc((longest + 1) * sizeof *s->hashes);
    s->found = malloc((longest + 1) * sizeof *s->found);
    s->found_host = malloc((longest + 1) * sizeof *s->found_host);
    s->out = malloc((longest + 1) * sizeof *s->out);
    s->out_host = malloc((longest + 1) * sizeof *s->out_host);
    if (!s->sequences || !s->running || !s->yielded || !s->hashes || !s->found || !s->found_host || !s->out ||
        !s->out_host)
        status = TLA_NO_HOST_MEMORY;
    if (!status) status = create_blocks(s);
    if (!status && rules->has_memory) {
        status = create_memory(s, error);
        if (status && status != TLA_NO_HOST_MEMORY) {
            tla_scheduler_destroy(s);
            return status;
        }
    }
    if (status) {
        tla_scheduler_destroy(s);
        return tla_error_set(error, status, "no host memory for the scheduler");
    }
    *out = s;
    return TLA_OK;
}

void tla_scheduler_destroy(tla_scheduler *s) {
    if (!s) return;
    for (size_t i = 0; s->sequences && i < s->requests->count; i++)
        tla_kv_table_clear(&s->sequences[i].table);
    for (int i = 0; i < TLA_SERVING_DEPTH_MAX; i++) {
        for (size_t k = 0; k < s->flights[i].read_room; k++)
            tla_kv_table_clear(&s->flights[i].reads[k]);
        free(s->flights[i].reads);
        free(s->flights[i].parts);
    }
    tla_kv_blocks_destroy(s->blocks);
    tla_host_tier_clear(&s->host);
    tla_kv_memory_destroy(s->memory);
    free(s->sequences);
    free(s->running);
    free(s->yielded);
    free(s->hashes);
    free(s->found);
    free(s->found_host);
    free(s->out);
    free(s->out_host);
    free(s);
}
