/* Configurations: YAML in, a checked struct out.
 *
 * Every key stands once, in the schema table of model/config/schema.c: its name, unit, range, default, the source of
 * the default and what it means. Quantities carry units ("6 GiB", "32 GB/s", "0.5 ns"); a bare number is refused where
 * a unit belongs, and a unit where none does. */
#ifndef TLMALLOC_CONFIG_H
#define TLMALLOC_CONFIG_H

#include "tlmalloc/allocators/arena.h"
#include "tlmalloc/base/cost.h"
#include "tlmalloc/device/fault_plan.h"
#include "tlmalloc/device/guard.h"
#include "tlmalloc/device/list_in_memory.h"
#include "tlmalloc/timing/hbm_pseudo_channel.h"
#include "tlmalloc/translation/mmu.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_CONFIG_NAME_MAX = 64, TLA_CONFIG_FILE_MAX = 192 };

/* What an access to an unmapped virtual address does: is answered with an error, takes the address for physical, or
 * asks the host for memory and is then made again. */
typedef enum tla_unmapped {
    TLA_UNMAPPED_ERROR,
    TLA_UNMAPPED_PA_FALLBACK,
    TLA_UNMAPPED_DEMAND,
    TLA_UNMAPPED_COUNT
} tla_unmapped;

/* When a mapping command is acknowledged: when it has been sent, or when every MMU has done it. */
typedef enum tla_map_ack { TLA_MAP_ACK_VISIBLE, TLA_MAP_ACK_POSTED } tla_map_ack;

/* How platforms take time: every call annotates at once and waits for nothing, or a request is served when it arrives,
 * after everything that arrived before it. */
typedef enum tla_time_style { TLA_TIME_FAST, TLA_TIME_EXACT, TLA_TIME_STYLE_COUNT } tla_time_style;

/* Who sends its commands to which port, in every control window of the platform. The port of whatever stands above is
 * that of the VA manager and of the command processors, each to the next. */
typedef enum tla_platform_port {
    TLA_PORT_OF_HOST,
    TLA_PORT_OF_PE,
    TLA_PORT_OF_ABOVE,
    TLA_PORT_OF_MMU,    /* for its tables, with mmu.walk memory */
    TLA_PORT_OF_FAULTS, /* of the host too, for page faults, with mmu.unmapped demand */
} tla_platform_port;

/* Keys of a TLB level. */
typedef struct tla_tlb_keys {
    uint64_t entries; /* 0: there is no such level */
    uint64_t ways, latency;
    uint64_t replacement; /* tla_replacement */
} tla_tlb_keys;

/* The resolved configuration: sizes in bytes, times in ps, bandwidths in bytes/s, rates in operations/s.
 * A member stands where its key says, config.hbm.burst for hbm.burst; of a price the key has no _ps. */
