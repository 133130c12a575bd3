/* The rules that concern several keys. */
#include "platform.h"

#include "device/topology_plan.h"
#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/device/fault_plan.h"
#include "tlmalloc/device/firmware_engine.h"
#include "tlmalloc/timing/banked_channels.h"

#include <inttypes.h>
#include <string.h>

static tla_phrase size_text(uint64_t nbytes) {
    return tla_number_print(TLA_VALUE_SIZE, nbytes);
}

static bool too_many_cubes(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %" PRIu32 " x %" PRIu32
                          " cubes, expected cube_mesh_width * cube_mesh_height of at most %d",
                          c->system.cube_mesh_width, c->system.cube_mesh_height, TLA_CUBE_DIE_COUNT);
    return c->system.cube_mesh_width * c->system.cube_mesh_height > TLA_CUBE_DIE_COUNT;
}

static bool slice_is_not_whole(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %s for %" PRIu32
                          " PEs, expected hbm.capacity_per_cube to be a multiple of system.pes_per_cube",
                          size_text(c->system.hbm_per_cube).text, c->system.pes_per_cube);
    return c->system.hbm_per_cube % c->system.pes_per_cube != 0;
}

static bool driver_waits_and_does_not(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found host.driver asynchronous with host.driver_synchronous: true, expected serial or "
                          "per_device: an asynchronous driver waits for no device");
    return c->host.driver.kind == TLA_HOST_DRIVER_ASYNCHRONOUS && c->host.driver.synchronous;
}

static bool reserve_takes_all(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %s of %s, expected tcm.scheduler_reserve below tcm.capacity",
                          size_text(c->controller.memory.tcm_reserved_bytes).text, size_text(c->tcm.capacity).text);
    return c->controller.memory.tcm_reserved_bytes >= c->tcm.capacity;
}

static bool va_base_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found va.base %s, expected a multiple of va.page_size, %s",
                          size_text(c->va.space.base.value).text, size_text(c->va.space.page_size).text);
    return c->va.space.base.value % c->va.space.page_size != 0;
}

static bool va_size_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found va.size %s, expected a multiple of va.page_size, %s",
                          size_text(c->va.space.nbytes).text, size_text(c->va.space.page_size).text);
    return c->va.space.nbytes % c->va.space.page_size != 0;
}

static bool page_is_no_larger(const tla_config *c, tla_phrase *text) {
    const struct {
        const char *key;
        bool enabled;
        uint64_t nbytes;
    } sizes[] = {{"mmu.pages_64k", c->pages.size_64k, UINT64_C(1) << 16},
                 {"mmu.pages_2m", c->pages.size_2m, UINT64_C(1) << 21},
                 {"mmu.pages_1g", c->pages.size_1g, UINT64_C(1) << 30}};
    for (unsigned i = 0; i < 3; i++) {
        if (!sizes[i].enabled || sizes[i].nbytes > c->mmu.page_size) continue;
        *text = tla_phrase_of("found %s: true, expected pages larger than mmu.page_size, %s", sizes[i].key,
                              size_text(c->mmu.page_size).text);
        return true;
    }
    return false;
}

static bool va_range_is_too_wide(const tla_config *c, tla_phrase *text) {
    const uint64_t end = c->va.space.base.value + c->va.space.nbytes;
    *text = tla_phrase_of("found addresses up to va.base + va.size, %s, expected at most mmu.va_bits, %" PRIu32 " bits",
                          size_text(end).text, c->mmu.va_bits);
    return c->mmu.va_bits < 64 && end > UINT64_C(1) << c->mmu.va_bits;
}

static bool asid_is_none(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found workload.asid %" PRIu32 ", expected less than mmu.asids, %" PRIu32, c->workload.asid,
                          c->mmu.asids);
    return c->workload.asid >= c->mmu.asids;
}

