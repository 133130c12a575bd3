/* The rules between keys of a memory controller: its lists, fronts, engine and lockstep. */
#include "platform.h"

#include "tlmalloc/arena/engine.h"

#include <inttypes.h>
#include <string.h>

static bool list_does_not_walk(const tla_config *c, tla_phrase *text) {
    const tla_pe_memory_config *m = &c->controller.memory;
    for (size_t i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const tla_stack_policy p = m->of[i].policy; /* of a placement alone it is that */
        char name[64];
        tla_stack_policy_print(p, name, sizeof name);
        if (c->controller.free_list == TLA_LIST_REGISTERS || p == TLA_FIRST_FIT || p == TLA_BEST_FIT ||
            p == TLA_NEXT_FIT || p == TLA_WORST_FIT)
            continue;
        *text = tla_phrase_of(
            "a free list in memory does not support %s: use first_fit, best_fit, next_fit or worst_fit", name);
        return true;
    }
    return false;
}

/* Blocks that cannot move, or places that the controller does not choose. */
static bool compaction_is_refused(const tla_config *c, tla_phrase *text) {
    const tla_controller_parameters *p = &c->controller;
    if (p->compaction.mode == TLA_COMPACTION_OFF) return false;
    const char *const found = tla_compaction_mode_name(p->compaction.mode);
    for (size_t i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        if (tla_stack_front(p->memory.of[i].policy) == TLA_FRONT_NONE) continue;
        char name[64];
        tla_stack_policy_print(p->memory.of[i].policy, name, sizeof name);
        *text = tla_phrase_of("controller.compaction %s with %s: set the policy to a placement without a front", found,
                              name);
        return true;
    }
    for (size_t i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const tla_policy placement = tla_stack_placement(p->memory.of[i].policy);
        if (tla_policy_takes_ranges(placement)) continue;
        *text = tla_phrase_of("controller.compaction %s with %s, which chooses the places of blocks itself: set the "
                              "policy to another placement",
                              found, tla_policy_name(placement));
        return true;
    }
    const char *expected = NULL;
    if (p->move.mode == TLA_MOVE_OFF)
        expected = "controller.move off: set controller.move to stop or concurrent";
    else if (p->free_list != TLA_LIST_REGISTERS)
        expected = "a free list in memory: set controller.free_list to registers";
    else if (p->lockstep != TLA_LOCKSTEP_OFF)
        expected = "controller.lockstep: set controller.lockstep to off";
    else if (p->engine != TLA_ENGINE_MODEL || p->engine_nodes > 0)
        expected = "an engine that chooses places: set controller.engine to model and controller.engine_nodes to 0";
    if (expected) *text = tla_phrase_of("controller.compaction %s with %s", found, expected);
    return expected;
}

/* The watermark looks at a whole memory, but a victim would come from one tenant. */
static bool watermark_is_refused(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("controller.watermark with controller.object_eviction tenant_lru: set "
                          "controller.object_eviction to lru or arc");
    return c->controller.watermark.permille > 0 && c->controller.object_eviction == TLA_VICTIM_TENANT_LRU;
}

/* Every memory that a controller of the platform has, as if one had them all. */
static tla_pe_memory_config all_memories(const tla_config *c) {
    tla_pe_memory_config memory = c->controller.memory;
    memory.of[TLA_SRAM].bytes = c->sram.capacity;
    memory.of[TLA_M_CPU_MEMORY].bytes = c->m_cpu_memory.capacity;
    memory.of[TLA_HOST_MEMORY].bytes = c->host_memory.capacity;
    return memory;
}

