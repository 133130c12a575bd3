/* The kinds of memory that allocators serve. A PE has its HBM slice and its TCM. A cube has its SRAM and the memory of
 * its M_CPU. The host has its memory (KernBench ADR-0048 D7). */
#ifndef TLMALLOC_BASE_MEMORY_KIND_H
#define TLMALLOC_BASE_MEMORY_KIND_H

#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row for each kind of memory; a new kind needs one more row. The columns are constant, name, readable title, name
 * of the component in a platform, and scope (the number of memories). Then follow unit of the address map, first byte
 * in that unit, largest size in bytes, and unit of its controller's control window. */
/* clang-format off */
#define TLA_MEMORY_KINDS(ROW)                                                                                          \
    ROW(TLA_HBM, "hbm", "HBM", "slice", TLA_SCOPE_PE, TLA_UNIT_HBM, 0, TLA_HBM_WINDOW_BYTES, TLA_UNIT_PE_CONTROL)      \
    ROW(TLA_TCM, "tcm", "TCM", "tcm", TLA_SCOPE_PE, TLA_UNIT_TCM, 0, TLA_SUB_UNIT_BYTES, TLA_UNIT_PE_CONTROL)          \
    ROW(TLA_SRAM, "sram", "SRAM", "sram", TLA_SCOPE_CUBE, TLA_UNIT_SRAM, 0, TLA_SUB_UNIT_BYTES, TLA_UNIT_SRAM_CONTROL) \
    ROW(TLA_M_CPU_MEMORY, "m_cpu", "M_CPU memory", "m_cpu_memory", TLA_SCOPE_CUBE, TLA_UNIT_M_CPU,                     \
        TLA_CONTROL_BLOCK_BYTES, TLA_M_CPU_MEMORY_BYTES, TLA_UNIT_M_CPU_CONTROL)                                       \
    ROW(TLA_HOST_MEMORY, "host", "host memory", "host_memory", TLA_SCOPE_HOST, TLA_UNIT_HOST_MEMORY,                   \
        0, TLA_HOST_MEMORY_BYTES, TLA_UNIT_HOST_CONTROL)
/* clang-format on */

#define TLA_MEMORY_KIND(kind, ...) kind,
typedef enum tla_memory_kind { TLA_MEMORY_KINDS(TLA_MEMORY_KIND) TLA_MEMORY_KIND_COUNT } tla_memory_kind;
#undef TLA_MEMORY_KIND

/* Returns the name "hbm", "tcm", "sram", "m_cpu", "host"; NULL for an unknown value. */
const char *tla_memory_kind_name(tla_memory_kind kind);

/* Returns the readable title: "HBM", "TCM", "SRAM", "M_CPU memory", "host memory"; NULL for an unknown value. */
const char *tla_memory_kind_title(tla_memory_kind kind);

/* Returns the name of its component in a platform: "slice", "tcm", "sram", "m_cpu_memory", "host_memory"; NULL for an
 * unknown value. */
const char *tla_memory_kind_part(tla_memory_kind kind);

/* The number of memories of a kind: one for each PE, one for each cube, or one in total. */
typedef enum tla_memory_scope { TLA_SCOPE_PE, TLA_SCOPE_CUBE, TLA_SCOPE_HOST } tla_memory_scope;

/* Returns the scope of a known kind. The next three functions require a known kind too. */
tla_memory_scope tla_memory_scope_of(tla_memory_kind kind);

/* Returns its unit among physical addresses, and its first byte in that unit. The slices of a cube's HBM are adjacent
 * there. */
tla_unit tla_memory_kind_unit(tla_memory_kind kind);
uint64_t tla_memory_kind_first(tla_memory_kind kind);

/* Returns its maximum number of bytes, for all slices together. */
uint64_t tla_memory_kind_bytes_max(tla_memory_kind kind);

/* Computes the address of a byte in the control window of a memory's controller. For a cube's memory `pe` is ignored;
 * for the host's memory all three numbers are ignored. TLA_INVALID_ARGUMENT for an invalid place or offset. */
tla_status tla_memory_kind_control(tla_memory_kind kind, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                                   tla_paddr *pa);

/* Finds the kind of memory at an address, encoded or decoded. TLA_OUT_OF_RANGE for any other address. */
tla_status tla_memory_kind_of(tla_paddr pa, tla_memory_kind *kind);
tla_status tla_memory_kind_of_fields(const tla_paddr_fields *fields, tla_memory_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
