/* The report of a serving run, for a person, as JSON and as tables. */
#include "cli/config_json.h"
#include "cli/message.h"
#include "serving/command/serve.h"

#include <inttypes.h>

static json_t *parts_to_json(const serve_parts *p) {
    json_t *json = json_object();
    json_object_set_new(json, "total", json_real(p->total));
    json_object_set_new(json, "queue", json_real(p->queue));
    json_object_set_new(json, "allocation", json_real(p->allocation));
    json_object_set_new(json, "mapping", json_real(p->mapping));
    json_object_set_new(json, "transfer", json_real(p->transfer));
    json_object_set_new(json, "compute", json_real(p->compute));
    return json;
}

static json_t *summary_to_json(const serve_summary *s) {
    json_t *json = json_object();
    json_object_set_new(json, "mean_s", parts_to_json(&s->mean));
    json_object_set_new(json, "p50_s", parts_to_json(&s->p50));
    json_object_set_new(json, "p99_s", parts_to_json(&s->p99));
    return json;
}

static double peak_use(const tla_kv_blocks_stats *blocks) {
    return (double)blocks->peak / blocks->usable;
}

/* Returns the unused share: any free block or page serves; with regions, it is the unused memory while requests wait.
 * */
static double external_fragmentation(const serve_report *r) {
    const tla_scheduler_rules *rules = &r->settings->rules;
    return rules->has_memory && tla_kv_memory_reserves(rules->memory.kind) ? r->result->mean_unused_waiting : 0;
}

/* The second tier. Content that left the first tier was moved out, kept or lost. */
static json_t *host_to_json(const serve_report *r) {
    const tla_host_tier_stats *h = &r->result->host;
    const uint64_t block_bytes = r->settings->host_link.block_bytes;
    json_t *json = json_object();
    json_object_set_new(json, "blocks", json_from_u64(h->blocks));
    json_object_set_new(json, "stored", json_from_u64(h->cached + h->read));
    json_object_set_new(json, "hit_tokens", json_from_u64(r->result->scheduler.host_hit_tokens));
    json_object_set_new(json, "moved_out", json_from_u64(h->moved_out));
    json_object_set_new(json, "moved_in", json_from_u64(h->moved_in));
    json_object_set_new(json, "bytes_out", json_from_u64(h->moved_out * block_bytes));
    json_object_set_new(json, "bytes_in", json_from_u64(h->moved_in * block_bytes));
    json_object_set_new(json, "kept", json_from_u64(h->kept));
    json_object_set_new(json, "lost", json_from_u64(h->lost));
    json_object_set_new(json, "evicted", json_from_u64(h->evicted));
    return json;
}

/* The one simulated layer. */
static json_t *attention_to_json(const platform_attention_totals *a) {
    json_t *json = json_object();
    json_object_set_new(json, "bytes", json_from_u64(a->bytes));
    json_object_set_new(json, "lookups", json_from_u64(a->lookups));
    json_object_set_new(json, "tlb_misses", json_from_u64(a->tlb_misses));
    json_object_set_new(json, "layer_ps", json_from_u64(a->ps));
    return json;
}

/* Including the releases at the end. */
static json_t *counts_to_json(const platform_counts *c, bool has_tier) {
    json_t *json = json_object();
    json_object_set_new(json, "alloc", json_from_u64(c->alloc));
    json_object_set_new(json, "free", json_from_u64(c->free));
    json_object_set_new(json, "ref", json_from_u64(c->ref));
    json_object_set_new(json, "map", json_from_u64(c->map));
    json_object_set_new(json, "unmap", json_from_u64(c->unmap));
    if (!has_tier) return json;
    json_object_set_new(json, "host_alloc", json_from_u64(c->host_alloc));
    json_object_set_new(json, "host_free", json_from_u64(c->host_free));
    json_object_set_new(json, "host_pin", json_from_u64(c->host_pin));
    json_object_set_new(json, "host_unpin", json_from_u64(c->host_unpin));
    json_object_set_new(json, "moved_out", json_from_u64(c->moved_out));
    json_object_set_new(json, "moved_in", json_from_u64(c->moved_in));
    json_object_set_new(json, "bytes_out", json_from_u64(c->bytes_out));
    json_object_set_new(json, "bytes_in", json_from_u64(c->bytes_in));
    json_object_set_new(json, "moving_ps", json_from_u64(c->moving_ps));
    return json;
}

