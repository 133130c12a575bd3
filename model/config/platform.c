/* The configuration of a platform: the members that follow from several keys, the rules between keys, and the structs
 * of modules with their defaults. */
#include "platform.h"

#include "profiles.h"
#include "topology/floorplan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- members that follow from several keys ---- */

/* The page sizes above `smallest` that the configuration has, ascending. */
static void list_larger_pages(const tla_config *c, uint64_t smallest, uint64_t sizes[TLA_PAGE_SIZES_MAX - 1]) {
    const struct {
        bool wanted;
        uint64_t nbytes;
    } all[] = {{c->pages.size_64k, UINT64_C(1) << 16},
               {c->pages.size_2m, UINT64_C(1) << 21},
               {c->pages.size_1g, UINT64_C(1) << 30}};
    size_t count = 0;
    memset(sizes, 0, (TLA_PAGE_SIZES_MAX - 1) * sizeof *sizes);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].wanted && all[i].nbytes > smallest) sizes[count++] = all[i].nbytes;
}
static_assert(TLA_PAGE_SIZES_MAX - 1 == TLA_VA_LARGER_PAGES, "ranges are aligned to every page size");

static void derive(tla_config *c) {
    c->topology.sips = c->system.sips;
    c->topology.cube_mesh_width = c->system.cube_mesh_width;
    c->topology.cube_mesh_height = c->system.cube_mesh_height;
    c->topology.pes_per_cube = c->system.pes_per_cube;
    c->topology.host_memory = c->host_memory.capacity > 0;
    c->hbm.capacity = c->system.hbm_per_cube / c->system.pes_per_cube;
    c->controller.memory.of[TLA_HBM].bytes = c->hbm.capacity;
    c->controller.memory.of[TLA_TCM].bytes = c->tcm.capacity;
    list_larger_pages(c, c->mmu.page_size, c->mmu.larger_page_sizes);
    list_larger_pages(c, c->va.space.page_size, c->va.space.larger_page_sizes);
    c->mmu.retry = c->pe.retry = c->messages.retry = c->host.retry;
    c->dma.asid = c->pe.asid = c->messages.asid = c->host.asid = c->workload.asid;
    tla_floorplan plan;
    tla_floorplan_sips(&c->topology, &plan, NULL); /* whether it can be is a rule's matter */
    c->pe.collectives.sip_columns =
        (uint16_t)(c->topology.sip_topology == TLA_SIPS_RING ? c->system.sips : plan.sip_grid_width);
    c->pe.collectives.sips_joined = c->topology.sip_topology != TLA_SIPS_MESH;
    c->pe.quantum_ps = c->simulation.quantum_ps;
    c->dma.tell_extent = c->controller.guard != TLA_GUARD_OFF;
    c->host.page_size = c->va.space.page_size;
    c->host.tcm_reserved = c->controller.memory.of[TLA_TCM].reserved;
    c->host.hbm_reserved = c->controller.free_list == TLA_LIST_HBM ? c->controller.list_reserve : 0;
    c->host.lockstep = c->controller.lockstep;
    c->host.hbm_slice = c->hbm.capacity;
    c->host.memory = c->host_memory.capacity;
    c->host.moves = c->controller.move.mode != TLA_MOVE_OFF;
    c->host.delegates = c->mmu.unmapped == TLA_UNMAPPED_DEMAND && c->mmu.fault_handler == TLA_FAULT_HANDLER_CONTROLLER;
    c->host.fronts = c->host.parts = c->host.segment_fronts = 0;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        const tla_stack_config stack = tla_pe_memory_stack_config(&c->controller.memory, (tla_memory_kind)kind);
        const tla_front front = tla_stack_front(stack.policy);
        if (front != TLA_FRONT_NONE) c->host.fronts |= UINT32_C(1) << kind;
        if (c->controller.partition.memory == (tla_divided_memory)(kind + 1)) c->host.parts |= UINT32_C(1) << kind;
        if (front == TLA_FRONT_SEGMENT_CACHE || front == TLA_FRONT_SEGMENTED)
            c->host.segment_fronts |= UINT32_C(1) << kind;
    }
    tla_fault_injection_parse(c->faults.text, &c->faults.plan, NULL); /* its syntax has been checked */
}