/* Two parts need blocks that stay, and a memory that its controller alone decides about. */
static bool partition_is_refused(const tla_config *c, tla_phrase *text) {
    const tla_controller_parameters *p = &c->controller;
    const char *const of = tla_divided_memory_name(p->partition.memory), *expected = NULL;
    if (p->move.mode != TLA_MOVE_OFF)
        expected =
            "a controller.move other than off: set controller.move to off, because a moving block needs two places";
    else if (p->partition.memory == TLA_DIVIDED_HBM && p->lockstep != TLA_LOCKSTEP_OFF)
        expected = "controller.lockstep: set controller.lockstep to off, because it decides about all slices";
    if (expected) *text = tla_phrase_of("controller.partition %s with %s", of, expected);
    return p->partition.memory != TLA_DIVIDED_NONE && expected;
}

/* L1 is too small for what is staged. */
static bool staging_lacks_room(const tla_config *c, tla_phrase *text) {
    const tla_controller_partition *p = &c->controller.partition;
    tla_controller_partition any = *p;
    tla_partition parts;
    tla_pe_memory_config memory = all_memories(c);
    if (c->controller.free_list == TLA_LIST_HBM) memory.of[TLA_HBM].reserved = c->controller.list_reserve;
    if (p->memory == TLA_DIVIDED_NONE || memory.of[TLA_TCM].reserved >= memory.of[TLA_TCM].bytes ||
        memory.of[TLA_HBM].reserved >= memory.of[TLA_HBM].bytes)
        return false; /* of reserves: rules of their own */
    if (tla_controller_parts(&memory, p, &parts) != TLA_EXHAUSTED) return false;
    any.chunk = 0;
    if (tla_controller_parts(&memory, &any, &parts)) parts.l1 = 0;
    *text = tla_phrase_of("L1 of the %s has %s, too little for controller.partition_prefetches %" PRIu32
                          " and controller.partition_writes %" PRIu32
                          " of chunks of %s: set controller.partition_l1 higher, or controller.partition_chunk lower",
                          tla_memory_kind_title((tla_memory_kind)(p->memory - 1)), tla_size_text(parts.l1).text,
                          p->prefetches, p->writes, tla_size_text(p->chunk).text);
    return true;
}

/* Whether a placement has an engine of that kind. */
static bool has_engine(tla_engine_kind engine, tla_policy placement) {
    return placement == TLA_FIRST_FIT || placement == TLA_BUDDY || placement == TLA_OFFSET_BINS ||
           placement == TLA_OFFSET_BINS_ROUNDED || (engine == TLA_ENGINE_RTL && placement == TLA_WORST_FIT);
}

/* A policy with which nothing can stand behind the list: an engine, or a limit of its nodes. */
static bool policy_is_not_served(const tla_controller_parameters *p, tla_stack_policy policy, tla_phrase *text) {
    const tla_policy placement = tla_stack_placement(policy);
    const bool front = tla_front_has_own_lists(tla_stack_front(policy));
    static const char *const behind = "alone or under caching_pool, segment_cache or growing_pool";
    char name[64];
    tla_stack_policy_print(policy, name, sizeof name);
    if (p->engine != TLA_ENGINE_MODEL && (front || !has_engine(p->engine, placement))) {
        *text = tla_phrase_of(
            "controller.engine %s does not support %s: use %s, %s", tla_engine_kind_name(p->engine), name,
            p->engine == TLA_ENGINE_RTL ? "first_fit, worst_fit, buddy, offset_bins or offset_bins_rounded"
                                        : "first_fit, buddy, offset_bins or offset_bins_rounded",
            behind);
    } else if (p->engine_nodes != 0 && (front || placement == TLA_BUDDY || placement == TLA_TLSF)) {
        *text = tla_phrase_of("controller.engine_nodes does not support %s: use a placement that walks a list, %s",
                              name, behind);
    } else if (p->engine_nodes == 1 && placement == TLA_OFFSET_BINS) {
        *text = tla_phrase_of("controller.engine_nodes 1 with %s: must be at least 2, because one node is never used",
                              name);
    } else if (p->engine == TLA_ENGINE_RTL && placement == TLA_WORST_FIT && p->engine_node_cycles != 1) {
        *text = tla_phrase_of("controller.engine_node_cycles %" PRIu32
                              " with %s: must be 1, because this engine takes one cycle a node",
                              p->engine_node_cycles, name);
    } else {
        return false;
    }
    return true;
}