static json_t *kv_to_json(const serve_report *r) {
    const tla_scheduler_stats *s = &r->result->scheduler;
    const tla_kv_blocks_stats *b = &r->result->blocks;
    json_t *json = json_object(), *failures = json_object();
    json_object_set_new(json, "block_tokens", json_from_u64(r->settings->rules.block_tokens));
    json_object_set_new(json, "usable_blocks", json_from_u64(b->usable));
    json_object_set_new(json, "peak_blocks", json_from_u64(b->peak));
    json_object_set_new(json, "mean_use", json_real(r->result->mean_use));
    json_object_set_new(json, "peak_use", json_real(peak_use(b)));
    json_object_set_new(json, "internal_fragmentation", json_real(r->result->mean_internal_fragmentation));
    json_object_set_new(json, "external_fragmentation", json_real(external_fragmentation(r)));
    json_object_set_new(json, "taken", json_from_u64(b->taken));
    json_object_set_new(json, "revived", json_from_u64(b->revived));
    json_object_set_new(json, "shared", json_from_u64(b->shared));
    json_object_set_new(json, "evicted", json_from_u64(b->evicted));
    json_object_set_new(failures, "running", json_from_u64(s->refused_running));
    json_object_set_new(failures, "gate", json_from_u64(s->refused_gate));
    json_object_set_new(failures, "admission", json_from_u64(s->refused_admission));
    json_object_set_new(failures, "budget", json_from_u64(s->refused_budget));
    json_object_set_new(failures, "fragmented", json_from_u64(s->refused_fragmented));
    json_object_set_new(json, "failures", failures);
    if (r->result->host.blocks) json_object_set_new(json, "host", host_to_json(r));
    if (r->platform.is_one)
        json_object_set_new(json, "platform", counts_to_json(&r->platform.counts, r->result->host.blocks > 0));
    if (r->platform.attention.bytes) json_object_set_new(json, "attention", attention_to_json(&r->platform.attention));
    return json;
}

static json_t *skipped_to_json(const tla_serving_skipped *s) {
    json_t *json = json_object();
    json_object_set_new(json, "no_output", json_from_u64(s->no_output));
    json_object_set_new(json, "no_prompt", json_from_u64(s->no_prompt));
    json_object_set_new(json, "too_long", json_from_u64(s->too_long));
    json_object_set_new(json, "too_large", json_from_u64(s->too_large));
    return json;
}

json_t *serve_to_json(const serve_report *r, const serve_times *times) {
    const tla_serve_result *result = r->result;
    json_t *json = json_object();
    json_object_set_new(json, "trace", json_from_text(r->requests_path));
    json_object_set_new(json, "settings", json_from_text(r->settings_path));
    json_object_set_new(json, "step_time", json_from_text(r->law_text));
    json_object_set_new(json, "requests", json_from_u64(r->requests->count));
    if (r->skips) json_object_set_new(json, "skipped", skipped_to_json(&r->requests->skipped));
    json_object_set_new(json, "completed", json_from_u64(result->scheduler.finished));
    json_object_set_new(json, "steps", json_from_u64(result->scheduler.steps));
    json_object_set_new(json, "preemptions", json_from_u64(result->scheduler.preemptions));
    json_object_set_new(json, "hit_tokens", json_from_u64(result->scheduler.hit_tokens));
    json_object_set_new(json, "recomputed_tokens", json_from_u64(result->scheduler.recomputed_tokens));
    json_object_set_new(json, "generated_tokens", json_from_u64(result->generated_tokens));
    json_object_set_new(json, "end_s", json_real(1e-9 * (double)result->end_ns));
    json_object_set_new(json, "end_ns", json_from_u64(result->end_ns));
    json_object_set_new(json, "ttft", summary_to_json(&times->ttft));
    json_object_set_new(json, "tpot", summary_to_json(&times->tpot));
    json_object_set_new(json, "latency", summary_to_json(&times->latency));
    json_object_set_new(json, "kv", kv_to_json(r));
    json_object_set_new(json, "wall_s", json_real(r->wall_s));
    return json;
}

