/* Classes of sizes, 32 for every power of two (TLSF's), and sets of them. Internal. */
#ifndef TLMALLOC_SIZE_CLASS_H
#define TLMALLOC_SIZE_CLASS_H

#include <stdint.h>

enum {
    TLA_CLASSES_LOG2 = 5, /* for a power of two */
    TLA_CLASSES = 64 << TLA_CLASSES_LOG2
};

static inline unsigned tla_log2(uint64_t n) {
    return 63 - (unsigned)__builtin_clzll(n);
}

/* The class of a size: every power of two in 32 equal parts; below 32 one class a size. */
static inline uint32_t tla_class_of(uint64_t nbytes) {
    if (nbytes < 1 << TLA_CLASSES_LOG2) return (uint32_t)nbytes;
    unsigned part = tla_log2(nbytes) - TLA_CLASSES_LOG2; /* nbytes >> part is 32 .. 63 */
    return (part << TLA_CLASSES_LOG2) + (uint32_t)(nbytes >> part);
}

/* The smallest size that is no smaller and with which a class begins. */
static inline uint64_t tla_class_round_up(uint64_t nbytes) {
    if (nbytes < 1 << TLA_CLASSES_LOG2) return nbytes;
    uint64_t part = ((uint64_t)1 << (tla_log2(nbytes) - TLA_CLASSES_LOG2)) - 1;
    return (nbytes + part) & ~part;
}

typedef struct tla_class_set {
    uint64_t summary;                 /* a bit for each word that is not 0 */
    uint64_t words[TLA_CLASSES / 64]; /* a bit for each class */
} tla_class_set;

static inline void tla_class_set_add(tla_class_set *set, uint32_t size_class) {
    set->words[size_class / 64] |= (uint64_t)1 << (size_class % 64);
    set->summary |= (uint64_t)1 << (size_class / 64);
}

static inline void tla_class_set_drop(tla_class_set *set, uint32_t size_class) {
    uint64_t *word = &set->words[size_class / 64];
    *word &= ~((uint64_t)1 << (size_class % 64));
    if (!*word) set->summary &= ~((uint64_t)1 << (size_class / 64));
}

/* Returns the lowest class of the set from `size_class` on; TLA_CLASSES if the set has no such class. */
static inline uint32_t tla_class_set_next(const tla_class_set *set, uint32_t size_class) {
    if (size_class >= TLA_CLASSES) return TLA_CLASSES;
    uint32_t word = size_class / 64;
    uint64_t here = set->words[word] >> (size_class % 64) << (size_class % 64);
    if (!here) {
        uint64_t above = set->summary >> word >> 1 << word << 1;
        if (!above) return TLA_CLASSES;
        word = (uint32_t)__builtin_ctzll(above);
        here = set->words[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(here);
}

/* Returns the highest class of the set; 0 if the set is empty. */
static inline uint32_t tla_class_set_last(const tla_class_set *set) {
    if (!set->summary) return 0;
    const unsigned word = tla_log2(set->summary);
    return word * 64 + tla_log2(set->words[word]);
}

#endif