/* An engine, or a list with this number of nodes, cannot serve this memory. */
static bool engine_does_not_serve(const tla_config *c, tla_phrase *text) {
    const tla_controller_parameters *p = &c->controller;
    const bool rtl = p->engine == TLA_ENGINE_RTL, engine = p->engine != TLA_ENGINE_MODEL;
    if (!engine && p->engine_nodes == 0) return false;
    const char *what = rtl      ? "controller.engine rtl"
                       : engine ? "controller.engine firmware"
                                : "controller.engine_nodes";
    const uint64_t nodes_max = rtl ? TLA_RTL_NODES : TLA_FIRMWARE_NODES;
    const tla_pe_memory_config *m = &p->memory;
    for (size_t i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (policy_is_not_served(p, m->of[i].policy, text)) return true;
    if (p->free_list != TLA_LIST_REGISTERS) {
        *text = tla_phrase_of("%s with controller.free_list %s: set controller.free_list to registers", what,
                              tla_free_list_place_name(p->free_list));
    } else if (engine && p->lockstep != TLA_LOCKSTEP_OFF) {
        *text = tla_phrase_of(
            "%s with controller.lockstep %s: set controller.lockstep to off, because a processor places the blocks",
            what, tla_lockstep_scope_name(p->lockstep));
    } else if (engine && p->engine_nodes > nodes_max) {
        *text = tla_phrase_of("controller.engine_nodes %" PRIu32 " with %s: must be at most %" PRIu64
                              ", the nodes of the engine",
                              p->engine_nodes, what, nodes_max);
    } else if (rtl && !TLMALLOC_HAS_RTL) {
        *text = tla_phrase_of("%s: this build has no Verilator; use model", what);
    } else if (engine && !rtl && !TLMALLOC_HAS_FIRMWARE) {
        *text = tla_phrase_of("%s: this build has no firmware; use %s, or configure with -DTLMALLOC_FIRMWARE=ON", what,
                              TLMALLOC_HAS_RTL ? "model or rtl" : "model");
    } else {
        return false;
    }
    return true;
}

/* How many units an engine can count, or buddies have memory for. */
static uint64_t units_max(tla_engine_kind engine, tla_policy placement) {
    if (engine == TLA_ENGINE_RTL) return placement == TLA_BUDDY ? TLA_RTL_BUDDIES : TLA_RTL_UNITS;
    return placement == TLA_BUDDY ? TLA_FIRMWARE_BUDDIES : TLA_FIRMWARE_UNITS;
}

/* A memory of more units than the engine can count, or of no whole number of them. */
static bool engine_does_not_hold(const tla_config *c, tla_phrase *text) {
    const tla_engine_kind engine = c->controller.engine;
    const tla_pe_memory_config memory = all_memories(c);
    if (engine == TLA_ENGINE_MODEL || memory.of[TLA_TCM].reserved >= memory.of[TLA_TCM].bytes) return false;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const tla_stack_config stack = tla_pe_memory_stack_config(&memory, (tla_memory_kind)i);
        const tla_policy placement = tla_stack_placement(stack.policy);
        const uint64_t nbytes = stack.capacity, most = units_max(engine, placement),
                       unit = tla_policy_unit(placement, memory.alignment, nbytes);
        const bool whole = nbytes % unit == 0;
        if (whole && nbytes / unit <= most) continue;
        const tla_phrase expected =
            whole ? tla_phrase_of("at most %" PRIu64 " units", most) : tla_phrase_of("a multiple");
        const char *of = unit == memory.alignment ? "controller.alignment" : "the unit of its bins";
        *text = tla_phrase_of("controller.engine %s: %s of %s must be %s of %s, %s", tla_engine_kind_name(engine),
                              tla_memory_kind_title((tla_memory_kind)i), tla_size_text(nbytes).text, expected.text, of,
                              tla_size_text(unit).text);
        return true;
    }
    return false;
}

