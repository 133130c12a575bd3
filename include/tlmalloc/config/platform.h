/* The parameters of a platform as a whole: its topology, its timing of simulation, its faults, its workload. For the
 * defaults see config/parameters.h. */
#ifndef TLMALLOC_CONFIG_PLATFORM_H
#define TLMALLOC_CONFIG_PLATFORM_H

#include "tlmalloc/dram/channels.h"
#include "tlmalloc/dram/energy.h"
#include "tlmalloc/dram/fault_injection.h"
#include "tlmalloc/dram/parts_energy.h"
#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/topology/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_CONFIG_NAME_MAX = 64, TLA_CONFIG_FILE_MAX = 192, TLA_TOPOLOGY_PATH_MAX = 256 };

/* The port of each sender, in every control window of the platform. The VA manager and the command processors use the
 * port TLA_PORT_OF_ABOVE, each for its commands to the next component. */
typedef enum tla_platform_port {
    TLA_PORT_OF_HOST,
    TLA_PORT_OF_PE,
    TLA_PORT_OF_ABOVE,
    TLA_PORT_OF_MMU,         /* for the MMU's tables, with mmu.walk memory */
    TLA_PORT_OF_FAULTS,      /* also of the host, for page faults, with mmu.unmapped demand */
    TLA_PORT_OF_MESSAGES,    /* for the slots of messages; in the controller of an SRAM see TLA_PORT_OF_SRAM_SLOTS */
    TLA_PORT_OF_PAGES,       /* of a memory controller itself, with mmu.fault_handler controller */
    TLA_PORT_OF_LAUNCHES = 8 /* the host's first port for launches, which use the same port down to the PE */
} tla_platform_port;

/* In the controller of a cube's SRAM, the first port for the slots of messages, with one port for each PE of the
 * cube. */
enum { TLA_PORT_OF_SRAM_SLOTS = 16 };

/* In the VA manager, the first port for the memory controllers, with controller.move or mmu.fault_handler: those of the
 * PEs, then those of each cube's SRAM and M_CPU memory, then that of the host's memory. */
enum { TLA_PORT_OF_MOVES = 16 };

typedef struct tla_system_parameters {
    uint32_t sips, cube_mesh_width, cube_mesh_height, pes_per_cube; /* system.* */
    uint64_t hbm_per_cube;                                          /* hbm.capacity_per_cube: bytes */
    char topology_file[TLA_CONFIG_FILE_MAX];                        /* system.topology_file */
    char topology_path[TLA_TOPOLOGY_PATH_MAX]; /* the same file, relative to the program's working directory */
} tla_system_parameters;

/* The timing of the channels of an HBM slice or of the host's memory, where tla_hbm_parameters does not define it. */
typedef struct tla_hbm_timing {
    char name[TLA_CONFIG_FILE_MAX]; /* hbm.timing, host_memory.timing */
    bool has_profile;               /* false: timelines ("channels") */
    tla_hbm_config profile;         /* the profile of that name */
} tla_hbm_timing;

/* The energy of an HBM slice's commands. */
typedef struct tla_hbm_energy {
    char name[TLA_CONFIG_FILE_MAX]; /* hbm.energy */
    bool has_profile;               /* false: no energy is computed ("none") */
    tla_dram_energy profile;        /* the profile of that name, which holds for the timing profile */
} tla_hbm_energy;

/* The energy of all parts but the slices. */
typedef struct tla_system_energy {
    char name[TLA_CONFIG_FILE_MAX]; /* system.energy */
    bool has_profile;               /* false: no energy is computed ("none") */
    tla_parts_energy profile;       /* the profile of that name */
} tla_system_energy;

typedef struct tla_link_parameters {
    tla_transport transport; /* links.transport; the other keys of links are in tla_topology_shape */
} tla_link_parameters;

typedef struct tla_simulation_parameters {
    uint64_t quantum_ps;    /* simulation.quantum */
    uint64_t look_ahead_ps; /* simulation.look_ahead */
    bool link_signals;      /* simulation.link_signals */
} tla_simulation_parameters;

typedef struct tla_fault_parameters {
    char text[TLA_CONFIG_FILE_MAX]; /* faults.plan */
    tla_fault_injection plan;       /* the parsed plan, and faults.seed */
} tla_fault_parameters;

typedef struct tla_workload_parameters {
    char kernel[TLA_CONFIG_NAME_MAX]; /* workload.* */
    uint64_t elements_per_pe, seed;
    uint32_t asid;
    uint32_t uses; /* operations of the kernel, bits of tl_kernel_use (kernel/declaration.h); 0: unknown */
} tla_workload_parameters;

void tla_topology_defaults(tla_topology_shape *shape);
void tla_simulation_defaults(tla_simulation_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
