/* Orders of victims: a map from key to victim, and lists in order of use. */
#include "tlmalloc/cache/victims.h"

#include "victim_lists.h"

#include <stdlib.h>

const char *tla_victim_rule_name(tla_victim_rule rule) {
    static const char *const names[TLA_VICTIM_RULE_COUNT] = {"lru", "tenant_lru", "arc"};
    return (unsigned)rule < TLA_VICTIM_RULE_COUNT ? names[rule] : NULL;
}

bool tla_watermark_is_reached(uint64_t used, uint64_t total, uint32_t permille) {
    return used * 1000 >= total * permille;
}

tla_status tla_victims_create(tla_victim_rule rule, tla_victims **out) {
    *out = NULL;
    if (!tla_victim_rule_name(rule)) return TLA_INVALID_ARGUMENT;
    *out = calloc(1, sizeof **out);
    if (!*out) return TLA_NO_HOST_MEMORY;
    (*out)->rule = rule;
    return TLA_OK;
}

void tla_victims_destroy(tla_victims *victims) {
    if (!victims) return;
    tla_victim *victim;
    for (size_t at = 0; (victim = tla_live_addresses_walk(&victims->by_key, &at)) != NULL;)
        free(victim);
    tla_live_addresses_clear(&victims->by_key);
    for (tla_victim_list *tenant; (tenant = victims->tenants) != NULL;) {
        victims->tenants = tenant->next;
        free(tenant);
    }
    free(victims);
}

/* ---- lists ---- */

static tla_victim_list *find_list(const tla_victims *victims, uint64_t tenant) {
    tla_victim_list *list = victims->tenants;
    if (victims->rule != TLA_VICTIM_TENANT_LRU) return (tla_victim_list *)&victims->lists[TLA_ARC_T1];
    while (list && list->tenant != tenant)
        list = list->next;
    return list;
}

static tla_victim_list *add_tenant(tla_victims *victims, uint64_t tenant) {
    tla_victim_list **end = &victims->tenants;
    while (*end)
        end = &(*end)->next;
    *end = calloc(1, sizeof **end);
    if (*end) (*end)->tenant = tenant;
    return *end;
}

static void forget_tenant(tla_victims *victims, const tla_victim_list *empty) {
    tla_victim_list **link = &victims->tenants;
    while (*link != empty)
        link = &(*link)->next;
    tla_victim_list *list = *link;
    *link = list->next;
    free(list);
}

/* ---- keys ---- */

static tla_status enter_new(tla_victims *victims, uint64_t tenant, uint64_t key) {
    const tla_status status = tla_live_addresses_reserve(&victims->by_key);
    if (status) return status;
    tla_victim *victim = calloc(1, sizeof *victim);
    if (!victim) return TLA_NO_HOST_MEMORY;
    tla_victim_list *list = find_list(victims, tenant);
    if (!list) list = add_tenant(victims, tenant);
    if (!list) {
        free(victim);
        return TLA_NO_HOST_MEMORY;
    }
    victim->key = key;
    tla_victim_move(victim, list);
    tla_live_addresses_put(&victims->by_key, key, victim);
    return TLA_OK;
}

tla_status tla_victims_enter(tla_victims *victims, uint64_t tenant, uint64_t key, tla_work *work) {
    tla_victim *victim = tla_live_addresses_get(&victims->by_key, key);
    tla_status status = TLA_OK;
    if (!victim)
        status = enter_new(victims, tenant, key);
    else if (victims->rule == TLA_VICTIM_ARC)
        tla_arc_return(victims, victim, work);
    else
        tla_victim_move(victim, victim->list);
    if (!status && victims->rule == TLA_VICTIM_ARC) tla_arc_settle(victims, work);
    return status;
}

static bool is_ghost(const tla_victims *victims, const tla_victim *victim) {
    return victim->list == &victims->lists[TLA_ARC_B1] || victim->list == &victims->lists[TLA_ARC_B2];
}

void tla_victims_touch(tla_victims *victims, uint64_t key) {
    tla_victim *victim = tla_live_addresses_get(&victims->by_key, key);
    if (!victim || is_ghost(victims, victim)) return;
    tla_victim_move(victim, victims->rule == TLA_VICTIM_ARC ? &victims->lists[TLA_ARC_T2] : victim->list);
}

void tla_victims_remove(tla_victims *victims, uint64_t key, tla_work *work) {
    tla_victim *victim = tla_live_addresses_get(&victims->by_key, key);
    if (!victim) return;
    tla_victim_list *list = victim->list;
    if (victims->rule == TLA_VICTIM_ARC)
        tla_arc_remove(victims, victim, work);
    else
        tla_victim_forget(victims, victim);
    if (victims->rule == TLA_VICTIM_TENANT_LRU && list->count == 0) forget_tenant(victims, list);
}

/* ---- victims ---- */

size_t tla_victims_choose(tla_victims *victims, uint64_t tenant, size_t count, tla_victim_filter filter, void *context,
                          uint64_t *keys, tla_work *work) {
    tla_victim_walk walk = {.filter = filter, .context = context, .work = work};
    if (victims->rule == TLA_VICTIM_ARC) return tla_arc_choose(victims, count, walk, keys);
    const tla_victim_list *list = find_list(victims, tenant);
    size_t found = 0;
    walk.at = list ? list->oldest : NULL;
    while (found < count && tla_victim_walk_find(&walk))
        keys[found++] = tla_victim_walk_take(&walk);
    return found;
}

size_t tla_victims_share(const tla_victims *victims, uint64_t tenant, uint32_t permille) {
    const tla_victim_list *list = find_list(victims, tenant);
    const uint64_t tracked = (list ? list->count : 0) + victims->lists[TLA_ARC_T2].count;
    const uint64_t share = permille < 1000 ? tracked * permille / 1000 : tracked;
    return (size_t)(share == 0 && permille > 0 && tracked > 0 ? 1 : share);
}

bool tla_victims_first(const tla_victims *victims, uint64_t *key) {
    const tla_victim *victim = victims->lists[TLA_ARC_T1].oldest;
    if (!victim) victim = victims->tenants ? victims->tenants->oldest : victims->lists[TLA_ARC_T2].oldest;
    if (victim) *key = victim->key;
    return victim != NULL;
}

tla_victims_stats tla_victims_get_stats(const tla_victims *victims) {
    const tla_victim_list *lists = victims->lists;
    return (tla_victims_stats){.tracked = victims->by_key.count - lists[TLA_ARC_B1].count - lists[TLA_ARC_B2].count,
                               .again = lists[TLA_ARC_T2].count,
                               .once_ghosts = lists[TLA_ARC_B1].count,
                               .again_ghosts = lists[TLA_ARC_B2].count,
                               .target = victims->target,
                               .capacity = victims->capacity};
}
