/* `tlmalloc serve REQUESTS`: requests on a serving engine with a paged key-value cache. */
#include "serving/command/serve.h"

#include "cli/commands.h"
#include "cli/json_writer.h"
#include "cli/law_argument.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "serving/command/block_map.h"
#include "serving/command/platform_law.h"
#include "serving/host_law.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct serve_options {
    const char *requests_path, *settings_path, *law_text, *from_path;
    const char *json_path, *steps_path, *served_path, *map_path;
    bool skips;
    text_list set;
} serve_options;

/* The command line */

static void check_arguments(const struct argp_state *state, const void *read) {
    const serve_options *o = read;
    if (!o->requests_path) argument_error(state, "expected a file of REQUESTS");
    if (!o->settings_path) argument_error(state, "expected --settings FILE");
    if (!o->law_text) argument_error(state, "expected --step-time LAW");
    if (o->from_path && !platform_law_is(o->law_text))
        argument_error(state, "--from needs --step-time \"platform CONFIG\" or \"platform CONFIG + LAW\"");
}

#define AT(member) offsetof(serve_options, member)

static const option_row option_table[] = {
    {"settings", 0, "FILE", option_text, AT(settings_path), "settings of the engine and the model, JSON or YAML"},
    {"set", 0, "KEY=VALUE", option_each, AT(set), "override a key of the settings (repeatable)"},
    {"step-time", 0, "LAW", option_text, AT(law_text),
     "time of a step: \"fixed 10 ms + 100 us/token\"; \"profile DIR\" with tables of measured times; \"platform "
     "CONFIG\": the commands for its blocks on a platform; or \"platform CONFIG + LAW\": those commands, then one of "
     "the first two"},
    {"skip-unservable", 0, NULL, option_flag, AT(skips),
     "leave out and count the requests without a prompt or output, those longer than max_model_len, and those larger "
     "than the cache; without this option such a request is an error"},
    {"from", 0, "SNAPSHOT", option_text, AT(from_path),
     "start every HBM free list of a platform in the state that `tlmalloc age' wrote"},
    {"json", 0, "FILE", option_text, AT(json_path), "write the report"},
    {"steps", 0, "CSV", option_text, AT(steps_path), "write every step: its end, tokens, requests, blocks"},
    {"requests", 0, "CSV", option_text, AT(served_path),
     "write the times when each request was queued, was scheduled and got its tokens"},
    {"map", 0, "FILE.svg", option_text, AT(map_path), "draw the used blocks over time"},
    {0}};

static const char description[] =
    "Serves requests on an engine with continuous batching over a paged key-value cache, by the rules of vLLM V1. "
    "Reports when each request gets its tokens, and how the cache's blocks were used.\v"
    "REQUESTS is JSON lines of a measured run or of Mooncake, Azure's or BurstGPT's table, or input,output lengths; "
    "plain "
    "or gzip. "
    "The engine ignores unknown keys in the settings file; --set accepts known keys only. The same inputs give the "
    "same files on every host, except for the host time in the report.";

static const command_line parser = {"REQUESTS",
                                    description,
                                    option_table,
                                    {"REQUESTS", .read = argument_once, .member = AT(requests_path)},
                                    check_arguments};

/* The run */

typedef struct serve_files {
    FILE *json, *steps, *served, *picture;
    block_map map; /* empty without a picture */
} serve_files;

static void protect_inputs(const serve_options *o) {
    static const char word[] = "profile ";
    static const char *const tables[] = {"dense.csv", "per_sequence.csv", "attention.csv", "skew_fit.csv"};
    output_protect(o->requests_path);
    output_protect(o->settings_path);
    output_protect(o->from_path);
    char path[PATH_MAX]; /* a law with a longer one is rejected */
    const char *config, *law = o->law_text;
    size_t length;
    const char *inner = platform_law_split(law, &config, &length);
    if (inner && snprintf(path, sizeof path, "%.*s", (int)length, config) < (int)sizeof path) output_protect(path);
    if (inner) law = inner;
    if (strncmp(law, word, sizeof word - 1) != 0) return;
    const char *directory = law + sizeof word - 1 + strspn(law + sizeof word - 1, " ");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (snprintf(path, sizeof path, "%s/%s", directory, tables[i]) < (int)sizeof path) output_protect(path);
    }
}

