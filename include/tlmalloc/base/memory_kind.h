/* The kinds of memory that are allocated: of a PE its HBM slice and its TCM, of a cube its SRAM and the memory of its
 * M_CPU, of the host its memory (KernBench ADR-0048 D7). */
#ifndef TLMALLOC_BASE_MEMORY_KIND_H
#define TLMALLOC_BASE_MEMORY_KIND_H

#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row for each kind of memory; a new kind needs one more row. Columns: constant, name, title for a person, name of
 * the part in a platform, scope (how many there are), unit of the address map, first byte in that unit, largest size in
 * bytes, and unit of its controller's control window. */
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

/* "hbm", "tcm", "sram", "m_cpu", "host"; NULL for a value that is none. */
const char *tla_memory_kind_name(tla_memory_kind kind);

/* As a person says it: "HBM", "TCM", "SRAM", "M_CPU memory", "host memory"; NULL for a value that is none. */
const char *tla_memory_kind_title(tla_memory_kind kind);

/* The part of a platform that it is: "slice", "tcm", "sram", "m_cpu_memory", "host_memory"; NULL for a value that is
 * none. */
const char *tla_memory_kind_part(tla_memory_kind kind);

/* How many there are of it: one for each PE, for each cube, or one in all. */
typedef enum tla_memory_scope { TLA_SCOPE_PE, TLA_SCOPE_CUBE, TLA_SCOPE_HOST } tla_memory_scope;

tla_memory_scope tla_memory_scope_of(tla_memory_kind kind);

/* Where it is among physical addresses, and from which byte of that unit on; the slices of a cube's HBM lie one behind
 * the other there. */
tla_unit tla_memory_kind_unit(tla_memory_kind kind);
uint64_t tla_memory_kind_first(tla_memory_kind kind);

/* How many bytes there can be, of all slices together. */
uint64_t tla_memory_kind_bytes_max(tla_memory_kind kind);

/* Address of a byte in the control window of the controller that has a memory; `pe` is not looked at where it is one
 * of a cube, nor any of the three where it is the host's. TLA_INVALID_ARGUMENT for a place or an offset that is none.
 */
tla_status tla_memory_kind_control(tla_memory_kind kind, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                                   tla_paddr *pa);

/* Which memory an address leads to, whole or taken apart. TLA_OUT_OF_RANGE when to none. */
tla_status tla_memory_kind_of(tla_paddr pa, tla_memory_kind *kind);
tla_status tla_memory_kind_of_fields(const tla_paddr_fields *fields, tla_memory_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
