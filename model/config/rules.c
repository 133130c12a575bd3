/* The rules that concern several keys, but those of a memory controller (controller_rules.c). */
#include "platform.h"

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/dram/channels.h"
#include "tlmalloc/dram/fault_injection.h"
#include "tlmalloc/kernel/declaration.h"
#include "topology/floorplan.h"

#include <inttypes.h>

static bool too_many_cubes(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("%" PRIu32 " x %" PRIu32
                          " cubes: system.cube_mesh_width * system.cube_mesh_height must be at most %d",
                          c->system.cube_mesh_width, c->system.cube_mesh_height, TLA_CUBE_DIE_COUNT);
    return c->system.cube_mesh_width * c->system.cube_mesh_height > TLA_CUBE_DIE_COUNT;
}

static bool slice_is_not_whole(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("hbm.capacity_per_cube %s must be a multiple of system.pes_per_cube, %" PRIu32,
                          tla_size_text(c->system.hbm_per_cube).text, c->system.pes_per_cube);
    return c->system.hbm_per_cube % c->system.pes_per_cube != 0;
}

static bool driver_waits_and_does_not(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("host.driver_synchronous: true with host.driver asynchronous: set host.driver to serial or "
                          "per_device, because an asynchronous driver does not wait for devices");
    return c->host.driver.kind == TLA_HOST_DRIVER_ASYNCHRONOUS && c->host.driver.synchronous;
}

static bool reserve_takes_all(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("tcm.scheduler_reserve %s must be less than tcm.capacity, %s",
                          tla_size_text(c->controller.memory.of[TLA_TCM].reserved).text,
                          tla_size_text(c->tcm.capacity).text);
    return c->controller.memory.of[TLA_TCM].reserved >= c->tcm.capacity;
}

static bool va_base_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("va.base %s must be a multiple of va.page_size, %s",
                          tla_size_text(c->va.space.base.value).text, tla_size_text(c->va.space.page_size).text);
    return c->va.space.base.value % c->va.space.page_size != 0;
}

static bool va_size_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("va.size %s must be a multiple of va.page_size, %s", tla_size_text(c->va.space.nbytes).text,
                          tla_size_text(c->va.space.page_size).text);
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
        *text = tla_phrase_of("%s: true, but its pages must be larger than mmu.page_size, %s", sizes[i].key,
                              tla_size_text(c->mmu.page_size).text);
        return true;
    }
    return false;
}

static bool va_range_is_too_wide(const tla_config *c, tla_phrase *text) {
    const uint64_t end = c->va.space.base.value + c->va.space.nbytes;
    *text = tla_phrase_of("va.base + va.size, %s, must fit in mmu.va_bits, %" PRIu32 " bits", tla_size_text(end).text,
                          c->mmu.va_bits);
    return c->mmu.va_bits < 64 && end > UINT64_C(1) << c->mmu.va_bits;
}

static bool asid_is_none(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("workload.asid %" PRIu32 " must be less than mmu.asids, %" PRIu32, c->workload.asid,
                          c->mmu.asids);
    return c->workload.asid >= c->mmu.asids;
}

static bool level_is_no_tlb(const char *name, const tla_tlb_level_config *level, tla_phrase *text) {
    uint32_t entries = level->entries, ways = level->ways ? level->ways : entries;
    if (entries == 0) return false;
    uint32_t sets = entries / ways;
    bool whole = sets > 0 && entries % ways == 0 && (sets & (sets - 1)) == 0;
    *text = tla_phrase_of("%s of %" PRIu32 " entries in %" PRIu32 " ways: must have %s", name, entries, ways,
                          whole ? "a power of two of ways for plru" : "a power of two of sets");
    return !whole || (level->replacement == TLA_REPLACE_PLRU && (ways & (ways - 1)) != 0);
}

static bool l1_is_no_tlb(const tla_config *c, tla_phrase *text) {
    return level_is_no_tlb("mmu.tlb_l1", &c->mmu.tlb_l1, text);
}

static bool l2_is_no_tlb(const tla_config *c, tla_phrase *text) {
    return level_is_no_tlb("mmu.tlb_l2", &c->mmu.tlb_l2, text);
}