static tla_status open_files(const serve_options *o, serve_files *files, tla_error *error) {
    protect_inputs(o);
    tla_status status = output_open("--json", o->json_path, &files->json, error);
    if (!status) status = output_open("--steps", o->steps_path, &files->steps, error);
    if (!status) status = output_open("--requests", o->served_path, &files->served, error);
    return status ? status : output_open("--map", o->map_path, &files->picture, error);
}

static void hear_step(void *context, const tla_served_step *step) {
    serve_steps_row(((const serve_files *)context)->steps, step);
}

static void hear_blocks(void *context, uint64_t now_ns, const tla_block_decision *decision) {
    block_map_hear(&((serve_files *)context)->map, now_ns, decision);
}

/* Reads the requests, without those that are left out. */
static tla_status read_requests(const serve_options *o, const tla_serving_settings *settings,
                                tla_serving_requests *requests, tla_error *error) {
    if (!o->skips) return tla_serving_requests_read(o->requests_path, requests, error);
    tla_status status = tla_serving_requests_read_skipping(o->requests_path, requests, error);
    if (status) return status;
    tla_error why;
    status = tla_scheduler_skip(&settings->rules, requests, &why);
    if (status) return tla_error_set(error, status, "%s: %s", o->requests_path, why.text);
    const tla_serving_skipped *s = &requests->skipped;
    if (requests->count) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s: no request is left: %" PRIu64 " without output, %" PRIu64 " without prompt, %" PRIu64
                         " longer than max_model_len, %" PRIu64 " larger than the cache",
                         o->requests_path, s->no_output, s->no_prompt, s->too_long, s->too_large);
}

/* Checks whether the settings can serve the requests; an impossible request is reported with its line. */
static tla_status check(const serve_options *o, const tla_serving_settings *settings,
                        const tla_serving_requests *requests, tla_error *error) {
    size_t request;
    tla_error why;
    const tla_status status = tla_scheduler_check(&settings->rules, requests, &request, &why);
    if (status && request < requests->count)
        tla_error_set(error, status, "%s:%" PRIu32 ":1: %s", o->requests_path, requests->items[request].line, why.text);
    else if (status)
        tla_error_set(error, status, "%s: %s", o->requests_path, why.text);
    return status;
}

/* Whether attention can read its blocks by DMA, if it is to. */
static tla_status check_attention(const serve_options *o, const tla_serving_settings *settings,
                                  const tla_serving_requests *requests, tla_error *error) {
    if (!settings->attention_by_dma) return TLA_OK;
    if (!platform_law_is(o->law_text))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "attention dma needs --step-time \"platform CONFIG\" or \"platform CONFIG + LAW\"");
    if (requests->count <= TLA_ATTENTION_DMA_REQUESTS) return TLA_OK;
    return tla_error_set(error, TLA_UNSUPPORTED,
                         "%s: %zu requests, but attention dma takes at most %d, because it moves every byte of a layer "
                         "in every step: use fewer requests, or attention law",
                         o->requests_path, requests->count, TLA_ATTENTION_DMA_REQUESTS);
}

/* Starts the slices of a law's platform from --from, if given. */
static tla_status age(const serve_options *o, tla_step_law *law, tla_error *error) {
    if (!o->from_path) return TLA_OK;
    char *text = NULL;
    size_t length = 0;
    tla_status status = read_text(o->from_path, ARENA_SNAPSHOT_BYTES_MAX, &text, &length, error);
    if (status) return status;
    tla_error why;
    status = platform_law_age(law, text, length, &why);
    if (status) tla_error_set(error, status, "%s: %s", o->from_path, why.text);
    free(text);
    return status;
}

