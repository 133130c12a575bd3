/* Lists of victims in order of use, and walks over them. */
#include "victim_lists.h"

#include "tlmalloc/base/work.h"

#include <stdlib.h>

static void take_out(tla_victim *victim) {
    tla_victim_list *list = victim->list;
    *(victim->previous ? &victim->previous->next : &list->oldest) = victim->next;
    *(victim->next ? &victim->next->previous : &list->newest) = victim->previous;
    list->count--;
}

void tla_victim_move(tla_victim *victim, tla_victim_list *to) {
    if (victim->list) take_out(victim);
    victim->list = to;
    victim->previous = to->newest;
    victim->next = NULL;
    *(to->newest ? &to->newest->next : &to->oldest) = victim;
    to->newest = victim;
    to->count++;
}

void tla_victim_forget(tla_victims *victims, tla_victim *victim) {
    take_out(victim);
    tla_live_addresses_remove(&victims->by_key, victim->key);
    free(victim);
}

tla_victim *tla_victim_walk_find(tla_victim_walk *walk) {
    while (walk->at && !walk->permitted) {
        if (walk->work) walk->work->nodes_visited++;
        walk->permitted = !walk->filter || walk->filter(walk->context, walk->at->key);
        if (!walk->permitted) walk->at = walk->at->next;
    }
    return walk->at;
}

uint64_t tla_victim_walk_take(tla_victim_walk *walk) {
    tla_victim *victim = walk->at;
    victim->chosen = true;
    walk->at = victim->next;
    walk->permitted = false;
    return victim->key;
}
