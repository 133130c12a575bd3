/* The share of a memory that holds tokens: a token for every request in each step, and sums over the steps. */
#include "serving/memory_study.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct study {
    const tla_serving_requests *requests;
    tla_kv_memory *memory;
    bool reserves;
    uint32_t *waiting;  /* the next one last: who is preempted is pushed */
    uint32_t *running;  /* in the order of admission */
    uint32_t *produced; /* tokens of each request */
    bool *admitted;     /* once at least */
    size_t waiting_count, running_count, not_admitted;
    double tokens, reserved, held, ran; /* sums over the steps */
    tla_memory_study *out;
} study;

static const tla_serving_request *request_of(const study *s, uint32_t number) {
    return &s->requests->items[number];
}

static tla_status hold(study *s, uint32_t number, uint64_t tokens) {
    s->out->commands++;
    return tla_kv_memory_hold(s->memory, number, request_of(s, number), tokens, &s->out->work);
}

static tla_status release(study *s, uint32_t number) {
    s->out->commands++;
    return tla_kv_memory_release(s->memory, number, &s->out->work);
}

static bool is_full(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
}

static tla_status admit(study *s) {
    while (s->waiting_count > 0) {
        const uint32_t number = s->waiting[s->waiting_count - 1];
        const tla_status status = hold(s, number, request_of(s, number)->prompt_tokens);
        s->out->exhausted += status == TLA_EXHAUSTED;
        s->out->fragmented += status == TLA_FRAGMENTED;
        if (status) return is_full(status) ? TLA_OK : status;
        s->waiting_count--;
        s->running[s->running_count++] = number;
        s->produced[number] = 0;
        s->not_admitted -= !s->admitted[number];
        s->admitted[number] = true;
    }
    return TLA_OK;
}

static tla_status preempt_last(study *s) {
    const uint32_t number = s->running[--s->running_count];
    s->waiting[s->waiting_count++] = number;
    s->out->preemptions++;
    return release(s, number);
}

/* Every running request, in order, gets a token. */
static tla_status step(study *s) {
    for (size_t i = 0; i < s->running_count; i++) {
        const uint32_t number = s->running[i];
        const uint64_t tokens = (uint64_t)request_of(s, number)->prompt_tokens + s->produced[number] + 1;
        tla_status status = s->reserves ? TLA_OK : hold(s, number, tokens);
        while (is_full(status) && s->running_count > i) {
            status = preempt_last(s);
            if (!status && s->running_count > i) status = hold(s, number, tokens);
        }
        if (status) return status;
        if (s->running_count > i) s->produced[number]++;
    }
    return TLA_OK;
}

static void count(study *s) {
    uint64_t tokens = 0, to_come = 0;
    for (size_t i = 0; i < s->running_count; i++) {
        const tla_serving_request *request = request_of(s, s->running[i]);
        tokens += request->prompt_tokens + s->produced[s->running[i]];
        to_come += request->output_tokens - s->produced[s->running[i]];
    }
    s->tokens += (double)tokens;
    s->reserved += s->reserves ? (double)to_come : 0;
    s->held += (double)tla_kv_memory_get_stats(s->memory).held;
    s->ran += (double)s->running_count;
    s->out->steps++;
}

static tla_status leave(study *s) {
    size_t stay = 0;
    tla_status status = TLA_OK;
    for (size_t i = 0; i < s->running_count && !status; i++) {
        const uint32_t number = s->running[i];
        if (s->produced[number] < request_of(s, number)->output_tokens)
            s->running[stay++] = number;
        else
            status = release(s, number);
    }
    s->running_count = stay;
    return status;
}

/* Requests that are not too long wait, the first one to be taken next. */
static bool begin(study *s, uint64_t longest) {
    const size_t n = s->requests->count;
    s->waiting = malloc(n * sizeof *s->waiting);
    s->running = malloc(n * sizeof *s->running);
    s->produced = calloc(n, sizeof *s->produced);
    s->admitted = calloc(n, sizeof *s->admitted);
    if (!s->waiting || !s->running || !s->produced || !s->admitted) return false;
    for (size_t i = n; i-- > 0;)
        if ((uint64_t)s->requests->items[i].prompt_tokens + s->requests->items[i].output_tokens <= longest)
            s->waiting[s->waiting_count++] = (uint32_t)i;
    s->not_admitted = s->waiting_count;
    s->out->left_out = n - s->waiting_count;
    return true;
}

static void tell(const study *s, uint64_t tokens) {
    const double all = (double)s->out->steps * (double)tokens / 100;
    s->out->tokens = s->tokens / all;
    s->out->reserved = s->reserved / all;
    s->out->internal = (s->held - s->tokens - s->reserved) / all;
    s->out->external = 100 - s->held / all;
    s->out->running = s->ran / (double)s->out->steps;
}

static tla_status serve(study *s) {
    tla_status status = TLA_OK;
    while (!status && s->not_admitted > 0) {
        status = admit(s);
        if (!status) status = step(s);
        if (status) break;
        count(s);
        status = leave(s);
    }
    return status;
}

tla_status tla_memory_study_run(const tla_serving_requests *requests, const tla_kv_memory_config *config,
                                tla_memory_study *out, tla_error *error) {
    tla_kv_memory_config sized = *config;
    sized.requests = (uint32_t)requests->count;
    study s = {.requests = requests, .reserves = tla_kv_memory_reserves(config->kind), .out = out};
    *out = (tla_memory_study){0};
    tla_status status = tla_kv_memory_create(&sized, &s.memory);
    if (!status && !begin(&s, config->longest)) status = TLA_NO_HOST_MEMORY;
    if (!status && s.not_admitted == 0)
        status = tla_error_set(error, TLA_INVALID_ARGUMENT,
                               "no request fits: all %zu are longer than the limit of %" PRIu64 " tokens",
                               requests->count, config->longest);
    else if (!status)
        status = serve(&s);
    if (!status)
        tell(&s, config->tokens);
    else if (status == TLA_LIMIT)
        tla_error_set(error, status, "a request is longer than the largest block of the memory");
    else if (!s.memory || status != TLA_INVALID_ARGUMENT)
        tla_error_set(error, status, "cannot study the memory: %s", tla_status_text(status));
    tla_kv_memory_destroy(s.memory);
    free(s.waiting);
    free(s.running);
    free(s.produced);
    free(s.admitted);
    if (status) *out = (tla_memory_study){0};
    return status;
}
