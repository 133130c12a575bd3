/* Configurations: a YAML file becomes a checked struct.
 *
 * The table of model/config/platform_keys.c lists every key once. A row has the key's name, unit, range, default, the
 * source of the default, its meaning, and the member that it fills. The member belongs to the struct that a module
 * takes (config/parameters.h). Quantities carry units ("6 GiB", "32 GB/s", "0.5 ns"). A quantity without a unit is
 * rejected, and so is a unit on a plain number. */
#ifndef TLMALLOC_CONFIG_H
#define TLMALLOC_CONFIG_H

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/config/platform.h"
#include "tlmalloc/dram/energy.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The resolved configuration: sizes in bytes, times in ps, bandwidths in bytes/s, rates in operations/s. Members that
 * depend on several keys are already computed. */
typedef struct tla_config {
    tla_system_parameters system;
    tla_hbm_parameters hbm;
    tla_hbm_timing hbm_timing;
    tla_hbm_energy hbm_energy;
    tla_system_energy parts_energy;
    tla_tcm_parameters tcm, sram, m_cpu_memory;
    tla_hbm_parameters host_memory; /* capacity 0: the host has no memory */
    tla_hbm_timing host_memory_timing;
    tla_controller_parameters controller;
    char cost_profile[TLA_CONFIG_FILE_MAX]; /* controller.cost.profile; the prices themselves are in controller.cost */
    tla_mmu_parameters mmu;
    struct {
        bool size_64k, size_2m, size_1g; /* mmu.pages_64k, mmu.pages_2m, mmu.pages_1g */
    } pages;
    bool tcm_present; /* tcm.present of a module that stands alone (config/keys.h); true in a platform */
    tla_va_parameters va;
    tla_command_processor_parameters io_cpu, m_cpu;
    tla_topology_shape topology; /* system.*, cube.*, io_chiplet.*, links.* */
    tla_link_parameters links;
    tla_dma_parameters dma;
    tla_pe_parameters pe;
    tla_message_parameters messages;
    tla_host_parameters host;
    tla_simulation_parameters simulation;
    tla_fault_parameters faults;
    tla_workload_parameters workload;
} tla_config;

/* One finding in a configuration. Numbers count from 1; 0 = not in a file (line, column), or not about an override. */
typedef struct tla_config_finding {
    const char *file; /* the file's name in the call, or "--set" */
    size_t line, column;
    const char *text; /* the mistake, in one line */
    const char *key;  /* the key it is about, valid without end; NULL: an unknown key, or no single key */
    size_t override;  /* its number among the overrides (or settings, config/keys.h) of the call */
} tla_config_finding;

typedef void (*tla_config_report)(void *context, const tla_config_finding *finding);

/* Reads a YAML file, then applies overrides ("path.to.key=value"), then defaults, then the checks that concern several
 * keys. The call reports every finding (report may be NULL), and any finding makes it fail: TLA_SYNTAX, or TLA_IO when
 * the file cannot be read. It then leaves *config unchanged. path NULL = defaults alone. */
tla_status tla_config_load(const char *path, const char *const *overrides, size_t override_count, tla_config *config,
                           tla_config_report report, void *context);

/* The judge of the kernel in a configuration. This library does not know kernels. The judge also receives the keys
 * without effect. */
typedef struct tla_config_judge {
    const void *context; /* the caller's context of accepts */
    /* Returns whether the kernel can run, and sets workload->uses; may change workload->kernel. False: `why` has the
     * found and the expected value. */
    bool (*accepts)(const void *context, tla_workload_parameters *workload, tla_error *why);
    /* Receives every set key without effect, with its place: every such override, and every such key of the file whose
     * value is not the default. Called when the configuration has no finding; NULL: no report. */
    tla_config_report warn;
} tla_config_judge;

/* Returns whether a key may have an effect in this configuration. False: `why` names the key, the keys that prevent the
 * effect, and the values that they need. For the kernel the result is as precise as workload.uses. True for an unknown
 * key. */
bool tla_config_has_effect(const tla_config *config, const char *key, tla_error *why);

/* As tla_config_load; a kernel that the judge rejects is a further finding, at the place of workload.kernel. `warn`
 * receives the same context as `report`. */
tla_status tla_config_load_judged(const char *path, const char *const *overrides, size_t override_count,
                                  const tla_config_judge *judge, tla_config *config, tla_config_report report,
                                  void *context);

