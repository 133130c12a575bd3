/* The kinds of memory that are allocated: of a PE its HBM slice and its TCM, of a cube its SRAM and the memory of its
 * M_CPU, of the host its memory (KernBench ADR-0048 D7). */
#ifndef TLMALLOC_BASE_MEMORY_KIND_H
#define TLMALLOC_BASE_MEMORY_KIND_H

#include "tlmalloc/base/phys_addr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_channel {
    TLA_HBM,          /* of a PE: its slice */
    TLA_TCM,          /* of a PE */
    TLA_SRAM,         /* of a cube */
    TLA_M_CPU_MEMORY, /* of a cube's M_CPU */
    TLA_HOST_MEMORY,  /* of the host: DDR on its side of the link */
    TLA_CHANNEL_COUNT
} tla_channel;

/* "hbm", "tcm", "sram", "m_cpu", "host"; NULL for a value that is none. */
const char *tla_channel_name(tla_channel channel);

/* As a person says it: "HBM", "TCM", "SRAM", "M_CPU memory", "host memory"; NULL for a value that is none. */
const char *tla_channel_title(tla_channel channel);

/* How many there are of it: one for each PE, for each cube, or one in all. */
typedef enum tla_channel_scope { TLA_SCOPE_PE, TLA_SCOPE_CUBE, TLA_SCOPE_HOST } tla_channel_scope;

tla_channel_scope tla_channel_scope_of(tla_channel channel);

/* Where it is among physical addresses. */
tla_unit tla_channel_unit(tla_channel channel);

/* Address of a byte in the control window of the controller that has a channel; `pe` is not looked at where it is one
 * of a cube, nor any of the three where it is the host's. TLA_INVALID_ARGUMENT for a place or an offset that is none.
 */
tla_status tla_channel_control(tla_channel channel, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                               tla_paddr *pa);

/* Which memory an address leads to, whole or taken apart. TLA_OUT_OF_RANGE when to none. */
tla_status tla_channel_of(tla_paddr pa, tla_channel *channel);
tla_status tla_channel_of_fields(const tla_paddr_fields *fields, tla_channel *channel);

#ifdef __cplusplus
}
#endif
#endif