static void print_summary(FILE *out, const char *name, const char *unit, double factor, const serve_summary *s) {
    fprintf(out, "%-16s mean %.3f %s, p50 %.3f, p99 %.3f; of the mean in the queue %.1f %%\n", name,
            factor * s->mean.total, unit, factor * s->p50.total, factor * s->p99.total,
            s->mean.total > 0 ? 100 * s->mean.queue / s->mean.total : 0.0);
}

static void print_skipped(FILE *out, const tla_serving_skipped *s) {
    fprintf(out,
            "left out         %" PRIu64 ": %" PRIu64 " without output, %" PRIu64 " without prompt, %" PRIu64
            " longer than max_model_len, %" PRIu64 " larger than the cache\n",
            s->no_output + s->no_prompt + s->too_long + s->too_large, s->no_output, s->no_prompt, s->too_long,
            s->too_large);
}

void serve_print(FILE *out, const serve_report *r, const serve_times *times) {
    const tla_serve_result *result = r->result;
    const tla_scheduler_stats *s = &result->scheduler;
    print_escaped(out, "requests         %s", r->requests_path);
    fprintf(out, ", %" PRIu64 " of %zu completed\n", s->finished, r->requests->count);
    if (r->skips) print_skipped(out, &r->requests->skipped);
    fprintf(out, "steps            %" PRIu64 ", %" PRIu64 " tokens generated, %" PRIu64 " preemptions\n", s->steps,
            result->generated_tokens, s->preemptions);
    fprintf(out, "prefix tokens    %" PRIu64 " found, %" PRIu64 " computed again\n", s->hit_tokens,
            s->recomputed_tokens);
    print_summary(out, "first token", "s", 1, &times->ttft);
    print_summary(out, "every next", "ms", 1000, &times->tpot);
    print_summary(out, "latency", "s", 1, &times->latency);
    fprintf(out, "blocks           %" PRIu32 " usable, in use %.1f %% in the mean, %.1f %% at most\n",
            result->blocks.usable, 100 * result->mean_use, 100 * peak_use(&result->blocks));
    if (result->host.blocks)
        fprintf(out,
                "host's blocks    %" PRIu32 ", %" PRIu64 " moved out, %" PRIu64 " in; %" PRIu64
                " prefix tokens found there\n",
                result->host.blocks, result->host.moved_out, result->host.moved_in, s->host_hit_tokens);
    if (r->platform.counts.moving_ps)
        fprintf(out, "moves            %.3f MB to the host's memory, %.3f MB back, by DMA in %.3f ms\n",
                1e-6 * (double)r->platform.counts.bytes_out, 1e-6 * (double)r->platform.counts.bytes_in,
                1e-9 * (double)r->platform.counts.moving_ps);
    if (r->platform.attention.bytes)
        fprintf(out, "attention        %.3f MB by DMA in %.3f ms, of one layer; %" PRIu64 " TLB misses\n",
                1e-6 * (double)r->platform.attention.bytes, 1e-9 * (double)r->platform.attention.ps,
                r->platform.attention.tlb_misses);
    fprintf(out, "end              %.3f s, host time %.3f s\n", 1e-9 * (double)result->end_ns, r->wall_s);
}

/* ---- tables ---- */

/* Seconds, exact. */
static void print_seconds(FILE *out, uint64_t ns, const char *behind) {
    fprintf(out, "%" PRIu64 ".%09" PRIu64 "%s", ns / 1000000000, ns % 1000000000, behind);
}

void serve_steps_header(FILE *out) {
    if (out) fputs("end_s,prompt_tokens,generated_tokens,running,waiting,used_blocks,usable_blocks\n", out);
}

void serve_steps_row(FILE *out, const tla_served_step *step) {
    if (!out) return;
    print_seconds(out, step->end_ns, ",");
    fprintf(out, "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "\n", step->prompt_tokens,
            step->generated_tokens, step->running, step->waiting, step->used_blocks, step->usable_blocks);
}

void serve_requests_write(FILE *out, const tla_serving_requests *requests, const tla_served *served) {
    if (!out) return;
    fputs("id,queued_s,scheduled_s,first_token_s,last_token_s\n", out);
    for (size_t i = 0; i < requests->count; i++) {
        fprintf(out, "%" PRIu64 ",", requests->items[i].id);
        print_seconds(out, served[i].queued_ns, ",");
        print_seconds(out, served[i].scheduled_ns, ",");
        print_seconds(out, served[i].first_ns, ",");
        print_seconds(out, served[i].last_ns, "\n");
    }
}