static bool level_is_no_tlb(const char *name, const tla_tlb_level_config *level, tla_phrase *text) {
    uint32_t entries = level->entries, ways = level->ways ? level->ways : entries;
    if (entries == 0) return false;
    uint32_t sets = entries / ways;
    bool whole = sets > 0 && entries % ways == 0 && (sets & (sets - 1)) == 0;
    *text = tla_phrase_of("found %s of %" PRIu32 " entries in %" PRIu32 " ways, expected %s", name, entries, ways,
                          whole ? "a power of two of ways for plru" : "a power of two of sets");
    return !whole || (level->replacement == TLA_REPLACE_PLRU && (ways & (ways - 1)) != 0);
}

static bool l1_is_no_tlb(const tla_config *c, tla_phrase *text) {
    return level_is_no_tlb("mmu.tlb_l1", &c->mmu.tlb_l1, text);
}

static bool l2_is_no_tlb(const tla_config *c, tla_phrase *text) {
    return level_is_no_tlb("mmu.tlb_l2", &c->mmu.tlb_l2, text);
}

static bool slice_does_not_fit_its_profile(const tla_config *c, tla_phrase *text) {
    if (!c->hbm_timing.has_profile || c->hbm_timing.profile.model != TLA_HBM_BANKS) return false;
    tla_error error = {.text = ""};
    const tla_banked_channels_config channels = {c->hbm_timing.profile, c->hbm.pseudo_channels, c->hbm.capacity};
    const bool broken = tla_banked_channels_check(&channels, &error) != TLA_OK;
    *text = tla_phrase_of("hbm.timing %s: %.200s", c->hbm_timing.name, error.text);
    return broken;
}

static bool list_does_not_walk(const tla_config *c, tla_phrase *text) {
    const tla_pe_memory_config *m = &c->controller.memory;
    const tla_stack_policy policies[] = {m->hbm_policy, m->tcm_policy, m->sram_policy, m->m_cpu_policy, m->host_policy};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        const tla_stack_policy p = policies[i]; /* of a placement alone it is that */
        char name[64];
        tla_stack_policy_print(p, name, sizeof name);
        if (c->controller.free_list == TLA_LIST_REGISTERS || p == TLA_FIRST_FIT || p == TLA_BEST_FIT ||
            p == TLA_NEXT_FIT || p == TLA_WORST_FIT)
            continue;
        *text = tla_phrase_of(
            "found a free list in memory with %s, expected first_fit, best_fit, next_fit or worst_fit", name);
        return true;
    }
    return false;
}

static bool has_lists_of_its_own(tla_front front) {
    return front == TLA_FRONT_SLOT_POOL || front == TLA_FRONT_MIXED || front == TLA_FRONT_LAZY;
}

/* What nothing can stand behind: an engine, or a list of so many nodes. */
static bool engine_does_not_serve(const tla_config *c, tla_phrase *text) {
    const tla_controller_parameters *p = &c->controller;
    const bool rtl = p->engine == TLA_ENGINE_RTL, engine = p->engine != TLA_ENGINE_MODEL;
    if (!engine && p->engine_nodes == 0) return false;
    const char *what = rtl      ? "controller.engine rtl"
                       : engine ? "controller.engine firmware"
                                : "controller.engine_nodes";
    const tla_pe_memory_config *m = &p->memory;
    const tla_stack_policy policies[] = {m->hbm_policy, m->tcm_policy, m->sram_policy, m->m_cpu_policy, m->host_policy};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        const tla_policy placement = tla_stack_placement(policies[i]);
        const bool served = engine ? placement == TLA_FIRST_FIT : placement != TLA_BUDDY && placement != TLA_TLSF;
        if (served && !has_lists_of_its_own(tla_stack_front(policies[i]))) continue;
        char name[64];
        tla_stack_policy_print(policies[i], name, sizeof name);
        *text =
            tla_phrase_of("found %s with %s, expected %s, alone or below caching_pool, segment_cache or growing_pool",
                          what, name, engine ? "first_fit" : "a placement that walks a list");
        return true;
    }
    if (p->free_list != TLA_LIST_REGISTERS) {
        *text = tla_phrase_of("found %s with controller.free_list %s, expected registers", what,
                              tla_free_list_place_name(p->free_list));
    } else if (engine && p->lockstep != TLA_LOCKSTEP_OFF) {
        *text = tla_phrase_of("found %s with controller.lockstep %s, expected off: a processor places the blocks", what,
                              tla_lockstep_scope_name(p->lockstep));
    } else if (rtl && p->engine_nodes != 0 && p->engine_nodes != TLA_RTL_NODES) {
        *text = tla_phrase_of("found controller.engine_nodes %" PRIu32 " with controller.engine rtl, expected 0 or %d, "
                              "the nodes that it has",
                              p->engine_nodes, TLA_RTL_NODES);
    } else if (engine && p->engine_nodes > tla_firmware_first_fit.nodes_max) {
        *text = tla_phrase_of("found controller.engine_nodes %" PRIu32 " with %s, expected at most %" PRIu64
                              ", the nodes that it has",
                              p->engine_nodes, what, tla_firmware_first_fit.nodes_max);
    } else if (rtl && !TLMALLOC_HAS_RTL) {
        *text = tla_phrase_of("found %s, expected model: Verilator was not there when tlmalloc was built", what);
    } else {
        return false;
    }
    return true;
}

