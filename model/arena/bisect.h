/* Probes of a binary search, from its result. Internal. */
#ifndef TLMALLOC_BISECT_H
#define TLMALLOC_BISECT_H

#include <stdint.h>

/* Probes that bisect_left makes on a sorted list of `count` entries (below 2^63) to end at position `rank`. Each probe
 * halves the places 0 .. count that are left, the lower half being the larger when they differ: so there are
 * floor(log2(places)) probes, and one more where two places are left then. */
static inline uint64_t tla_bisect_probes(uint64_t count, uint64_t rank) {
    /* For up to 64 places: bit r states that place r receives the additional probe (of 5 of 64, the rest of 127). It is
     * written out because the last steps would take most of the time; the differential tests cover all values. */
    // clang-format off
    static const uint64_t one_more[65] = {
        0x0, 0x0, 0x0, 0x3, 0x0, 0x3, 0x1b, 0x3f, 0x0, 0x3, 0x63, 0xdb, 0x6db, 0xdbf, 0x1fbf, 0x3fff, 0x0, 0x3, 0x603,
        0xc63, 0x18c63, 0x318db, 0x6d8db, 0xdb6db, 0x6db6db, 0xdb6dbf, 0x1b7edbf, 0x36fdfbf, 0x7efdfbf, 0xfdfbfff,
        0x1fffbfff, 0x3fffffff, 0x0, 0x3, 0x60003, 0xc0603, 0x180c0603, 0x30180c63, 0x63180c63, 0xc6318c63,
        0x18c6318c63, 0x318c6318db, 0x631b6318db, 0xc636c6d8db, 0x1b636c6d8db, 0x36c6d8db6db, 0x6db6d8db6db,
        0xdb6db6db6db, 0x6db6db6db6db, 0xdb6db6db6dbf, 0x1b6db7edb6dbf, 0x36db6fdb7edbf, 0x6dfb6fdb7edbf,
        0xdbf6dfb6fdfbf, 0x1b7efdfb6fdfbf, 0x36fdfbf7efdfbf, 0x7efdfbf7efdfbf, 0xfdfbf7efdfbfff, 0x1fbf7ffefdfbfff,
        0x3f7efffdfffbfff, 0x7ffefffdfffbfff, 0xfffdfffbfffffff, 0x1fffffffbfffffff, 0x3fffffffffffffff, UINT64_MAX,
    };
    // clang-format on
    uint64_t places = count + 1;
    unsigned sure = 63 - (unsigned)__builtin_clzll(places);
    for (unsigned i = sure; i > 5; i--) {
        uint64_t lower = (places + 1) / 2;
        uint64_t up = 0 - (uint64_t)(rank >= lower); /* as a mask: no branch could be predicted here */
        rank -= lower & up;
        places = lower - (places & 1 & up);
    }
    return sure + (one_more[places] >> rank & 1);
}

#endif
