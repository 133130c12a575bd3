/* Numbers as they stand in descriptors, tables and nodes: little-endian, the same on every host. */
#ifndef TLMALLOC_MODEL_BASE_LITTLE_ENDIAN_H
#define TLMALLOC_MODEL_BASE_LITTLE_ENDIAN_H

#include <stdint.h>

/* The low `nbytes` bytes of the value, at most 8. */
static inline void put_little_endian(void *bytes, uint64_t value, unsigned nbytes) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* a store, where the compiler knows how many bytes */
    __builtin_memcpy(bytes, &value, nbytes);
#else
    uint8_t *to = bytes;
    for (unsigned i = 0; i < nbytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
#endif
}

static inline uint64_t get_little_endian(const void *bytes, unsigned nbytes) {
    uint64_t value = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    __builtin_memcpy(&value, bytes, nbytes);
#else
    const uint8_t *from = bytes;
    for (unsigned i = 0; i < nbytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
#endif
    return value;
}

#endif