static bool memory_does_not_fit(const char *key, const tla_hbm_timing *timing, const tla_hbm_parameters *memory,
                                tla_phrase *text) {
    if (!timing->has_profile || timing->profile.model != TLA_HBM_BANKS) return false;
    tla_error error = {.text = ""};
    const tla_banked_channels_config channels = {timing->profile, memory->pseudo_channels, memory->capacity};
    const bool broken = tla_banked_channels_check(&channels, &error) != TLA_OK;
    *text = tla_phrase_of("%s %s: %.200s", key, timing->name, error.text);
    return broken;
}

static bool slice_does_not_fit_its_profile(const tla_config *c, tla_phrase *text) {
    return memory_does_not_fit("hbm.timing", &c->hbm_timing, &c->hbm, text);
}

static bool host_memory_does_not_fit_its_profile(const tla_config *c, tla_phrase *text) {
    return c->host_memory.capacity > 0 &&
           memory_does_not_fit("host_memory.timing", &c->host_memory_timing, &c->host_memory, text);
}

static bool energy_is_of_another_timing(const tla_config *c, tla_phrase *text) {
    const tla_hbm_config *timing = &c->hbm_timing.profile;
    const tla_dram_energy *energy = &c->hbm_energy.profile;
    tla_error why;
    if (!c->hbm_energy.has_profile) return false;
    if (!c->hbm_timing.has_profile || timing->model != TLA_HBM_BANKS)
        *text =
            tla_phrase_of("hbm.energy %.60s must have an hbm.timing with banks, whose commands it counts: hbm.timing "
                          "%.60s has none",
                          c->hbm_energy.name, c->hbm_timing.name);
    else if (!tla_dram_energy_suits(energy, c->hbm_energy.name, c->hbm_timing.name, &why))
        *text = tla_phrase_of("hbm.energy must hold for hbm.timing: %.200s", why.text);
    else if (energy->burst_bytes != timing->burst_bytes)
        *text =
            tla_phrase_of("hbm.energy %.60s must have the bursts of hbm.timing %.60s: %" PRIu32 " B, not %" PRIu32 " B",
                          c->hbm_energy.name, c->hbm_timing.name, timing->burst_bytes, energy->burst_bytes);
    else
        return false;
    return true;
}

static bool is_in_lockstep(const tla_config *c) {
    return c->controller.lockstep != TLA_LOCKSTEP_OFF;
}

static bool walks_in_memory(const tla_config *c) {
    return c->mmu.walk == TLA_WALK_MEMORY;
}

static bool faults_on_demand(const tla_config *c) {
    return c->mmu.unmapped == TLA_UNMAPPED_DEMAND;
}

static bool controllers_serve_faults(const tla_config *c) {
    return c->host.delegates;
}

/* In an SRAM's controller they have ports of their own, as many as they need. */
static bool has_slots_of_messages(const tla_config *c) {
    const bool alone =
        c->system.sips * c->system.cube_mesh_width * c->system.cube_mesh_height == 1 && c->system.pes_per_cube == 1;
    return (c->workload.uses & TL_USES_MESSAGES) != 0 && c->messages.memory != TLA_SLOTS_SRAM && !alone;
}

/* The senders of commands to a PE's controller, beside the host and the PE, which always send; the last port first. */
static bool a_sender_has_no_port(const tla_config *c, tla_phrase *text) {
    const struct {
        unsigned port;
        bool (*sends)(const tla_config *);
        const char *with, *value, *whose;
    } senders[] = {
        {TLA_PORT_OF_PAGES, controllers_serve_faults, "mmu.fault_handler", "controller",
         "for the pages that it gives itself"},
        {TLA_PORT_OF_MESSAGES, has_slots_of_messages, "workload.kernel", c->workload.kernel,
         "for the message unit's slots"},
        {TLA_PORT_OF_FAULTS, faults_on_demand, "mmu.unmapped", "demand", "for the host's page faults"},
        {TLA_PORT_OF_MMU, walks_in_memory, "mmu.walk", "memory", "for the MMU's tables"},
        {TLA_PORT_OF_ABOVE, is_in_lockstep, "controller.lockstep", tla_lockstep_scope_name(c->controller.lockstep),
         "for the processor that places the blocks"},
    };
    for (size_t i = 0; i < sizeof senders / sizeof senders[0]; i++) {
        if (!senders[i].sends(c)) continue;
        *text = tla_phrase_of("controller.ports %" PRIu32 " must be at least %u with %s %s: port %u is %s",
                              c->controller.ports, senders[i].port + 1, senders[i].with, senders[i].value,
                              senders[i].port, senders[i].whose);
        return c->controller.ports <= senders[i].port;
    }
    return false;
}