/* A timing of instructions without firmware. */
static bool firmware_does_not_run(const tla_config *c, tla_phrase *text) {
    tla_riscv_timing defaults;
    tla_riscv_timing_defaults(&defaults);
    *text = tla_phrase_of("controller.firmware with controller.engine %s: set controller.engine to firmware",
                          tla_engine_kind_name(c->controller.engine));
    return c->controller.engine != TLA_ENGINE_FIRMWARE &&
           memcmp(&c->controller.firmware, &defaults, sizeof defaults) != 0;
}

/* A price of whole calls, as drivers' profiles have it, which an engine's cycles would silently take the place of. */
static bool engine_hides_a_call(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("controller.engine %s with controller.cost.alloc above 0 ns: the engine determines the time "
                          "of a command; set controller.cost.alloc to 0 ns",
                          tla_engine_kind_name(c->controller.engine));
    return c->controller.engine != TLA_ENGINE_MODEL && c->controller.cost.alloc_ps > 0;
}

/* A key that uses the controller of a single slice, or that looks at owners of blocks. */
static bool lockstep_is_refused(const tla_config *c, tla_phrase *text) {
    const tla_stack_policy policy = c->controller.memory.of[TLA_HBM].policy;
    const char *found = NULL, *expected = NULL;
    if (policy != TLA_FIRST_FIT && policy != TLA_FIRST_FIT_TOP) {
        found = "controller.hbm_policy";
        expected = "first_fit (from the bottom) or first_fit_top";
    } else if (c->controller.free_list != TLA_LIST_REGISTERS) {
        found = "controller.free_list";
        expected = "registers";
    } else if (c->controller.guard != TLA_GUARD_OFF) {
        found = "controller.guard";
        expected = "off";
    } else if (c->mmu.unmapped == TLA_UNMAPPED_DEMAND) {
        found = "mmu.unmapped demand";
        expected = "error or pa_fallback, because a page is a block of one slice";
    } else if (c->mmu.walk == TLA_WALK_MEMORY) {
        found = "mmu.walk memory";
        expected = "ideal or flat, because a table is a block of one slice";
    } else if (c->host.driver.kind != TLA_HOST_DRIVER_NONE || c->host.pool != TLA_HOST_POOL_NONE) {
        found = c->host.pool != TLA_HOST_POOL_NONE ? "host.pool" : "host.driver";
        expected = "none";
    } else if (c->messages.memory == TLA_SLOTS_HBM) {
        found = "messages.memory hbm";
        expected = "tcm or sram, because slots are a block of one slice";
    }
    if (c->controller.lockstep == TLA_LOCKSTEP_OFF || !found) return false;
    *text = tla_phrase_of("%s with controller.lockstep %s: must be %s", found,
                          tla_lockstep_scope_name(c->controller.lockstep), expected);
    return true;
}

/* Whether this front serves the memory and cannot stand its sizes. */
static bool front_is_refused(const tla_config *c, tla_memory_kind kind, tla_front front, tla_phrase *text) {
    const tla_pe_memory_config memory = all_memories(c);
    if (memory.of[TLA_TCM].reserved >= memory.of[TLA_TCM].bytes) return false; /* a rule of its own */
    const tla_stack_config stack = tla_pe_memory_stack_config(&memory, kind);
    tla_error why;
    if (tla_stack_front(stack.policy) != front || tla_stack_check_config(&stack, &why) == TLA_OK) return false;
    *text = tla_phrase_of("%s: %.200s", tla_memory_kind_title(kind), why.text);
    return true;
}

