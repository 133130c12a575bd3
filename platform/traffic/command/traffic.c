/* `tlmalloc traffic CONFIG TRACE`: what one pseudo-channel makes of an address trace. */
#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "model/base/suggest.h"
#include "tlmalloc/base/timeline.h"
#include "trace/address_trace.h"
#include "traffic/command/traffic_energy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct traffic_options {
    const char *config_path, *trace_path, *map, *energy, *json_path;
    const char *pattern_name; /* NULL: not given */
    tla_traffic_pattern pattern;
    uint64_t seed, count, window;
    uint64_t part, parts; /* of --select; 0 parts: not given */
    bool seed_given, count_given, window_given, reference;
    text_list set;
} traffic_options;

typedef struct traffic_report {
    const traffic_options *options;
    tla_hbm_config timing;
    tla_phrase timing_name; /* or its path */
    traffic_energy energy;
    tla_traffic_result result;
    tla_traffic_latency latency;
    uint64_t left_out;  /* accesses of other parts */
    uint64_t bus_bytes; /* moved, with metadata */
    double bandwidth_gb_s, share_of_peak, requests_per_host_s;
} traffic_report;

/* The command line */

enum { COUNT_DEFAULT = 100000 };

static const char *pattern_name(uint64_t index) {
    return index < TLA_TRAFFIC_PATTERN_COUNT ? tla_traffic_pattern_name((tla_traffic_pattern)index) : NULL;
}

static void read_pattern(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    if (tla_traffic_pattern_find(text, &o->pattern) != TLA_OK)
        argument_error(state, "--%s: found '%s', expected one of: %s%s", option->name, text,
                       tla_all_names(pattern_name).text, tla_did_you_mean(text, pattern_name).text);
    o->pattern_name = text;
}

static void read_window(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    option_number(state, option, text, &o->window);
    o->window_given = true;
}

static void read_seed(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    option_number(state, option, text, &o->seed);
    o->seed_given = true;
}

static void read_count(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    option_number(state, option, text, &o->count);
    o->count_given = true;
}

static void read_select(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    int end = 0;
    const int numbers = sscanf(text, "%5" SCNu64 "/%5" SCNu64 "%n", &o->part, &o->parts, &end);
    if (strspn(text, "0123456789/") != strlen(text) || numbers != 2 || text[end] != '\0' || o->part >= o->parts)
        argument_error(state, "--%s: found '%s', expected I/N, a part I, 0 .. N - 1, of N, 1 .. 99999", option->name,
                       text);
}

static void read_argument(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    traffic_options *o = member;
    (void)option;
    if (o->trace_path) argument_error(state, "found a third argument '%s', expected CONFIG and TRACE", text);
    *(o->config_path ? &o->trace_path : &o->config_path) = text;
}

static void check_arguments(const struct argp_state *state, const void *read) {
    const traffic_options *o = read;
    if (o->reference) {
        if (o->config_path || o->pattern_name || o->seed_given || o->count_given || o->window_given || o->map ||
            o->energy || o->parts || o->json_path || o->set.count)
            argument_error(state, "--reference excludes arguments and all other options");
        return;
    }
    if (!o->config_path) argument_error(state, "expected a CONFIG");
    if (!o->trace_path && !o->pattern_name)
        argument_error(state,
                       "'%s' is read as CONFIG, but a TRACE is missing: add a TRACE or --pattern NAME after it; if it "
                       "is the TRACE, put a CONFIG before it",
                       o->config_path);
    if (o->trace_path && o->pattern_name) argument_error(state, "TRACE and --pattern exclude each other");
    if (!o->trace_path && o->parts) argument_error(state, "--select needs a TRACE");
    if (!o->pattern_name && (o->seed_given || o->count_given))
        argument_error(state, "--seed and --count need --pattern");
}

#define AT(member) offsetof(traffic_options, member)