/* Two controllers may give the same page: the MAP of the second must fail, and both must learn of it. */
static bool handler_is_refused(const tla_config *c, tla_phrase *text) {
    const char *found = NULL, *remedy = NULL;
    if (c->va.map_ack == TLA_MAP_ACK_POSTED) {
        found = "va.map_ack posted";
        remedy = "set va.map_ack to visible, because the answer to a MAP decides which controller gives a page";
    } else if (c->mmu.allow_remap) {
        found = "mmu.allow_remap true";
        remedy = "set mmu.allow_remap to false, because the first mapping of a page must stay";
    } else if (c->controller.move.mode != TLA_MOVE_OFF) {
        found = "controller.move";
        remedy = "set controller.move to off, because nobody records the mappings of these pages";
    }
    if (!found || !controllers_serve_faults(c)) return false;
    *text = tla_phrase_of("mmu.fault_handler controller with %s: %s", found, remedy);
    return true;
}

static bool fault_is_nowhere(const tla_config *c, tla_phrase *text) {
    const tla_fault_injection *plan = &c->faults.plan;
    uint64_t pes =
        UINT64_C(1) * c->system.sips * c->system.cube_mesh_width * c->system.cube_mesh_height * c->system.pes_per_cube;
    uint64_t slice = c->hbm.capacity;
    for (uint32_t i = 0; i < plan->count; i++) {
        const tla_fault *fault = &plan->faults[i];
        if (fault->pe >= 0 && (uint64_t)fault->pe >= pes) {
            *text = tla_phrase_of("faults.plan: PE %d must be 0 .. %" PRIu64, (int)fault->pe, pes - 1);
            return true;
        }
        if (fault->kind == TLA_FAULT_CHANNEL_OUT && fault->channel >= c->hbm.pseudo_channels) {
            *text = tla_phrase_of("faults.plan: pseudo-channel %" PRIu32 " must be 0 .. %" PRIu32, fault->channel,
                                  c->hbm.pseudo_channels - 1);
            return true;
        }
        uint64_t banks = c->hbm_timing.has_profile && c->hbm_timing.profile.model == TLA_HBM_BANKS
                             ? (uint64_t)c->hbm_timing.profile.bank_groups * c->hbm_timing.profile.banks_per_group
                             : 0;
        if (fault->has_bank && fault->bank >= banks) {
            *text = banks ? tla_phrase_of("faults.plan: bank %" PRIu32 " must be 0 .. %" PRIu64, fault->bank, banks - 1)
                          : tla_phrase_of("faults.plan: bank %" PRIu32 " needs an hbm.timing with banks", fault->bank);
            return true;
        }
        if (fault->has_address && fault->address >= slice) {
            *text = tla_phrase_of("faults.plan: byte %" PRIu64 " must be inside the slice of %s", fault->address,
                                  tla_size_text(slice).text);
            return true;
        }
    }
    return false;
}

/* Returns whether a part of the shape is impossible, although the members on which it depends are possible. */
static bool plan_is_broken(const tla_config *c, tla_phrase *text,
                           tla_status (*part)(const tla_topology_shape *, tla_floorplan *, tla_error *)) {
    tla_floorplan plan = {0};
    tla_error error = {.text = ""};
    if (part != tla_floorplan_hole && tla_floorplan_hole(&c->topology, &plan, NULL) != TLA_OK) return false;
    const bool broken = part(&c->topology, &plan, &error) != TLA_OK;
    *text = tla_phrase_of("%.250s", error.text);
    return broken;
}

static tla_status plan_mesh(const tla_topology_shape *shape, tla_floorplan *plan, tla_error *error) {
    return tla_floorplan_check_mesh(shape, plan, error);
}

static bool hole_is_outside(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_hole);
}

static bool hole_parts_the_mesh(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, plan_mesh);
}

static bool pe_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_pes);
}

static bool m_cpu_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_m_cpu);
}

static bool sram_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_sram);
}