#define FRONT_RULES(name, kind)                                                                                        \
    static bool segment_of_##name(const tla_config *c, tla_phrase *text) {                                             \
        return front_is_refused(c, kind, TLA_FRONT_SEGMENT_CACHE, text);                                               \
    }                                                                                                                  \
    static bool slot_of_##name(const tla_config *c, tla_phrase *text) {                                                \
        return front_is_refused(c, kind, TLA_FRONT_SLOT_POOL, text);                                                   \
    }                                                                                                                  \
    static bool buffers_of_##name(const tla_config *c, tla_phrase *text) {                                             \
        return front_is_refused(c, kind, TLA_FRONT_MIXED, text);                                                       \
    }                                                                                                                  \
    static bool chunks_of_##name(const tla_config *c, tla_phrase *text) {                                              \
        return front_is_refused(c, kind, TLA_FRONT_LAZY, text);                                                        \
    }                                                                                                                  \
    static bool ranges_of_##name(const tla_config *c, tla_phrase *text) {                                              \
        return front_is_refused(c, kind, TLA_FRONT_SEGMENTED, text) ||                                                 \
               front_is_refused(c, kind, TLA_FRONT_LINEAR_REGIONS, text) ||                                            \
               front_is_refused(c, kind, TLA_FRONT_INTERLEAVING_REGIONS, text);                                        \
    }
FRONT_RULES(hbm, TLA_HBM)
FRONT_RULES(tcm, TLA_TCM)
FRONT_RULES(sram, TLA_SRAM)
FRONT_RULES(m_cpu, TLA_M_CPU_MEMORY)
FRONT_RULES(host, TLA_HOST_MEMORY)

