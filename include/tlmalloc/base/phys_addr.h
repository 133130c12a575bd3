/* The 51-bit device physical address, and the types that prevent the use of a VA as a PA.
 *
 * A controller in a user's platform may have plain addresses instead (TLA_LAYOUT_PLAIN in pe_memory.h).
 *
 *     [50:47] sip    [46:42] die    [41:0] local offset       (KernBench ADR-0001 Rev 2)
 *
 * A die 0..15 is an HBM cube, 16..20 an IO chiplet, 21..31 reserved. A cube could address 4 TiB, and uses the lower 256
 * GiB. ADR-0001's layout inside a cube is not published. This project decides it, after ADR-0031's predecessor:
 *
 * - bit 37 = 1: HBM window, [36:0] = byte offset in the cube's HBM (128 GiB)
 * - bit 37 = 0: [36:34] unit (0 PE, 1 M_CPU, 2 cube SRAM) [33:30] pe [29] sub-unit [28:0] offset (512 MiB)
 * - PE: sub-unit 0 is its TCM and sub-unit 1 its control space: [28:24] selects the block (16 MiB each)
 * - M_CPU and SRAM: sub-unit 0 is the memory, sub-unit 1 the control space. Its block 0 is that of the memory's
 *   controller
 * - M_CPU: the first 16 MiB of sub-unit 0 are the window for the M_CPU's own commands; its memory follows
 *
 * Among the IO chiplets only the first (die 16) has a modelled component: its IO_CPU's control window, the first 16 MiB
 * of its 1 TiB.
 *
 * The host's memory lies on no SIP. This project decides that die 31 of SIP 0, the last die that ADR-0001 reserves, is
 * its side of the link. With bit 41 = 0, [40:0] is the byte offset in the host's memory (2 TiB). With bit 41 = 1,
 * [40:29] = 0, and [28:24] selects the control block: 0 that of the memory's controller, 1 and 2 those of the VA
 * manager, 3 that of the host's runtime.
 *
 * An HBM byte belongs to the PE whose slice contains it: pe = offset / slice size (allocations never straddle
 * slices). */
#ifndef TLMALLOC_PHYS_ADDR_H
#define TLMALLOC_PHYS_ADDR_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_paddr {
    uint64_t value;
} tla_paddr; /* physical: 51 bits; with a plain layout up to 64 */

typedef struct tla_vaddr {
    uint64_t value;
} tla_vaddr; /* virtual */

enum {
    TLA_PADDR_BITS = 51,
    TLA_SIP_COUNT = 16,      /* sip 0..15 */
    TLA_DIE_COUNT = 32,      /* die 0..31 */
    TLA_CUBE_DIE_COUNT = 16, /* die 0..15 are HBM cubes */
    TLA_IO_DIE = 16,         /* the IO chiplet that has the IO_CPU */
    TLA_HOST_DIE = 31,       /* in SIP 0: the host's memory */
    TLA_PE_COUNT = 16        /* pe 0..15 in a cube */
};

#define TLA_HBM_WINDOW_BYTES (UINT64_C(1) << 37)    /* HBM that one cube can address */
#define TLA_SUB_UNIT_BYTES (UINT64_C(1) << 29)      /* a PE's TCM window, and its control space */
#define TLA_CONTROL_BLOCK_BYTES (UINT64_C(1) << 24) /* one control block in a control space */
#define TLA_HOST_MEMORY_BYTES (UINT64_C(1) << 41)   /* maximum size of the host's memory */
/* The VA manager's window: a port for every controller of the largest platform. */
#define TLA_VA_MANAGER_CONTROL_BYTES (2 * TLA_CONTROL_BLOCK_BYTES)
#define TLA_M_CPU_MEMORY_BYTES (TLA_SUB_UNIT_BYTES - TLA_CONTROL_BLOCK_BYTES) /* maximum size of an M_CPU's memory */

/* First addresses of the memories of SIP 0, die 0, PE 0; the others follow in strides of a SIP, a die and a PE. A slice
 * of HBM begins at TLA_KERNBENCH_HBM_BASE + pe * the size of a slice. */
#define TLA_KERNBENCH_TCM_BASE UINT64_C(0)
#define TLA_KERNBENCH_M_CPU_MEMORY_BASE ((UINT64_C(1) << 34) + TLA_CONTROL_BLOCK_BYTES)
#define TLA_KERNBENCH_SRAM_BASE (UINT64_C(2) << 34)
#define TLA_KERNBENCH_HBM_BASE (UINT64_C(1) << 37)
#define TLA_KERNBENCH_HOST_MEMORY_BASE (UINT64_C(31) << 42)
#define TLA_KERNBENCH_PE_STRIDE (UINT64_C(1) << 30) /* from a PE's TCM to the next PE's */
#define TLA_KERNBENCH_DIE_STRIDE (UINT64_C(1) << 42)
#define TLA_KERNBENCH_SIP_STRIDE (UINT64_C(1) << 47)