/* As tla_config_load, from memory; `name` replaces the file name in findings. */
tla_status tla_config_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_config *config, tla_config_report report, void *context);

/* Calls visit for every key in schema order. The value is passed as YAML text ("6 GiB"), and as a number in the unit of
 * tla_config. For true and false, policies and names, is_number is false. For printing and for reports. */
typedef void (*tla_config_visit)(void *context, const char *key, const char *text, bool is_number, uint64_t number);
void tla_config_each(const tla_config *config, tla_config_visit visit, void *context);

/* Returns whether two configurations agree in every key, and in the profiles that hbm.timing, host_memory.timing,
 * hbm.energy and system.energy name. */
bool tla_config_equal(const tla_config *one, const tla_config *other);

/* Prints the resolved configuration as YAML; tla_config_load reads it back to the same struct. TLA_IO when `out`
 * reports an error, as for all functions here that print. */
tla_status tla_config_print(const tla_config *config, FILE *out);

/* Prints the reference of all keys: Markdown, with a table for each section (key, unit and range, default, source,
 * meaning). */
tla_status tla_config_print_reference(FILE *out);

/* Reads a timing profile of an HBM pseudo-channel (configs/timing/hbm2.yaml), as tla_config_load reads a platform. Its
 * keys are those of model/config/timing_keys.c. An error of tla_hbm_check is also a finding. */
tla_status tla_timing_load(const char *path, const char *const *overrides, size_t override_count,
                           tla_hbm_config *timing, tla_config_report report, void *context);
tla_status tla_timing_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_hbm_config *timing, tla_config_report report, void *context);

/* Finds the built-in timing profile of configs/timing with this name ("hbm2"). TLA_INVALID_ARGUMENT for an unknown
 * name. */
tla_status tla_timing_named(const char *name, tla_hbm_config *timing);

/* Reads an energy profile (configs/energy/hbm4.yaml), as tla_config_load reads a platform; its keys are those of
 * model/config/energy_keys.c. A constant without a standing or a source is a finding. */
tla_status tla_dram_energy_load(const char *path, tla_dram_energy *energy, tla_config_report report, void *context);

/* Finds the built-in energy profile of configs/energy with this name ("hbm4"). TLA_INVALID_ARGUMENT for an unknown
 * name. The other returns the names, from index 0 on, and NULL after the last; do not ask behind that. */
tla_status tla_dram_energy_named(const char *name, tla_dram_energy *energy);
const char *tla_dram_energy_name_at(uint64_t index);

/* Whether an energy profile of this name or file holds for a timing profile, which is named or in a file
 * ("configs/timing/hbm4.yaml" is hbm4). False: `why` names both, and the built-in profiles that hold. */
bool tla_dram_energy_suits(const tla_dram_energy *profile, const char *name, const char *timing, tla_error *why);

/* Read an energy profile of the parts that are no DRAM (configs/energy/parts/published.yaml), from a file, or the
 * built-in one of this name. Errors as above. */
tla_status tla_parts_energy_load(const char *path, tla_parts_energy *energy, tla_config_report report, void *context);
tla_status tla_parts_energy_named(const char *name, tla_parts_energy *energy);

/* Prints the reference of all keys of a timing profile (Markdown table). */
tla_status tla_timing_print_reference(FILE *out);

/* Builds the topology of a configuration: from system.topology_file, or from the shape of its keys. The call reads the
 * file again and reports findings as tla_config_load does. TLA_SYNTAX, or TLA_IO when the file cannot be read;
 * *topology is NULL then. A loaded configuration has no findings unless the file has changed. */
tla_status tla_config_topology(const tla_config *config, tla_topology **topology, tla_config_report report,
                               void *context);

/* Reads a topology file. From the shape it uses only the SIPs, cubes and PEs, the wires, and whether the host has a
 * memory. Findings and errors as tla_config_topology. */
tla_status tla_topology_load(const char *path, const tla_topology_shape *shape, tla_topology **topology,
                             tla_config_report report, void *context);

/* Prints a topology as such a file. With the same shape the file reads back to the same topology. */
tla_status tla_topology_print(const tla_topology *topology, FILE *out);

/* Parses one quantity as in a configuration, for command lines: "6 GiB" in bytes. TLA_SYNTAX with a text. */
tla_status tla_parse_size(const char *text, uint64_t *nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
