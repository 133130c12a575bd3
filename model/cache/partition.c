/* The division of a memory, and the pace of pins. */
#include "tlmalloc/cache/partition.h"

#include "base/wide.h"

#include <stdbool.h>

/* a * b + c * d; false if it exceeds 64 bits. */
static bool sum_of_products(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *sum) {
    const tla_wide one = wide_product(a, b), other = wide_product(c, d);
    *sum = one.low + other.low;
    return one.high == 0 && other.high == 0 && *sum >= one.low;
}

/* The bytes that staging needs; false if they exceed 64 bits. */
static bool least_of(const tla_partition_config *c, uint64_t *least) {
    const uint64_t odd = c->prefetches & 1, halves = c->prefetches / 2;
    uint64_t whole; /* floor(2.5 * prefetches), to which an odd number adds half a chunk */
    if (!sum_of_products(5, halves, 2, odd, &whole) || !sum_of_products(whole, c->chunk, c->writes, c->chunk, least))
        return false;
    const uint64_t half = odd ? c->chunk / 2 : 0;
    *least += half;
    return *least >= half;
}

tla_status tla_partition_of(const tla_partition_config *c, tla_partition *out) {
    if (c->permille == 0 || c->permille >= 1000) return TLA_INVALID_ARGUMENT;
    const uint64_t thousands = c->nbytes / 1000, rest = c->nbytes % 1000;
    const uint64_t l1 = thousands * c->permille + rest * c->permille / 1000;
    uint64_t least;
    if (!least_of(c, &least) || l1 < least) return TLA_EXHAUSTED;
    *out = (tla_partition){l1, c->nbytes - l1, least};
    return TLA_OK;
}

tla_status tla_partition_move(tla_partition *partition, uint64_t l1) {
    const uint64_t nbytes = partition->l1 + partition->l2;
    if (l1 == 0 || l1 >= nbytes) return TLA_INVALID_ARGUMENT;
    if (l1 < partition->least) return TLA_EXHAUSTED;
    partition->l1 = l1;
    partition->l2 = nbytes - l1;
    return TLA_OK;
}

uint64_t tla_pacer_start(uint64_t ready_ps, uint64_t idle_ps, uint64_t wait_ps) {
    if (idle_ps <= ready_ps) return ready_ps;
    return idle_ps - ready_ps < wait_ps ? idle_ps : ready_ps + wait_ps;
}