/* The destination of an address. */
typedef enum tla_unit {
    TLA_UNIT_HBM,           /* offset: bytes into the cube's HBM */
    TLA_UNIT_TCM,           /* offset: bytes into the PE's TCM */
    TLA_UNIT_PE_CONTROL,    /* block and offset: bytes into one of the PE's control windows */
    TLA_UNIT_M_CPU,         /* offset: bytes into its control window; from TLA_CONTROL_BLOCK_BYTES on into its memory */
    TLA_UNIT_SRAM,          /* offset into the cube's SRAM */
    TLA_UNIT_IO_CPU,        /* die 16: offset into the IO_CPU's control window */
    TLA_UNIT_M_CPU_CONTROL, /* block and offset: a control window of the M_CPU's memory */
    TLA_UNIT_SRAM_CONTROL,  /* block and offset: a control window of the SRAM */
    TLA_UNIT_HOST_MEMORY,   /* die 31 of SIP 0: offset into the host's memory */
    TLA_UNIT_HOST_CONTROL   /* block and offset: a control window of the host's memory */
} tla_unit;

/* Control blocks of a PE, in its control space. The control spaces of M_CPU and SRAM have only the first block. The
 * host's has the first block, and behind it the windows of the VA manager and of the runtime. */
typedef enum tla_control_block {
    TLA_CONTROL_MEMORY_CONTROLLER,
    TLA_CONTROL_PE_MMU,
    TLA_CONTROL_PROCESSING_ELEMENT,
    TLA_CONTROL_MESSAGES, /* the destination of messages from other PEs (pe_ipcq.hpp) */
    TLA_CONTROL_BLOCK_COUNT = 32
} tla_control_block;

typedef struct tla_paddr_fields {
    uint32_t sip; /* 0..15 */
    uint32_t die; /* 0..15; 16 for TLA_UNIT_IO_CPU, 31 for the host's */
    tla_unit unit;
    uint32_t pe;             /* 0..15; 0 for the units that belong to no PE */
    tla_control_block block; /* for units that are control spaces, else 0 */
    uint64_t offset;         /* bytes into the unit */
} tla_paddr_fields;

/* Encodes; TLA_INVALID_ARGUMENT when a field is out of range (*pa is unchanged then). */
tla_status tla_paddr_encode(const tla_paddr_fields *fields, tla_paddr *pa);

/* Decodes; TLA_OUT_OF_RANGE when bits above 50 are set, or when the address has no destination (reserved die, unit or
 * bits). */
tla_status tla_paddr_decode(tla_paddr pa, tla_paddr_fields *fields);

/* Address of a byte in the HBM slice of one PE (KernBench's pe_hbm_addr): offset = pe * slice + pe_local_offset.
 * TLA_INVALID_ARGUMENT when the offset lies outside the slice or the slice outside the window; *pa is unchanged then.
 * */
tla_status tla_paddr_pe_hbm(uint32_t sip, uint32_t die, uint32_t pe, uint64_t pe_local_offset, uint64_t slice_bytes,
                            tla_paddr *pa);

/* This function and the following functions return TLA_INVALID_ARGUMENT when a number or the offset is out of range;
 * *pa is unchanged then. Address of a byte in a PE's TCM (KernBench's pe_tcm_addr). */
tla_status tla_paddr_pe_tcm(uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset, tla_paddr *pa);

/* Address of a byte in the control window of a cube's M_CPU, and of a SIP's IO_CPU. */
tla_status tla_paddr_m_cpu_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa);
tla_status tla_paddr_io_cpu_control(uint32_t sip, uint64_t offset, tla_paddr *pa);

/* Address of a byte in a cube's SRAM, and in the memory of its M_CPU; and in the control windows of their memory
 * controllers. */
tla_status tla_paddr_sram(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa);
tla_status tla_paddr_m_cpu_memory(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa);
tla_status tla_paddr_sram_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa);
tla_status tla_paddr_m_cpu_memory_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa);

/* Address of a byte in the host's memory, and in the control window of its memory controller. */
tla_status tla_paddr_host_memory(uint64_t offset, tla_paddr *pa);
tla_status tla_paddr_host_memory_control(uint64_t offset, tla_paddr *pa);

/* Address of a byte in the control window of the VA manager, which has TLA_VA_MANAGER_CONTROL_BYTES. */
tla_status tla_paddr_va_manager_control(uint64_t offset, tla_paddr *pa);

/* Address of a byte in the control window of the host's runtime. */
tla_status tla_paddr_host_control(uint64_t offset, tla_paddr *pa);

/* Address of a byte in one of a PE's control windows. */
tla_status tla_paddr_pe_control(uint32_t sip, uint32_t die, uint32_t pe, tla_control_block block, uint64_t offset,
                                tla_paddr *pa);

#ifdef __cplusplus
}
#endif
#endif
