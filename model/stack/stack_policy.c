/* The fronts that exist, and how stacks are named. */
#include "front.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

static const tla_front_kind *const fronts[TLA_FRONT_COUNT] = {
    [TLA_FRONT_NONE] = &tla_front_none,
    [TLA_FRONT_CACHING_POOL] = &tla_front_caching_pool,
    [TLA_FRONT_SEGMENT_CACHE] = &tla_front_segment_cache,
    [TLA_FRONT_GROWING_POOL] = &tla_front_growing_pool,
    [TLA_FRONT_SLOT_POOL] = &tla_front_slot_pool,
    [TLA_FRONT_MIXED] = &tla_front_mixed,
    [TLA_FRONT_LAZY] = &tla_front_lazy,
    [TLA_FRONT_SEGMENTED] = &tla_front_segmented,
    [TLA_FRONT_LINEAR_REGIONS] = &tla_front_linear_regions,
    [TLA_FRONT_INTERLEAVING_REGIONS] = &tla_front_interleaving_regions,
};

const tla_front_kind *tla_front_kind_of(tla_front front) {
    return (unsigned)front < TLA_FRONT_COUNT ? fronts[front] : NULL;
}

bool tla_front_has_own_lists(tla_front front) {
    const tla_front_kind *kind = tla_front_kind_of(front);
    return kind && kind->has_own_ranges;
}

bool tla_front_grows(tla_front front) {
    const tla_front_kind *kind = tla_front_kind_of(front);
    return kind && kind->next_growth;
}

bool tla_stack_policy_exists(tla_stack_policy policy) {
    const tla_front_kind *front = tla_front_kind_of(tla_stack_front(policy));
    if (!front || !tla_policy_name(tla_stack_placement(policy))) return false;
    return front->over_placement || tla_stack_placement(policy) == TLA_FIRST_FIT;
}

const char *tla_stack_name(uint64_t index) {
    if (index < TLA_POLICY_COUNT) return tla_policy_name((tla_policy)index);
    index -= TLA_POLICY_COUNT - 1; /* the first front is none */
    return index < TLA_FRONT_COUNT ? fronts[index]->name : NULL;
}

size_t tla_stack_policy_print(tla_stack_policy policy, char *text, size_t room) {
    if (!tla_stack_policy_exists(policy)) return (size_t)snprintf(text, room, "?");
    const tla_policy under = tla_stack_placement(policy);
    const char *front = tla_front_kind_of(tla_stack_front(policy))->name, *placement = tla_policy_name(under);
    if (!front) return (size_t)snprintf(text, room, "%s", placement);
    return under == TLA_FIRST_FIT ? (size_t)snprintf(text, room, "%s", front)
                                  : (size_t)snprintf(text, room, "%s/%s", front, placement);
}

static void append(char *text, size_t room, const char *between, const char *name) {
    const size_t length = strlen(text);
    snprintf(text + length, room - length, "%s%s", between, name);
}

/* "a or b or c" of the fronts that stand over a placement, or of those that do not. */
static void list_fronts(bool over_placement, char *text, size_t room) {
    bool first = true;
    for (int i = TLA_FRONT_NONE + 1; i < TLA_FRONT_COUNT; i++) {
        if (fronts[i]->over_placement != over_placement) continue;
        append(text, room, first ? "" : " or ", fronts[i]->name);
        first = false;
    }
}

static void list_placements(char *text, size_t room) {
    for (int i = 0; i < TLA_POLICY_COUNT; i++)
        append(text, room, i ? " or " : "", tla_policy_name((tla_policy)i));
}

void tla_stack_policy_expected(char *text, size_t room) {
    if (room == 0) return;
    text[0] = 0;
    list_placements(text, room);
    append(text, room, ", ", "");
    list_fronts(false, text, room);
    append(text, room, ", or ", "");
    list_fronts(true, text, room);
    append(text, room, ", these alone or as FRONT/PLACEMENT", "");
}

/* Returns the front of this name; TLA_FRONT_COUNT for an unknown name. */
static tla_front front_of(const char *text, size_t length) {
    for (int i = TLA_FRONT_NONE + 1; i < TLA_FRONT_COUNT; i++)
        if (strlen(fronts[i]->name) == length && strncmp(fronts[i]->name, text, length) == 0) return (tla_front)i;
    return TLA_FRONT_COUNT;
}

static tla_status refuse(const char *text, const char *part, const char *expected, const char *hint, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s%s%s", tla_quote(text).text, part, expected, hint);
}

tla_status tla_stack_policy_parse(const char *text, tla_stack_policy *policy, tla_error *error) {
    const char *slash = strchr(text, '/');
    const tla_front front = front_of(text, slash ? (size_t)(slash - text) : strlen(text));
    tla_policy placement = TLA_FIRST_FIT;
    char expected[360] = "";
    if (!slash && front == TLA_FRONT_COUNT && !tla_policy_from_name(text, &placement)) {
        tla_stack_policy_expected(expected, sizeof expected);
        return refuse(text, "", expected, tla_did_you_mean(text, tla_stack_name).text, error);
    }
    if (slash && front == TLA_FRONT_COUNT) {
        list_fronts(true, expected, sizeof expected);
        return refuse(text, "before the / ", expected, "", error);
    }
    if (slash && !fronts[front]->over_placement)
        return refuse(text, fronts[front]->name, " alone: this front has no placement", "", error);
    if (slash && !tla_policy_from_name(slash + 1, &placement)) {
        list_placements(expected, sizeof expected);
        return refuse(text, "after the / ", expected, "", error);
    }
    *policy = tla_stack_policy_of(front == TLA_FRONT_COUNT ? TLA_FRONT_NONE : front, placement);
    return TLA_OK;
}
