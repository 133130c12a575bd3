/* Bytes at a bandwidth, in picoseconds. */
#include "tlmalloc/base/timeline.h"

#include "wide.h"

uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth) {
    uint64_t rest; /* nbytes * 10^12 passes 64 bits at 18 MB */
    const uint64_t ps = wide_quotient(wide_product(nbytes, UINT64_C(1000000000000)), bandwidth, &rest);
    return ps + (rest > 0 && ps < UINT64_MAX);
}
