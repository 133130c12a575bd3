/* FNV-1a of 64 bits: a hash that is the same on every machine, for tables and for distinguishing contents. It does not
 * protect against deliberate collisions. Source: Fowler, Noll, Vo; RFC 9923. */
#ifndef TLMALLOC_MODEL_BASE_FNV_H
#define TLMALLOC_MODEL_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define TLA_FNV_BASIS UINT64_C(0xCBF29CE484222325)

/* Returns the hash of all bytes so far (`hash`; TLA_FNV_BASIS at first), followed by these bytes. */
static inline uint64_t tla_fnv(uint64_t hash, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return hash;
}

#endif