/* Every memory that a controller of the platform has, as if one had them all. */
static tla_pe_memory_config all_memories(const tla_config *c) {
    tla_pe_memory_config memory = c->controller.memory;
    memory.sram_bytes = c->sram.capacity;
    memory.m_cpu_bytes = c->m_cpu_memory.capacity;
    memory.host_bytes = c->host_memory.capacity;
    return memory;
}

/* A memory of more units than the engine can count, or of no whole number of them. */
static bool engine_does_not_hold(const tla_config *c, tla_phrase *text) {
    const tla_engine_kind engine = c->controller.engine;
    const tla_pe_memory_config memory = all_memories(c);
    if (engine == TLA_ENGINE_MODEL || memory.tcm_reserved_bytes >= memory.tcm_bytes) return false;
    const uint64_t unit = memory.alignment;
    const uint64_t most = engine == TLA_ENGINE_RTL ? TLA_RTL_UNITS : tla_firmware_first_fit.capacity_max;
    for (int i = 0; i < TLA_CHANNEL_COUNT; i++) {
        const uint64_t nbytes = tla_pe_memory_stack_config(&memory, (tla_channel)i).capacity;
        const bool whole = nbytes % unit == 0;
        if (whole && nbytes / unit <= most) continue;
        const tla_phrase expected =
            whole ? tla_phrase_of("at most %" PRIu64 " units", most) : tla_phrase_of("a multiple");
        *text = tla_phrase_of("found controller.engine %s with %s of %s, expected %s of controller.alignment, %s",
                              tla_engine_kind_name(engine), tla_channel_title((tla_channel)i), size_text(nbytes).text,
                              expected.text, size_text(unit).text);
        return true;
    }
    return false;
}

/* What asks the controller of a single slice for HBM, or looks at its blocks by who asked for them. */
static bool lockstep_is_refused(const tla_config *c, tla_phrase *text) {
    const tla_stack_policy policy = c->controller.memory.hbm_policy;
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
        expected = "error or pa_fallback: a page is a block of one slice";
    } else if (c->mmu.walk == TLA_WALK_MEMORY) {
        found = "mmu.walk memory";
        expected = "another: a table is a block of one slice";
    } else if (c->host.driver.kind != TLA_HOST_DRIVER_NONE || c->host.pool != TLA_HOST_POOL_NONE) {
        found = c->host.pool != TLA_HOST_POOL_NONE ? "host.pool" : "host.driver";
        expected = "none";
    } else if (c->messages.memory == TLA_SLOTS_HBM) {
        found = "messages.memory hbm";
        expected = "tcm or sram: slots are a block of one slice";
    }
    if (c->controller.lockstep == TLA_LOCKSTEP_OFF || !found) return false;
    *text = tla_phrase_of("found %s with controller.lockstep %s, expected %s", found,
                          tla_lockstep_scope_name(c->controller.lockstep), expected);
    return true;
}

