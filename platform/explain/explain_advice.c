/* Advice from the parts of the time: the cause, and a key of the configuration with another value. A key is named only
 * after a run with it, which must have been shorter. */
#include "explain/explain_repeat.h"
#include "explain/explain_run.h"

#include "model/config/platform.h"

#include <inttypes.h>
#include <string.h>

/* Copies a value of the run's configuration as text, by its key with dots; "" for a missing key. */
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

static bool evicts(const run_explained *e) {
    return is_set_to(e, "mmu.eviction", "clock") || is_set_to(e, "mmu.eviction", "lru");
}

/* Returns a value of this type, in bytes or ps; 0 for a missing key. */
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

/* ---- changes to try ---- */

enum { TRIALS_MAX = 6 };

typedef struct trials {
    const run_explained *e;
    struct {
        char key[64], to[64];
    } list[TRIALS_MAX];
    size_t count;
} trials;

static void try_value(trials *t, const char *key, const char *to) {
    if (t->count == TRIALS_MAX || is_set_to(t->e, key, to)) return;
    snprintf(t->list[t->count].key, sizeof t->list[0].key, "%s", key);
    snprintf(t->list[t->count++].to, sizeof t->list[0].to, "%.63s", to);
}

/* A number so many times as large, or that part of it; no trial where it is 0, or would be out of its range. */
static void try_scaled(trials *t, const char *key, uint64_t times, uint64_t part) {
    const tla_schema schema = tla_platform_schema();
    const tla_schema_key *const of = &schema.keys[tla_schema_find(&schema, key)];
    tla_value value = {0};
    char now[64];
    value_of(t->e, key, now, sizeof now);
    if (tla_value_parse(&of->form, now, &value, NULL) != TLA_OK || value.number == 0 ||
        value.number > UINT64_MAX / times)
        return;
    value.number = value.number * times / part;
    if (value.number >= of->min && value.number <= of->max) try_value(t, key, tla_value_print(&of->form, &value).text);
}

static void try_faster(trials *t, const char *key) {
    try_scaled(t, key, 2, 1);
}

static void try_cheaper(trials *t, const char *key) {
    try_scaled(t, key, 1, 2);
}

/* Returns the VA manager's work for new ranges, for which the host waits: about all work except the least work of a
 * free. */
static double virtual_ranges_ps(const run_explained *e) {
    const json_t *const manager = json_object_get(e->report, "va_manager");
    const double busy_ps = json_number_value(json_object_get(manager, "busy_ps")),
                 frees = json_number_value(json_object_get(manager, "frees")),
                 of_a_free_ps =
                     quantity_of(e, "va.cost.fixed", TLA_VALUE_TIME) + quantity_of(e, "va.cost.free", TLA_VALUE_TIME);
    return busy_ps - frees * of_a_free_ps;
}

static void try_for_allocation(trials *t) {
    if (is_set_to(t->e, "controller.free_list", "hbm")) try_value(t, "controller.free_list", "registers");
    try_cheaper(t, dearest_price(t->e));
    try_value(t, "controller.tcm_policy", "caching_pool");
    try_value(t, "controller.hbm_policy", "caching_pool");
}

static void try_for_commands(trials *t, const topic_share *share) {
    const run_explained *const e = t->e;
    const bool fixed =
        quantity_of(e, "va.cost.fixed", TLA_VALUE_TIME) >= quantity_of(e, "va.cost.node", TLA_VALUE_TIME);
    if (2 * virtual_ranges_ps(e) >= (double)share->ps) try_cheaper(t, fixed ? "va.cost.fixed" : "va.cost.node");
    try_value(t, "host.driver", "none");
    try_value(t, "host.pool", "caching_pool");
    try_cheaper(t, "command_processor.m_cpu_overhead");
}

static void try_larger_pages(trials *t) {
    if (quantity_of(t->e, "mmu.page_size", TLA_VALUE_SIZE) < 1 << 20) try_value(t, "mmu.page_size", "2 MiB");
}

