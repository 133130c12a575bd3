/* Collectives over a group of programs of a launch, made of messages around the ring of their numbers (KernBench
 * ADR-0047, 0050).
 *
 * All programs of the group call the same one with tiles of the same shape and type; their order of additions is fixed,
 * so that the bits of a result do not depend on time. A vector is a contiguous tile of one row; part i of n of its
 * elements is [i * columns / n, (i + 1) * columns / n), and may be empty. What fails returns the status of the call
 * that failed; what the tiles hold is undefined then. */
#ifndef TLMALLOC_KERNEL_COLLECTIVES_H
#define TLMALLOC_KERNEL_COLLECTIVES_H

#include "tlmalloc/kernel/language.h"
#include "tlmalloc/kernel/messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The programs [first, first + count) along TL_ALL; who calls a collective of a group must be one of them. */
typedef struct tl_group {
    uint32_t first, count;
} tl_group;

/* All programs of the launch. Costs nothing. */
static inline tl_group tl_everyone(tl_context *tl) {
    const tl_group all = {0, tl_num_programs(tl, TL_ALL)};
    return all;
}

/* Those on this SIP, of a launch on all PEs of the platform: another has other numbers. Costs nothing. */
static inline tl_group tl_of_sip(tl_context *tl) {
    const uint32_t count = tl_num_programs(tl, TL_ALL) / tl_num_programs(tl, TL_SIP);
    const tl_group group = {tl_program_id(tl, TL_SIP) * count, count};
    return group;
}

/* Which of its group a program is, from 0 on. Costs nothing. */
static inline uint32_t tl_rank(tl_context *tl, tl_group group) {
    return tl_program_id(tl, TL_ALL) - group.first;
}

/* The elements that part `index` of `parts` of a vector has, as a view of it. Costs nothing. */
static inline tl_tile tl_part(tl_context *tl, const tl_tile *vector, uint32_t index, uint32_t parts) {
    const uint32_t first = (uint32_t)((uint64_t)index * vector->columns / parts);
    const uint32_t end = (uint32_t)((uint64_t)(index + 1) * vector->columns / parts);
    return tl_view(tl, vector, 0, first, 1, end - first);
}

/* TLA_INVALID_ARGUMENT, and said so, for what is no vector. */
static inline tla_status tl_check_vector(tl_context *tl, const char *call, const tl_tile *vector) {
    if (vector->rows == 1 && vector->columns > 0) return TLA_OK;
    return tl_refuse(tl, "%s: found a tile of %u x %u, expected one row of some elements", call, vector->rows,
                     vector->columns);
}

/* Sends one tile to the next program of the ring and takes another from the one before; empty ones are not sent. Even
 * ranks send first and odd ones receive first, so that no message is too long for the slots. */
static inline tla_status tl_ring_shift(tl_context *tl, tl_group group, const tl_tile *out, const tl_tile *in) {
    const uint32_t p = tl_rank(tl, group), n = group.count;
    const uint32_t next = group.first + (p + 1) % n, before = group.first + (p + n - 1) % n;
    tla_status status = TLA_OK;
    if (p % 2 == 0 && out->columns > 0) status = tl_send(tl, next, out);
    if (status == TLA_OK && in->columns > 0) status = tl_recv(tl, before, in);
    if (status == TLA_OK && p % 2 != 0 && out->columns > 0) status = tl_send(tl, next, out);
    return status;
}

/* Of the vectors of all of the group, rank p gets the sum of part p in its own vector; the other parts hold partial
 * sums. Part i is x[i + 1] + x[i + 2] + ... + x[i], by ranks modulo their number, each addition rounded to the type.
 * `room` is a vector of as many elements as the longest part, columns / count rounded up, and of the same type. */
static inline tla_status tl_reduce_scatter(tl_context *tl, tl_group group, const tl_tile *vector, const tl_tile *room) {
    const uint32_t p = tl_rank(tl, group), n = group.count;
    tla_status status = tl_check_vector(tl, "tl_reduce_scatter", vector);
    if (status == TLA_OK && (uint64_t)room->rows * room->columns < tl_cdiv(vector->columns, n))
        status = tl_refuse(tl, "tl_reduce_scatter: found room for %u elements, expected %llu",
                           room->rows * room->columns, (unsigned long long)tl_cdiv(vector->columns, n));
    for (uint32_t step = 1; status == TLA_OK && step < n; step++) {
        const tl_tile out = tl_part(tl, vector, (p + n - step) % n, n);
        const tl_tile mine = tl_part(tl, vector, (p + 2 * n - step - 1) % n, n);
        const tl_tile in = tl_view(tl, room, 0, 0, 1, mine.columns);
        status = tl_ring_shift(tl, group, &out, &in);
        if (status == TLA_OK && mine.columns > 0) status = tl_add(tl, &mine, &in, &mine);
    }
    return status;
}

/* Part p of the vector of every rank p, in the vectors of all. */
static inline tla_status tl_all_gather(tl_context *tl, tl_group group, const tl_tile *vector) {
    const uint32_t p = tl_rank(tl, group), n = group.count;
    tla_status status = tl_check_vector(tl, "tl_all_gather", vector);
    for (uint32_t step = 0; status == TLA_OK && step + 1 < n; step++) {
        const tl_tile out = tl_part(tl, vector, (p + n - step) % n, n);
        const tl_tile in = tl_part(tl, vector, (p + 2 * n - step - 1) % n, n);
        status = tl_ring_shift(tl, group, &out, &in);
    }
    return status;
}

/* The sum of the vectors of all of the group, in all of them, with the same bits: tl_reduce_scatter, then
 * tl_all_gather. */
static inline tla_status tl_all_reduce(tl_context *tl, tl_group group, const tl_tile *vector, const tl_tile *room) {
    const tla_status status = tl_reduce_scatter(tl, group, vector, room);
    return status == TLA_OK ? tl_all_gather(tl, group, vector) : status;
}

/* The tile of rank `root`, in those of all of the group, along the ring. TLA_INVALID_ARGUMENT, and said so, for a root
 * that is none of it. */
static inline tla_status tl_broadcast(tl_context *tl, tl_group group, uint32_t root, const tl_tile *tile) {
    const uint32_t p = tl_rank(tl, group), n = group.count;
    if (root >= n) return tl_refuse(tl, "tl_broadcast: found rank %u, expected one below %u", root, n);
    tla_status status = TLA_OK;
    if (p != root) status = tl_recv(tl, group.first + (p + n - 1) % n, tile);
    if (status == TLA_OK && (p + 1) % n != root) status = tl_send(tl, group.first + (p + 1) % n, tile);
    return status;
}

/* Returns when all of the group have called it: a token goes around the ring twice. `token` is any tile of one element,
 * whose bytes go along. */
static inline tla_status tl_barrier(tl_context *tl, tl_group group, const tl_tile *token) {
    const uint32_t p = tl_rank(tl, group), n = group.count;
    tla_status status = TLA_OK;
    for (uint32_t round = 0; n > 1 && status == TLA_OK && round < 2; round++) {
        if (p > 0 || round > 0) status = tl_recv(tl, group.first + (p + n - 1) % n, token);
        if (status == TLA_OK && (p + 1 < n || round == 0)) status = tl_send(tl, group.first + (p + 1) % n, token);
    }
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