/* Whether this front serves the channel and cannot stand its sizes. */
static bool front_is_refused(const tla_config *c, tla_channel channel, tla_front front, tla_phrase *text) {
    const tla_pe_memory_config memory = all_memories(c);
    if (memory.tcm_reserved_bytes >= memory.tcm_bytes) return false; /* a rule of its own */
    const tla_stack_config stack = tla_pe_memory_stack_config(&memory, channel);
    tla_error why;
    if (tla_stack_front(stack.policy) != front || tla_stack_check_config(&stack, &why) == TLA_OK) return false;
    *text = tla_phrase_of("%s: %.200s", tla_channel_title(channel), why.text);
    return true;
}

#define FRONT_RULES(name, channel)                                                                                     \
    static bool segment_of_##name(const tla_config *c, tla_phrase *text) {                                             \
        return front_is_refused(c, channel, TLA_FRONT_SEGMENT_CACHE, text);                                            \
    }                                                                                                                  \
    static bool slot_of_##name(const tla_config *c, tla_phrase *text) {                                                \
        return front_is_refused(c, channel, TLA_FRONT_SLOT_POOL, text);                                                \
    }                                                                                                                  \
    static bool buffers_of_##name(const tla_config *c, tla_phrase *text) {                                             \
        return front_is_refused(c, channel, TLA_FRONT_MIXED, text);                                                    \
    }                                                                                                                  \
    static bool chunks_of_##name(const tla_config *c, tla_phrase *text) {                                              \
        return front_is_refused(c, channel, TLA_FRONT_LAZY, text);                                                     \
    }
FRONT_RULES(hbm, TLA_HBM)
FRONT_RULES(tcm, TLA_TCM)
FRONT_RULES(sram, TLA_SRAM)
FRONT_RULES(m_cpu, TLA_M_CPU_MEMORY)
FRONT_RULES(host, TLA_HOST_MEMORY)

/* A rule for each size of a front; behind it the keys that say how large its memory is. */
#define FRONT_ROWS(name, ...)                                                                                          \
    {{"controller." #name "_front.segment", "controller." #name "_policy", __VA_ARGS__}, segment_of_##name},           \
        {{"controller." #name "_front.slot", "controller." #name "_policy", __VA_ARGS__}, slot_of_##name},             \
        {{"controller." #name "_front.buffers", "controller." #name "_policy", __VA_ARGS__}, buffers_of_##name}, {     \
        {"controller." #name "_front.chunk", "controller." #name "_front.initial",                                     \
         "controller." #name "_front.commit", "controller." #name "_policy", __VA_ARGS__},                             \
            chunks_of_##name                                                                                           \
    }

static bool a_sender_has_no_port(const tla_config *c, tla_phrase *text) {
    const bool demand = c->mmu.unmapped == TLA_UNMAPPED_DEMAND;
    if (!demand && c->mmu.walk != TLA_WALK_MEMORY) return false;
    const unsigned port = demand ? TLA_PORT_OF_FAULTS : TLA_PORT_OF_MMU;
    *text = tla_phrase_of("found %" PRIu32 " controller.ports, expected at least %u with %s: port %u is %s",
                          c->controller.ports, port + 1, demand ? "mmu.unmapped demand" : "mmu.walk memory", port,
                          demand ? "the host's for page faults" : "the MMU's for its tables");
    return c->controller.ports <= port;
}

static bool list_takes_all(const tla_config *c, tla_phrase *text) {
    uint64_t slice = c->hbm.capacity;
    *text = tla_phrase_of("found %s of a slice of %s, expected controller.list_reserve below it",
                          size_text(c->controller.list_reserve).text, size_text(slice).text);
    return c->controller.free_list == TLA_LIST_HBM && c->controller.list_reserve >= slice;
}

static bool fault_is_nowhere(const tla_config *c, tla_phrase *text) {
    const tla_fault_plan *plan = &c->faults.plan;
    uint64_t pes =
        UINT64_C(1) * c->system.sips * c->system.cube_mesh_width * c->system.cube_mesh_height * c->system.pes_per_cube;
    uint64_t slice = c->hbm.capacity;
    for (uint32_t i = 0; i < plan->count; i++) {
        const tla_fault *fault = &plan->faults[i];
        if (fault->pe >= 0 && (uint64_t)fault->pe >= pes) {
            *text = tla_phrase_of("found a fault of PE %d, expected 0 .. %" PRIu64, (int)fault->pe, pes - 1);
            return true;
        }
        if (fault->kind == TLA_FAULT_CHANNEL_OUT && fault->channel >= c->hbm.pseudo_channels) {
            *text = tla_phrase_of("found a fault of pseudo-channel %" PRIu32 ", expected 0 .. %" PRIu32, fault->channel,
                                  c->hbm.pseudo_channels - 1);
            return true;
        }
        uint64_t banks = c->hbm_timing.has_profile && c->hbm_timing.profile.model == TLA_HBM_BANKS
                             ? (uint64_t)c->hbm_timing.profile.bank_groups * c->hbm_timing.profile.banks_per_group
                             : 0;
        if (fault->has_bank && fault->bank >= banks) {
            *text = banks ? tla_phrase_of("found a fault of bank %" PRIu32 ", expected 0 .. %" PRIu64, fault->bank,
                                          banks - 1)
                          : tla_phrase_of("found a fault of bank %" PRIu32 ", expected an hbm.timing that has banks",
                                          fault->bank);
            return true;
        }
        if (fault->has_address && fault->address >= slice) {
            *text = tla_phrase_of("found a fault at byte %" PRIu64 " of a slice of %s", fault->address,
                                  size_text(slice).text);
            return true;
        }
    }
    return false;
}

/* Whether a part of the topology's plan cannot be, where what it rests on can. */
static bool plan_is_broken(const tla_config *c, tla_phrase *text,
                           tla_status (*part)(const tla_topology_shape *, tla_topology_plan *, tla_error *)) {
    tla_topology_plan plan = {0};
    tla_error error = {.text = ""};
    if (part != tla_plan_hole && tla_plan_hole(&c->topology, &plan, NULL) != TLA_OK) return false;
    const bool broken = part(&c->topology, &plan, &error) != TLA_OK;
    *text = tla_phrase_of("%.250s", error.text);
    return broken;
}

static tla_status plan_mesh(const tla_topology_shape *shape, tla_topology_plan *plan, tla_error *error) {
    return tla_plan_check_mesh(shape, plan, error);
}

static bool hole_is_outside(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_hole);
}

static bool hole_parts_the_mesh(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, plan_mesh);
}

static bool pe_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_pes);
}

static bool m_cpu_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_m_cpu);
}

