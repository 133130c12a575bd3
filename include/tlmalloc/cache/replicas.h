/* Replicas of an object, each in another segment: Mooncake's allocation strategies (its source at 3b5a594).
 *
 * A segment is an arena. Mooncake's has the policy offset_bins_rounded and max(capacity / 1024, 2^20) nodes, at most
 * 2^26 (tla_arena_drive in engine.h). The used bytes of a segment are those that requests asked for, without rounding.
 *
 * A request is given 1 replica up to the number that it wants; fewer is a success. First it tries the preferred
 * segments in their order. Then random tries the segments from a random start, around the end, at most 100 of them.
 * Free ratio first takes a sample before that: 6 segments for each replica that is still missing, from a random start.
 * It tries them by (capacity - used) / capacity, the largest first, of equal ones the first. A pass of random from a
 * second start follows if replicas are still missing. Neither a segment that already holds a replica nor an excluded
 * one is tried; each counts towards the 100, and leaves the sample without another in its place.
 *
 * The caller draws the random starts. Mooncake compares ratios in floating point, where close ones may be equal. Here
 * they are compared as products of integers. Its sort leaves the order of equal ratios open above 16 segments.
 *
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_REPLICAS_H
#define TLMALLOC_CACHE_REPLICAS_H

#include "tlmalloc/cache/upstream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_replica_policy { TLA_REPLICAS_RANDOM, TLA_REPLICAS_FREE_RATIO_FIRST } tla_replica_policy;

typedef struct tla_replicas tla_replicas;

typedef struct tla_replica {
    uint32_t segment;
    tla_block block; /* nbytes as asked for */
} tla_replica;

typedef struct tla_replica_request {
    uint64_t nbytes;   /* of each replica, 1 .. 2^63 */
    uint32_t replicas; /* 1 or more */
    uint32_t preferred_count, excluded_count;
    const uint32_t *preferred, *excluded; /* segments; NULL if the count is 0 */
    uint32_t starts[2];                   /* random, each below the number of segments */
} tla_replica_request;

typedef struct tla_replica_result {
    uint32_t count;       /* replicas */
    uint32_t starts_used; /* 0 .. 2 of the random starts. Random draws none for a single segment */
} tla_replica_result;

/* Creates segments over 1 or more arenas, which must outlive them, are empty, and do not change their sizes; the set
 * itself is copied. TLA_INVALID_ARGUMENT without arenas and for an arena without bytes, TLA_NO_HOST_MEMORY; *replicas
 * is NULL then. */
tla_status tla_replicas_create(const tla_arena_set *arenas, tla_replica_policy policy, tla_replicas **replicas);
void tla_replicas_destroy(tla_replicas *replicas); /* NULL is allowed; the arenas keep their blocks */

/* Allocates replicas; `found` has room for as many as requested, or as there are segments if these are fewer. Adds the
 * work of all segments that were tried to work (may be NULL), and to work->class_lookups one for each of them and one
 * for each ratio of a sample.
 *
 * TLA_INVALID_ARGUMENT for a value outside its range or an unknown segment. Without any replica, the status of the last
 * segment that was tried (tla_arena_alloc), or TLA_NOT_FOUND if none was. TLA_NO_HOST_MEMORY: no replica is allocated.
 * *result is filled in all cases. */
tla_status tla_replicas_alloc(tla_replicas *replicas, const tla_replica_request *request, tla_replica *found,
                              tla_replica_result *result, tla_work *work);

/* Releases one replica. TLA_INVALID_ARGUMENT for an unknown segment; else as tla_arena_free. */
tla_status tla_replicas_free(tla_replicas *replicas, tla_replica replica, tla_work *work);

/* Returns the bytes asked for and live in a segment. */
uint64_t tla_replicas_used(const tla_replicas *replicas, uint32_t segment);

/* --- Local first ---
 *
 * Mooncake's local first is random with a preferred list, for requests of one replica: explicit segments, then those of
 * the writer's host, then those of the other hosts. */

typedef struct tla_segment_place {
    const char *host, *name;
} tla_segment_place;

/* Fills order[0 .. count) with the numbers of all segments. Hosts are in the order of their bytes, around the end, from
 * the writer's, or from the next greater one if the writer's has no segment. The names of a host are in the order of
 * their bytes ("s10" before "s9"), around the end, from the one with the number key_hash modulo the host's segments. */
void tla_replicas_local_first(const tla_segment_place *segments, uint32_t count, const char *writer, uint64_t key_hash,
                              uint32_t *order);

#ifdef __cplusplus
}
#endif
#endif
