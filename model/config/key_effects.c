/* Keys without an effect: a row for every key that has no effect with certain values of other keys. A key without a row
 * always has an effect, and a test shows a run that depends on it. */
#include "platform.h"

#include "tlmalloc/kernel/declaration.h"
#include "tlmalloc/stack/stack.h"

#include <string.h>

/* ---- what keys depend on ---- */

/* Whether the kernel does any of these, as far as is known. */
static bool may_use(const tla_config *c, uint32_t uses) {
    return c->workload.uses == 0 || (c->workload.uses & uses) != 0;
}

#define KERNEL_USES(name, uses)                                                                                        \
    static bool name(const tla_config *c) {                                                                            \
        return may_use(c, uses);                                                                                       \
    }

KERNEL_USES(multiplies, TL_USES_GEMM)
KERNEL_USES(computes, TL_USES_VECTOR)
KERNEL_USES(has_composites, TL_USES_COMPOSITES)
KERNEL_USES(is_asynchronous, TL_USES_ASYNCHRONY)
KERNEL_USES(has_scratch, TL_USES_SCRATCH)
KERNEL_USES(has_collectives, TL_USES_COLLECTIVES)
KERNEL_USES(grows, TL_USES_ELEMENTS)
KERNEL_USES(uses_host_memory, TL_USES_HOST_MEMORY)

static bool sends(const tla_config *c) {
    return may_use(c, TL_USES_MESSAGES);
}

static bool uses_sram(const tla_config *c) {
    return may_use(c, TL_USES_SRAM) || (sends(c) && c->messages.memory == TLA_SLOTS_SRAM);
}

/* Features that `tlmalloc run` never uses, with any kernel; a program of your own can. */
static bool never_in_a_run(const tla_config *c) {
    (void)c;
    return false;
}

static bool has_sips(const tla_config *c) {
    return c->system.sips > 1;
}

static bool is_grid(const tla_config *c) {
    return c->topology.sip_topology == TLA_SIPS_TORUS || c->topology.sip_topology == TLA_SIPS_MESH;
}

static bool is_shape(const tla_config *c) {
    return strcmp(c->system.topology_file, "none") == 0;
}

static bool has_flits(const tla_config *c) {
    return c->links.transport == TLA_TRANSPORT_PER_FLIT;
}

/* Where data are one item, transfers take nothing of the TCM: tiles of computations and messages do. */
static bool takes_time_of_the_tcm(const tla_config *c) {
    return has_flits(c) ||
           may_use(c, TL_USES_GEMM | TL_USES_VECTOR | TL_USES_COMPOSITES | TL_USES_MESSAGES | TL_USES_SCRATCH);
}

static bool has_overhead(const tla_config *c) {
    return c->mmu.overhead_ps > 0;
}

/* Channels do not differ if bursts take no time; but accounts name the channel of a latency, and faults have one. */
static bool has_channels(const tla_config *c) {
    return !c->hbm_timing.has_profile || c->hbm_timing.profile.burst_cycles > 0 || c->hbm_timing.profile.rtw > 0 ||
           c->hbm.latency_ps > 0 || c->faults.plan.count > 0;
}

static bool has_timelines(const tla_config *c) {
    return !c->hbm_timing.has_profile;
}

static bool has_host_timelines(const tla_config *c) {
    return !c->host_memory_timing.has_profile;
}

static bool has_no_host_banks(const tla_config *c) {
    return !c->host_memory_timing.has_profile || c->host_memory_timing.profile.model != TLA_HBM_BANKS;
}

static bool is_plain(const tla_config *c) {
    return c->controller.memory.layout == TLA_LAYOUT_PLAIN;
}

static bool has_host_memory(const tla_config *c) {
    return c->host_memory.capacity > 0;
}

static bool has_owners(const tla_config *c) {
    return c->controller.lockstep != TLA_LOCKSTEP_OFF;
}

static bool has_list_in_memory(const tla_config *c) {
    return c->controller.free_list != TLA_LIST_REGISTERS;
}

static bool is_guarded(const tla_config *c) {
    return c->controller.guard != TLA_GUARD_OFF;
}

static bool compacts_in_the_background(const tla_config *c) {
    return c->controller.compaction.mode == TLA_COMPACTION_BACKGROUND;
}