static const option_row option_table[] = {
    {"map", 0, "SPEC", option_text, AT(map),
     "address map: m1, m2, m3, or fields from the least significant bit above the burst, such as bg2,co5,ba2,ro14 "
     "(default: that of CONFIG)"},
    {"window", 0, "N", read_window, 0,
     "outstanding reads, of two pseudo-channels that share a bus together; 0: only the queue limits them (default: "
     "that of TRACE, else of CONFIG)",
     0, 65536, "a number, 0 .. 65536"},
    {"select", 0, "I/N", read_select, 0,
     "of N channels that are interleaved by burst, the accesses of channel I; addresses beyond its capacity begin "
     "again "
     "at 0 (default: TRACE has addresses of this channel only)"},
    {"pattern", 0, "NAME", read_pattern, 0,
     "generate traffic instead of reading TRACE: seq_rd, seq_wr, stride_row, stride_conf, rand_rd1, rand_wr1, "
     "mix21_seq, chase, str4, tile_p8k, load_rand30"},
    {"seed", 0, "N", read_seed, 0, "seed of the pattern (default 1)", 0, UINT64_MAX,
     "a number, 0 .. 18446744073709551615"},
    {"count", 0, "N", read_count, 0, "number of bursts (default 100000; slow patterns make a fraction of N)", 1,
     1 << 28, "a number, 1 .. 268435456"},
    {"set", 0, "KEY=VALUE", option_each, AT(set), "override a key of CONFIG (repeatable)"},
    {"energy", 0, "PROFILE", option_text, AT(energy),
     "add the energy of the commands by an energy profile: a name of configs/energy, or a file"},
    {"json", 0, "FILE", option_text, AT(json_path), "write the report"},
    {"reference", 0, NULL, option_flag, AT(reference),
     "print the reference of all keys of a timing profile (Markdown) instead"},
    {0}};

static const command_line parser = {
    .usage = "CONFIG TRACE\nCONFIG --pattern NAME\n--reference",
    .description =
        "Drives one pseudo-channel's timing with an address trace.\v"
        "CONFIG is a timing profile (configs/timing/hbm2.yaml), or a platform with an HBM that provides one "
        "pseudo-channel. TRACE, plain or gzip, is CSV, time_ps,op,addr,bytes with op R or W, or a trace of DRAMSys "
        "(.stl), DRAMsim3 or Ramulator. If all times "
        "are 0, accesses arrive as fast as the channel accepts them, at most one per clock; otherwise the "
        "times are arrival times. If two pseudo-channels share a row-command bus (row_bus_sharers: 2), the "
        "command drives both; the map's pc bit selects the channel of each access. The latency of a read "
        "runs from its acceptance (in a timed trace, from its arrival) to the end of its data.",
    .options = option_table,
    .argument = {"CONFIG", .read = read_argument},
    .check = check_arguments,
};

/* The timing */

/* A timing profile has values at its top level, a platform has sections. */
static bool is_timing_profile(const char *text, size_t length) {
    const char *const all = text + length;
    for (const char *line = text, *end; line < all; line = end + 1) {
        end = memchr(line, '\n', (size_t)(all - line)); /* the last line ends too: read_text */
        const char *colon = memchr(line, ':', (size_t)(end - line));
        if (!colon || !((line[0] >= 'a' && line[0] <= 'z') || line[0] == '"' || line[0] == '\'')) continue;
        const char *value = colon + 1 + strspn(colon + 1, " \t\r");
        return *value != '\n' && *value != '#' && *value != '{';
    }
    return false;
}