static void try_for_faults(trials *t) {
    if (evicts(t->e)) {
        try_value(t, "mmu.prefetch", "7");
    } else {
        try_value(t, "mmu.unmapped", "error");
        try_value(t, "mmu.fault_handler", "controller");
    }
    try_larger_pages(t);
}

static void try_for_walks(trials *t) {
    try_larger_pages(t);
    try_scaled(t, is_set_to(t->e, "mmu.tlb_l2.entries", "0") ? "mmu.tlb_l1.entries" : "mmu.tlb_l2.entries", 4, 1);
    try_scaled(t, "mmu.ranges", 4, 1);
    if (is_set_to(t->e, "mmu.walkers.merge_slots", "0")) try_value(t, "mmu.walkers.merge_slots", "32");
    try_faster(t, "mmu.walkers.count");
    try_value(t, "mmu.walkers.path_registers", "true");
}

static void try_for_memory(trials *t, const topic_share *share) {
    const char *const name = share->place_count ? share->places[0].name : "";
    if (strstr(name, ".sram")) try_faster(t, "sram.read_bandwidth");
    if (strstr(name, "host")) try_faster(t, "host_memory.channel_bandwidth");
    if (is_set_to(t->e, "hbm.timing", "channels")) try_faster(t, "hbm.pseudo_channel_bandwidth");
    if (is_set_to(t->e, "hbm.timing", "hbm2")) try_value(t, "hbm.timing", "hbm3");
    try_faster(t, "hbm.pseudo_channels");
}

static void try_for_links(trials *t, const topic_share *share) {
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
    try_faster(t, key);
    try_cheaper(t, "cube.router_overhead");
    try_faster(t, "links.router_bandwidth");
}

static void collect(trials *t, const topic_share *share) {
    switch (share->topic) {
    case TOPIC_ALLOCATION:
    case TOPIC_ALLOCATION_QUEUE:
        try_for_allocation(t);
        break;
    case TOPIC_COMMANDS:
        try_for_commands(t, share);
        break;
    case TOPIC_MAPPING:
        try_larger_pages(t);
        try_value(t, "va.map_ack", "posted");
        try_cheaper(t, "mmu.cost.fixed");
        try_cheaper(t, "mmu.cost.pte_write");
        break;
    case TOPIC_WALKS:
        try_for_walks(t);
        break;
    case TOPIC_FAULTS:
        try_for_faults(t);
        break;
    case TOPIC_LOOKUPS:
        try_cheaper(t, "mmu.overhead");
        try_cheaper(t, "mmu.tlb_l1.latency");
        try_faster(t, "dma.chunk");
        break;
    case TOPIC_MOVES:
        try_value(t, "controller.move", "concurrent");
        try_faster(t, "controller.move_buffers");
        try_faster(t, "controller.move_chunk");
        break;
    case TOPIC_MEMORY:
        try_for_memory(t, share);
        break;
    case TOPIC_LINKS:
        try_for_links(t, share);
        break;
    case TOPIC_ISSUE:
        try_faster(t, "dma.bandwidth");
        break;
    case TOPIC_TCM:
        try_faster(t, "tcm.write_bandwidth");
        try_faster(t, "tcm.read_bandwidth");
        break;
    case TOPIC_ENGINES:
        try_faster(t, "pe.pipeline_depth");
        try_faster(t, "pe.gemm_rate");
        break;
    case TOPIC_ARITHMETIC:
        try_faster(t, sum_of(t->e, "elements", "gemm_ps") >= sum_of(t->e, "elements", "math_ps") ? "pe.gemm_rate"
                                                                                                 : "pe.vector_rate");
        break;
    case TOPIC_TILES:
        try_faster(t, "tcm.read_bandwidth");
        try_faster(t, "tcm.write_bandwidth");
        break;
    case TOPIC_CREDIT:
    case TOPIC_MESSAGES:
        try_faster(t, "messages.slots");
        try_faster(t, "messages.slot_size");
        try_value(t, "messages.memory", "tcm");
        break;
    case TOPIC_DISPATCH:
        try_cheaper(t, "pe.dispatch");
        break;
    case TOPIC_COPIES:
        try_faster(t, "links.host_bandwidth");
        try_scaled(t, "host.dma_chunk", 4, 1);
        break;
    case TOPIC_LAUNCH:
        try_cheaper(t, "command_processor.io_cpu_overhead");
        try_cheaper(t, "command_processor.m_cpu_overhead");
        break;
    default:
        break;
    }
}

