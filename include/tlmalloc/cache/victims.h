/* Which key leaves a cache: the orders of LMCache's eviction policies of 2026, as hardware keeps them.
 *
 * An order tracks keys, without their contents, and chooses victims among them. To choose removes nothing: the caller
 * removes what it has evicted. Where LMCache is told of several keys at once, it enters the last one first, so that the
 * last chunk of a request leaves first; a caller here does the same, key by key.
 *
 * ARC keeps keys that were entered once (t1) apart from keys that were used again (t2). It remembers keys that left
 * either of them (ghosts, b1 and b2). Each ghost that returns moves p, a target for the size of t1. LMCache computes
 * p in floating point. Here p is a fixed-point number of 8 fraction bits. A step is the quotient of the ghosts'
 * numbers, rounded down to 1/256, and at least 1. A serial divider finds one bit of it in a cycle, and works only if
 * the quotient is above 1. A step is therefore too small by less than 1/256, and only the integer part of p decides.
 *
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_VICTIMS_H
#define TLMALLOC_CACHE_VICTIMS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_victim_rule {
    TLA_VICTIM_LRU,        /* the key that was used longest ago */
    TLA_VICTIM_TENANT_LRU, /* the same among the keys of one tenant (LMCache: isolated lru) */
    TLA_VICTIM_ARC,        /* adaptive: of the keys used once, or of those used again */
    TLA_VICTIM_RULE_COUNT
} tla_victim_rule;

/* Name as in configuration files, "lru", "tenant_lru", "arc"; NULL for an unknown value. */
const char *tla_victim_rule_name(tla_victim_rule rule);

/* Fraction bits of ARC's target. */
enum { TLA_ARC_FRACTION_BITS = 8 };

typedef struct tla_victims tla_victims;

/* Creates an order without keys. TLA_INVALID_ARGUMENT for an unknown rule, TLA_NO_HOST_MEMORY; *victims is NULL
 * then. */
tla_status tla_victims_create(tla_victim_rule rule, tla_victims **victims);
void tla_victims_destroy(tla_victims *victims); /* NULL is allowed */

/* A key of a tenant was stored: it is the last to leave from now on. A tracked key keeps its tenant. Only
 * TLA_VICTIM_TENANT_LRU looks at tenants. With ARC a ghost returns to t2, and p moves; the receipt (may be NULL) counts
 * a probe for each bit that the divider finds, and a line of metadata for each forgotten ghost. TLA_NO_HOST_MEMORY:
 * nothing has changed. */
tla_status tla_victims_enter(tla_victims *victims, uint64_t tenant, uint64_t key, tla_work *work);

/* A tracked key was used: it is the last to leave. Has no effect on other keys. */
void tla_victims_touch(tla_victims *victims, uint64_t key);

/* A key has left. With ARC it becomes a ghost if it was chosen after it was last entered; else the order forgets it,
 * and its ghost too. Has no effect on unknown keys. Adds to work (may be NULL) as tla_victims_enter. */
void tla_victims_remove(tla_victims *victims, uint64_t key, tla_work *work);

/* Whether a key may leave. */
typedef bool (*tla_victim_filter)(void *context, uint64_t key);

/* Chooses up to `count` different keys that the filter (NULL: all) permits, of one tenant if the rule looks at tenants,
 * the first to leave first. Writes them to keys[], and returns their number. The receipt (may be NULL) counts a visited
 * node for each key that was looked at. */
size_t tla_victims_choose(tla_victims *victims, uint64_t tenant, size_t count, tla_victim_filter filter, void *context,
                          uint64_t *keys, tla_work *work);

/* Returns the number of victims that are `permille` of the tracked keys (of the tenant's, if the rule looks at
 * tenants): rounded down, but at least 1 of any; above 1000: all. LMCache multiplies in floating point, which can be
 * one less: 100 x 0.29. */
size_t tla_victims_share(const tla_victims *victims, uint64_t tenant, uint32_t permille);

/* Returns whether any key is tracked, and one that no other key precedes in its list. */
bool tla_victims_first(const tla_victims *victims, uint64_t *key);

typedef struct tla_victims_stats {
    uint64_t tracked;      /* keys */
    uint64_t again;        /* ARC: those of t2 */
    uint64_t once_ghosts;  /* ARC: keys of b1 */
    uint64_t again_ghosts; /* ARC: keys of b2 */
    uint64_t target;       /* ARC: p, in 1/256 of a key */
    uint64_t capacity;     /* ARC: the most keys that were ever tracked */
} tla_victims_stats;

tla_victims_stats tla_victims_get_stats(const tla_victims *victims);

/* Returns whether used bytes reach a watermark in permille of all bytes; the watermark itself does. Up to 2^54 bytes.
 * LMCache looks once a second, and then evicts a share of the keys once: 800 and 200 by default. */
bool tla_watermark_is_reached(uint64_t used, uint64_t total, uint32_t permille);

#ifdef __cplusplus
}
#endif
#endif