static bool sram_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_sram);
}

static bool connection_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_connections);
}

static bool phy_faces_no_side(const tla_config *c, tla_phrase *text) {
    return c->system.cube_mesh_width * c->system.cube_mesh_height <= TLA_CUBE_DIE_COUNT &&
           plan_is_broken(c, text, tla_plan_faces);
}

static bool sips_are_no_grid(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_plan_sips);
}

/* A timing of instructions that nobody executes. */
static bool firmware_does_not_run(const tla_config *c, tla_phrase *text) {
    tla_riscv_timing defaults;
    tla_riscv_timing_defaults(&defaults);
    *text = tla_phrase_of("found controller.firmware with controller.engine %s, expected firmware: nothing runs it",
                          tla_engine_kind_name(c->controller.engine));
    return c->controller.engine != TLA_ENGINE_FIRMWARE &&
           memcmp(&c->controller.firmware, &defaults, sizeof defaults) != 0;
}

static bool slots_leave_their_window(const tla_config *c, tla_phrase *text) {
    const uint64_t most = TLA_MESSAGE_WINDOW_BYTES;
    *text =
        tla_phrase_of("found messages.slots %" PRIu32 " of messages.slot_size %s, expected at most %s of a direction",
                      c->messages.slots, size_text(c->messages.slot_size).text, size_text(most).text);
    return c->messages.slots * c->messages.slot_size > most;
}

