/* What to change because of where the time went: a key of the configuration with its value, and why. */
#include "cli/explain_run.h"

#include "model/config/value.h"

#include <inttypes.h>
#include <string.h>

/* A value of the run's configuration as text, by its key with dots; "" where there is none. */
static void value_of(const run_explained *e, const char *key, char *text, size_t size) {
    char part[64];
    const json_t *value = e->config;
    for (const char *at = key; *at;) {
        const size_t length = strcspn(at, ".");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        value = json_object_get(value, part);
        at += length + (at[length] == '.');
    }
    text[0] = 0;
    if (json_is_string(value)) snprintf(text, size, "%s", json_string_value(value));
    if (json_is_integer(value)) snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_boolean(value)) snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
}

static bool is_set_to(const run_explained *e, const char *key, const char *value) {
    char now[64];
    value_of(e, key, now, sizeof now);
    return strcmp(now, value) == 0;
}

/* A value of this type, in bytes or ps; 0 where there is none. */
static double quantity_of(const run_explained *e, const char *key, tla_value_type type) {
    char text[64];
    uint64_t number = 0;
    tla_error error;
    value_of(e, key, text, sizeof text);
    return tla_number_parse(type, text, &number, &error) ? 0 : (double)number;
}

static double sum_of(const run_explained *e, const char *rows, const char *key) {
    double sum = 0;
    const json_t *const list = json_object_get(e->report, rows);
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += json_number_value(json_object_get(json_array_get(list, i), key));
    return sum;
}

/* The price that made most of the run's commands; how often each was paid is counted for some and estimated for others.
 */
static const char *dearest_price(const run_explained *e) {
    const double nodes = sum_of(e, "controllers", "nodes_visited"), allocs = sum_of(e, "controllers", "allocs"),
                 frees = sum_of(e, "controllers", "frees");
    const struct {
        const char *key;
        double count;
    } prices[] = {{"controller.cost.node", nodes},          {"controller.cost.fixed", allocs + frees},
                  {"controller.cost.alloc", allocs},        {"controller.cost.free", frees},
                  {"controller.cost.insert_node", frees},   {"controller.cost.probe", allocs},
                  {"controller.cost.split", allocs},        {"controller.cost.merge", frees},
                  {"controller.cost.node_created", frees},  {"controller.cost.node_released", allocs},
                  {"controller.cost.class_lookup", allocs}, {"controller.cost.driver_call", allocs}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof prices / sizeof *prices; i++)
        if (prices[i].count * quantity_of(e, prices[i].key, TLA_VALUE_TIME) >
            prices[most].count * quantity_of(e, prices[most].key, TLA_VALUE_TIME))
            most = i;
    return prices[most].key;
}

/* "sip0.cube0.hbm_ctrl.pe3" and "npu.sip0.cube0.pe3.slice" are one. */
static bool is_slice_of(const char *module, const char *node) {
    char name[128];
    const char *const between = strstr(node, ".hbm_ctrl.");
    if (!between) return false;
    snprintf(name, sizeof name, "npu.%.*s.%s.slice", (int)(between - node), node, between + strlen(".hbm_ctrl."));
    return strcmp(name, module) == 0;
}

/* How busy a slice is beside the mean of all; 0 where that is not known. */
static double load_of_slice(const run_explained *e, const char *node) {
    const json_t *const slices = json_object_get(e->report, "slices");
    const double all = sum_of(e, "slices", "busy_ps");
    for (size_t i = 0; i < json_array_size(slices) && all > 0; i++) {
        const json_t *const row = json_array_get(slices, i);
        const char *const name = json_string_value(json_object_get(row, "name"));
        if (name && is_slice_of(name, node))
            return json_number_value(json_object_get(row, "busy_ps")) * (double)json_array_size(slices) / all;
    }
    return 0;
}

static run_change change(const run_explained *e, const char *key, const char *text) {
    run_change made = {0};
    snprintf(made.key, sizeof made.key, "%s", key);
    snprintf(made.text, sizeof made.text, "%s", text);
    value_of(e, key, made.value, sizeof made.value);
    return made;
}

static run_change of_allocation(const run_explained *e) {
    if (is_set_to(e, "controller.free_list", "hbm"))
        return change(e, "controller.free_list",
                      "the free list lies in HBM, and walks of it are accesses: keep it in "
                      "registers, or cache its nodes (controller.node_cache)");
    return change(e, dearest_price(e),
                  "the price that allocations paid most for: another engine "
                  "(controller.cost.profile), or a front that finds blocks without a walk "
                  "(controller.tcm_policy, controller.hbm_policy: caching_pool)");
}