/* ---- why ---- */

static void tell_memory(const run_explained *e, const topic_share *share, char *text, size_t size) {
    const topic_place *const most = &share->places[0];
    const double load = share->place_count ? load_of_slice(e, most->name) : 0;
    snprintf(
        text, size,
        "DMA waits for memories: give them more bandwidth, or load less (larger tiles that are reused more often)");
    if (load >= 2 && 2 * most->ps >= share->ps)
        snprintf(text, size,
                 "%s is a hot slice, %.1f times as busy as the average slice. Spread its data over several slices (a "
                 "tensor that all programs share, or TL_REPLICATED), or give every slice more bandwidth",
                 most->name, load);
    if (json_is_string(json_object_get(json_object_get(e->report, "command"), "from")) &&
        is_set_to(e, "controller.alignment", "1 B")) {
        const size_t length = strlen(text);
        snprintf(text + length, size - length,
                 ". The heaps are aged, and their blocks may begin inside bursts: age the trace with --align BURST");
    }
    if (most->has_unit && 2 * most->unit_ps >= most->ps && !is_set_to(e, "hbm.pseudo_channels", "1")) {
        const size_t length = strlen(text);
        snprintf(text + length, size - length,
                 ". Most of this time is spent at pseudo-channel %" PRIu64 ", bank %" PRIu64
                 ": place accesses a burst apart to use other channels",
                 most->channel, most->bank);
    }
}

