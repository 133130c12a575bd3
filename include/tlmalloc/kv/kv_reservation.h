/* A contiguous piece of key-value cache for every request, taken when it is admitted and held to its end: what serving
 * systems did before paging (Orca, FasterTransformer; compared in PagedAttention, SOSP '23, figure 2).
 *
 * A rule says how many tokens a request's region has: the longest that any may become; prompt and the next power of two
 * of what it will make; or exactly what it will need, which nobody knows ahead. Regions come from an arena that counts
 * tokens. With buddies the lowest of several blocks of one order is taken, as a bitmap with a priority encoder finds
 * it, where those of arena.h take the one freed last; the receipt is theirs. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_KV_KV_RESERVATION_H
#define TLMALLOC_KV_KV_RESERVATION_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_kv_rule {
    TLA_KV_MAXIMUM,      /* the longest request */
    TLA_KV_POWER_OF_TWO, /* prompt + the least power of two that holds the output, the longest request at most */
    TLA_KV_ORACLE,       /* prompt + output */
    TLA_KV_RULE_COUNT
} tla_kv_rule;

/* "maximum", "power_of_two", "oracle"; NULL for a value that is none. */
const char *tla_kv_rule_name(tla_kv_rule rule);

/* Tokens of a request's region: prompt and output (1 or more each) are what it will have in the end, `longest` what no
 * request exceeds. 0 for a request that does. */
uint64_t tla_kv_rule_tokens(tla_kv_rule rule, uint64_t prompt, uint64_t output, uint64_t longest);

typedef struct tla_kv_reservations_config {
    uint64_t tokens;  /* of the memory, 1 .. 2^63 */
    uint64_t longest; /* the longest request, prompt and output, 1 or more */
    tla_kv_rule rule;
    tla_policy policy; /* where a region goes */
} tla_kv_reservations_config;

/* A request's region. */
typedef struct tla_kv_region {
    tla_block block; /* as granted: its offset and size in tokens; a size of 0: none */
    uint64_t tokens; /* as the rule says */
} tla_kv_region;

typedef struct tla_kv_reservations_stats {
    uint64_t tokens;                          /* of the memory */
    uint64_t regions;                         /* live ones */
    uint64_t reserved;                        /* tokens of live regions, by the rule */
    uint64_t granted;                         /* tokens of them as granted: buddies round up */
    uint64_t largest_free;                    /* tokens of the largest free block */
    uint64_t too_long, fragmented, exhausted; /* refused, since the beginning, by cause */
} tla_kv_reservations_stats;

typedef struct tla_kv_reservations tla_kv_reservations;

/* TLA_INVALID_ARGUMENT for a member outside its range, TLA_NO_HOST_MEMORY; *made is NULL then. */
tla_status tla_kv_reservations_create(const tla_kv_reservations_config *config, tla_kv_reservations **made);
void tla_kv_reservations_destroy(tla_kv_reservations *reservations); /* NULL is allowed; regions end with it */

/* A region for a request that will have so many tokens in the end. TLA_LIMIT for one that is longer than the longest or
 * than the memory, which never fits; TLA_EXHAUSTED when fewer tokens are free than it needs, TLA_FRAGMENTED when none
 * of the free blocks holds it: it may fit when others have ended. TLA_INVALID_ARGUMENT for lengths of 0,
 * TLA_NO_HOST_MEMORY. *region has no block then. Work is that of the arena, of refused ones too. */
tla_status tla_kv_reserve(tla_kv_reservations *reservations, uint64_t prompt, uint64_t output, tla_kv_region *region,
                          tla_work *work);

/* Gives a region back, which has no block then; nothing happens to one that has none. Errors as tla_arena_free. */
tla_status tla_kv_release(tla_kv_reservations *reservations, tla_kv_region *region, tla_work *work);

tla_kv_reservations_stats tla_kv_reservations_get_stats(const tla_kv_reservations *reservations);

#ifdef __cplusplus
}
#endif
#endif