/* Of the VA manager's work that for ranges which are made, which the host waits for: about all that is not the least of
 * a free. */
static double virtual_ranges_ps(const run_explained *e) {
    const json_t *const manager = json_object_get(e->report, "va_manager");
    const double busy_ps = json_number_value(json_object_get(manager, "busy_ps")),
                 frees = json_number_value(json_object_get(manager, "frees")),
                 of_a_free_ps =
                     quantity_of(e, "va.cost.fixed", TLA_VALUE_TIME) + quantity_of(e, "va.cost.free", TLA_VALUE_TIME);
    return busy_ps - frees * of_a_free_ps;
}

static run_change of_commands(const run_explained *e, const topic_share *share) {
    if (2 * virtual_ranges_ps(e) >= (double)share->ps)
        return change(e,
                      quantity_of(e, "va.cost.fixed", TLA_VALUE_TIME) >= quantity_of(e, "va.cost.node", TLA_VALUE_TIME)
                          ? "va.cost.fixed"
                          : "va.cost.node",
                      "every tensor is a range of virtual addresses, and the VA manager takes its time for that: a "
                      "cheaper list, or fewer and larger tensors");
    if (!is_set_to(e, "host.driver", "none"))
        return change(e, "host.driver",
                      "every tensor is a call of a driver: none, or a pool in front of it (host.pool)");
    return change(e, "host.pool",
                  "an allocation of a tensor goes to the controllers and back: fewer and larger tensors, or a pool in "
                  "the host");
}

static run_change of_walks(const run_explained *e) {
    if (sum_of(e, "mmus", "demand_faults") > 0)
        return change(e, "mmu.unmapped",
                      "pages are mapped when they are first touched, and the host is asked for each: "
                      "map tensors before the launch (error), or ask for larger pages "
                      "(mmu.page_size)");
    if (quantity_of(e, "mmu.page_size", TLA_VALUE_SIZE) < 1 << 20)
        return change(e, "mmu.page_size",
                      "pages are small, so many are touched that no TLB holds: larger ones; or more "
                      "entries (mmu.tlb_l1.entries, mmu.tlb_l2.entries) and walkers "
                      "(mmu.walkers.count)");
    return change(e, "mmu.tlb_l2.entries",
                  "TLBs miss: more entries, or walks that remember the upper levels "
                  "(mmu.walkers.cache_entries, mmu.walkers.path_registers)");
}

static run_change of_memory(const run_explained *e, const topic_share *share) {
    const topic_place *const most = &share->places[0];
    const double load = share->place_count ? load_of_slice(e, most->name) : 0;
    const char *const key = is_set_to(e, "hbm.timing", "channels") || is_set_to(e, "hbm.timing", "kernbench")
                                ? "hbm.pseudo_channel_bandwidth"
                                : "hbm.timing";
    run_change made = change(e, key,
                             "DMA waits for memories: more bandwidth there, or less to load (larger tiles that "
                             "are used more often)");
    const bool hot = load >= 2 && 2 * most->ps >= share->ps;
    if (hot)
        snprintf(made.text, sizeof made.text,
                 "%s is a hot slice: %.1f times as busy as slices are on average. Its data belong into several slices "
                 "(a tensor that is shared by all programs, or TL_REPLICATED); else more bandwidth, of every one",
                 most->name, load);
    if (most->has_unit && 2 * most->unit_ps >= most->ps && !is_set_to(e, "hbm.pseudo_channels", "1")) {
        const size_t length = strlen(made.text);
        snprintf(made.text + length, sizeof made.text - length,
                 ". Most of it is at pseudo-channel %" PRIu64 ", bank %" PRIu64
                 ": accesses that lie hbm.burst apart go "
                 "to different ones",
                 most->channel, most->bank);
    }
    return made;
}

