/* The functions that the compiler calls, for a system without a C library. */
#include <stddef.h>
#include <stdint.h>

void *memset(void *to, int value, size_t count);
void *memcpy(void *restrict to, const void *restrict from, size_t count);
int __popcountdi2(uint64_t value);

void *memset(void *to, int value, size_t count) {
    unsigned char *at = to, *const end = at + count;
    const uint64_t eight = (unsigned char)value * UINT64_C(0x0101010101010101);
    for (; end - at >= 8; at += 8)
        __builtin_memcpy(at, &eight, 8);
    while (at < end)
        *at++ = (unsigned char)value;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    unsigned char *at = to, *const end = at + count;
    const unsigned char *next = from;
    for (; end - at >= 8; at += 8, next += 8)
        __builtin_memcpy(at, next, 8);
    while (at < end)
        *at++ = *next++;
    return to;
}

int __popcountdi2(uint64_t value) {
    int count = 0;
    for (; value; value &= value - 1)
        count++;
    return count;
}
