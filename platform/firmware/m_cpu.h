/* The requests to the firmware of an M_CPU through its mailbox (mailbox.h), and the addresses of the NPU.
 *
 *   BEGIN      offset: physical address of the last byte of the cube's HBM; size: bytes of a PE's slice
 *   TAKE       size: bytes; offset: the PE whose slice they come from; the answer's offset is their physical address
 *   GIVE_BACK  offset: physical address; size: bytes, as they were asked for
 *
 * The answer's status is a tla_status: that of the memory controller's completion, TLA_OUT_OF_RANGE for an address
 * outside the cube's HBM and for a missing PE, TLA_INVALID_ARGUMENT for a cube without whole slices or with too many.
 * */
#ifndef TLMALLOC_FIRMWARE_M_CPU_H
#define TLMALLOC_FIRMWARE_M_CPU_H

#include "tlmalloc/riscv/mailbox.h"

/* Physical addresses of the NPU begin here in the M_CPU's address space, behind all that is its own. */
#define M_CPU_PHYSICAL (UINT64_C(1) << 51)

#endif