/* ADR-0048 D4's dual default: the context hands the MMU's page size to the VA allocator when the topology writes one,
 * else it falls back to 4 KiB, va.page_size's own default, whatever the MMU's class default is. */
static void resolve_va_page_size(tla_loader *l) {
    size_t mmu = tla_schema_find(l->schema, "mmu.page_size"), va = tla_schema_find(l->schema, "va.page_size");
    tla_config *config = l->config;
    if (!l->origins[va].at.file && l->origins[mmu].at.file) {
        config->va.space.page_size = config->mmu.page_size;
        l->origins[va].bad = l->origins[mmu].bad;
    }
}

bool tla_platform_key_follows(const char *key, const char *leader) {
    static const char prices[] = "controller.cost.";
    if (strcmp(leader, "mmu.page_size") == 0) return strcmp(key, "va.page_size") == 0;
    if (strcmp(leader, "controller.cost.profile") != 0 && strcmp(leader, "controller.cost.clock") != 0) return false;
    return strncmp(key, prices, sizeof prices - 1) == 0 && strcmp(key, leader) != 0 &&
           strcmp(key, "controller.cost.profile") != 0;
}

/* The two keys of a module that stands alone. A slice that has a size of its own is one of a cube with such slices:
 * what is wrong with hbm.capacity_per_cube then is found where the slice's size is written. */
static void resolve_slice(tla_loader *l) {
    tla_config *config = l->config;
    if (l->schema->count == tla_platform_key_count) {
        config->tcm_present = true;
        return;
    }
    const tla_origin *slice = &l->origins[tla_schema_find(l->schema, "hbm.capacity")];
    tla_origin *cube = &l->origins[tla_schema_find(l->schema, "hbm.capacity_per_cube")];
    if (!slice->at.file) return;
    if (cube->at.file)
        tla_loader_find_at(l, slice, "found hbm.capacity and hbm.capacity_per_cube, expected one of them");
    else if (!slice->bad && config->hbm.capacity > TLA_HBM_WINDOW_BYTES / config->system.pes_per_cube)
        tla_loader_find_at(l, slice,
                           tla_phrase_of("hbm.capacity %s times system.pes_per_cube, %" PRIu32 ", must be at most %s: "
                                         "set system.pes_per_cube to 1",
                                         tla_size_text(config->hbm.capacity).text, config->system.pes_per_cube,
                                         tla_size_text(TLA_HBM_WINDOW_BYTES).text)
                               .text);
    else if (!slice->bad)
        config->system.hbm_per_cube = config->hbm.capacity * config->system.pes_per_cube;
    *cube = *slice;
}

/* Checks that a topology file suits the configuration: reads it, and drops the result. */
static void check_topology_file(tla_loader *l) {
    tla_config *config = l->config;
    const size_t key = tla_schema_find(l->schema, "system.topology_file");
    const tla_origin *origin = &l->origins[key];
    const char *const numbers[] = {
        "system.sips", "system.cube_mesh_width", "system.cube_mesh_height", "system.pes_per_cube",
        "links.wire",  "host_memory.capacity"};
    bool bad = origin->bad || strcmp(config->system.topology_file, "none") == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        bad |= l->origins[tla_schema_find(l->schema, numbers[i])].bad;
    if (bad || config->system.cube_mesh_width * config->system.cube_mesh_height > TLA_CUBE_DIE_COUNT) return;
    const tla_phrase path = tla_loader_path_beside(config->system.topology_file, origin);
    memcpy(config->system.topology_path, path.text, sizeof config->system.topology_path);
    tla_topology *topology;
    const tla_status status = tla_topology_load(path.text, &config->topology, &topology, l->report, l->context);
    tla_topology_destroy(topology);
    l->no_memory |= status == TLA_NO_HOST_MEMORY;
    if (status && status != TLA_NO_HOST_MEMORY)
        tla_loader_find_at(l, origin,
                           tla_phrase_of("system.topology_file: found %s, expected a file with a valid topology",
                                         tla_quote(config->system.topology_file).text)
                               .text);
}
static_assert(sizeof(tla_phrase) == TLA_TOPOLOGY_PATH_MAX, "a path is copied from one to the other");

