/* Energy of all parts of a platform but its DRAM slices: memories, links, MMUs and allocators, each event multiplied by
 * a constant. Constants have a source and a standing as in dram/energy.h; an unknown constant is 0. */
#ifndef TLMALLOC_DRAM_PARTS_ENERGY_H
#define TLMALLOC_DRAM_PARTS_ENERGY_H

#include "tlmalloc/base/memory_kind.h"
#include "tlmalloc/dram/energy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_parts_constant {
    /* fJ of a byte read or written, for each kind of memory but HBM */
    TLA_PARTS_TCM_READ,
    TLA_PARTS_TCM_WRITE,
    TLA_PARTS_SRAM_READ,
    TLA_PARTS_SRAM_WRITE,
    TLA_PARTS_M_CPU_READ,
    TLA_PARTS_M_CPU_WRITE,
    TLA_PARTS_HOST_READ,
    TLA_PARTS_HOST_WRITE,
    /* fJ of a bit */
    TLA_PARTS_WIRE,             /* over a millimetre of wire inside a chip; counted in bits times micrometres */
    TLA_PARTS_ROUTER,           /* that leaves a router, a network or a connection inside a chip */
    TLA_PARTS_UCIE,             /* over a link between UCIe ports */
    TLA_PARTS_PCIE,             /* over a link between end points, their switch and the host */
    TLA_PARTS_HOST_MEMORY_LINK, /* between the host and its memory */
    /* fJ of an event */
    TLA_PARTS_TLB_LOOKUP,   /* an access asks a TLB of an MMU */
    TLA_PARTS_WALK_STEP,    /* a walker reads a level of tables that is not in memory */
    TLA_PARTS_TABLE_WRITE,  /* tables that are not in memory map, unmap or remap a range */
    TLA_PARTS_ENGINE_CYCLE, /* a cycle of an allocator's engine */
    TLA_PARTS_INSTRUCTION,  /* an instruction of an allocator's firmware */
    TLA_PARTS_CONSTANT_COUNT
} tla_parts_constant;

/* "tcm_read", ..., "instruction": the sections of a profile. NULL for another value. */
const char *tla_parts_constant_name(tla_parts_constant constant);

/* "byte", "bit mm", "bit", "event": of which the constant is the energy. NULL for another value. */
const char *tla_parts_constant_unit(tla_parts_constant constant);

typedef struct tla_parts_energy {
    tla_energy_constant constants[TLA_PARTS_CONSTANT_COUNT]; /* fJ */
} tla_parts_energy;

/* How often each constant counts, by cause: bytes, bits, bits times micrometres, events. Zero is an idle platform. */
typedef struct tla_parts_activity {
    uint64_t counts[TLA_PARTS_CONSTANT_COUNT][TLA_ENERGY_CAUSE_COUNT];
} tla_parts_activity;

/* Counts the bytes of accesses to a memory, at their cause. HBM is not counted: its energy is that of its commands. */
void tla_parts_count_access(tla_parts_activity *activity, tla_memory_kind kind, tla_purpose purpose, bool write,
                            uint64_t nbytes);

/* Energies in fJ. The energy of wires is rounded down once for each cause. The sums by constant, by standing and by
 * cause are all equal to the total. */
typedef struct tla_parts_energy_sum {
    uint64_t by_constant_fj[TLA_PARTS_CONSTANT_COUNT];
    uint64_t by_standing_fj[TLA_ENERGY_STANDING_COUNT];
    uint64_t by_cause_fj[TLA_ENERGY_CAUSE_COUNT];
    uint64_t total_fj;
} tla_parts_energy_sum;

/* TLA_LIMIT for 2^64 fJ or more, with a text; *sum is zero then. */
tla_status tla_parts_energy_add_up(const tla_parts_energy *profile, const tla_parts_activity *activity,
                                   tla_parts_energy_sum *sum, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
