/* What a platform as a whole is told: its topology, how time is taken, what fails, what runs
 * (config/parameters.h says where the defaults are). */
#ifndef TLMALLOC_CONFIG_PLATFORM_H
#define TLMALLOC_CONFIG_PLATFORM_H

#include "tlmalloc/dram/channels.h"
#include "tlmalloc/dram/fault_injection.h"
#include "tlmalloc/topology/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_CONFIG_NAME_MAX = 64, TLA_CONFIG_FILE_MAX = 192, TLA_TOPOLOGY_PATH_MAX = 256 };

/* Who sends its commands to which port, in every control window of the platform. The port of whatever stands above is
 * that of the VA manager and of the command processors, each to the next. */
typedef enum tla_platform_port {
    TLA_PORT_OF_HOST,
    TLA_PORT_OF_PE,
    TLA_PORT_OF_ABOVE,
    TLA_PORT_OF_MMU,         /* for its tables, with mmu.walk memory */
    TLA_PORT_OF_FAULTS,      /* of the host too, for page faults, with mmu.unmapped demand */
    TLA_PORT_OF_MESSAGES,    /* for the slots of messages; in the controller of an SRAM see TLA_PORT_OF_SRAM_SLOTS */
    TLA_PORT_OF_LAUNCHES = 8 /* of the host too, the first of those for launches, which keep their port to the PE */
} tla_platform_port;

/* In the controller of a cube's SRAM, the first of those for the slots of messages, one for each PE of the cube. */
enum { TLA_PORT_OF_SRAM_SLOTS = 16 };

typedef struct tla_system_parameters {
    uint32_t sips, cube_mesh_width, cube_mesh_height, pes_per_cube; /* system.* */
    uint64_t hbm_per_cube;                                          /* hbm.capacity_per_cube: bytes */
    char topology_file[TLA_CONFIG_FILE_MAX];                        /* system.topology_file */
    char topology_path[TLA_TOPOLOGY_PATH_MAX];                      /* the same, from where the program runs */
} tla_system_parameters;

/* Of an HBM slice's pseudo-channels: what times them where tla_hbm_parameters does not. */
typedef struct tla_hbm_timing {
    char name[TLA_CONFIG_FILE_MAX]; /* hbm.timing */
    bool has_profile;               /* false: timelines ("channels") */
    tla_hbm_config profile;         /* what the name stands for */
} tla_hbm_timing;

typedef struct tla_simulation_parameters {
    uint64_t quantum_ps;    /* simulation.quantum */
    uint64_t look_ahead_ps; /* simulation.look_ahead */
    bool link_signals;      /* simulation.link_signals */
} tla_simulation_parameters;

typedef struct tla_fault_parameters {
    char text[TLA_CONFIG_FILE_MAX]; /* faults.plan */
    tla_fault_injection plan;       /* what it says, and faults.seed */
} tla_fault_parameters;

typedef struct tla_workload_parameters {
    char kernel[TLA_CONFIG_NAME_MAX]; /* workload.* */
    uint64_t elements_per_pe, seed;
    uint32_t asid;
    uint32_t uses; /* what the kernel does, bits of tl_kernel_use (kernel/declaration.h); 0: not known */
} tla_workload_parameters;

void tla_topology_defaults(tla_topology_shape *shape);
void tla_simulation_defaults(tla_simulation_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
