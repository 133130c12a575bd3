/* Windows of an address space, each of which leads to a target: which one holds an access. */
#ifndef TLMALLOC_MEMORY_ADDRESS_WINDOWS_H
#define TLMALLOC_MEMORY_ADDRESS_WINDOWS_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_address_window {
    uint64_t base, size; /* it may end at 2^64 */
    uint32_t target;
    bool relative; /* the target sees the offset into the window instead of the address */
} tla_address_window;

/* Sorts windows by their base, as tla_address_windows_find wants them. TLA_OUT_OF_RANGE when one leads to no target of
 * 0 .. targets - 1, TLA_OVERLAP when two have a byte in common, TLA_INVALID_ARGUMENT when one goes past 2^64; they are
 * sorted then too. */
tla_status tla_address_windows_sort(tla_address_window *windows, size_t count, uint32_t targets);

/* The window that holds all of [address, address + nbytes); NULL when none does. Windows are sorted. O(log count). */
const tla_address_window *tla_address_windows_find(const tla_address_window *windows, size_t count, uint64_t address,
                                                   uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