/* One pseudo-channel of a platform: its profile, or a timeline of bursts, exact in ps (channels.h). */
static tla_status platform_timing(const tla_config *config, tla_hbm_config *timing, tla_error *error) {
    if (config->hbm_timing.has_profile) {
        *timing = config->hbm_timing.profile;
        return TLA_OK;
    }
    const uint64_t burst_ps = tla_transfer_ps(config->hbm.burst, config->hbm.pseudo_channel_bandwidth);
    if (burst_ps > UINT32_MAX)
        return tla_error_set(
            error, TLA_UNSUPPORTED,
            "a burst of %" PRIu64
            " ps is longer than the limit of %u ps: reduce hbm.burst, or raise hbm.pseudo_channel_bandwidth",
            burst_ps, UINT32_MAX);
    *timing = (tla_hbm_config){
        .model = TLA_HBM_CHANNEL,
        .tck_ps = 1,
        .burst_bytes = config->hbm.burst,
        .burst_cycles = (uint32_t)burst_ps,
        .rtw = (uint32_t)config->hbm.direction_switch_ps,
    };
    return TLA_OK;
}

static tla_status load_timing(const traffic_options *o, tla_hbm_config *timing, tla_phrase *name, tla_error *error) {
    enum { CONFIG_BYTES_MAX = 1 << 20 };
    char *text;
    size_t length;
    output_protect(o->config_path);
    tla_status status = read_text(o->config_path, CONFIG_BYTES_MAX, &text, &length, error);
    if (status != TLA_OK) return status;
    error->text[0] = '\0'; /* findings are printed one by one */
    *name = tla_phrase_of("%s", o->config_path);
    if (is_timing_profile(text, length)) {
        status =
            tla_timing_parse(text, length, o->config_path, o->set.items, o->set.count, timing, print_finding, NULL);
    } else {
        tla_config config;
        status = overrides_parse(&o->set, text, length, o->config_path, &config);
        if (status == TLA_OK) status = platform_timing(&config, timing, error);
        if (status == TLA_OK) *name = tla_phrase_of("%s", config.hbm_timing.name);
    }
    free(text);
    if (status == TLA_OK && timing->model == TLA_HBM_CHANNEL && timing->burst_cycles == 0)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "%.200s: bursts take no time (burst_cycles is 0 tCK): use a timing profile with a bandwidth",
            o->config_path);
    if (status != TLA_OK || o->map == NULL) return status;
    if (timing->model != TLA_HBM_BANKS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "--map: %s has no banks to map addresses to: use a timing profile with model: banks",
                             o->config_path);
    status = tla_hbm_map_parse(o->map, timing, error);
    return status == TLA_OK ? tla_hbm_check(timing, error) : status;
}

/* The traffic */

/* CONFIG has the window of each pseudo-channel. */
static uint32_t channel_window(const tla_hbm_config *timing) {
    return timing->model == TLA_HBM_BANKS ? timing->row_bus_sharers * timing->window : timing->window;
}

static tla_status make_traffic(const traffic_options *o, const tla_hbm_config *timing, address_trace *trace,
                               tla_error *error) {
    tla_status status = tla_hbm_check(timing, error);
    if (status != TLA_OK) return status;
    const uint64_t capacity = tla_traffic_capacity(timing);
    if (o->pattern_name) {
        const tla_traffic_geometry geometry = tla_traffic_geometry_of(timing);
        status =
            tla_traffic_generate(o->pattern, o->seed_given ? o->seed : 1, o->count_given ? o->count : COUNT_DEFAULT,
                                 channel_window(timing), &geometry, &trace->traffic);
        trace->has_window = true;
        if (status == TLA_INVALID_ARGUMENT)
            return tla_error_set(error, status,
                                 "--pattern: %s does not fit bursts of %u bytes, or --count is too small: raise "
                                 "--count, or use another pattern",
                                 o->pattern_name, timing->burst_bytes);
        if (status != TLA_OK) return tla_error_set(error, status, "no host memory for the traffic");
    } else {
        const address_trace_rules rules = {capacity, timing->burst_bytes, timing->tck_ps, (uint32_t)o->part,
                                           (uint32_t)o->parts};
        status = address_trace_load(o->trace_path, &rules, trace, error);
        if (status != TLA_OK) return status;
    }
    if (o->window_given)
        trace->traffic.window = (uint32_t)o->window;
    else if (!trace->has_window)
        trace->traffic.window = channel_window(timing);
    return TLA_OK;
}