/* ---- the rules ---- */

static void check_rule(tla_loader *l, const tla_platform_rule *rule) {
    const tla_origin *written = NULL;
    bool bad = false;
    for (const char *const *key = rule->keys; *key; key++) {
        const tla_origin *o = &l->origins[tla_schema_find(l->schema, *key)];
        bad |= o->bad;
        if (o->at.file && !written) written = o;
    }
    tla_phrase text;
    if (!bad && rule->broken(l->config, &text)) tla_loader_find_at(l, written, text.text);
}

/* ---- the kernel, and keys without effect ---- */

/* Returns whether the value of a key in the file is the default: the key is then there for readers only. */
static bool is_default(const tla_schema_key *key, const tla_config *config) {
    tla_value wanted = {0};
    const tla_value value = tla_schema_get(key, config);
    return tla_value_parse(&key->form, key->default_text, &wanted, NULL) == TLA_OK && value.number == wanted.number &&
           strcmp(value.text, wanted.text) == 0;
}

static void warn_of_idle_keys(tla_loader *l) {
    for (size_t i = 0; i < l->schema->count; i++) {
        const tla_origin *o = &l->origins[i];
        const tla_schema_key *key = &l->schema->keys[i];
        tla_error why;
        if (!o->at.file || (!o->number && is_default(key, l->config))) continue;
        if (tla_config_has_effect(l->config, key->key, &why)) continue;
        tla_loader_warn_at(l, o, why.text);
    }
}

/* A TCM that is not there has been checked like any other: its keys keep their rules. */
static void drop_tcm(tla_config *config) {
    tla_memory_part *tcm = &config->controller.memory.of[TLA_TCM];
    tcm->bytes = tcm->reserved = 0;
}

static void check_platform(tla_loader *l) {
    const tla_origin *const kernel = &l->origins[tla_schema_find(l->schema, "workload.kernel")];
    tla_error why;
    const bool judged = l->judge && !l->incomplete && !kernel->bad;
    const bool refused = judged && !l->judge->accepts(l->judge->context, &((tla_config *)l->config)->workload, &why);
    resolve_va_page_size(l);
    resolve_slice(l);
    if (!l->incomplete) {
        tla_loader_resolve_timing(l, "hbm.timing", &((tla_config *)l->config)->hbm_timing);
        tla_loader_resolve_timing(l, "host_memory.timing", &((tla_config *)l->config)->host_memory_timing);
        tla_loader_resolve_energy(l);
        tla_loader_resolve_parts_energy(l);
        tla_loader_resolve_prices(l);
    }
    derive(l->config);
    if (!l->incomplete) check_topology_file(l);
    for (size_t i = 0; i < tla_controller_rule_count && !l->incomplete; i++)
        check_rule(l, &tla_controller_rules[i]);
    for (size_t i = 0; i < tla_platform_rule_count && !l->incomplete; i++)
        check_rule(l, &tla_platform_rules[i]);
    if (!((tla_config *)l->config)->tcm_present) drop_tcm(l->config);
    if (refused) tla_loader_find_at(l, kernel, tla_phrase_of("workload.kernel: %s", why.text).text);
    if (l->judge && l->judge->warn && l->findings == 0 && !l->no_memory) warn_of_idle_keys(l);
}

/* ---- the interface ---- */

tla_schema tla_platform_schema(void) {
    return (tla_schema){tla_platform_keys, tla_platform_key_count, sizeof(tla_config), "hbm.burst=256 B",
                        check_platform};
}

tla_schema tla_module_schema(void) {
    tla_schema schema = tla_platform_schema();
    schema.count = tla_module_key_count;
    return schema;
}

tla_status tla_config_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_config *config, tla_config_report report, void *context) {
    const tla_schema schema = tla_platform_schema();
    return tla_loader_parse(&schema, text, length, name, overrides, override_count, NULL, config, report, context);
}

