/* The passes of a streaming access: how much of it is a part's, and its data there and back. */
#include "passes.h"

#include <string.h>

uint64_t tla_passes_bytes(const tla_passes *p) {
    uint64_t sum = 0, index, n;
    for (uint64_t pass = 0; tla_passes_run(p, pass, &index, &n); pass += p->span)
        sum += n;
    return sum;
}

void tla_passes_pack(const tla_passes *p, uint8_t *part, const uint8_t *whole) {
    uint64_t index, n;
    for (uint64_t pass = 0; tla_passes_run(p, pass, &index, &n); pass += p->span, part += n)
        memcpy(part, whole + index, (size_t)n);
}

void tla_passes_unpack(const tla_passes *p, const uint8_t *part, uint8_t *whole) {
    uint64_t index, n;
    for (uint64_t pass = 0; tla_passes_run(p, pass, &index, &n); pass += p->span, part += n)
        memcpy(whole + index, part, (size_t)n);
}

void tla_passes_pack_pattern(const tla_passes *p, uint8_t *part, const uint8_t *pattern, uint64_t pattern_length) {
    uint64_t index, n;
    for (uint64_t pass = 0; tla_passes_run(p, pass, &index, &n); pass += p->span)
        for (uint64_t i = index; i < index + n; i++)
            *part++ = pattern[i % pattern_length];
}
