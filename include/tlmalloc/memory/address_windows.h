/* Windows of an address space, each with a target; the search for the window of an access. */
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
    bool relative; /* the target receives the offset into the window instead of the address */
} tla_address_window;

/* Sorts windows by their base, as tla_address_windows_find requires. TLA_OUT_OF_RANGE when the target of a window is
 * not in 0 .. targets - 1. TLA_OVERLAP when two windows have a common byte, TLA_INVALID_ARGUMENT when a window exceeds
 * 2^64. The windows are sorted in any case. */
tla_status tla_address_windows_sort(tla_address_window *windows, size_t count, uint32_t targets);

/* Returns the window that contains all of [address, address + nbytes); NULL when no window does. Windows are sorted.
 * O(log count). */
const tla_address_window *tla_address_windows_find(const tla_address_window *windows, size_t count, uint64_t address,
                                                   uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
