/* A set of numbers below n that finds the next number up and down in a few steps for any n: bits, and bits that mark
 * the words of the level below that are not 0. Internal. */
#ifndef TLMALLOC_PLAN_RANK_SET_H
#define TLMALLOC_PLAN_RANK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANK_SET_LEVELS = 11 };
#define RANK_NONE SIZE_MAX

typedef struct rank_set {
    uint64_t *words; /* all levels, the bits themselves first */
    size_t first[RANK_SET_LEVELS];
    int levels;
} rank_set;

/* An empty set for 0 .. n - 1. False: no host memory. */
bool rank_set_create(rank_set *set, size_t n);
void rank_set_clear(rank_set *set);

void rank_set_insert(rank_set *set, size_t rank);
void rank_set_remove(rank_set *set, size_t rank);

/* The next member above, or below; RANK_NONE. `rank` itself need not be a member. */
size_t rank_set_above(const rank_set *set, size_t rank);
size_t rank_set_below(const rank_set *set, size_t rank);

#endif