static run_change of_links(const run_explained *e, const topic_share *share) {
    static const struct {
        const char *word, *key;
    } kinds[] = {{".hbm_ctrl", "links.hbm_bandwidth"},   {".pe", "links.pe_bandwidth"},
                 {".sram", "links.sram_bandwidth"},      {"ucie", "links.ucie_bandwidth"},
                 {"conn", "links.connection_bandwidth"}, {"host", "links.host_bandwidth"},
                 {"pcie", "links.pcie_bandwidth"}};
    const char *key = "links.router_bandwidth";
    const char *const name = share->place_count ? share->places[0].name : "";
    for (size_t i = sizeof kinds / sizeof *kinds; i-- > 0;)
        if (strstr(name, kinds[i].word)) key = kinds[i].key;
    run_change made = change(e, key,
                             "DMA is on its way: more bandwidth, shorter ways, or fewer overheads of routers "
                             "(cube.router_overhead)");
    if (*name) {
        snprintf(
            made.text, sizeof made.text,
            "DMA is on its way, most of all where %.100s is what is waited for: more bandwidth there, data that are "
            "nearer, or fewer overheads of routers (cube.router_overhead)",
            name);
    }
    return made;
}

static run_change of_arithmetic(const run_explained *e) {
    const bool gemm = sum_of(e, "elements", "gemm_ps") >= sum_of(e, "elements", "math_ps");
    return gemm ? change(e, "pe.gemm_rate",
                         "the accelerator multiplies: it is the work itself, unless programs have "
                         "too little each to go round")
                : change(e, "pe.vector_rate",
                         "the accelerator computes element by element: a faster one, or fewer "
                         "operations");
}

run_change explain_run_change(const run_explained *e, const topic_share *share) {
    switch (share->topic) {
    case TOPIC_ALLOCATION:
        return of_allocation(e);
    case TOPIC_ALLOCATION_QUEUE:
        return change(e, dearest_price(e),
                      "commands wait for the allocation engine, which serves somebody else: fewer "
                      "of them (tl_scratch, tiles that are kept), or cheaper ones");
    case TOPIC_COMMANDS:
        return of_commands(e, share);
    case TOPIC_MAPPING:
        return quantity_of(e, "mmu.page_size", TLA_VALUE_SIZE) < 1 << 20
                   ? change(e, "mmu.page_size", "mapping writes an entry for every page: larger pages")
                   : change(e, "va.map_ack",
                            "the host waits until mappings are visible everywhere: posted does not; or "
                            "cheaper changes (mmu.cost)");
    case TOPIC_WALKS:
        return of_walks(e);
    case TOPIC_LOOKUPS:
        return change(e, "mmu.overhead",
                      "every chunk is looked up: larger ones (dma.chunk), or a faster TLB "
                      "(mmu.tlb_l1.latency)");
    case TOPIC_MEMORY:
        return of_memory(e, share);
    case TOPIC_LINKS:
        return of_links(e, share);
    case TOPIC_ISSUE:
        return change(e, "dma.bandwidth",
                      "chunks are issued one after the other, which is what a transfer takes at the "
                      "least: a faster engine, or both directions at a time (tl_load_async)");
    case TOPIC_TCM:
        return change(e, "tcm.write_bandwidth", "DMA waits for the TCM, which others use too");
    case TOPIC_ENGINES:
        return change(e, "pe.pipeline_depth",
                      "an engine of the PE is busy with earlier work: that is to be made "
                      "shorter, or begun earlier");
    case TOPIC_ARITHMETIC:
        return of_arithmetic(e);
    case TOPIC_TILES:
        return change(e, "tcm.read_bandwidth",
                      "arithmetic fetches its tiles from the TCM and writes them back: a faster "
                      "TCM, or composites, whose tiles stay in registers");
    case TOPIC_MESSAGE_WAIT:
        return change(e, "",
                      "this PE waits for what others have not sent yet: look at the sender (without --pe, the "
                      "path goes there)");
    case TOPIC_CREDIT:
        return change(e, "messages.slots",
                      "senders wait for free slots at the receiver: more or larger ones "
                      "(messages.slot_size), or receives that begin earlier (tl_recv_async)");
    case TOPIC_MESSAGES:
        return change(e, "messages.slots",
                      "messages are on their way or copied: more slots, or larger ones "
                      "(messages.slot_size), let more of them be under way; slots that are nearer "
                      "to who reads them (messages.memory), another collectives.algorithm");
    case TOPIC_DISPATCH:
        return change(e, "pe.dispatch", "calls take their time: fewer and larger ones");
    case TOPIC_COPIES:
        return change(e, "links.host_bandwidth",
                      "the host writes the inputs before the launch: a faster link, or inputs "
                      "that stay on the device");
    case TOPIC_LAUNCH:
        return change(e, "command_processor.io_cpu_overhead", "the launch goes through the command processors");
    default:
        return change(e, "", "none of the kinds that are told apart: the kernel was ended");
    }
}