static bool can_move(const tla_config *c) {
    return c->controller.move.mode != TLA_MOVE_OFF;
}

static bool moves_concurrently(const tla_config *c) {
    return c->controller.move.mode == TLA_MOVE_CONCURRENT;
}

static bool has_watermark(const tla_config *c) {
    return c->controller.watermark.permille > 0;
}

/* The host's memory may be missing. */
static bool has_what_it_divides(const tla_config *c) {
    return c->controller.partition.memory != TLA_DIVIDED_HOST_MEMORY || has_host_memory(c);
}

static bool is_divided(const tla_config *c) {
    return c->controller.partition.memory != TLA_DIVIDED_NONE && has_what_it_divides(c);
}

static bool is_rtl(const tla_config *c) {
    return c->controller.engine == TLA_ENGINE_RTL;
}

static bool is_firmware(const tla_config *c) {
    return c->controller.engine == TLA_ENGINE_FIRMWARE;
}

static tla_stack_policy policy_of(const tla_config *c, tla_memory_kind kind) {
    return tla_pe_memory_stack_config(&c->controller.memory, kind).policy;
}

/* Whether a memory has one of these fronts, bit f for tla_front f. */
static bool has_front(const tla_config *c, uint32_t fronts) {
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        if (fronts >> tla_stack_front(policy_of(c, (tla_memory_kind)kind)) & 1) return true;
    return false;
}

static bool has_placement(const tla_config *c, tla_policy placement) {
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        if (tla_stack_placement(policy_of(c, (tla_memory_kind)kind)) == placement) return true;
    return false;
}

static bool has_worst_fit(const tla_config *c) {
    return has_placement(c, TLA_WORST_FIT);
}

static bool has_offset_bins(const tla_config *c) {
    return has_placement(c, TLA_OFFSET_BINS) || has_placement(c, TLA_OFFSET_BINS_ROUNDED);
}

enum { CACHING = 1 << TLA_FRONT_CACHING_POOL, SEGMENTS = 1 << TLA_FRONT_SEGMENT_CACHE };
enum { GROWING = 1 << TLA_FRONT_GROWING_POOL, SLOTS = 1 << TLA_FRONT_SLOT_POOL };
enum { REGIONS = 1 << TLA_FRONT_LINEAR_REGIONS | 1 << TLA_FRONT_INTERLEAVING_REGIONS };

static bool pins_chunks(const tla_config *c) {
    return has_front(c, UINT32_C(1) << TLA_FRONT_LAZY);
}

static bool looks_up_classes(const tla_config *c) {
    return has_front(c, CACHING | SEGMENTS | REGIONS);
}

static bool keeps_lists(const tla_config *c) {
    return has_front(c, CACHING);
}

static bool has_slots(const tla_config *c) {
    return has_front(c, SLOTS);
}

static bool asks_below(const tla_config *c) {
    return has_front(c, CACHING | SEGMENTS | GROWING);
}

/* With an engine, the core's receipts count for the work of a front. */
static bool has_receipts(const tla_config *c) {
    return c->controller.engine == TLA_ENGINE_MODEL || has_front(c, ~(UINT32_C(1) << TLA_FRONT_NONE));
}

static bool waits_for_pages(const tla_config *c) {
    return c->mmu.unmapped == TLA_UNMAPPED_DEMAND;
}

static bool evicts(const tla_config *c) {
    return c->host.eviction != TLA_EVICTION_OFF;
}

static bool delegates(const tla_config *c) {
    return c->mmu.fault_handler == TLA_FAULT_HANDLER_CONTROLLER;
}

static bool fills_host_memory(const tla_config *c) {
    return uses_host_memory(c) || evicts(c);
}

static bool walks(const tla_config *c) {
    return c->mmu.walk != TLA_WALK_IDEAL;
}

static bool walks_flat(const tla_config *c) {
    return c->mmu.walk == TLA_WALK_FLAT;
}

static bool has_l1(const tla_config *c) {
    return c->mmu.tlb_l1.entries > 0;
}

static bool has_l2(const tla_config *c) {
    return c->mmu.tlb_l2.entries > 0;
}