tla_status tla_config_load_judged(const char *path, const char *const *overrides, size_t override_count,
                                  const tla_config_judge *judge, tla_config *config, tla_config_report report,
                                  void *context) {
    const tla_schema schema = tla_platform_schema();
    if (!path)
        return tla_loader_parse(&schema, "", 0, "defaults", overrides, override_count, judge, config, report, context);
    return tla_loader_load(&schema, path, overrides, override_count, judge, config, report, context);
}

tla_status tla_config_load(const char *path, const char *const *overrides, size_t override_count, tla_config *config,
                           tla_config_report report, void *context) {
    return tla_config_load_judged(path, overrides, override_count, NULL, config, report, context);
}

static bool are_equal(const tla_hbm_timing *a, const tla_hbm_timing *b) {
    return a->has_profile == b->has_profile && memcmp(&a->profile, &b->profile, sizeof a->profile) == 0;
}

bool tla_config_equal(const tla_config *one, const tla_config *other) {
    for (size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_value a = tla_schema_get(&tla_platform_keys[i], one);
        const tla_value b = tla_schema_get(&tla_platform_keys[i], other);
        if (a.number != b.number || strcmp(a.text, b.text) != 0) return false;
    }
    const tla_hbm_energy *a = &one->hbm_energy, *b = &other->hbm_energy;
    const tla_system_energy *c = &one->parts_energy, *d = &other->parts_energy;
    return strcmp(one->system.topology_path, other->system.topology_path) == 0 &&
           one->tcm_present == other->tcm_present && are_equal(&one->hbm_timing, &other->hbm_timing) &&
           are_equal(&one->host_memory_timing, &other->host_memory_timing) && a->has_profile == b->has_profile &&
           memcmp(&a->profile, &b->profile, sizeof a->profile) == 0 && c->has_profile == d->has_profile &&
           memcmp(&c->profile, &d->profile, sizeof c->profile) == 0;
}
static_assert(sizeof(tla_hbm_config) == 51 * 4 + sizeof(tla_hbm_map), "no gaps: it can be compared as bytes");
static_assert(sizeof(tla_energy_constant) == 8 + 4 + TLA_ENERGY_SOURCE_MAX, "nor here");
static_assert(sizeof(tla_dram_energy) ==
                  TLA_DRAM_CONSTANT_COUNT * sizeof(tla_energy_constant) + 4 + TLA_ENERGY_TIMING_MAX,
              "nor here");

/* ---- the structs of modules ---- */

static tla_config defaults(void) {
    tla_config config;
    memset(&config, 0, sizeof config);
    const tla_schema schema = tla_platform_schema();
    tla_schema_set_defaults(&schema, &config);
    config.tcm_present = true;
    derive(&config);
    return config;
}

/* tla_NAME_defaults, of the part of a configuration that has this name. */
#define DEFAULTS(name, parameters)                                                                                     \
    void tla_##name##_defaults(parameters *filled) {                                                                   \
        const tla_config config = defaults();                                                                          \
        *filled = config.name;                                                                                         \
    }

DEFAULTS(hbm, tla_hbm_parameters)
DEFAULTS(tcm, tla_tcm_parameters)
DEFAULTS(sram, tla_tcm_parameters)
DEFAULTS(m_cpu_memory, tla_tcm_parameters)
DEFAULTS(host_memory, tla_hbm_parameters)
DEFAULTS(controller, tla_controller_parameters)
DEFAULTS(mmu, tla_mmu_parameters)
DEFAULTS(va, tla_va_parameters)
DEFAULTS(io_cpu, tla_command_processor_parameters)
DEFAULTS(m_cpu, tla_command_processor_parameters)
DEFAULTS(topology, tla_topology_shape)
DEFAULTS(dma, tla_dma_parameters)
DEFAULTS(pe, tla_pe_parameters)
DEFAULTS(messages, tla_message_parameters)
DEFAULTS(host, tla_host_parameters)
DEFAULTS(simulation, tla_simulation_parameters)
