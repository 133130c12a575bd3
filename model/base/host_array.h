/* Arrays on the host whose length is a number of 64 bits: a host of 32 bits may be too small for them. */
#ifndef TLMALLOC_MODEL_BASE_HOST_ARRAY_H
#define TLMALLOC_MODEL_BASE_HOST_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

static inline int host_array_fits(uint64_t count, size_t size) {
    return count <= PTRDIFF_MAX / size;
}

/* `count` elements of `size` bytes, all 0, to be freed by free(). NULL: no host memory. */
static inline void *host_array_new(uint64_t count, size_t size) {
    return host_array_fits(count, size) ? calloc((size_t)count, size) : NULL;
}

/* As realloc. NULL: no host memory, and `array` is as it was. */
static inline void *host_array_resize(void *array, uint64_t count, size_t size) {
    return host_array_fits(count, size) ? realloc(array, (size_t)count * size) : NULL;
}

#endif
