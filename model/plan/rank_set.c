/* Bits in levels. */
#include "rank_set.h"

#include <stdlib.h>

bool rank_set_create(rank_set *set, size_t n) {
    size_t total = 0;
    set->levels = 0;
    for (size_t words = n; set->levels == 0 || words > 1; set->levels++) {
        words = words / 64 + (words % 64 != 0);
        set->first[set->levels] = total;
        total += words ? words : 1;
    }
    set->words = calloc(total, sizeof *set->words);
    return set->words;
}

void rank_set_clear(rank_set *set) {
    free(set->words);
    set->words = NULL;
}

void rank_set_insert(rank_set *set, size_t rank) {
    for (int level = 0; level < set->levels; level++, rank /= 64)
        set->words[set->first[level] + rank / 64] |= (uint64_t)1 << rank % 64;
}

void rank_set_remove(rank_set *set, size_t rank) {
    for (int level = 0; level < set->levels; level++, rank /= 64)
        if (set->words[set->first[level] + rank / 64] &= ~((uint64_t)1 << rank % 64)) return;
}

size_t rank_set_above(const rank_set *set, size_t rank) {
    for (int level = 0; level < set->levels; level++, rank /= 64) {
        /* Shifted twice: by 64 at once is nothing that C defines. */
        uint64_t above = set->words[set->first[level] + rank / 64] >> rank % 64 >> 1;
        if (above == 0) continue;
        rank += 1 + (size_t)__builtin_ctzll(above);
        while (level-- > 0)
            rank = 64 * rank + (size_t)__builtin_ctzll(set->words[set->first[level] + rank]);
        return rank;
    }
    return RANK_NONE;
}

size_t rank_set_below(const rank_set *set, size_t rank) {
    for (int level = 0; level < set->levels; level++, rank /= 64) {
        uint64_t below = set->words[set->first[level] + rank / 64] & (((uint64_t)1 << rank % 64) - 1);
        if (below == 0) continue;
        rank = rank / 64 * 64 + 63 - (size_t)__builtin_clzll(below);
        while (level-- > 0)
            rank = 64 * rank + 63 - (size_t)__builtin_clzll(set->words[set->first[level] + rank]);
        return rank;
    }
    return RANK_NONE;
}