typedef struct tla_config {
    struct {
        uint64_t sips, cube_mesh_width, cube_mesh_height, pes_per_cube;
    } system;
    struct {
        uint64_t capacity_per_cube;
        uint64_t pseudo_channels, pseudo_channel_bandwidth, burst, direction_switch;
        uint64_t controller_latency;
        char timing[TLA_CONFIG_FILE_MAX];
        bool has_profile;       /* false: timelines of the members above ("channels") */
        tla_hbm_config profile; /* what `timing` names */
    } hbm;
    struct {
        uint64_t capacity, scheduler_reserve, read_bandwidth, write_bandwidth, latency;
    } tcm;
    struct {
        uint64_t ports, queue_depth;
        uint64_t hbm_policy, tcm_policy; /* tla_policy */
        uint64_t free_list;              /* tla_free_list_place */
        uint64_t node_latency, list_reserve, node_cache;
        uint64_t guard;                 /* tla_guard_mode */
        uint64_t guard_history, poison; /* poison: 0, 1 */
        uint64_t alignment;
        uint64_t validate; /* 0, 1 */
        tla_cost_profile cost;
    } controller;
    struct {
        uint64_t page_size, overhead;
        uint64_t unmapped; /* tla_unmapped */
        uint64_t fault_latency;
        uint64_t allow_remap;                   /* 0, 1 */
        uint64_t pages_64k, pages_2m, pages_1g; /* 0, 1 */
        uint64_t va_bits, asids;
        uint64_t ports, queue_depth;
        uint64_t walk; /* tla_walk_mode */
        uint64_t tlb_seed;
        tla_tlb_keys tlb_l1, tlb_l2;
        struct {
            uint64_t count, merge_slots, cache_entries;
            uint64_t path_registers, hit_under_miss; /* 0, 1 */
            uint64_t level_latency;
        } walkers;
        tla_cost_profile cost;
    } mmu;
    struct {
        uint64_t base, size, page_size;
        uint64_t map_ack; /* tla_map_ack */
        tla_cost_profile cost;
    } va;
    struct {
        uint64_t io_cpu_overhead, m_cpu_overhead;
    } command_processor;
    struct {
        uint64_t pe_latency, pe_bandwidth;     /* PE <-> cube router */
        uint64_t hbm_latency, hbm_bandwidth;   /* cube router <-> HBM slice, and the PE's control windows */
        uint64_t cube_latency, cube_bandwidth; /* cube <-> neighbouring cube, and IO chiplet <-> cube */
        uint64_t host_latency, host_bandwidth; /* host <-> IO chiplet of a SIP */
    } fabric;
    struct {
        uint64_t chunk, bandwidth, outstanding;
    } dma;
    struct {
        uint64_t launch, dispatch;       /* ps */
        uint64_t gemm_rate, vector_rate; /* operations/s */
    } pe;
    struct {
        uint64_t dma_chunk;
        uint64_t retries, retry_delay; /* of the host, and of what sends commands in its name: PEs and MMUs */
    } host;
    struct {
        uint64_t style;   /* tla_time_style */
        uint64_t quantum; /* ps */
    } simulation;
    struct {
        char plan[TLA_CONFIG_FILE_MAX]; /* as tla_fault_plan_parse reads it */
        uint64_t seed, ecc_latency;
    } faults;
    struct {
        char kernel[TLA_CONFIG_NAME_MAX];
        uint64_t elements_per_pe, seed, asid;
    } workload;
} tla_config;

/* One finding in a configuration. line and column count from 1; 0 = no place in a file (an override). */
typedef struct tla_config_finding {
    const char *file; /* as it was named to the call, or "--set" */
    size_t line, column;
    const char *text; /* "found X, expected Y", one line */
} tla_config_finding;

typedef void (*tla_config_report)(void *context, const tla_config_finding *finding);

/* Reads a YAML file, then applies overrides ("path.to.key=value"), then defaults, then the checks that concern several
 * keys. Every finding is reported (report may be NULL); any finding makes the call fail: TLA_SYNTAX, or TLA_IO when
 * the file cannot be read, and *config is not touched. path NULL = defaults alone. */
tla_status tla_config_load(const char *path, const char *const *overrides, size_t override_count, tla_config *config,
                           tla_config_report report, void *context);

/* A judgement of the caller's on the value of one key, such as the name of a kernel, which this library does not know.
 */
typedef struct tla_config_judge {
    const char *key; /* "workload.kernel" */
    /* Whether the value of the key can be used; else why says what was found and expected. Other keys may be wrong. */
    bool (*accepts)(const tla_config *config, tla_error *why);
} tla_config_judge;

/* As tla_config_load; what the judge refuses is one more finding, at the place of the key. */
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

/* Prints the resolved configuration as YAML that tla_config_load reads back to the same struct. */
tla_status tla_config_print(const tla_config *config, FILE *out);

/* Prints the reference of all keys (Markdown table: key, unit and range, default, source, meaning). */
tla_status tla_config_print_reference(FILE *out);

/* Reads a timing profile of an HBM pseudo-channel (configs/timing/hbm2.yaml), as tla_config_load reads a platform: keys
 * are those of model/config/timing_schema.c. What tla_hbm_check says is a finding too. */
tla_status tla_timing_load(const char *path, const char *const *overrides, size_t override_count,
                           tla_hbm_config *timing, tla_config_report report, void *context);
tla_status tla_timing_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_hbm_config *timing, tla_config_report report, void *context);

/* The timing profile of configs/timing that has this name ("hbm2"); they are built in.
 * TLA_INVALID_ARGUMENT when there is none. */
tla_status tla_timing_named(const char *name, tla_hbm_config *timing);

/* Prints the reference of all keys of a timing profile (Markdown table). */
tla_status tla_timing_print_reference(FILE *out);

/* Reads one quantity as in a configuration, for command lines: "6 GiB" in bytes. TLA_SYNTAX with a text. */
tla_status tla_parse_size(const char *text, uint64_t *nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