static bool replaces_at_random(const tla_config *c) {
    return (has_l1(c) && c->mmu.tlb_l1.replacement == TLA_REPLACE_RANDOM) ||
           (has_l2(c) && c->mmu.tlb_l2.replacement == TLA_REPLACE_RANDOM);
}

static bool polls(const tla_config *c) {
    return c->messages.back_pressure == TLA_BACK_PRESSURE_POLL;
}

static bool is_hierarchical(const tla_config *c) {
    return c->pe.collectives.algorithm == TL_HIERARCHICAL;
}

static bool has_lines(const tla_config *c) {
    return is_hierarchical(c) || c->pe.collectives.algorithm == TL_MESH_2D;
}

static bool has_rank_grid(const tla_config *c) {
    return c->pe.collectives.algorithm == TL_TORUS_2D || c->pe.collectives.algorithm == TL_MESH_2D;
}

static bool retries(const tla_config *c) {
    return c->host.retry.retries > 0;
}

static bool has_driver(const tla_config *c) {
    return c->host.driver.kind != TLA_HOST_DRIVER_NONE;
}

static bool has_rates(const tla_config *c) {
    for (uint32_t i = 0; i < c->faults.plan.count; i++)
        if (c->faults.plan.faults[i].rate > 0) return true;
    return false;
}

static bool corrects(const tla_config *c) {
    for (uint32_t i = 0; i < c->faults.plan.count; i++)
        if (c->faults.plan.faults[i].kind == TLA_FAULT_CORRECTABLE) return true;
    return false;
}

static bool is_cut(tla_front front) {
    return front == TLA_FRONT_SEGMENTED || (REGIONS >> front & 1);
}

/* The fronts of a memory's policy, and what its sizes depend on. */
#define FRONT_OF(name, kind)                                                                                           \
    static tla_front front_of_##name(const tla_config *c) {                                                            \
        return tla_stack_front(policy_of(c, kind));                                                                    \
    }                                                                                                                  \
    static bool name##_has_segments(const tla_config *c) {                                                             \
        return front_of_##name(c) == TLA_FRONT_SEGMENT_CACHE || is_cut(front_of_##name(c));                            \
    }                                                                                                                  \
    static bool name##_has_slots(const tla_config *c) {                                                                \
        return front_of_##name(c) == TLA_FRONT_SLOT_POOL;                                                              \
    }                                                                                                                  \
    static bool name##_is_mixed(const tla_config *c) {                                                                 \
        return front_of_##name(c) == TLA_FRONT_MIXED;                                                                  \
    }                                                                                                                  \
    static bool name##_is_lazy(const tla_config *c) {                                                                  \
        return front_of_##name(c) == TLA_FRONT_LAZY;                                                                   \
    }                                                                                                                  \
    static bool name##_adds_segments(const tla_config *c) {                                                            \
        return front_of_##name(c) == TLA_FRONT_SEGMENTED;                                                              \
    }                                                                                                                  \
    static bool name##_may_grow(const tla_config *c) {                                                                 \
        return tla_front_grows(front_of_##name(c));                                                                    \
    }                                                                                                                  \
    static bool name##_has_a_beginning(const tla_config *c) {                                                          \
        return name##_is_lazy(c) || is_cut(front_of_##name(c));                                                        \
    }                                                                                                                  \
    static bool name##_grows(const tla_config *c) {                                                                    \
        return tla_pe_memory_stack_config(&c->controller.memory, kind).sizes.chunk_ps > 0;                             \
    }                                                                                                                  \
    static bool name##_has_a_border(const tla_config *c) {                                                             \
        return name##_grows(c) || !name##_may_grow(c);                                                                 \
    }

FRONT_OF(hbm, TLA_HBM)
FRONT_OF(tcm, TLA_TCM)
FRONT_OF(sram, TLA_SRAM)
FRONT_OF(m_cpu, TLA_M_CPU_MEMORY)
FRONT_OF(host, TLA_HOST_MEMORY)

/* ---- the rows ---- */

