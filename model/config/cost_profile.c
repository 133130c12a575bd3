/* Every key of a cost profile, and what controller.cost.profile does: prices in cycles of an engine's clock, with how
 * they were measured, in place of prices one by one. */
#define ROW_STRUCT struct profile
#include "config/profiles.h"
#include "row.h"

#include <assert.h>
#include <string.h>

struct profile {
    uint64_t clock_ps;
    tla_cost_profile cycles; /* in place of picoseconds */
};

enum { CYCLES_MAX = 1000000 };

#define NONE "none: the engine's own"
#define UNIT(event, meaning)                                                                                           \
    { CYCLES(event, cycles.event##_ps, 0, CYCLES_MAX), NONE, "0 tCK", meaning }

static const tla_schema_key keys[] = {
    {SHORT_TIME(clock, clock_ps, 1, US), NONE, "1 ns", "period of the engine's clock, in which the prices are counted"},
    UNIT(fixed, "per command"),
    UNIT(node, "per free-list node visited by an allocation"),
    UNIT(insert_node, "per node that a linear ordered insert passes in a free"),
    UNIT(probe, "per probe of a binary search or a bitmap"),
    UNIT(bin_search, "offset bins: per search, also in vain"),
    UNIT(split, "per block cut in two"),
    UNIT(merge, "per neighbour joined"),
    UNIT(metadata_line, "per line of metadata touched in memory"),
    UNIT(alloc, "per range taken from the free list"),
    UNIT(free, "per range put on the free list"),
    UNIT(node_created, "per node created in the list"),
    UNIT(node_released, "per node removed from the list"),
    UNIT(walk, "worst fit: per walk for the next largest block, after the answer"),
    UNIT(walk_node, "worst fit: per free block that such a walk passes"),
    UNIT(class_lookup, "fronts: per size class looked up"),
    UNIT(list_pop, "fronts: per block taken from one of the front's lists"),
    UNIT(list_push, "fronts: per block put on one of the front's lists"),
    UNIT(slot, "fronts: per slot taken from the queue or returned to it"),
    UNIT(driver_call, "fronts: per request to the placement below"),
};

static void check_nothing_more(tla_loader *l) {
    (void)l; /* the values do not depend on each other */
}

static const tla_schema schema = {keys, sizeof keys / sizeof keys[0], sizeof(struct profile), "node=1 tCK",
                                  check_nothing_more};

static tla_status parse_profile(const tla_built_in_profile *profile, void *filled) {
    return tla_loader_parse(&schema, (const char *)profile->text, profile->length, profile->name, NULL, 0, NULL, filled,
                            NULL, NULL);
}

static tla_status load_profile(const char *path, void *filled, tla_config_report report, void *context) {
    return tla_loader_load(&schema, path, NULL, 0, NULL, filled, report, context);
}

static const char *name_at(uint64_t index) {
    return tla_cost_profiles[index].name;
}

/* Returns whether an explicit price overrides the profile: a price in a file does not, if an override names the
 * profile. */
static bool is_written(const tla_origin *price, const tla_origin *profile) {
    return price->at.file && (price->number || !profile->number);
}

void tla_loader_resolve_prices(tla_loader *l) {
    static const tla_profile_key key = {
        "controller.cost.profile", NULL, "cost profile", tla_cost_profiles, name_at, parse_profile, load_profile};
    static const char section[] = "controller.cost.";
    tla_config *config = l->config;
    struct profile profile;
    if (!tla_profile_read(l, &key, config->cost_profile, &profile)) return;
    const tla_origin *named = &l->origins[tla_schema_find(l->schema, key.key)];
    uint64_t *clock_ps = &config->controller.cost.clock_ps;
    if (!is_written(&l->origins[tla_schema_find(l->schema, "controller.cost.clock")], named))
        *clock_ps = profile.clock_ps;
    for (size_t i = tla_schema_find_section(l->schema, "controller.cost"); i < l->schema->count; i++) {
        const tla_schema_key *price = &l->schema->keys[i];
        if (strncmp(price->key, section, sizeof section - 1) != 0) break;
        const size_t unit = tla_schema_find(&schema, price->key + sizeof section - 1);
        if (unit == schema.count || keys[unit].form.type != TLA_VALUE_CYCLES || is_written(&l->origins[i], named))
            continue;
        const uint64_t ps = tla_schema_get(&keys[unit], &profile).number * *clock_ps;
        memcpy((char *)config + price->offset, &ps, sizeof ps);
    }
}
static_assert((uint64_t)CYCLES_MAX * US <= S, "every price is in the range of its key");
