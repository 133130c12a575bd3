/* Configurations: YAML in, a checked struct out.
 *
 * Every key stands once, in the table of model/config/platform_keys.c: its name, unit, range, default, the source of
 * the default, what it means, and the member that it fills, which is one of the struct that a module takes
 * (config/parameters.h). Quantities carry units ("6 GiB", "32 GB/s", "0.5 ns"); a bare number is refused where a unit
 * belongs, and a unit where none does. */
#ifndef TLMALLOC_CONFIG_H
#define TLMALLOC_CONFIG_H

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/config/platform.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The resolved configuration: sizes in bytes, times in ps, bandwidths in bytes/s, rates in operations/s. What follows
 * from several keys has been computed. */
typedef struct tla_config {
    tla_system_parameters system;
    tla_hbm_parameters hbm;
    tla_hbm_timing hbm_timing;
    tla_tcm_parameters tcm, sram, m_cpu_memory;
    tla_hbm_parameters host_memory; /* capacity 0: there is none */
    tla_controller_parameters controller;
    char cost_profile[TLA_CONFIG_FILE_MAX]; /* controller.cost.profile; the prices themselves are in controller.cost */
    tla_mmu_parameters mmu;
    struct {
        bool size_64k, size_2m, size_1g; /* mmu.pages_64k, mmu.pages_2m, mmu.pages_1g */
    } pages;
    tla_va_parameters va;
    tla_command_processor_parameters io_cpu, m_cpu;
    tla_topology_shape topology; /* system.*, cube.*, io_chiplet.*, links.* */
    tla_dma_parameters dma;
    tla_pe_parameters pe;
    tla_message_parameters messages;
    tla_host_parameters host;
    tla_simulation_parameters simulation;
    tla_fault_parameters faults;
    tla_workload_parameters workload;
} tla_config;

/* One finding in a configuration. line and column count from 1; 0 = no place in a file (an override). */
typedef struct tla_config_finding {
    const char *file; /* as it was named to the call, or "--set" */
    size_t line, column;
    const char *text; /* what is wrong, in one line */
} tla_config_finding;

typedef void (*tla_config_report)(void *context, const tla_config_finding *finding);

/* Reads a YAML file, then applies overrides ("path.to.key=value"), then defaults, then the checks that concern several
 * keys. Every finding is reported (report may be NULL); any finding makes the call fail: TLA_SYNTAX, or TLA_IO when
 * the file cannot be read, and *config is not touched. path NULL = defaults alone. */
tla_status tla_config_load(const char *path, const char *const *overrides, size_t override_count, tla_config *config,
                           tla_config_report report, void *context);

/* The kernel of a configuration, of which this library knows nothing, and who is told of keys without effect. */
typedef struct tla_config_judge {
    const void *context; /* the caller's, of accepts */
    /* Whether the kernel can be run, and what it does: may change workload->kernel and sets workload->uses. False:
     * `why` says what was found and expected. */
    bool (*accepts)(const void *context, tla_workload_parameters *workload, tla_error *why);
    /* Gets every key that is set and has no effect, where it is set: those of overrides, and those of the file whose
     * value is not the default. Called when all else is right; NULL: nobody is told. */
    tla_config_report warn;
} tla_config_judge;

/* Whether a key may have an effect in this configuration; false: `why` names it, the keys that keep it from having one,
 * and what they would have to be. Of the kernel that is so as far as workload.uses knows it. True for what is no key.
 */
bool tla_config_has_effect(const tla_config *config, const char *key, tla_error *why);

/* As tla_config_load; a kernel that the judge refuses is one more finding, at the place of workload.kernel. `warn` gets
 * the same context as `report`. */
tla_status tla_config_load_judged(const char *path, const char *const *overrides, size_t override_count,
                                  const tla_config_judge *judge, tla_config *config, tla_config_report report,
                                  void *context);

/* As tla_config_load from memory; `name` stands for the file in findings. */
tla_status tla_config_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_config *config, tla_config_report report, void *context);

/* Calls visit for every key in schema order with its value as YAML writes it ("6 GiB") and as a number in the unit of
 * tla_config (is_number false for true and false, policies and names). For printing and for reports. */
typedef void (*tla_config_visit)(void *context, const char *key, const char *text, bool is_number, uint64_t number);
void tla_config_each(const tla_config *config, tla_config_visit visit, void *context);

/* Whether two configurations are the same in every key, and in the profile that hbm.timing names. */
bool tla_config_equal(const tla_config *one, const tla_config *other);

/* Prints the resolved configuration as YAML that tla_config_load reads back to the same struct. */
tla_status tla_config_print(const tla_config *config, FILE *out);

/* Prints the reference of all keys (Markdown, a table for each section: key, unit and range, default, source, meaning).
 */
tla_status tla_config_print_reference(FILE *out);

/* Reads a timing profile of an HBM pseudo-channel (configs/timing/hbm2.yaml), as tla_config_load reads a platform: keys
 * are those of model/config/timing_keys.c. What tla_hbm_check says is a finding too. */
tla_status tla_timing_load(const char *path, const char *const *overrides, size_t override_count,
                           tla_hbm_config *timing, tla_config_report report, void *context);
tla_status tla_timing_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_hbm_config *timing, tla_config_report report, void *context);

/* The timing profile of configs/timing that has this name ("hbm2"); they are built in.
 * TLA_INVALID_ARGUMENT when there is none. */
tla_status tla_timing_named(const char *name, tla_hbm_config *timing);

/* Prints the reference of all keys of a timing profile (Markdown table). */
tla_status tla_timing_print_reference(FILE *out);

/* The topology of a configuration: of system.topology_file, or the shape of its keys. The file is read again: findings
 * are told as by tla_config_load, TLA_SYNTAX, or TLA_IO when it cannot be read, and *topology is NULL then. Of a
 * configuration that was loaded nothing is found unless the file has changed. */
tla_status tla_config_topology(const tla_config *config, tla_topology **topology, tla_config_report report,
                               void *context);

/* Reads a topology file for the SIPs, cubes and PEs of a shape, its wires, and whether the host has a memory; the other
 * members are not used. */
tla_status tla_topology_load(const char *path, const tla_topology_shape *shape, tla_topology **topology,
                             tla_config_report report, void *context);

/* Prints a topology as such a file, which reads back to the same with the same shape. */
tla_status tla_topology_print(const tla_topology *topology, FILE *out);

/* Reads one quantity as in a configuration, for command lines: "6 GiB" in bytes. TLA_SYNTAX with a text. */
tla_status tla_parse_size(const char *text, uint64_t *nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