#define CUT "segmented, linear_regions or interleaving_regions"
#define FRONT_ROWS(name)                                                                                               \
    {"controller." #name "_front.segment",                                                                             \
     name##_has_segments,                                                                                              \
     {"controller." #name "_policy"},                                                                                  \
     "segment_cache, " CUT},                                                                                           \
        {"controller." #name "_front.slot", name##_has_slots, {"controller." #name "_policy"}, "slot_pool"},           \
        {"controller." #name "_front.buffers", name##_is_mixed, {"controller." #name "_policy"}, "mixed"},             \
        {"controller." #name "_front.initial", name##_has_a_beginning, {"controller." #name "_policy"}, "lazy, " CUT}, \
        {"controller." #name "_front.chunk", name##_is_lazy, {"controller." #name "_policy"}, "lazy"},                 \
        {"controller." #name "_front.commit", name##_is_lazy, {"controller." #name "_policy"}, "lazy"},                \
        {"controller." #name "_front.chunk_time",                                                                      \
         name##_may_grow,                                                                                              \
         {"controller." #name "_policy"},                                                                              \
         "lazy or segmented"},                                                                                         \
        {"controller." #name "_front.failures", name##_adds_segments, {"controller." #name "_policy"}, "segmented"},   \
        {"controller." #name "_front.initial",                                                                         \
         name##_has_a_border,                                                                                          \
         {"controller." #name "_front.chunk_time"},                                                                    \
         "above 0 ns"},                                                                                                \
        {"controller." #name "_front.chunk", name##_grows, {"controller." #name "_front.chunk_time"}, "above 0 ns"},   \
        {"controller." #name "_front.commit", name##_grows, {"controller." #name "_front.chunk_time"}, "above 0 ns"},  \
    {                                                                                                                  \
        "controller." #name "_front.failures", name##_grows, {"controller." #name "_front.chunk_time"}, "above 0 ns"   \
    }

#define SHAPE(key)                                                                                                     \
    { key, is_shape, {"system.topology_file"}, "none" }
#define KERNEL "workload.kernel"
#define POLICIES                                                                                                       \
    { "controller.hbm_policy", "controller.tcm_policy" }

const tla_key_condition tla_key_conditions[] = {
    SHAPE("system.sip_topology"),
    SHAPE("system.sip_grid_width"),
    {"system.sip_grid_width", is_grid, {"system.sip_topology"}, "torus or mesh"},
    SHAPE("cube."),
    SHAPE("io_chiplet."),
    SHAPE("links.routing"),
    {"links.flit", has_flits, {"links.transport"}, "per_flit"},
    SHAPE("links.router_bandwidth"),
    SHAPE("links.pe_bandwidth"),
    SHAPE("links.hbm_bandwidth"),
    SHAPE("links.sram_bandwidth"),
    SHAPE("links.connection_bandwidth"),
    SHAPE("links.port_bandwidth"),
    SHAPE("links.ucie_bandwidth"),
    SHAPE("links.ucie_length"),
    SHAPE("links.ucie_overhead"),
    SHAPE("links.pcie_bandwidth"),
    SHAPE("links.switch_overhead"),
    SHAPE("links.host_bandwidth"),
    SHAPE("links.host_memory_bandwidth"),
    {"links.host_memory_bandwidth", has_host_memory, {"host_memory.capacity"}, "above 0 B"},

    {"hbm.pseudo_channels",
     has_channels,
     {"hbm.timing", "faults.plan"},
     "bursts or a latency that take time, or a fault plan"},
    {"hbm.pseudo_channel_bandwidth", has_timelines, {"hbm.timing"}, "channels"},
    {"hbm.burst", has_timelines, {"hbm.timing"}, "channels"},
    {"hbm.direction_switch", has_timelines, {"hbm.timing"}, "channels"},
    {"hbm.base", is_plain, {"controller.addresses"}, "plain"},
    {"tcm.base", is_plain, {"controller.addresses"}, "plain"},
    {"tcm.read_bandwidth",
     takes_time_of_the_tcm,
     {KERNEL, "links.transport"},
     "a kernel that computes or sends messages, or per_flit"},
    {"tcm.write_bandwidth",
     takes_time_of_the_tcm,
     {KERNEL, "links.transport"},
     "a kernel that computes or sends messages, or per_flit"},
    {"sram.read_bandwidth", uses_sram, {KERNEL, "messages.memory"}, "a kernel with tensors or messages in SRAM"},
    {"sram.write_bandwidth", uses_sram, {KERNEL, "messages.memory"}, "a kernel with tensors or messages in SRAM"},
    {"sram.latency", uses_sram, {KERNEL, "messages.memory"}, "a kernel with tensors or messages in SRAM"},
    {"m_cpu_memory.read_bandwidth", never_in_a_run, {KERNEL}, "a program of your own with tensors in that memory"},
    {"m_cpu_memory.write_bandwidth", never_in_a_run, {KERNEL}, "a program of your own with tensors in that memory"},
    {"m_cpu_memory.latency", never_in_a_run, {KERNEL}, "a program of your own with tensors in that memory"},
    {"host_memory.channels", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.channel_bandwidth", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.interleave", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.direction_switch", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.latency", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.timing", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"host_memory.channel_bandwidth", has_host_timelines, {"host_memory.timing"}, "channels"},
    {"host_memory.interleave", has_host_timelines, {"host_memory.timing"}, "channels"},
    {"host_memory.direction_switch", has_host_timelines, {"host_memory.timing"}, "channels"},
    {"host_memory.latency", has_no_host_banks, {"host_memory.timing"}, "channels or a profile without banks"},
    {"host_memory.channels", fills_host_memory, {KERNEL}, "a kernel with tensors in the host's memory"},
    {"host_memory.channel_bandwidth", fills_host_memory, {KERNEL}, "a kernel with tensors in the host's memory"},
    {"host_memory.interleave", fills_host_memory, {KERNEL}, "a kernel with tensors in the host's memory"},
    {"host_memory.direction_switch", fills_host_memory, {KERNEL}, "a kernel with tensors in the host's memory"},
    {"host_memory.latency", fills_host_memory, {KERNEL}, "a kernel with tensors in the host's memory"},

    {"controller.host_policy", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"controller.host_front.", has_host_memory, {"host_memory.capacity"}, "above 0 B"},
    {"controller.lockstep_mode", has_owners, {"controller.lockstep"}, "cube or sip"},
    {"controller.node_latency", has_list_in_memory, {"controller.free_list"}, "sram or hbm"},
    {"controller.list_reserve", has_list_in_memory, {"controller.free_list"}, "sram or hbm"},
    {"controller.node_cache", has_list_in_memory, {"controller.free_list"}, "sram or hbm"},
    {"controller.guard_history", is_guarded, {"controller.guard"}, "report or error"},
    {"controller.move_chunk", can_move, {"controller.move"}, "stop or concurrent"},
    {"controller.move_rounds", moves_concurrently, {"controller.move"}, "concurrent"},
    {"controller.move_buffers", can_move, {"controller.move"}, "stop or concurrent"},
    {"controller.move_chunk", never_in_a_run, {KERNEL}, "a program of your own that moves blocks"},
    {"controller.move_rounds", never_in_a_run, {KERNEL}, "a program of your own that moves blocks"},
    {"controller.move_buffers", never_in_a_run, {KERNEL}, "a program of your own that moves blocks"},
    {"controller.object_eviction", never_in_a_run, {KERNEL}, "a program of your own that sends PUT and EVICT"},
    {"controller.watermark", never_in_a_run, {KERNEL}, "a program of your own that sends PUT"},
    {"controller.watermark_share", has_watermark, {"controller.watermark"}, "above 0"},
    {"controller.watermark_share", never_in_a_run, {KERNEL}, "a program of your own that sends PUT"},
    {"controller.watermark_interval", has_watermark, {"controller.watermark"}, "above 0"},
    {"controller.watermark_interval", never_in_a_run, {KERNEL}, "a program of your own that sends PUT"},
    {"controller.partition", has_what_it_divides, {"host_memory.capacity"}, "above 0 B"},
    {"controller.partition_l1", is_divided, {"controller.partition"}, "a memory that the platform has"},
    {"controller.partition_chunk", never_in_a_run, {KERNEL}, "a program of your own that writes the register of L1"},
    {"controller.partition_prefetches",
     never_in_a_run,
     {KERNEL},
     "a program of your own that writes the register of L1"},
    {"controller.partition_writes", never_in_a_run, {KERNEL}, "a program of your own that writes the register of L1"},
    {"controller.compaction_threshold", compacts_in_the_background, {"controller.compaction"}, "background"},
    {"controller.compaction_budget", compacts_in_the_background, {"controller.compaction"}, "background"},
    {"controller.compaction_budget", never_in_a_run, {KERNEL}, "a program of your own that frees tensors in the run"},
    FRONT_ROWS(hbm),
    FRONT_ROWS(tcm),
    FRONT_ROWS(sram),
    FRONT_ROWS(m_cpu),
    FRONT_ROWS(host),
    {"controller.m_cpu_front.segment", never_in_a_run, {KERNEL}, "a program of your own with tensors in that memory"},
    {"controller.pin_wait", pins_chunks, POLICIES, "lazy"},
    {"controller.engine_node_cycles", is_rtl, {"controller.engine"}, "rtl"},
    {"controller.firmware.", is_firmware, {"controller.engine"}, "firmware"},
    {"controller.cost.fixed", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.node", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.insert_node", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.probe", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.split", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.merge", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.free", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.node_created", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.node_released", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.bin_search", has_offset_bins, POLICIES, "offset_bins or offset_bins_rounded"},
    {"controller.cost.bin_search", has_receipts, {"controller.engine"}, "model"},
    {"controller.cost.walk", has_worst_fit, POLICIES, "worst_fit"},
    {"controller.cost.walk_node", has_worst_fit, POLICIES, "worst_fit"},
    {"controller.cost.class_lookup", looks_up_classes, POLICIES,
     "caching_pool, segment_cache, linear_regions or interleaving_regions"},
    {"controller.cost.list_pop", keeps_lists, POLICIES, "caching_pool"},
    {"controller.cost.list_push", keeps_lists, POLICIES, "caching_pool"},
    {"controller.cost.slot", has_slots, POLICIES, "slot_pool"},
    {"controller.cost.driver_call", asks_below, POLICIES, "caching_pool, segment_cache or growing_pool"},

    {"mmu.fault_latency", waits_for_pages, {"mmu.unmapped"}, "demand"},
    {"mmu.prefetch", evicts, {"mmu.eviction"}, "clock or lru"},
    {"mmu.fault_handler", waits_for_pages, {"mmu.unmapped"}, "demand"},
    {"mmu.fault_pool", waits_for_pages, {"mmu.unmapped"}, "demand"},
    {"mmu.fault_pool", delegates, {"mmu.fault_handler"}, "controller"},
    {"mmu.overhead_at", has_overhead, {"mmu.overhead"}, "above 0 ns"},
    {"mmu.va_bits", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.ranges", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.tlb_seed", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.tlb_seed", replaces_at_random, {"mmu.tlb_l1.replacement", "mmu.tlb_l2.replacement"}, "random"},
    {"mmu.tlb_l1.", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.tlb_l2.", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.tlb_l1.ways", has_l1, {"mmu.tlb_l1.entries"}, "above 0"},
    {"mmu.tlb_l1.latency", has_l1, {"mmu.tlb_l1.entries"}, "above 0"},
    {"mmu.tlb_l1.replacement", has_l1, {"mmu.tlb_l1.entries"}, "above 0"},
    {"mmu.tlb_l2.ways", has_l2, {"mmu.tlb_l2.entries"}, "above 0"},
    {"mmu.tlb_l2.latency", has_l2, {"mmu.tlb_l2.entries"}, "above 0"},
    {"mmu.tlb_l2.replacement", has_l2, {"mmu.tlb_l2.entries"}, "above 0"},
    {"mmu.walkers.", walks, {"mmu.walk"}, "flat or memory"},
    {"mmu.walkers.level_latency", walks_flat, {"mmu.walk"}, "flat"},

    {"mmu.cost.table_level", never_in_a_run, {"mmu.walk"}, "another price: walkers read tables (mmu.walkers)"},
    {"va.cost.insert_node", never_in_a_run, {KERNEL}, "a program of your own that frees its tensors in any order"},
    {"va.cost.node_created", never_in_a_run, {KERNEL}, "a program of your own that frees its tensors in any order"},
    {"va.cost.node_released", never_in_a_run, {KERNEL}, "a program of your own that frees its tensors in any order"},

    {"pe.gemm_rate", multiplies, {KERNEL}, "a kernel with tl_dot or composites"},
    {"pe.vector_cycle", computes, {KERNEL}, "a kernel with arithmetic other than tl_dot"},
    {"pe.vector_rate", computes, {KERNEL}, "a kernel with arithmetic other than tl_dot"},
    {"pe.scheduler", has_composites, {KERNEL}, "a kernel with composites"},
    {"pe.tile_m", has_composites, {KERNEL}, "a kernel with composites"},
    {"pe.tile_k", has_composites, {KERNEL}, "a kernel with composites"},
    {"pe.tile_n", has_composites, {KERNEL}, "a kernel with composites"},
    {"pe.pipeline_depth", has_composites, {KERNEL}, "a kernel with composites"},
    {"pe.outstanding", is_asynchronous, {KERNEL}, "a kernel with asynchronous calls"},
    {"pe.scratch", has_scratch, {KERNEL}, "a kernel with tl_scratch"},

    {"messages.", sends, {KERNEL}, "a kernel with messages"},
    {"messages.poll_interval", polls, {"messages.back_pressure"}, "poll"},
    {"collectives.", has_collectives, {KERNEL}, "a kernel with tl_all_reduce"},
    {"collectives.columns", has_rank_grid, {"collectives.algorithm"}, "torus_2d or mesh_2d"},
    {"collectives.between_sips", is_hierarchical, {"collectives.algorithm"}, "hierarchical"},
    {"collectives.between_sips", has_sips, {"system.sips"}, "2 or more"},
    {"collectives.receives", has_lines, {"collectives.algorithm"}, "mesh_2d or hierarchical"},

    {"host.retry_delay", retries, {"host.retries"}, "above 0"},
    {"host.driver_alloc", has_driver, {"host.driver"}, "serial, per_device or asynchronous"},
    {"host.driver_free", has_driver, {"host.driver"}, "serial, per_device or asynchronous"},
    {"host.driver_synchronous", has_driver, {"host.driver"}, "serial or per_device"},
    {"host.driver_synchronous", never_in_a_run, {KERNEL}, "a program of your own that allocates during a launch"},

    {"simulation.look_ahead", never_in_a_run, {KERNEL}, "a program of your own that binds an initiator"},

    {"faults.seed", has_rates, {"faults.plan"}, "faults with a rate"},
    {"faults.ecc_latency", corrects, {"faults.plan"}, "a correctable fault"},

    {"workload.elements_per_pe", grows, {KERNEL}, "a kernel whose tensors grow with it"},
};
const size_t tla_key_condition_count = sizeof tla_key_conditions / sizeof tla_key_conditions[0];

/* ---- asking ---- */

bool tla_key_condition_is_of(const tla_key_condition *condition, const char *key) {
    const size_t length = strlen(condition->keys);
    return condition->keys[length - 1] == '.' ? strncmp(key, condition->keys, length) == 0
                                              : strcmp(key, condition->keys) == 0;
}

/* "mmu.walk ideal", or for two keys with "and" between them. */
static tla_phrase state_of(const tla_config *c, const tla_key_condition *condition) {
    tla_phrase text = {""};
    for (size_t i = 0; i < sizeof condition->by / sizeof condition->by[0] && condition->by[i]; i++) {
        const tla_schema keys = {.keys = tla_platform_keys, .count = tla_platform_key_count};
        const tla_schema_key *key = &tla_platform_keys[tla_schema_find(&keys, condition->by[i])];
        const tla_value value = tla_schema_get(key, c);
        text = tla_phrase_of("%s%s%s %.100s", text.text, i ? " and " : "", key->key,
                             tla_value_print(&key->form, &value).text);
    }
    return text;
}

bool tla_config_has_effect(const tla_config *config, const char *key, tla_error *why) {
    char text[sizeof why->text] = "";
    for (size_t i = 0; i < tla_key_condition_count; i++) {
        const tla_key_condition *condition = &tla_key_conditions[i];
        if (!tla_key_condition_is_of(condition, key) || condition->holds(config)) continue;
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s with %s: it needs %s", used ? "; nor" : "",
                 state_of(config, condition).text, condition->wanted);
    }
    if (!text[0]) return true;
    tla_error_set(why, TLA_INVALID_ARGUMENT, "%s has no effect%s", key, text);
    return false;
}
