/* The lists of an order of victims. Internal to model/cache. */
#ifndef TLMALLOC_CACHE_VICTIM_LISTS_H
#define TLMALLOC_CACHE_VICTIM_LISTS_H

#include "live_addresses.h"
#include "tlmalloc/cache/victims.h"

typedef struct tla_victim_list tla_victim_list;

typedef struct tla_victim {
    uint64_t key;
    tla_victim_list *list;
    struct tla_victim *previous, *next;
    bool chosen; /* since it was last entered */
} tla_victim;

struct tla_victim_list {
    uint64_t tenant;
    tla_victim *oldest, *newest;
    uint64_t count;
    tla_victim_list *next; /* of the tenants, in the order in which they came */
};

enum { TLA_ARC_T1, TLA_ARC_T2, TLA_ARC_B1, TLA_ARC_B2, TLA_ARC_LISTS };

struct tla_victims {
    tla_victim_rule rule;
    tla_live_addresses by_key;            /* of tla_victim, ghosts too */
    tla_victim_list lists[TLA_ARC_LISTS]; /* lru: the first */
    tla_victim_list *tenants;
    uint64_t target, capacity; /* of ARC; the target in 1 << TLA_ARC_FRACTION_BITS */
};

/* Puts a victim of any list, or of none, at the end of a list. */
void tla_victim_move(tla_victim *victim, tla_victim_list *to);

/* Removes the victim from its list and from the order. */
void tla_victim_forget(tla_victims *victims, tla_victim *victim);

/* A walk over the victims of a list that a filter permits. */
typedef struct tla_victim_walk {
    tla_victim *at;
    bool permitted;
    tla_victim_filter filter;
    void *context;
    tla_work *work;
} tla_victim_walk;

/* The next victim, or NULL; the walk stays there. */
tla_victim *tla_victim_walk_find(tla_victim_walk *walk);

/* Returns the key of the victim that was found, which is then chosen, and goes on. */
uint64_t tla_victim_walk_take(tla_victim_walk *walk);

/* ARC's rules: a key that is tracked or a ghost was entered again; then, or for a new key of t1, the sizes are
 * corrected. */
void tla_arc_return(tla_victims *victims, tla_victim *victim, tla_work *work);
void tla_arc_settle(tla_victims *victims, tla_work *work);
void tla_arc_remove(tla_victims *victims, tla_victim *victim, tla_work *work);
size_t tla_arc_choose(tla_victims *victims, size_t count, tla_victim_walk once, uint64_t *keys);

#endif
