/* Every key of an energy profile of the parts that are no DRAM, and the profile that system.energy names. */
#define ROW_STRUCT tla_parts_energy
#include "config/profiles.h"
#include "energy_rows.h"

static const tla_schema_key keys[] = {
    CONSTANT(tcm_read, ENERGY, energy, TLA_PARTS_TCM_READ, FJ_MAX, "0 pJ", "of a byte read from a TCM"),
    CONSTANT(tcm_write, ENERGY, energy, TLA_PARTS_TCM_WRITE, FJ_MAX, "0 pJ", "of a byte written to a TCM"),
    CONSTANT(sram_read, ENERGY, energy, TLA_PARTS_SRAM_READ, FJ_MAX, "0 pJ", "of a byte read from the SRAM of a cube"),
    CONSTANT(sram_write, ENERGY, energy, TLA_PARTS_SRAM_WRITE, FJ_MAX, "0 pJ",
             "of a byte written to the SRAM of a cube"),
    CONSTANT(m_cpu_read, ENERGY, energy, TLA_PARTS_M_CPU_READ, FJ_MAX, "0 pJ",
             "of a byte read from the memory of an M_CPU"),
    CONSTANT(m_cpu_write, ENERGY, energy, TLA_PARTS_M_CPU_WRITE, FJ_MAX, "0 pJ",
             "of a byte written to the memory of an M_CPU"),
    CONSTANT(host_read, ENERGY, energy, TLA_PARTS_HOST_READ, FJ_MAX, "0 pJ", "of a byte read from the host's memory"),
    CONSTANT(host_write, ENERGY, energy, TLA_PARTS_HOST_WRITE, FJ_MAX, "0 pJ",
             "of a byte written to the host's memory"),
    CONSTANT(wire, ENERGY, energy, TLA_PARTS_WIRE, FJ_MAX, "0 pJ", "of a bit over a millimetre of wire inside a chip"),
    CONSTANT(router, ENERGY, energy, TLA_PARTS_ROUTER, FJ_MAX, "0 pJ",
             "of a bit that leaves a router, a network or a connection inside a chip"),
    CONSTANT(ucie, ENERGY, energy, TLA_PARTS_UCIE, FJ_MAX, "0 pJ", "of a bit over a link between UCIe ports"),
    CONSTANT(pcie, ENERGY, energy, TLA_PARTS_PCIE, FJ_MAX, "0 pJ",
             "of a bit over a link between end points, their switch and the host"),
    CONSTANT(host_memory_link, ENERGY, energy, TLA_PARTS_HOST_MEMORY_LINK, FJ_MAX, "0 pJ",
             "of a bit between the host and its memory"),
    CONSTANT(tlb_lookup, ENERGY, energy, TLA_PARTS_TLB_LOOKUP, FJ_MAX, "0 pJ", "of an access that asks a TLB"),
    CONSTANT(walk_step, ENERGY, energy, TLA_PARTS_WALK_STEP, FJ_MAX, "0 pJ",
             "of a level that a walker reads from tables that are not in memory"),
    CONSTANT(table_write, ENERGY, energy, TLA_PARTS_TABLE_WRITE, FJ_MAX, "0 pJ",
             "of a range that tables that are not in memory map, unmap or remap"),
    CONSTANT(engine_cycle, ENERGY, energy, TLA_PARTS_ENGINE_CYCLE, FJ_MAX, "0 pJ",
             "of a cycle of an allocator's engine"),
    CONSTANT(instruction, ENERGY, energy, TLA_PARTS_INSTRUCTION, FJ_MAX, "0 pJ",
             "of an instruction of an allocator's firmware"),
};

static void check_constants(tla_loader *l) {
    tla_loader_check_constants(l, 0, ((const tla_parts_energy *)l->config)->constants, TLA_PARTS_CONSTANT_COUNT);
}

static const tla_schema schema = {keys, sizeof keys / sizeof keys[0], sizeof(tla_parts_energy), "tcm_read.energy=10 pJ",
                                  check_constants};

tla_status tla_parts_energy_load(const char *path, tla_parts_energy *energy, tla_config_report report, void *context) {
    return tla_loader_load(&schema, path, NULL, 0, NULL, energy, report, context);
}

static tla_status parse_profile(const tla_built_in_profile *profile, void *energy) {
    return tla_loader_parse(&schema, (const char *)profile->text, profile->length, profile->name, NULL, 0, NULL, energy,
                            NULL, NULL);
}

static tla_status load_profile(const char *path, void *energy, tla_config_report report, void *context) {
    return tla_parts_energy_load(path, energy, report, context);
}

static const char *name_at(uint64_t index) {
    return index == 0 ? "none" : tla_parts_profiles[index - 1].name;
}

tla_status tla_parts_energy_named(const char *name, tla_parts_energy *energy) {
    const tla_built_in_profile *profile = tla_profile_find(tla_parts_profiles, name);
    return profile ? parse_profile(profile, energy) : TLA_INVALID_ARGUMENT;
}

void tla_loader_resolve_parts_energy(tla_loader *l) {
    static const tla_profile_key key = {
        "system.energy", "none", "energy profile of parts", tla_parts_profiles, name_at, parse_profile, load_profile};
    tla_system_energy *energy = &((tla_config *)l->config)->parts_energy;
    energy->has_profile = tla_profile_read(l, &key, energy->name, &energy->profile);
}