const tla_platform_rule tla_platform_rules[] = {
    {{"faults.plan", "hbm.timing"}, fault_is_nowhere},
    {{"controller.free_list", "controller.hbm_policy", "controller.tcm_policy", "controller.sram_policy",
      "controller.m_cpu_policy", "controller.host_policy"},
     list_does_not_walk},
    {{"controller.engine", "controller.engine_nodes", "controller.hbm_policy", "controller.tcm_policy",
      "controller.sram_policy", "controller.m_cpu_policy", "controller.host_policy", "controller.free_list",
      "controller.lockstep"},
     engine_does_not_serve},
    {{"controller.engine", "controller.alignment", "hbm.capacity_per_cube", "system.pes_per_cube", "tcm.capacity",
      "tcm.scheduler_reserve", "sram.capacity", "m_cpu_memory.capacity", "host_memory.capacity"},
     engine_does_not_hold},
    {{"controller.lockstep", "controller.hbm_policy", "controller.free_list", "controller.guard", "mmu.unmapped",
      "mmu.walk", "host.driver", "host.pool", "messages.memory"},
     lockstep_is_refused},
    FRONT_ROWS(hbm, "controller.alignment", "hbm.capacity_per_cube", "system.pes_per_cube"),
    FRONT_ROWS(tcm, "controller.alignment", "tcm.capacity", "tcm.scheduler_reserve"),
    FRONT_ROWS(sram, "controller.alignment", "sram.capacity"),
    FRONT_ROWS(m_cpu, "controller.alignment", "m_cpu_memory.capacity"),
    FRONT_ROWS(host, "controller.alignment", "host_memory.capacity"),
    {{"controller.ports", "mmu.unmapped", "mmu.walk"}, a_sender_has_no_port},
    {{"controller.list_reserve", "controller.free_list", "hbm.capacity_per_cube"}, list_takes_all},
    {{"system.cube_mesh_width", "system.cube_mesh_height"}, too_many_cubes},
    {{"hbm.capacity_per_cube", "system.pes_per_cube"}, slice_is_not_whole},
    {{"hbm.timing", "hbm.pseudo_channels", "hbm.capacity_per_cube"}, slice_does_not_fit_its_profile},
    {{"system.sip_grid_width", "system.sips", "system.sip_topology"}, sips_are_no_grid},
    {{"cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns"}, hole_is_outside},
    {{"cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns"}, hole_parts_the_mesh},
    {{"cube.pe_places", "cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns", "system.pes_per_cube"},
     pe_has_no_place},
    {{"cube.m_cpu_place", "cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns"}, m_cpu_has_no_place},
    {{"cube.sram_place", "cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns"}, sram_has_no_place},
    {{"cube.connection_places", "cube.connections", "cube.mesh_hole", "cube.mesh_rows", "cube.mesh_columns"},
     connection_has_no_place},
    {{"io_chiplet.phy_faces", "system.cube_mesh_width", "system.cube_mesh_height"}, phy_faces_no_side},
    {{"tcm.scheduler_reserve", "tcm.capacity"}, reserve_takes_all},
    {{"va.base", "va.page_size", "mmu.page_size"}, va_base_is_off_page},
    {{"va.size", "va.page_size", "mmu.page_size"}, va_size_is_off_page},
    {{"mmu.pages_64k", "mmu.pages_2m", "mmu.pages_1g", "mmu.page_size"}, page_is_no_larger},
    {{"mmu.va_bits", "va.base", "va.size"}, va_range_is_too_wide},
    {{"workload.asid", "mmu.asids"}, asid_is_none},
    {{"controller.firmware.instruction", "controller.firmware.load", "controller.firmware.store",
      "controller.firmware.taken_branch", "controller.firmware.jump", "controller.firmware.multiply",
      "controller.firmware.divide", "controller.engine"},
     firmware_does_not_run},
    {{"messages.slots", "messages.slot_size"}, slots_leave_their_window},
    {{"host.driver_synchronous", "host.driver"}, driver_waits_and_does_not},
    {{"mmu.tlb_l1.entries", "mmu.tlb_l1.ways", "mmu.tlb_l1.replacement"}, l1_is_no_tlb},
    {{"mmu.tlb_l2.entries", "mmu.tlb_l2.ways", "mmu.tlb_l2.replacement"}, l2_is_no_tlb},
};
const size_t tla_platform_rule_count = sizeof tla_platform_rules / sizeof tla_platform_rules[0];