static const char *reason_of(const run_explained *e, const topic_share *share) {
    switch (share->topic) {
    case TOPIC_ALLOCATION:
        return is_set_to(e, "controller.free_list", "hbm")
                   ? "the free list is in HBM, so each step of a walk is a memory access: keep the list in registers, "
                     "or cache its nodes"
                   : "allocations and frees cost their price: use another engine, or a front that finds blocks without "
                     "a walk";
    case TOPIC_ALLOCATION_QUEUE:
        return "commands wait while the allocation engine serves other commands: send fewer (tl_scratch, tiles that "
               "are kept), or cheaper commands";
    case TOPIC_COMMANDS:
        return 2 * virtual_ranges_ps(e) >= (double)share->ps
                   ? "the VA manager allocates a range of virtual addresses for every tensor: use a cheaper list, or "
                     "fewer and larger tensors"
               : is_set_to(e, "host.driver", "none")
                   ? "each tensor costs a round trip to the controllers: use fewer and larger tensors"
                   : "each tensor costs a driver call: use no driver, or fewer and larger tensors";
    case TOPIC_MAPPING:
        return "mapping writes an entry for every page, and the host waits until every MMU sees it: use larger pages, "
               "or cheaper changes";
    case TOPIC_WALKS:
        return "TLBs miss: use larger pages, more entries and walkers, or walkers that merge misses of a page or "
               "cache the upper levels";
    case TOPIC_FAULTS:
        return evicts(e)
                   ? "pages come at their first access, and others leave for the host's memory: use more HBM, request "
                     "larger pages, or bring several at once"
                   : "each page is allocated and mapped at its first access: map tensors before the launch, request "
                     "larger pages, or let controllers serve the faults";
    case TOPIC_LOOKUPS:
        return "the TLB looks up every chunk: use larger chunks, or a faster TLB";
    case TOPIC_MOVES:
        if (evicts(e))
            return "accesses wait while their page leaves for the host's memory: use more HBM, or smaller pages";
        return "accesses wait while their block moves to another place: copy blocks before the stop "
               "(controller.move concurrent), copy faster, or move fewer bytes (controller.compaction_threshold)";
    case TOPIC_ISSUE:
        return "the DMA engine issues one chunk after another, the least that a transfer takes: use a faster engine, "
               "or both directions at once (tl_load_async)";
    case TOPIC_TCM:
        return "DMA waits for the TCM, which other engines use too: give the TCM more bandwidth";
    case TOPIC_ENGINES:
        return "an engine of the PE is still busy with earlier work: shorten that work, or start it sooner";
    case TOPIC_ARITHMETIC:
        return sum_of(e, "elements", "gemm_ps") >= sum_of(e, "elements", "math_ps")
                   ? "the accelerator multiplies, which is the work itself: use a faster accelerator, or split the "
                     "work so that all programs are busy"
                   : "the accelerator computes element by element: use a faster accelerator, or fewer operations";
    case TOPIC_TILES:
        return "arithmetic reads its tiles from the TCM and writes them back: use a faster TCM, or composites, whose "
               "tiles stay in registers";
    case TOPIC_MESSAGE_WAIT:
        return "this PE waits for messages that other PEs have not sent yet: look at the sender (without --pe, the "
               "path leads to it)";
    case TOPIC_CREDIT:
        return "senders wait for free slots at the receiver: use more or larger slots, or start receiving earlier "
               "(tl_recv_async)";
    case TOPIC_MESSAGES:
        return "messages are in transit or copied: use more or larger slots, slots nearer to the reader, or another "
               "algorithm";
    case TOPIC_DISPATCH:
        return "calls cost time: make fewer and larger calls";
    case TOPIC_COPIES:
        return "the host writes the inputs before the launch: use a faster link, or keep inputs on the device";
    case TOPIC_LAUNCH:
        return "the launch passes through the command processors: reduce their overhead";
    default:
        return "this time has no other kind: the kernel was stopped";
    }
}

static void tell_why(const run_explained *e, const topic_share *share, char *text, size_t size) {
    if (share->topic == TOPIC_MEMORY)
        tell_memory(e, share, text, size);
    else if (share->topic == TOPIC_LINKS && share->place_count)
        snprintf(text, size,
                 "DMA is in transit and waits mostly for %.100s: use more bandwidth there, place data nearer, or "
                 "reduce the overhead of routers",
                 share->places[0].name);
    else if (share->topic == TOPIC_LINKS)
        snprintf(text, size,
                 "DMA is in transit: use more bandwidth or shorter paths, or reduce the overhead of routers");
    else
        snprintf(text, size, "%s", reason_of(e, share));
}

/* The first change that gains a hundredth of the path, else the one that gains most. */
run_change explain_run_change(const run_explained *e, const run_repeater *repeater, const topic_share *share) {
    run_change made = {0};
    trials t = {.e = e};
    tell_why(e, share, made.text, sizeof made.text);
    if (repeater) collect(&t, share);
    const uint64_t all_ps = e->end_ps - e->begin_ps, enough_ps = all_ps - all_ps / 100;
    made.took_ps = all_ps;
    for (size_t i = 0; i < t.count && made.took_ps > enough_ps; i++) {
        uint64_t took_ps;
        if (!run_repeater_time(repeater, t.list[i].key, t.list[i].to, &took_ps) || took_ps >= made.took_ps) continue;
        made.took_ps = took_ps;
        snprintf(made.key, sizeof made.key, "%s", t.list[i].key);
        snprintf(made.to, sizeof made.to, "%s", t.list[i].to);
        value_of(e, made.key, made.value, sizeof made.value);
    }
    return made;
}
