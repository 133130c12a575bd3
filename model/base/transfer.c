/* Bytes at a bandwidth, in picoseconds. */
#include "tlmalloc/timing/timeline.h"

uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth) {
    __extension__ typedef unsigned __int128 wide; /* nbytes * 10^12 passes 64 bits at 18 MB */
    const wide ps = ((wide)nbytes * UINT64_C(1000000000000) + bandwidth - 1) / bandwidth;
    return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}