static bool connection_has_no_place(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_connections);
}

static bool phy_faces_no_side(const tla_config *c, tla_phrase *text) {
    return c->system.cube_mesh_width * c->system.cube_mesh_height <= TLA_CUBE_DIE_COUNT &&
           plan_is_broken(c, text, tla_floorplan_faces);
}

static bool sips_are_no_grid(const tla_config *c, tla_phrase *text) {
    return plan_is_broken(c, text, tla_floorplan_sips);
}

static bool slots_leave_their_window(const tla_config *c, tla_phrase *text) {
    const uint64_t most = TLA_MESSAGE_WINDOW_BYTES;
    *text = tla_phrase_of("messages.slots %" PRIu32 " of messages.slot_size %s: must be at most %s a direction",
                          c->messages.slots, tla_size_text(c->messages.slot_size).text, tla_size_text(most).text);
    return c->messages.slots * c->messages.slot_size > most;
}

/* Pages that would leave have a place in the host's memory, and are reached through MMUs only, one mapping at a time.
 */
static bool pages_cannot_leave(const tla_config *c, tla_phrase *text) {
    const char *expected = NULL;
    if (!faults_on_demand(c))
        expected = "mmu.unmapped error or pa_fallback: set mmu.unmapped to demand";
    else if (c->mmu.fault_handler != TLA_FAULT_HANDLER_HOST)
        expected = "mmu.fault_handler controller: set mmu.fault_handler to host, which knows the pages that may leave";
    else if (c->host_memory.capacity == 0)
        expected = "host_memory.capacity 0 B: set host_memory.capacity to the size of the tensors or more";
    else if (c->va.map_ack != TLA_MAP_ACK_VISIBLE)
        expected = "va.map_ack posted: set va.map_ack to visible";
    else if (c->controller.move.mode != TLA_MOVE_OFF)
        expected = "controller.move stop or concurrent: set controller.move to off";
    else if (c->controller.guard != TLA_GUARD_OFF)
        expected = "controller.guard: set controller.guard to off, because pages are copied whole";
    if (c->host.eviction == TLA_EVICTION_OFF || !expected) return false;
    *text = tla_phrase_of("mmu.eviction %s with %s", tla_eviction_name(c->host.eviction), expected);
    return true;
}

const tla_platform_rule tla_platform_rules[] = {
    {{"faults.plan", "hbm.timing"}, fault_is_nowhere},
    {{"mmu.fault_handler", "mmu.unmapped", "va.map_ack", "mmu.allow_remap", "controller.move"}, handler_is_refused},
    {{"controller.ports", "mmu.unmapped", "mmu.fault_handler", "mmu.walk", "controller.lockstep", "workload.kernel",
      "messages.memory", "system.sips", "system.cube_mesh_width", "system.cube_mesh_height", "system.pes_per_cube"},
     a_sender_has_no_port},
    {{"system.cube_mesh_width", "system.cube_mesh_height"}, too_many_cubes},
    {{"hbm.capacity_per_cube", "system.pes_per_cube"}, slice_is_not_whole},
    {{"hbm.timing", "hbm.pseudo_channels", "hbm.capacity_per_cube"}, slice_does_not_fit_its_profile},
    {{"host_memory.timing", "host_memory.channels", "host_memory.capacity"}, host_memory_does_not_fit_its_profile},
    {{"hbm.energy", "hbm.timing"}, energy_is_of_another_timing},
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
    {{"mmu.eviction", "mmu.unmapped", "mmu.fault_handler", "host_memory.capacity", "va.map_ack", "controller.move",
      "controller.guard"},
     pages_cannot_leave},
    {{"workload.asid", "mmu.asids"}, asid_is_none},
    {{"messages.slots", "messages.slot_size"}, slots_leave_their_window},
    {{"host.driver_synchronous", "host.driver"}, driver_waits_and_does_not},
    {{"mmu.tlb_l1.entries", "mmu.tlb_l1.ways", "mmu.tlb_l1.replacement"}, l1_is_no_tlb},
    {{"mmu.tlb_l2.entries", "mmu.tlb_l2.ways", "mmu.tlb_l2.replacement"}, l2_is_no_tlb},
};
const size_t tla_platform_rule_count = sizeof tla_platform_rules / sizeof tla_platform_rules[0];
