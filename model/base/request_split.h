/* One access as the requests that a memory takes: of a size and alignment of its own. */
#ifndef TLMALLOC_BASE_REQUEST_SPLIT_H
#define TLMALLOC_BASE_REQUEST_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No request crosses a multiple of `largest`, a power of two. Every request has at least `smallest` bytes, a power of
 * two up to `largest`, and begins at a multiple of it: a request is wider than the wanted bytes if necessary. With
 * `powers_of_two` its length is a power of two and its address a multiple of its length, as DRAM controllers require.
 * */
typedef struct tla_request_shape {
    uint64_t largest, smallest;
    bool powers_of_two;
} tla_request_shape;

/* Bytes [address, address + length), of which [lead, lead + wanted) are those of the access. */
typedef struct tla_request {
    uint64_t address, length, lead, wanted;
} tla_request;

/* The first request of those for `nbytes` (> 0) from an address on; the next begin `wanted` bytes further. The last
 * address of the access is below 2^64. */
tla_request tla_request_next(const tla_request_shape *shape, uint64_t address, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