/* A rule for each size of a front, followed by the keys of its memory size. */
#define FRONT_ROWS(name, ...)                                                                                          \
    {{"controller." #name "_front.segment", "controller." #name "_policy", __VA_ARGS__}, segment_of_##name},           \
        {{"controller." #name "_front.slot", "controller." #name "_policy", __VA_ARGS__}, slot_of_##name},             \
        {{"controller." #name "_front.buffers", "controller." #name "_policy", __VA_ARGS__}, buffers_of_##name},       \
        {{"controller." #name "_front.segment", "controller." #name "_front.initial",                                  \
          "controller." #name "_front.chunk_time", "controller." #name "_policy", __VA_ARGS__},                        \
         ranges_of_##name},                                                                                            \
    {                                                                                                                  \
        {"controller." #name "_front.chunk", "controller." #name "_front.initial",                                     \
         "controller." #name "_front.commit", "controller." #name "_policy", __VA_ARGS__},                             \
            chunks_of_##name                                                                                           \
    }

static bool list_takes_all(const tla_config *c, tla_phrase *text) {
    uint64_t slice = c->hbm.capacity;
    *text = tla_phrase_of("controller.list_reserve %s must be less than the slice, %s",
                          tla_size_text(c->controller.list_reserve).text, tla_size_text(slice).text);
    return c->controller.free_list == TLA_LIST_HBM && c->controller.list_reserve >= slice;
}

/* Plain addresses that no bus could decode, or bases without effect. */
static bool bases_are_wrong(const tla_config *c, tla_phrase *text) {
    const tla_pe_memory_config *m = &c->controller.memory;
    if (m->layout != TLA_LAYOUT_PLAIN) {
        const bool of_hbm = m->of[TLA_HBM].base > 0;
        *text = tla_phrase_of(
            "%s %s with controller.addresses kernbench: set controller.addresses to plain, or the base to 0 B",
            of_hbm ? "hbm.base" : "tcm.base", tla_size_text(m->of[of_hbm ? TLA_HBM : TLA_TCM].base).text);
        return of_hbm || m->of[TLA_TCM].base > 0;
    }
    tla_error error = {.text = ""};
    const tla_pe_memory_config both = {
        .of = {[TLA_HBM] = {.bytes = m->of[TLA_HBM].bytes, .base = m->of[TLA_HBM].base},
               [TLA_TCM] = {.bytes = c->tcm_present ? m->of[TLA_TCM].bytes : 0, .base = m->of[TLA_TCM].base}},
        .alignment = m->alignment,
        .layout = m->layout,
    };
    const tla_status status = tla_pe_memory_check_config(&both, &error);
    *text = tla_phrase_of("hbm.base or tcm.base: %s", error.text);
    return status != TLA_OK;
}

const tla_platform_rule tla_controller_rules[] = {
    {{"hbm.base", "tcm.base", "controller.addresses", "controller.alignment", "hbm.capacity_per_cube",
      "system.pes_per_cube", "tcm.capacity"},
     bases_are_wrong},
    {{"controller.free_list", "controller.hbm_policy", "controller.tcm_policy", "controller.sram_policy",
      "controller.m_cpu_policy", "controller.host_policy"},
     list_does_not_walk},
    {{"controller.engine", "controller.engine_nodes", "controller.hbm_policy", "controller.tcm_policy",
      "controller.sram_policy", "controller.m_cpu_policy", "controller.host_policy", "controller.free_list",
      "controller.lockstep", "controller.engine_node_cycles"},
     engine_does_not_serve},
    {{"controller.compaction", "controller.move", "controller.hbm_policy", "controller.tcm_policy",
      "controller.sram_policy", "controller.m_cpu_policy", "controller.host_policy", "controller.free_list",
      "controller.lockstep", "controller.engine", "controller.engine_nodes"},
     compaction_is_refused},
    {{"controller.watermark", "controller.object_eviction"}, watermark_is_refused},
    {{"controller.partition", "controller.move", "controller.lockstep"}, partition_is_refused},
    {{"controller.partition_chunk", "controller.partition_l1", "controller.partition_prefetches",
      "controller.partition_writes", "controller.partition", "controller.free_list", "controller.list_reserve",
      "hbm.capacity_per_cube", "system.pes_per_cube", "tcm.capacity", "tcm.scheduler_reserve", "sram.capacity",
      "m_cpu_memory.capacity", "host_memory.capacity"},
     staging_lacks_room},
    {{"controller.engine", "controller.alignment", "controller.hbm_policy", "controller.tcm_policy",
      "controller.sram_policy", "controller.m_cpu_policy", "controller.host_policy", "hbm.capacity_per_cube",
      "system.pes_per_cube", "tcm.capacity", "tcm.scheduler_reserve", "sram.capacity", "m_cpu_memory.capacity",
      "host_memory.capacity"},
     engine_does_not_hold},
    {{"controller.firmware.instruction", "controller.firmware.load", "controller.firmware.store",
      "controller.firmware.taken_branch", "controller.firmware.jump", "controller.firmware.multiply",
      "controller.firmware.divide", "controller.engine"},
     firmware_does_not_run},
    {{"controller.engine", "controller.cost.profile", "controller.cost.alloc"}, engine_hides_a_call},
    {{"controller.lockstep", "controller.hbm_policy", "controller.free_list", "controller.guard", "mmu.unmapped",
      "mmu.walk", "host.driver", "host.pool", "messages.memory"},
     lockstep_is_refused},
    FRONT_ROWS(hbm, "controller.alignment", "hbm.capacity_per_cube", "system.pes_per_cube"),
    FRONT_ROWS(tcm, "controller.alignment", "tcm.capacity", "tcm.scheduler_reserve"),
    FRONT_ROWS(sram, "controller.alignment", "sram.capacity"),
    FRONT_ROWS(m_cpu, "controller.alignment", "m_cpu_memory.capacity"),
    FRONT_ROWS(host, "controller.alignment", "host_memory.capacity"),
    {{"controller.list_reserve", "controller.free_list", "hbm.capacity_per_cube"}, list_takes_all},
};
const size_t tla_controller_rule_count = sizeof tla_controller_rules / sizeof tla_controller_rules[0];