static uint64_t count_reads(const tla_traffic *traffic) {
    uint64_t count = 0;
    for (size_t i = 0; i < traffic->count; i++)
        count += traffic->accesses[i].op == TLA_HBM_READ;
    return count;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The report */

static void add_commands(json_t *json, const traffic_report *r) {
    const tla_hbm_stats *stats = &r->result.stats;
    json_object_set_new(json, "activates", json_from_u64(stats->activates));
    json_object_set_new(json, "precharges", json_from_u64(stats->precharges));
    json_object_set_new(json, "precharges_all", json_from_u64(stats->precharges_all));
    json_object_set_new(json, "read_commands", json_from_u64(stats->read_commands));
    json_object_set_new(json, "write_commands", json_from_u64(stats->write_commands));
    json_object_set_new(json, "all_closed_ps", json_from_u64(r->result.open_time.all_closed_ps));
    json_object_set_new(json, "open_bank_ps", json_from_u64(r->result.open_time.open_bank_ps));
}

static json_t *report_to_json(const traffic_report *r) {
    const tla_hbm_stats *stats = &r->result.stats;
    const traffic_options *o = r->options;
    char map[128];
    tla_hbm_map_print(&r->timing.map, map, sizeof map);
    json_t *json = json_object();
    json_object_set_new(json, "config", json_from_text(o->config_path));
    if (o->trace_path) json_object_set_new(json, "trace", json_from_text(o->trace_path));
    if (o->parts) json_object_set_new(json, "left_out", json_from_u64(r->left_out));
    if (o->pattern_name) {
        json_object_set_new(json, "pattern", json_string(o->pattern_name));
        json_object_set_new(json, "seed", json_from_u64(o->seed_given ? o->seed : 1));
    }
    if (r->timing.model == TLA_HBM_BANKS) json_object_set_new(json, "map", json_string(map));
    json_object_set_new(json, "window", json_from_u64(r->timing.window));
    json_object_set_new(json, "bandwidth_gb_s", json_real(r->bandwidth_gb_s));
    json_object_set_new(json, "share_of_peak", json_real(r->share_of_peak));
    json_object_set_new(json, "bus_bytes", json_from_u64(r->bus_bytes));
    json_object_set_new(json, "latency_mean_ns", json_real(r->latency.mean_ns));
    json_object_set_new(json, "latency_p50_ns", json_real(r->latency.p50_ns));
    json_object_set_new(json, "latency_p99_ns", json_real(r->latency.p99_ns));
    json_object_set_new(json, "reads", json_from_u64(stats->reads));
    json_object_set_new(json, "writes", json_from_u64(stats->writes));
    json_object_set_new(json, "row_hits", json_from_u64(stats->row_hits));
    json_object_set_new(json, "row_misses", json_from_u64(stats->row_misses));
    json_object_set_new(json, "row_conflicts", json_from_u64(stats->row_conflicts));
    json_object_set_new(json, "forwarded", json_from_u64(stats->forwarded));
    json_object_set_new(json, "refreshes", json_from_u64(stats->refreshes));
    if (r->timing.model == TLA_HBM_BANKS) add_commands(json, r);
    if (o->energy) json_object_set_new(json, "energy", traffic_energy_to_json(&r->energy));
    json_object_set_new(json, "sim_time_ps", json_from_u64(r->result.end_ps));
    json_object_set_new(json, "requests_per_host_s", json_real(r->requests_per_host_s));
    return json;
}

static void print_report(FILE *out, const traffic_report *r) {
    const tla_hbm_stats *stats = &r->result.stats;
    fprintf(out, "bandwidth      %.2f GB/s, %.1f %% of peak\n", r->bandwidth_gb_s, 100 * r->share_of_peak);
    fprintf(out, "bursts         %" PRIu64 " reads, %" PRIu64 " writes in %.3f us\n", stats->reads, stats->writes,
            (double)r->result.end_ps * 1e-6);
    if (r->options->parts) fprintf(out, "left out       %" PRIu64 " accesses of other channels\n", r->left_out);
    if (r->result.latency_count > 0)
        fprintf(out, "read latency   mean %.1f ns, p50 %.1f ns, p99 %.1f ns\n", r->latency.mean_ns, r->latency.p50_ns,
                r->latency.p99_ns);
    if (r->timing.model == TLA_HBM_BANKS) {
        fprintf(out,
                "rows           %" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " conflicts; %" PRIu64 " refreshes\n",
                stats->row_hits, stats->row_misses, stats->row_conflicts, stats->refreshes);
        fprintf(out, "commands       %" PRIu64 " ACT, %" PRIu64 " PRE, %" PRIu64 " RD, %" PRIu64 " WR\n",
                stats->activates, stats->precharges + stats->precharges_all, stats->read_commands,
                stats->write_commands);
    }
    if (r->options->energy) traffic_energy_print(out, &r->energy);
    fprintf(out, "host           %.2f million requests a second\n", r->requests_per_host_s * 1e-6);
}

static tla_status traffic(const traffic_options *o, tla_error *error) {
    traffic_report report = {.options = o};
    address_trace trace = {0};
    FILE *json = NULL;
    tla_status status = load_timing(o, &report.timing, &report.timing_name, error);
    if (status == TLA_OK && o->energy)
        status = traffic_energy_load(o->energy, report.timing_name.text, &report.energy, error);
    if (status != TLA_OK) return status;
    output_protect(o->trace_path);
    status = output_open("--json", o->json_path, &json, error);
    if (status != TLA_OK) return status;
    FILE *table = output_table();
    progress_begin(o->trace_path ? "reading the trace" : "making the traffic", NULL);
    status = make_traffic(o, &report.timing, &trace, error);
    if (status == TLA_OK) {
        size_t bad = 0;
        report.timing.window = trace.traffic.window;
        report.left_out = trace.left_out;
        const double begin = processor_seconds();
        progress_begin("driving the accesses", "reads");
        progress_watch(&report.result.latency_count, count_reads(&trace.traffic));
        tla_error why;
        status = tla_traffic_run(&report.timing, &trace.traffic, &report.result, &bad, &why);
        if (status != TLA_OK)
            tla_error_set(error, status, "%s: %s", o->trace_path ? o->trace_path : o->pattern_name, why.text);
        const double seconds = processor_seconds() - begin;
        const double bursts = (double)(report.result.stats.reads + report.result.stats.writes);
        report.requests_per_host_s = seconds > 0 ? bursts / seconds : 0;
    }
    if (status == TLA_OK) {
        report.latency = tla_traffic_summarize(&report.result);
        report.bandwidth_gb_s = (double)report.result.nbytes * 1000.0 / (double)report.result.end_ps;
        report.share_of_peak = report.bandwidth_gb_s / tla_traffic_peak_gb_s(&report.timing);
        const uint32_t bus_bytes = report.timing.bus_bytes ? report.timing.bus_bytes : report.timing.burst_bytes;
        report.bus_bytes = report.result.nbytes / report.timing.burst_bytes * bus_bytes;
        if (o->energy) status = traffic_energy_add_up(&report.energy, &report.timing, &report.result, error);
    }
    if (status == TLA_OK) {
        json_t *made = report_to_json(&report);
        status = json_write(made, 0, json, error);
        json_decref(made);
    }
    if (status == TLA_OK) print_report(table, &report);
    if (status == TLA_OK) status = output_commit(error);
    tla_traffic_result_free(&report.result);
    address_trace_unload(&trace);
    return status;
}

int tlmalloc_traffic(int argc, char **argv) {
    traffic_options options = {0};
    command_line_read(&parser, argc, argv, &options);
    tla_error error = {0};
    const tla_status status = options.reference ? tla_timing_print_reference(stdout) : traffic(&options, &error);
    text_list_clear(&options.set);
    if (status != TLA_OK && error.text[0] != '\0') fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
