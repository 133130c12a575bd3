/* The causes of failed requests, and their remedies. */
#include "shortage.h"

#include <stdbool.h>
#include <stdio.h>

const char *tla_shortage_name(tla_shortage which) {
    static const char *const shortages[TLA_SHORTAGE_COUNT] = {"exhausted", "fragmented", "reserved", "held by a front",
                                                              "fragmented"};
    return shortages[which];
}

const char *tla_shortage_remedy(tla_shortage which) {
    static const char *const helps[TLA_SHORTAGE_COUNT] = {
        "free something first, or configure more memory",
        "allocate large blocks first, choose a policy that packs tighter, or map pages",
        "reserve less for the scheduler or the free list",
        "trim the front's cache",
        "rounded up by controller.alignment or the policy it fits in no free block: reduce controller.alignment, "
        "choose "
        "another policy, or free something first",
    };
    return helps[which];
}

tla_shortage tla_shortage_of(uint64_t nbytes, uint64_t total_free, uint64_t reserved, uint64_t held_by_front) {
    if (total_free >= nbytes) return TLA_SHORTAGE_FRAGMENTED;
    if (reserved >= nbytes - total_free) return TLA_SHORTAGE_RESERVED;
    return held_by_front >= nbytes - total_free ? TLA_SHORTAGE_FRONT : TLA_SHORTAGE_EXHAUSTED;
}

tla_shortage_text tla_shortage_say(tla_status status, uint64_t nbytes, uint64_t total_free, uint64_t largest_free,
                                   uint64_t reserved, uint64_t trimmed) {
    tla_shortage_text said;
    const bool fragmented = status == TLA_FRAGMENTED;
    tla_shortage which = fragmented ? TLA_SHORTAGE_FRAGMENTED : tla_shortage_of(nbytes, total_free, reserved, 0);
    /* Exhausted with enough bytes: rounding makes the searched size larger than the requested size. */
    if (!fragmented && which == TLA_SHORTAGE_FRAGMENTED) which = TLA_SHORTAGE_EXHAUSTED;
    if (fragmented && largest_free >= nbytes) which = TLA_SHORTAGE_ROUNDED;
    if (trimmed) which = TLA_SHORTAGE_FRONT;
    const bool also = which == TLA_SHORTAGE_RESERVED || which == TLA_SHORTAGE_FRONT;
    snprintf(said.text, sizeof said.text, "%s%s%s; %s", fragmented ? "fragmented" : "exhausted", also ? ", " : "",
             also ? tla_shortage_name(which) : "", tla_shortage_remedy(which));
    return said;
}