static tla_status run(const serve_options *o, const tla_serving_settings *settings,
                      const tla_serving_requests *requests, serve_files *files, tla_serve_result *result,
                      serve_platform *platform, tla_error *error) {
    tla_step_law law;
    platform->is_one = platform_law_is(o->law_text);
    tla_status status =
        (platform->is_one ? platform_law_parse : tla_step_law_parse)(o->law_text, settings, &law, error);
    if (status) {
        tla_error why = *error;
        return tla_error_set(error, status, "--step-time: %s", why.text);
    }
    tla_host_law moving = {.inner = law, .link = settings->host_link};
    const bool has_formula = settings->rules.host_blocks && !platform->is_one; /* a platform moves the bytes */
    const tla_step_law with_moves = has_formula ? tla_host_law_of(&moving) : law;
    status = age(o, &law, error);
    if (!status && files->picture) status = block_map_create(settings->rules.blocks, &files->map, error);
    const tla_serve_watch watch = {hear_step, files->picture ? hear_blocks : NULL, files};
    size_t done = 0;
    serve_steps_header(files->steps);
    progress_begin("serving", "requests");
    progress_watch(&done, requests->count);
    tla_error why;
    if (!status) {
        status = tla_serve(requests, &settings->rules, &with_moves, &watch, &done, result, &why);
        if (!status && platform->is_one) status = platform_law_finish(&law, &why);
        if (!status && platform->is_one) {
            platform->attention = platform_law_attention(&law);
            platform->counts = platform_law_counts(&law);
        }
        if (status) tla_error_set(error, status, "%s: %s", o->requests_path, why.text);
    }
    progress_begin("writing", NULL);
    tla_step_law_clear(&law);
    return status;
}

static tla_status report(const serve_options *o, const tla_serving_settings *settings,
                         const tla_serving_requests *requests, const tla_serve_result *result,
                         const serve_platform *platform, double begin_s, const serve_files *files, FILE *table,
                         tla_error *error) {
    const serve_report r = {.requests_path = o->requests_path,
                            .settings_path = o->settings_path,
                            .law_text = o->law_text,
                            .skips = o->skips,
                            .requests = requests,
                            .settings = settings,
                            .result = result,
                            .platform = *platform,
                            .wall_s = host_seconds() - begin_s};
    serve_times times;
    tla_status status = serve_times_of(requests, result->requests, &times);
    if (status) return tla_error_set(error, status, "no host memory for the report");
    serve_requests_write(files->served, requests, result->requests);
    if (files->picture) {
        const char *slash = strrchr(o->requests_path, '/');
        status =
            block_map_write(files->picture, slash ? slash + 1 : o->requests_path, &files->map, result->end_ns, error);
        if (status) return status;
    }
    json_t *json = serve_to_json(&r, &times);
    status = json_write(json, 0, files->json, error);
    json_decref(json);
    if (!status) serve_print(table, &r, &times);
    return status ? status : output_commit(error);
}

static tla_status serve(const serve_options *o, tla_error *error) {
    const double begin_s = host_seconds();
    serve_files files = {0};
    tla_serving_settings settings;
    tla_serving_requests requests = {0};
    tla_serve_result result = {0};
    serve_platform platform = {0};
    tla_status status =
        tla_serving_settings_load(o->settings_path, o->set.items, o->set.count, &settings, print_finding, NULL);
    if (status == TLA_NO_HOST_MEMORY) tla_error_set(error, status, "%s: no host memory to read it", o->settings_path);
    if (status) return status;
    status = open_files(o, &files, error);
    FILE *table = output_table();
    progress_begin("reading the requests", NULL);
    if (!status) status = read_requests(o, &settings, &requests, error);
    if (!status) status = check(o, &settings, &requests, error);
    if (!status) status = check_attention(o, &settings, &requests, error);
    if (!status) status = run(o, &settings, &requests, &files, &result, &platform, error);
    if (!status) status = report(o, &settings, &requests, &result, &platform, begin_s, &files, table, error);
    block_map_clear(&files.map);
    tla_serve_result_clear(&result);
    tla_serving_requests_free(&requests);
    return status;
}

int tlmalloc_serve(int argc, char **argv) {
    serve_options options = {0};
    command_line_read(&parser, argc, argv, &options);
    tla_error error = {0};
    const tla_status status = serve(&options, &error);
    text_list_clear(&options.set);
    if (status && error.text[0]) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
