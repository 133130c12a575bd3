/* Live blocks that other components place: a placement without queries for free blocks. */
#include "ledger.h"

#include "arena_state.h"

static tla_status create(const tla_arena_config *config, void **state) {
    (void)config;
    *state = NULL;
    return TLA_OK;
}

static void destroy(void *state) {
    (void)state;
}

static tla_status enter(void *state, tla_block range, tla_work *work) {
    (void)state, (void)range, (void)work;
    return TLA_OK;
}

static uint64_t none(const void *state) {
    (void)state;
    return 0;
}

static size_t copy_none(const void *state, uint64_t from, tla_block *blocks, size_t max) {
    (void)state, (void)from, (void)blocks, (void)max;
    return 0;
}

static const tla_placement no_list = {
    .create = create,
    .destroy = destroy,
    .reserve = enter,
    .free = enter,
    .add = enter,
    .largest = none,
    .count = none,
    .copy = copy_none,
};

tla_status tla_ledger_create(const tla_arena_config *config, tla_arena **ledger) {
    return tla_arena_create_with(&no_list, config, ledger);
}
